//! `adopt`, `disown`, `hold` and `release`: changes of owners and finalizers of objects that are there.
//!
//! - Each change is for the version that was looked at, and is decided again if others changed the object meanwhile.
//! - But to `release` an object that the call has read is to decide by what it read: what a finalizer waits for may have
//!   happened since then.
//! - Before an object gets an owner, the API server is asked whether the owner stays: what the owner's deletion did to
//!   the object may be seen before the deletion is.

use serde_json::{Map, Value, json};

use super::check::{Patch, invalid};
use super::read::{form, uri};
use super::retry::Repeat;
use super::set::check_ownable;
use super::write::object_of;
use super::{Call, Target};
use crate::bindings::cluster::Error;
use crate::bindings::types::ObjectRef;
use windlass_kube::api::Request;
use windlass_kube::object::{ApplyScope, Object, Owner};
use windlass_view::SentWrite;

/// How often an object is looked at again that others change.
const RACES: u32 = 5;

/// What a change makes of an object.
enum Edit {
    /// Nothing is to change.
    Nothing,
    /// These fields of its metadata are to be so.
    Set(Map<String, Value>),
}

/// What came of a change.
enum Edited {
    /// The object as it is now.
    There(Object),
    /// There is no such object any more, or another one has its name.
    Gone,
}

impl Call {
    pub(crate) async fn adopt(
        &mut self,
        target: ObjectRef,
        uid: String,
        owner: Option<ObjectRef>,
        finalizer: Option<String>,
    ) -> Result<String, Error> {
        let target = self.target(&target).await?;
        self.permit(&["patch"], &target, None)?;
        if !self.may_adopt(&target) {
            let (resource, key) = (&target.resource, &target.key);
            return Err(self.deny(&format!(
                "adopt {resource} {key}: add `adopt: true` to the grant"
            )));
        }
        self.permit_finalizer(&target, finalizer.as_deref())?;
        let owner = self.owner_of(&target, owner).await?;
        let decide = |object: &Object| {
            let metadata = &object.metadata;
            let controller = metadata.owners.iter().find(|held| held.controller);
            match controller {
                _ if metadata.deleting => Err(Error::conflict("the object is being deleted")),
                Some(other) if other.uid != owner.uid => Err(Error::conflict(format!(
                    "{} {} controls the object",
                    other.kind, other.name
                ))),
                held => {
                    let mut set = Map::new();
                    if held.is_none() {
                        let mut owners = object.owner_references();
                        owners.retain(|held| held.get("uid") != Some(&owner.uid.clone().into()));
                        owners.push(controlling(&owner));
                        set.insert("ownerReferences".into(), owners.into());
                    }
                    with_finalizer(&mut set, object, finalizer.as_deref());
                    Ok(Edit::of(set))
                }
            }
        };
        match self.edit(&target, &uid, "adopt an object", decide).await? {
            Edited::There(object) => Ok(self.show(&target.resource, &object)),
            Edited::Gone => Err(Error::conflict(
                "the object is gone, or another has its name",
            )),
        }
    }

    pub(crate) async fn disown(
        &mut self,
        target: ObjectRef,
        uid: String,
        owners: Vec<String>,
        finalizer: Option<String>,
    ) -> Result<(), Error> {
        let target = self.target(&target).await?;
        self.permit(&["patch"], &target, None)?;
        self.permit_finalizer(&target, finalizer.as_deref())?;
        let primary = self.primary.uid.clone();
        if owners.iter().any(|uid| *uid != primary) {
            self.permit_any_owner(&target)?;
        }
        let owners = if owners.is_empty() {
            vec![primary]
        } else {
            owners
        };
        let decide = |object: &Object| {
            let mut set = Map::new();
            let is_taken = |owner: &Owner| owners.contains(&owner.uid);
            if object.metadata.owners.iter().any(is_taken) {
                let mut left = object.owner_references();
                left.retain(|held| {
                    let uid = held.get("uid").and_then(Value::as_str);
                    uid.is_none_or(|uid| !owners.iter().any(|taken| taken == uid))
                });
                set.insert("ownerReferences".into(), left.into());
            }
            without_finalizer(&mut set, object, finalizer.as_deref());
            Ok(Edit::of(set))
        };
        self.edit(&target, &uid, "disown an object", decide).await?;
        Ok(())
    }

    pub(crate) async fn hold_object(
        &mut self,
        target: ObjectRef,
        uid: String,
        finalizer: String,
    ) -> Result<String, Error> {
        let target = self.target(&target).await?;
        self.permit(&["patch"], &target, None)?;
        self.permit_finalizer(&target, Some(&finalizer))?;
        let decide = |object: &Object| {
            let is_held = object.metadata.has_finalizer(&finalizer);
            if object.metadata.deleting && !is_held {
                return Err(Error::Gone);
            }
            let mut set = Map::new();
            with_finalizer(&mut set, object, Some(&finalizer));
            Ok(Edit::of(set))
        };
        match self.edit(&target, &uid, "hold an object", decide).await? {
            Edited::There(object) => Ok(self.show(&target.resource, &object)),
            Edited::Gone => Err(Error::conflict(
                "the object is gone, or another has its name",
            )),
        }
    }

    pub(crate) async fn release_object(
        &mut self,
        target: ObjectRef,
        uid: String,
        finalizer: String,
    ) -> Result<(), Error> {
        let target = self.target(&target).await?;
        self.permit(&["patch"], &target, None)?;
        self.permit_finalizer(&target, Some(&finalizer))?;
        let decide = |object: &Object| {
            let mut set = Map::new();
            without_finalizer(&mut set, object, Some(&finalizer));
            Ok(Edit::of(set))
        };
        let read = self.seen_version(&target);
        let read = read.and_then(|seen| seen.version);
        self.edit_version(&target, (&uid, read), "release an object", decide)
            .await?;
        Ok(())
    }

    /// Who is to own `target`: the primary, or the object of this name, which stays.
    async fn owner_of(
        &mut self,
        target: &Target,
        owner: Option<ObjectRef>,
    ) -> Result<Owner, Error> {
        let Some(owner) = owner else {
            check_ownable(target, &self.primary)?;
            let (resource, key) = (self.primary.resource.clone(), self.primary.key.clone());
            let now = self.live_owner(&Target { resource, key }).await?;
            if *now.metadata.uid != *self.primary.uid {
                return Err(Error::Gone);
            }
            let owner = self.primary.clone();
            return Ok(named(
                &owner.resource.api_version(),
                &owner.resource.kind,
                &now,
            ));
        };
        let of = self.target(&owner).await?;
        self.permit(&["get"], &of, None)?;
        if of.key.namespace.is_some() && of.key.namespace != target.key.namespace {
            return invalid(format!(
                "{} {} cannot own {} {}: a child is in its owner's namespace",
                of.resource, of.key, target.resource, target.key
            ));
        }
        let now = self.live_owner(&of).await?;
        let is_ours = |held: &Owner| held.controller && held.uid == self.primary.uid;
        if !now.metadata.owners.iter().any(is_ours) {
            self.permit_any_owner(target)?;
        }
        Ok(named(&owner.api_version, &owner.kind, &now))
    }

    /// The owner as the API server has it, if it stays.
    async fn live_owner(&mut self, owner: &Target) -> Result<Object, Error> {
        let read = Request::get(uri(owner, None)?);
        match self.look_up("read the owner again", read).await {
            Ok(now) => Object::parse(now.get())
                .filter(|now| !now.metadata.deleting)
                .ok_or(Error::Gone),
            Err(Error::NotFound) => Err(Error::Gone),
            Err(error) => Err(error),
        }
    }

    /// Whether a grant for `verb` on this object names the finalizer.
    pub(super) fn may_set_finalizer(&self, target: &Target, verb: &str, finalizer: &str) -> bool {
        let home = self.primary.key.namespace.as_deref();
        let grants = &self.cluster.grants;
        grants.allow_finalizer(&target.access(verb), home, finalizer)
    }

    fn permit_finalizer(&mut self, target: &Target, finalizer: Option<&str>) -> Result<(), Error> {
        let Some(finalizer) = finalizer else {
            return Ok(());
        };
        if self.may_set_finalizer(target, "patch", finalizer) {
            return Ok(());
        }
        Err(self.deny(&format!(
            "put the finalizer {finalizer} on {} {}, or take it off: add it to finalizers of the grant",
            target.resource, target.key
        )))
    }

    fn permit_any_owner(&mut self, target: &Target) -> Result<(), Error> {
        let home = self.primary.key.namespace.as_deref();
        if self
            .cluster
            .grants
            .allow_any_owner(&target.access("patch"), home)
        {
            return Ok(());
        }
        Err(self.deny(&format!(
            "change owners of {} {} other than the primary and what it controls: add `owners: any` to the grant",
            target.resource, target.key
        )))
    }

    /// Changes the object with this UID as `decide` says, once for each version that it is asked about.
    async fn edit(
        &mut self,
        target: &Target,
        uid: &str,
        doing: &str,
        decide: impl Fn(&Object) -> Result<Edit, Error>,
    ) -> Result<Edited, Error> {
        self.edit_version(target, (uid, None), doing, decide).await
    }

    /// As [`Call::edit`]. With a version, only that one is changed: another one that `decide` would change is `conflict`.
    async fn edit_version(
        &mut self,
        target: &Target,
        (uid, version): (&str, Option<String>),
        doing: &str,
        decide: impl Fn(&Object) -> Result<Edit, Error>,
    ) -> Result<Edited, Error> {
        let mut there = self.look(target).await?;
        let mut races = 0;
        loop {
            let object = match there {
                Some(object) if *object.metadata.uid == *uid => object,
                // The store may be behind, or ahead of what the guest has read.
                Some(_) | None if races == 0 => {
                    races += 1;
                    there = self.look_at_server(target).await?;
                    continue;
                }
                Some(_) | None => return Ok(Edited::Gone),
            };
            let set = match decide(&object)? {
                // What the call has read from the API server may be newer than the store.
                Edit::Nothing if races == 0 && self.has_read_latest(target) => {
                    races += 1;
                    there = self.look_at_server(target).await?;
                    continue;
                }
                Edit::Nothing => {
                    self.permit_stored("patch", target, None).await?;
                    return Ok(Edited::There(object));
                }
                Edit::Set(set) => set,
            };
            let is_meant = |version: &String| *version == *object.metadata.resource_version;
            if !version.as_ref().is_none_or(is_meant) {
                // The store may be behind what the call has read.
                if races == 0 {
                    races += 1;
                    there = self.look_at_server(target).await?;
                    continue;
                }
                return Err(Error::conflict(
                    "the object has changed since the call read it",
                ));
            }
            match self.send_edit(target, &object, set, doing).await {
                Ok(object) => return Ok(Edited::There(object)),
                Err(Error::NotFound) => return Ok(Edited::Gone),
                Err(Error::Conflict(_)) if races < RACES => races += 1,
                Err(error) => return Err(error),
            }
            there = self.look_at_server(target).await?;
        }
    }

    /// Whether the call has read the object from the API server, and not from the store.
    fn has_read_latest(&self, target: &Target) -> bool {
        let seen = self.seen_version(target);
        seen.is_some_and(|seen| !seen.is_stored)
    }

    /// Sends a change of the metadata of `object`, for its very version.
    async fn send_edit(
        &mut self,
        target: &Target,
        object: &Object,
        mut set: Map<String, Value>,
        doing: &str,
    ) -> Result<Object, Error> {
        if !self.cluster.writes.is_sent() {
            let patch = Patch::Merge(Map::from_iter([("metadata".into(), Value::Object(set))]));
            let answer = self.capture_patch(target, patch).await?;
            return Object::parse(&answer).ok_or_else(|| Error::other("the object is not JSON"));
        }
        let metadata = &object.metadata;
        set.insert("uid".into(), json!(metadata.uid));
        set.insert("resourceVersion".into(), json!(metadata.resource_version));
        let patch = json!({ "metadata": set });
        let manager = self.author(target, &Map::new())?;
        let parameters = form().append_pair("fieldManager", &manager).finish();
        let uri = format!("{}?{parameters}", uri(target, None)?);
        let (resource, key) = (&target.resource, &target.key);
        let view = self.cluster.view.clone();
        let write = view.write(resource, key, &self.primary.key, ApplyScope::Rest);
        let request = Request::merge_patch(uri, &patch);
        let answer = self.send_write(doing, request, Repeat::Harmless).await?;
        let changed = object_of(&answer)?;
        self.meet(target, &changed, false);
        let sent = SentWrite {
            object: &patch,
            answer: answer.get(),
            manager: &manager,
        };
        write.answered(&changed, &sent);
        Ok(changed)
    }
}

impl Edit {
    fn of(set: Map<String, Value>) -> Self {
        if set.is_empty() {
            Self::Nothing
        } else {
            Self::Set(set)
        }
    }
}

/// An object as others name it as their owner.
fn named(api_version: &str, kind: &str, object: &Object) -> Owner {
    Owner {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: object.metadata.key.name.to_string(),
        uid: object.metadata.uid.to_string(),
        controller: true,
    }
}

fn controlling(owner: &Owner) -> Value {
    json!({
        "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name,
        "uid": owner.uid, "controller": true, "blockOwnerDeletion": true,
    })
}

/// Adds a finalizer to what is set, if there is one and the object does not have it.
fn with_finalizer(set: &mut Map<String, Value>, object: &Object, finalizer: Option<&str>) {
    if let Some(name) = finalizer.filter(|name| !object.metadata.has_finalizer(name)) {
        let mut all = object.metadata.finalizers.to_vec();
        all.push(name.to_owned());
        set.insert("finalizers".into(), all.into());
    }
}

/// Leaves a finalizer out of what is set, if there is one and the object has it.
fn without_finalizer(set: &mut Map<String, Value>, object: &Object, finalizer: Option<&str>) {
    if let Some(name) = finalizer.filter(|name| object.metadata.has_finalizer(name)) {
        let all = object.metadata.finalizers.iter();
        let left: Vec<String> = all.filter(|held| *held != name).cloned().collect();
        set.insert("finalizers".into(), left.into());
    }
}
