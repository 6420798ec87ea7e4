//! A write: how the new object comes from the held one, and what the server adds, keeps and refuses.
//!
//! The order is the real server's (apiserver `registry/generic/registry/store.go` and
//! `registry/rest/{create,update}.go`): the object that the client means, field ownership, admission,
//! system fields, validation, then the store. Another write in between makes it start over.

pub mod accept;
mod fit;
mod kind;
mod lifecycle;
pub mod namespaces;
mod part;
mod policies;
mod prepare;
mod quotas;
pub mod sent;
mod wanted;
mod written;

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;

use crate::call::Call;
use crate::fields::{self, Set, Writer};
use crate::mutants::mutant;
use crate::rbac::escalation::Grant;
use crate::request::golang;
use crate::request::options::WriteOptions;
use crate::schema::View;
use crate::seams::Rng;
use crate::status::Refusal;
use crate::store::{Entry, Moved, NamespacedName, Write};
use crate::strategy::Strategy;
use crate::{convert, meta, present};

pub use lifecycle::namespace_takes;
pub use part::ObjectPart;
pub use wanted::WantedObject;
pub use written::{Outcome, Written};

/// Other writes may come first this often before a write gives up.
const TRIES: usize = 100;

/// One write.
#[derive(Debug)]
pub struct Writing<'a> {
    /// The request.
    pub call: &'a Call<'a>,
    /// What it asks for.
    pub options: &'a WriteOptions,
    /// Which part it writes.
    pub part: ObjectPart,
    /// What the kind's writes are like.
    pub strategy: Strategy,
    /// Whether an absent object is created.
    pub creates: bool,
}

impl<'a> Writing<'a> {
    /// A write of a part.
    pub fn of(call: &'a Call<'a>, options: &'a WriteOptions, part: ObjectPart) -> Self {
        let strategy = Strategy::of(call.resource);
        Self {
            call,
            options,
            part,
            strategy,
            creates: strategy.creates_on_update && part == ObjectPart::Main,
        }
    }

    /// Creates an object.
    ///
    /// # Errors
    /// 409 if there is one already, and whatever admission and validation refuse.
    pub fn create(&self, object: Value) -> Result<Written, Refusal> {
        let generated = meta::text(&object, "name").is_empty()
            && !meta::text(&object, "generateName").is_empty();
        if !generated {
            return self.created(WantedObject::Updated(object));
        }
        for last in (0..8).rev() {
            let written = self.created(WantedObject::Updated(object.clone()));
            match written {
                Err(refusal) if last > 0 && refusal.reason == "AlreadyExists" => {}
                Err(mut refusal) if refusal.reason == "AlreadyExists" => {
                    refusal.message = format!(
                        "{}, the server was not able to generate a unique name for the object",
                        refusal.message
                    );
                    return Err(refusal);
                }
                written => return written,
            }
        }
        Err(Refusal::internal("no name was generated"))
    }

    /// Changes an object, or creates it where the endpoint does so. `make` is asked again when another
    /// write came first.
    ///
    /// # Errors
    /// 404, 409, and whatever `make`, admission and validation refuse.
    pub fn update(
        &self,
        make: impl Fn(Option<&Value>) -> Result<WantedObject, Refusal>,
    ) -> Result<Written, Refusal> {
        let call = self.call;
        let key = call.key();
        for _ in 0..TRIES {
            let Some(held) = call.state.store().get(&call.place, &key) else {
                if !self.creates {
                    return Err(Refusal::not_found(call.named(), &key.name));
                }
                let wanted = make(None)?;
                prepare::same_uid(self, wanted.object(), None)?;
                match self.created(wanted.of_no_version(self.options.dry_run)) {
                    Err(refusal) if refusal.reason == "AlreadyExists" => continue,
                    written => return written,
                }
            };
            let old = present::value(call.resource, &held);
            let wanted = make(Some(&old))?;
            if let Ok(written) = self.replace(&held, &old, wanted)? {
                return Ok(written);
            }
        }
        Err(Refusal::conflict(call.named(), &key.name, MODIFIED))
    }

    fn created(&self, wanted: WantedObject) -> Result<Written, Refusal> {
        let call = self.call;
        let by = wanted.by();
        let mut object = match wanted {
            WantedObject::Applied(object) => object,
            WantedObject::Updated(object) => self.owned(None, object),
        };
        let sent_name = meta::text(&object, "name").to_owned();
        lifecycle::create(call, &mut object)?;
        self.mutate(&mut object, None)?;
        self.allow_grant(&object, None)?;
        prepare::create(self, &mut object)?;
        self.admit(&object, None, &sent_name)?;
        let name = meta::text(&object, "name").to_owned();
        let key = NamespacedName::new(meta::text(&object, "namespace"), &name);
        let exists = || {
            let mut refusal = Refusal::already_exists(call.named(), &name);
            let held = call.state.store().get(&call.place, &key);
            if held.is_some_and(|held| held.deleting) {
                refusal.message = format!("object is being deleted: {}", refusal.message);
            }
            refusal
        };
        meta::set(&mut object, "selfLink", None);
        object = windlass_yaml::whole_numbers(object);
        let code = StatusCode::CREATED;
        if self.options.dry_run {
            if call.state.store().get(&call.place, &key).is_some() {
                return Err(exists());
            }
            return Ok(self.dry(code, object));
        }
        let version = meta::text(&object, "resourceVersion");
        if golang::parse_uint(version).is_ok_and(|version| version != 0) {
            return Err(Refusal::unknown(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        meta::set(&mut object, "resourceVersion", None);
        let stored = convert::to_stored(object, call.resource);
        let stored = fit::fit(stored, call.resource, &key, None, by)?;
        let written = call.write(key.clone(), None, Write::Put(stored));
        let entry = written.map_err(|Moved| exists())?;
        Ok(Written::kept(code, entry))
    }

    /// Users that write a role or a binding must have what it gives.
    fn allow_grant(&self, new: &Value, old: Option<&Value>) -> Result<(), Refusal> {
        let call = self.call;
        let grant = Grant {
            user: &call.request.user,
            group: &call.resource.group,
            plural: &call.resource.plural,
            namespace: call.target.namespace.as_deref().unwrap_or_default(),
            name: call.target.name.as_deref().unwrap_or_default(),
            new,
            old,
        };
        let (authorizer, store) = (call.state.authorizer(), call.state.store());
        authorizer.allow_grant(store, grant)
    }

    fn replace(
        &self,
        held: &Arc<Entry>,
        old: &Value,
        wanted: WantedObject,
    ) -> Result<Result<Written, Moved>, Refusal> {
        let call = self.call;
        let code = StatusCode::OK;
        prepare::same_uid(self, wanted.object(), Some(old))?;
        let by = wanted.by();
        let mut object = match wanted {
            WantedObject::Applied(object) => object,
            WantedObject::Updated(object) => self.owned(Some(old), object),
        };
        self.mutate(&mut object, Some(old))?;
        self.allow_grant(&object, Some(old))?;
        prepare::preconditions(self, &object, old)?;
        prepare::update(self, &mut object, old)?;
        let sent_name = meta::text(&object, "name");
        self.admit(&object, Some(old), sent_name)?;
        meta::set_text(&mut object, "resourceVersion", &held.revision.to_string());
        meta::set(&mut object, "selfLink", None);
        object = windlass_yaml::whole_numbers(object);
        fields::keep_times(old, &mut object);
        let unchanged = object == *old && convert::is_settled(call.resource, held);
        if mutant!(WritesOfNothingAreWritten, unchanged, false) {
            return Ok(Ok(Written::kept(code, Arc::clone(held))));
        }
        let goes_away = prepare::goes_away(&object, old);
        if mutant!(DryRunsAreWritten, self.options.dry_run, false) {
            return Ok(Ok(self.dry(code, object)));
        }
        if goes_away {
            let deleted = self.put(held, Write::Delete(held.value()));
            return Ok(deleted.map(|_| Written::loose(code, object)));
        }
        let stored = convert::to_stored(object, call.resource);
        let stored = fit::fit(stored, call.resource, &held.key, Some(held.revision), by)?;
        let written = self.put(held, Write::Put(stored));
        Ok(written.map(|entry| Written::kept(code, entry)))
    }

    /// What a dry run answers: as if the object were kept and read
    /// (apiserver `registry/generic/registry/dryrun.go`).
    fn dry(&self, code: StatusCode, object: Value) -> Written {
        Written::loose(code, convert::as_read(object, self.call.resource))
    }

    /// Writes in the place of what is held, if that is still there.
    fn put(&self, held: &Entry, write: Write) -> Result<Arc<Entry>, Moved> {
        let (key, revision) = (held.key.clone(), held.revision);
        self.call.write(key, Some(revision), write)
    }

    /// The object with its managedFields after a create, a PUT or a patch.
    pub(crate) fn owned(&self, old: Option<&Value>, new: Value) -> Value {
        self.as_writer(&self.manager(), |writer, schema| {
            fields::update(old, new, schema, writer, &self.reset())
        })
    }

    /// What is drawn for an object.
    pub(crate) fn rng(&self, object: &Value) -> Rng {
        let (state, place) = (self.call.state, &self.call.place);
        state.seams().rng.of(|| {
            let (namespace, name) = (meta::text(object, "namespace"), meta::text(object, "name"));
            let made = state
                .history()
                .creations(place, &NamespacedName::new(namespace, name));
            format!("{} {} {namespace} {name} {made}", place.group, place.plural)
        })
    }

    /// Who owns what changes, but for an apply.
    pub fn manager(&self) -> String {
        match self.options.field_manager.as_str() {
            "" => self.call.request.agent(),
            said => said.to_owned(),
        }
    }

    /// Does something as the writer, for managedFields.
    pub fn as_writer<T>(&self, manager: &str, work: impl FnOnce(&Writer<'_>, View<'_>) -> T) -> T {
        let resource = self.call.resource;
        let registry = self.call.state.registry();
        let versions = registry.api_versions(resource);
        let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
        let writer = Writer {
            manager,
            api_version: &resource.api_version(),
            kind: &resource.kind,
            versions: &versions,
            schemas: &registry.other_schemas(resource),
            subresource: self.part.subresource(),
            now: self.call.state.seams().clock.wall(),
        };
        let anything = crate::schema::anything();
        work(&writer, resource.schema().unwrap_or(&anything).view())
    }

    /// The fields that this endpoint does not write.
    pub fn reset(&self) -> Set {
        match self.part {
            ObjectPart::Main if self.strategy.keeps_spec => {
                Set::of_fields([["spec"].as_slice(), ["status"].as_slice()])
            }
            ObjectPart::Main | ObjectPart::Scale | ObjectPart::Finalize
                if self.strategy.separate_status =>
            {
                Set::of_fields([["status"].as_slice()])
            }
            ObjectPart::Main | ObjectPart::Scale | ObjectPart::Finalize => Set::default(),
            // A writer owns here also what is not written.
            ObjectPart::EphemeralContainers | ObjectPart::Resize => Set::default(),
            ObjectPart::Status => Set::of_fields(self.strategy.status_resets.iter().copied()),
            ObjectPart::Approval => {
                Set::of_fields([["spec"].as_slice(), ["status", "certificate"].as_slice()])
            }
        }
    }
}

const MODIFIED: &str = "the object has been modified; please apply your changes to the latest version \
     and try again";
