//! `apply` and `apply-status`.
//!
//! - Nothing is sent when nothing would change: the same intent as this manager's last apply, and
//!   the object still as that apply left it.
//! - Every write names the UID of the object that it means, where the call knows it; of a status,
//!   for which the server checks none, the version.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::check::{self, Intent, owned_by};
use super::read::{form, uri};
use super::retry::Repeat;
use super::set::{is_adopted, is_in_set_of, label};
use super::{Call, SeenVersion, Target, WriteMode};
use crate::bindings::cluster::Error;
use crate::bindings::types::ObjectRef;
use windlass_base::bugs::bug;
use windlass_kube::api::{Request, object as json_object};
use windlass_kube::object::{ApplyScope, Object, manager_for, manager_of};
use windlass_view::{Applied, FieldOwner, SentWrite};

/// How often a status is tried against others who change the object.
const RACES: u32 = 5;

/// The version of no object: an apply that names it makes the object, and is refused where there is one.
const NO_VERSION: &str = "1";

/// Which object an apply is meant for.
#[derive(Clone, Debug)]
pub(super) enum ApplyTarget {
    /// The one that the call has read, or else the one that is there, or else a new one.
    Any,
    /// The one with this UID.
    This(String),
    /// A new one: one that is there is a conflict, and stays as it is.
    New,
}

impl Call {
    pub(crate) async fn apply(&mut self, object: String) -> Result<String, Error> {
        let target = self.target(&check::reference(&object)?).await?;
        self.permit(&["create", "patch"], &target, None)?;
        let _held = self.hold_written(&object)?;
        let mut intent = check::intent(&object)?;
        self.check_metadata(&intent, &target, "patch")?;
        self.keep_in_set(&target, &mut intent.object).await?;
        let apply_scope = ApplyScope::of(&intent.object);
        self.send_apply(&target, intent.object, apply_scope, ApplyTarget::Any)
            .await
    }

    pub(crate) async fn apply_status(&mut self, object: String) -> Result<String, Error> {
        let target = self.target(&check::reference(&object)?).await?;
        self.permit(&["patch"], &target, Some("status"))?;
        let _held = self.hold_written(&object)?;
        let intent = check::intent(&object)?;
        if let Some(other) = intent
            .object
            .keys()
            .find(|field| !["apiVersion", "kind", "metadata", "status"].contains(&field.as_str()))
        {
            return check::invalid(format!("apply-status takes status alone, not {other}"));
        }
        let mut object = intent.object;
        let uid = object
            .get("metadata")
            .and_then(|metadata| metadata.get("uid"))
            .cloned();
        let metadata = json_object([
            ("name", Some((*target.key.name).into())),
            (
                "namespace",
                target.key.namespace.as_deref().map(Value::from),
            ),
            ("uid", uid),
        ]);
        object.insert("metadata".into(), metadata);
        self.send_apply(&target, object, ApplyScope::Status, ApplyTarget::Any)
            .await
    }

    /// A member of the set that is applied by itself stays one. Both applies have the same field manager, so the
    /// server would remove the set's label if this one left it out. Of a kind that the plugin does not watch, only the
    /// server knows the members.
    async fn keep_in_set(
        &mut self,
        target: &Target,
        object: &mut Map<String, Value>,
    ) -> Result<(), Error> {
        if !owned_by(object, &self.primary) {
            return Ok(());
        }
        let there = match self.cluster.writes {
            WriteMode::Sent => self.look(target).await?,
            WriteMode::Captured | WriteMode::Observed => {
                self.cluster.view.get(&target.resource, &target.key)
            }
        };
        let (primary, plugin) = (&self.primary, &*self.cluster.plugin);
        match there {
            Some(held) if is_in_set_of(&held, primary, plugin) => {
                label(object, plugin, is_adopted(&held.metadata))
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(super) async fn intended(&mut self, intent: &Intent) -> Result<Target, Error> {
        self.target(&ObjectRef {
            api_version: intent.api_version.clone(),
            kind: intent.kind.clone(),
            namespace: intent.namespace.clone(),
            name: intent.name.clone(),
        })
        .await
    }

    /// What is the host's to write in metadata the guest must not; and nothing is made for a primary that
    /// goes. A finalizer is the plugin's own, or one that a grant for `verb` names.
    pub(super) fn check_metadata(
        &mut self,
        intent: &Intent,
        target: &Target,
        verb: &str,
    ) -> Result<(), Error> {
        let namespace = intent.namespace.as_deref();
        let may_set = |name: &str| {
            name == self.cluster.view.finalizer() || self.may_set_finalizer(target, verb, name)
        };
        let forbidden =
            check::forbidden_metadata(&intent.object, namespace, &self.primary, may_set)?;
        if let Some(reason) = forbidden {
            return Err(self.deny(&format!(
                "{reason} on {} {}: no grant covers that",
                target.resource, target.key
            )));
        }
        if owned_by(&intent.object, &self.primary) && self.primary_is_going() {
            return Err(Error::Gone);
        }
        Ok(())
    }

    /// Whether the store knows that the primary is being deleted or has been replaced. A finalizing
    /// call may still write what it does not own.
    pub(super) fn primary_is_going(&self) -> bool {
        let (resource, key) = (&self.primary.resource, &self.primary.key);
        match self.cluster.view.get(resource, key) {
            Some(object) => object.metadata.deleting || *object.metadata.uid != *self.primary.uid,
            None => {
                self.cluster.view.holds(resource, key)
                    || self
                        .cluster
                        .view
                        .with_finalizer(key)
                        .is_some_and(|unselected| unselected.metadata.deleting)
            }
        }
    }

    /// Asks the API server whether the primary stays, before a child of it is put back: what its deletion did
    /// to its children may be seen before the deletion is (Kubernetes' controllers ask so before they adopt:
    /// `RecheckDeletionTimestamp` in `pkg/controller/controller_ref_manager.go`).
    pub(super) async fn check_owner(
        &mut self,
        target: &Target,
        object: &Map<String, Value>,
    ) -> Result<(), Error> {
        let (view, uid) = (&self.cluster.view, &self.primary.uid);
        if !owned_by(object, &self.primary) || !view.puts_back(&target.resource, &target.key, uid) {
            return Ok(());
        }
        let (resource, key) = (&self.primary.resource, &self.primary.key);
        let path = resource
            .path(key.namespace.as_deref(), Some(&key.name), None)
            .map_err(|error| Error::other(error.to_string()))?;
        match self
            .look_up("read the owner again", Request::get(path))
            .await
        {
            Ok(primary) => match Object::parse(primary.get()) {
                Some(now) if *now.metadata.uid == *self.primary.uid && !now.metadata.deleting => {
                    Ok(())
                }
                _ => Err(Error::Gone),
            },
            Err(Error::NotFound) => Err(Error::Gone),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn send_apply(
        &mut self,
        target: &Target,
        object: Map<String, Value>,
        apply_scope: ApplyScope,
        meant: ApplyTarget,
    ) -> Result<String, Error> {
        if !self.cluster.writes.is_sent() {
            return self.capture_apply(target, object, apply_scope).await;
        }
        let slot = (self.author(target, &object)?, apply_scope);
        // Before the host adds what the call has read: that is a condition, not what is wanted.
        let intent = Sha256::digest(serde_json::to_vec(&object).unwrap_or_default()).into();
        let subresource = (apply_scope == ApplyScope::Status).then_some("status");
        if let Some(unchanged) = self.unchanged(target, &slot, &intent) {
            // The API server is not asked, and so does not say no.
            self.permit_stored("patch", target, subresource).await?;
            return Ok(self.show(&target.resource, &unchanged));
        }
        bug!(
            DroppedFieldsAreNotSeen,
            if let Some(held) = self.cluster.view.get(&target.resource, &target.key)
                && windlass_base::bugs::covers(&held.value(), &Value::Object(object.clone()))
            {
                return Ok(self.show(&target.resource, &held));
            }
        );
        self.check_owner(target, &object).await?;
        self.replace_managers(target, &slot).await?;
        let parameters = parameters(&slot.0, &meant);
        let mut body = self.apply_body(target, object, meant);
        let uri = format!("{}?{parameters}", uri(target, subresource)?);
        let view = self.cluster.view.clone();
        let (resource, key) = (&target.resource, &target.key);
        let write = view.write(resource, key, &self.primary.key, apply_scope);
        let write = write.shown_against(self.answered(target));
        let request = |object: &Value| Request::apply(uri.clone(), object);
        let answer = if apply_scope == ApplyScope::Status {
            self.send_part(target, &mut body, request).await?
        } else {
            let repeat = repeat(&body);
            self.send_write("apply an object", request(&body), repeat)
                .await?
        };
        let object = object_of(&answer)?;
        self.meet(target, &object, false);
        let sent = SentWrite {
            object: &body,
            answer: answer.get(),
            manager: &slot.0,
        };
        write.applied(&object, &slot, &sent);
        let applied = Applied::new(intent, &slot, &object);
        view.applied(resource, key, applied);
        Ok(self.show(resource, &object))
    }

    /// What an apply sends: `object`, with the condition that it changes the object that is meant.
    fn apply_body(&self, target: &Target, object: Map<String, Value>, meant: ApplyTarget) -> Value {
        match meant {
            ApplyTarget::New => with_no_version(object),
            ApplyTarget::This(uid) => with_uid(object, Some(uid)),
            ApplyTarget::Any => with_uid(object, self.seen_version(target).map(|seen| seen.uid)),
        }
    }

    /// The object, if an apply of `intent` would change nothing, and it is the one that the call has read.
    fn unchanged(&self, target: &Target, slot: &FieldOwner, intent: &[u8; 32]) -> Option<Object> {
        let view = &self.cluster.view;
        let held = view.still_applied(&target.resource, &target.key, slot, intent)?;
        let same = |seen: SeenVersion| *seen.uid == *held.metadata.uid;
        self.seen_version(target).is_none_or(same).then_some(held)
    }

    /// Sends a part of an object, such as its status. Whatever its UID, the server would give it to the
    /// object that has the name now; so it names a version of the one that is meant, and a newer one each
    /// time it has changed.
    pub(super) async fn send_part(
        &mut self,
        target: &Target,
        part: &mut Value,
        request: impl Fn(&Value) -> Request,
    ) -> Result<Box<RawValue>, Error> {
        let uid = part.pointer("/metadata/uid").cloned();
        let mut latest = self.cluster.view.get(&target.resource, &target.key);
        let mut races = 0;
        loop {
            if let (Some(uid), Some(latest)) = (&uid, &latest) {
                if *uid != *latest.metadata.uid {
                    return Err(Error::conflict("another object has the name now"));
                }
                if let Some(Value::Object(metadata)) = part.get_mut("metadata") {
                    let version = &*latest.metadata.resource_version;
                    metadata.insert("resourceVersion".into(), version.into());
                }
            }
            let sent = self.send_write(
                "change a part of an object",
                request(part),
                Repeat::Harmless,
            );
            match sent.await {
                Err(Error::Conflict(_)) if races < RACES => races += 1,
                answer => return answer,
            }
            let read = Request::get(uri(target, None)?);
            latest = Object::parse(self.look_up("read an object again", read).await?.get());
        }
    }

    /// The field manager of a write of `object` to `target`. The key runs again when somebody else changes what it wrote.
    pub(super) fn author(
        &mut self,
        target: &Target,
        object: &Map<String, Value>,
    ) -> Result<String, Error> {
        let manager = self.field_manager(target, object);
        let known = self.cluster.view.writes_as(&self.primary.key, &manager);
        known.map_err(|exceeded| self.exceeded(exceeded))?;
        Ok(manager)
    }

    /// Who owns the fields: the plugin, for the primary and what it owns; otherwise the plugin on
    /// behalf of this primary, so that two primaries can share an object and each takes back only
    /// its own part.
    pub(super) fn field_manager(&self, target: &Target, object: &Map<String, Value>) -> String {
        let own = target.resource == self.primary.resource && target.key == self.primary.key;
        if own || owned_by(object, &self.primary) {
            return manager_of(&self.cluster.plugin);
        }
        manager_for(&self.cluster.plugin, &self.primary.uid)
    }
}

/// What `object` is about the object with the UID that the call has seen, if it says no other.
pub(super) fn with_uid(mut object: Map<String, Value>, seen: Option<String>) -> Value {
    if let Some(uid) = seen
        && let Some(metadata) = object
            .entry("metadata")
            .or_insert_with(|| Value::Object(Map::new()))
            .as_object_mut()
    {
        metadata.entry("uid").or_insert_with(|| uid.into());
    }
    Value::Object(object)
}

/// The parameters of an apply: forced, but for a new object.
pub(super) fn parameters(manager: &str, meant: &ApplyTarget) -> String {
    let mut parameters = form();
    parameters.append_pair("fieldManager", manager);
    if !matches!(meant, ApplyTarget::New) {
        parameters.append_pair("force", "true");
    }
    parameters.finish()
}

/// What `object` is about, if there is nothing of that name.
fn with_no_version(mut object: Map<String, Value>) -> Value {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.insert("resourceVersion".into(), NO_VERSION.into());
    }
    Value::Object(object)
}

/// An apply that names neither UID nor version can only meet a race.
fn repeat(object: &Value) -> Repeat {
    let conditions = ["/metadata/uid", "/metadata/resourceVersion"];
    if conditions.iter().any(|path| object.pointer(path).is_some()) {
        Repeat::Harmless
    } else {
        Repeat::Unconditional
    }
}

/// An object in an answer.
pub(super) fn object_of(answer: &RawValue) -> Result<Object, Error> {
    let what = "the API server answered with something that is not an object";
    Object::parse(answer.get()).ok_or_else(|| Error::other(what))
}
