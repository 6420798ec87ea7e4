//! What differs between custom resources, their definitions, and built-in kinds in a write.

use serde_json::Value;

use super::namespaces;
use super::{ObjectPart, Writing};
use crate::builtin::{self, Words};
use crate::crd::{self, objects};
use crate::meta;
use crate::outline::Doubled;
use crate::registry::{Origin, Resource};
use crate::schema::rules::RuleFindings;
use crate::seams::Rng;
use crate::status::{Cause, Named, Refusal};
use crate::store::{GroupResource, NamespacedName, Store};
use crate::{definitions, metadata};

type Prepared = Result<(), Refusal>;

/// Where an object lies, the time, as metadata has them, and what is drawn for it.
struct Around {
    namespace: String,
    now: String,
    rng: Rng,
}

fn around(object: &Value, writing: &Writing<'_>) -> Around {
    let now = writing.call.state.seams().clock.wall();
    Around {
        namespace: meta::text(object, "namespace").to_owned(),
        now: meta::time(now),
        rng: writing.rng(object),
    }
}

fn built_in<'a>(writing: &'a Writing<'_>, around: &'a Around) -> builtin::BuiltInWrite<'a> {
    builtin::BuiltInWrite {
        resource: writing.call.resource,
        namespace: &around.namespace,
        now: &around.now,
        rng: &around.rng,
        cluster: writing.call.state.store(),
        user: &writing.call.request.user,
        is_dry_run: writing.options.dry_run,
    }
}

impl builtin::Cluster for Store {
    fn get(&self, resource: Named<'_>, namespace: &str, name: &str) -> Option<Value> {
        let held = self.get(&place(resource), &NamespacedName::new(namespace, name))?;
        Some(held.value())
    }

    fn list(&self, resource: Named<'_>) -> Vec<Value> {
        let entries = self.list(&place(resource), None).entries;
        entries.iter().map(|entry| entry.value()).collect()
    }
}

/// What the metadata of a built-in kind must be.
fn built_in_rules(resource: &Resource) -> metadata::Rules {
    metadata::Rules::built_in(&resource.group, &resource.plural, resource.namespaced)
}

fn place(resource: Named<'_>) -> GroupResource {
    GroupResource {
        group: resource.group.to_owned(),
        plural: resource.resource.to_owned(),
    }
}

/// What is known of a text besides its object.
#[derive(Clone, Debug, Default)]
pub(super) struct SentText<'a> {
    /// The text, if it is JSON and as the client sent it.
    pub(super) text: Option<&'a [u8]>,
    pub(super) doubled: Vec<Doubled>,
    pub(super) words: Words,
}

/// A kind, by how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KindHandling {
    Custom,
    Definition,
    BuiltIn,
}

impl KindHandling {
    pub(super) fn of(resource: &Resource) -> Self {
        match resource.origin {
            Origin::Custom { .. } => Self::Custom,
            Origin::BuiltIn if definitions::is_crd(resource) => Self::Definition,
            Origin::BuiltIn => Self::BuiltIn,
        }
    }

    /// Brings what a client sent into shape; answers the fields that nobody knows and those that are there
    /// twice, as a strict decoder names them.
    pub(super) fn read(
        self,
        object: &mut Value,
        resource: &Resource,
        sent: SentText<'_>,
    ) -> Result<Vec<String>, String> {
        let mut doubled = sent.doubled;
        if self != Self::Custom {
            let mut found = builtin::decode_in(object, resource, sent.words, &mut doubled);
            return match found.error(sent.text) {
                Some(why) => Err(why),
                None => Ok(found.strict(sent.text.unwrap_or_default(), &doubled)),
            };
        }
        let unknown = objects::read(object, resource)?;
        let unknown = unknown.iter();
        let unknown = unknown.map(|field| format!("unknown field {field:?}"));
        let doubled = doubled.into_iter().map(|doubled| doubled.text);
        Ok(doubled.chain(unknown).collect())
    }

    /// Puts in what the client did not say.
    pub(super) fn default(self, object: &mut Value, resource: &Resource) {
        match self {
            Self::Custom => objects::default(object, resource),
            Self::Definition => {
                builtin::default(object, resource);
                crd::default(object);
            }
            Self::BuiltIn => builtin::default(object, resource),
        }
    }

    /// Completes a new object.
    pub(super) fn prepare_create(self, object: &mut Value, writing: &Writing<'_>) -> Prepared {
        let resource = writing.call.resource;
        match self {
            Self::Custom => objects::prepare_create(object, resource),
            Self::Definition => crd::prepare_create(object),
            Self::BuiltIn => {
                let around = around(object, writing);
                builtin::prepare_create(object, built_in(writing, &around))?;
            }
        }
        Ok(())
    }

    /// Completes a changed object.
    pub(super) fn prepare_update(
        self,
        new: &mut Value,
        old: &Value,
        writing: &Writing<'_>,
    ) -> Prepared {
        let resource = writing.call.resource;
        *new = writing.part.narrowed(new.take(), old);
        match (self, writing.part) {
            (Self::Custom, ObjectPart::Status) => objects::prepare_status_update(new, old),
            (Self::Custom, _) => objects::prepare_update(new, old, resource),
            (Self::Definition, ObjectPart::Status) => crd::prepare_status_update(new, old),
            (Self::Definition, _) => crd::prepare_update(new, old),
            (Self::BuiltIn, ObjectPart::Status) => {
                let around = around(new, writing);
                builtin::prepare_update_status(new, old, built_in(writing, &around));
            }
            (Self::BuiltIn, ObjectPart::Approval) => {
                let around = around(new, writing);
                builtin::prepare_update_approval(new, old, built_in(writing, &around));
            }
            (Self::BuiltIn, _) => {
                if writing.part == ObjectPart::Main && namespaces::is_namespace(resource) {
                    namespaces::keep_finalizers(new, old);
                }
                let around = around(new, writing);
                builtin::prepare_update(new, old, built_in(writing, &around))?;
            }
        }
        Ok(())
    }

    /// What is wrong with a new object.
    pub(super) fn validate_create(self, object: &Value, resource: &Resource) -> Vec<Cause> {
        match self {
            Self::Custom => objects::validate_create(object, resource),
            Self::Definition => crd::validate_create(object),
            Self::BuiltIn => {
                let rules = built_in_rules(resource);
                let mut causes = metadata::validate_create(object, rules);
                causes.extend(builtin::validate_create(object, resource));
                causes
            }
        }
    }

    /// What is wrong with a changed object.
    pub(super) fn validate_update(
        self,
        part: ObjectPart,
        new: &Value,
        old: &Value,
        resource: &Resource,
    ) -> RuleFindings {
        match (self, part) {
            (Self::Custom, ObjectPart::Status) => {
                objects::validate_status_update(new, old, resource)
            }
            (Self::Custom, _) => objects::validate_update(new, old, resource),
            (Self::Definition, ObjectPart::Status) => crd::validate_status_update(new, old).into(),
            (Self::Definition, _) => crd::validate_update(new, old).into(),
            (Self::BuiltIn, _) => {
                let rules = built_in_rules(resource);
                let mut causes = metadata::validate_update(new, old, rules);
                if part == ObjectPart::Status && namespaces::is_namespace(resource) {
                    causes.extend(namespaces::phase(new));
                }
                causes.extend(match part {
                    ObjectPart::EphemeralContainers => builtin::validate_ephemeral(new, old),
                    ObjectPart::Resize => builtin::validate_resize(new, old),
                    ObjectPart::Status => builtin::validate_status_update(new, old, resource),
                    ObjectPart::Approval => builtin::validate_approval(new, old),
                    ObjectPart::Main | ObjectPart::Scale | ObjectPart::Finalize => {
                        builtin::validate_update(new, old, resource)
                    }
                });
                causes.into()
            }
        }
    }

    /// What the client should know of an object that is fine.
    pub(super) fn warnings(
        self,
        new: &Value,
        old: Option<&Value>,
        writing: &Writing<'_>,
    ) -> Vec<String> {
        match self {
            Self::Custom => objects::warnings(new, old),
            Self::Definition => crd::warnings(new, old),
            Self::BuiltIn if writing.part == ObjectPart::Status => Vec::new(),
            Self::BuiltIn => builtin::warnings(new, old, writing.call.resource),
        }
    }
}
