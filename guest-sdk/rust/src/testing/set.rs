//! `apply_set` as the host does it: the host's additions, and what is taken away.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::call::Call;
use super::parts::{name_of, text};
use super::store::key;
use crate::failed::{Code, Context, SetError, SetFailure};
use crate::host::title;
use crate::query::{DeleteOptions, ObjectRef};

/// What the host marks the members of a set with.
pub(super) const LABEL: &str = "/metadata/labels/windlass.dev~1set";

/// The plugin's name, which a fake cluster does not know.
const PLUGIN: &str = "plugin";

/// Children of a set at most.
const MOST: usize = 1_000;

impl Call<'_> {
    pub(super) fn try_apply_set(&self, children: &[Value]) -> Result<Vec<Value>, SetError> {
        self.check_set(children)
            .doing(|| "apply a set".to_owned())
            .map_err(SetError::whole)?;
        let (mut members, mut kept, mut failures) = (BTreeSet::new(), Vec::new(), Vec::new());
        for (index, child) in children.iter().enumerate() {
            let applied = self.apply_member(child, &mut members);
            match applied.doing(|| format!("apply {}", title(child))) {
                Ok(object) => kept.push(object),
                Err(error) => failures.push(SetFailure {
                    index: Some(index),
                    error,
                }),
            }
        }
        if failures.is_empty() {
            failures = self.prune(&members);
        }
        if failures.is_empty() {
            Ok(kept)
        } else {
            Err(SetError { failures })
        }
    }

    fn check_set(&self, children: &[Value]) -> Result<(), Code> {
        if self.set_applied.replace(true) {
            let text = "a call applies one set: hand over all children at once";
            return Err(Code::Invalid(text.into()));
        }
        if children.len() > MOST {
            return Err(Code::Invalid(format!("{MOST} children are the most")));
        }
        if children.is_empty() {
            return Ok(());
        }
        self.check_alive()
    }

    fn apply_member(
        &self,
        child: &Value,
        members: &mut BTreeSet<super::store::Key>,
    ) -> Result<Value, Code> {
        let target = name_of(child)?;
        self.may(&["create", "patch"], &target, "")?;
        self.owned(child)?;
        let home = &self.primary.namespace;
        if (home.is_some() && *home != target.namespace) || target == self.primary {
            return Err(Code::Invalid(format!(
                "{} cannot own {target}",
                self.primary
            )));
        }
        if !members.insert(key(&target)) {
            return Err(Code::Invalid(format!("{target} is in the set twice")));
        }
        let there = self.cluster.borrow().get(&target);
        if there.is_ok_and(|there| !self.is_takeable(&there)) {
            return Err(Code::Conflict);
        }
        let mut child = child.clone();
        let metadata = child.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            metadata.insert("ownerReferences".into(), json!([self.owner()]));
            let labels = metadata.entry("labels").or_insert_with(|| json!({}));
            if let Value::Object(labels) = labels {
                labels.insert("windlass.dev/set".into(), PLUGIN.into());
            }
        }
        self.cluster.borrow_mut().apply(&self.manager(true), &child)
    }

    fn owner(&self) -> Value {
        json!({
            "apiVersion": self.primary.api_version, "kind": self.primary.kind,
            "name": self.primary.name, "uid": self.uid,
            "controller": true, "blockOwnerDeletion": true,
        })
    }

    /// Whether the host would take an object into the set: it made it for one, and no other object controls it. An
    /// earlier primary of the same name does not count as another one.
    fn is_takeable(&self, object: &Value) -> bool {
        let is_other = |owner: &Value| {
            let same_kind = text(owner, "/kind") == Some(&self.primary.kind);
            let same_name = text(owner, "/name") == Some(&self.primary.name);
            let controls = owner.pointer("/controller") == Some(&json!(true));
            text(owner, "/uid") != Some(&self.uid)
                && (controls || same_kind)
                && !(same_kind && same_name)
        };
        text(object, LABEL) == Some(PLUGIN) && !owners(object).any(is_other)
    }

    /// Deletes what is in the set no more, of the kinds that the plugin watches and may delete.
    fn prune(&self, members: &BTreeSet<super::store::Key>) -> Vec<SetFailure> {
        let former: Vec<(ObjectRef, Option<String>)> = {
            let cluster = self.cluster.borrow();
            let objects = cluster.objects().filter(|object| {
                text(object, LABEL) == Some(PLUGIN)
                    && owners(object).any(|owner| text(owner, "/uid") == Some(&self.uid))
                    && object.pointer("/metadata/deletionTimestamp").is_none()
            });
            let uid = |object: &Value| text(object, "/metadata/uid").map(str::to_owned);
            let named = objects.filter_map(|object| Some((name_of(object).ok()?, uid(object))));
            named
                .filter(|(target, _)| !members.contains(&key(target)))
                .collect()
        };
        let mut failures = Vec::new();
        for (target, uid) in former {
            if self.may(&["watch", "delete"], &target, "").is_err() {
                continue;
            }
            let options = DeleteOptions {
                uid,
                ..DeleteOptions::default()
            };
            let deleted = self.cluster.borrow_mut().delete(&target, &options);
            if let Err(error) = deleted.doing(|| format!("delete {target}")) {
                failures.push(SetFailure { index: None, error });
            }
        }
        failures
    }
}

fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    let owners = object.pointer("/metadata/ownerReferences");
    owners.and_then(Value::as_array).into_iter().flatten()
}
