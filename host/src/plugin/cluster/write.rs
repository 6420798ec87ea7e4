//! `apply`, `apply-status` and `delete`.
//!
//! - Nothing is sent when nothing would change: the same intent as this manager's last apply, and
//!   the object still as that apply left it.
//! - Every write names the UID of the object that it means, where the call knows it; of a status,
//!   for which the server checks none, the version.

use http::Method;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::check::{self, Intent, owned_by};
use super::read::{form, uri};
use super::{Call, Target, Writes};
use crate::api::{Request, object as json_object};
use crate::plugin::bindings::cluster::{DeleteOptions, Error, Propagation};
use crate::plugin::bindings::types::ObjectRef;
use crate::view::{Applied, Extent, Object, finalizer_of};

/// How often a status is tried against others who change the object.
const RACES: u32 = 5;

impl Call {
    pub(crate) async fn apply(&mut self, object: String) -> Result<String, Error> {
        let intent = check::intent(&object)?;
        let target = self.intended(&intent).await?;
        self.permit(&["create", "patch"], &target, None)?;
        let finalizer = finalizer_of(&self.door.plugin);
        if let Some(reason) = check::forbidden_metadata(&intent, &self.primary, &finalizer)? {
            return Err(self.deny(&format!(
                "{reason} on {} {}: no grant covers that",
                target.resource, target.key
            )));
        }
        if owned_by(&intent.object, &self.primary) && self.primary_is_going() {
            return Err(Error::Gone);
        }
        let extent = Extent::of(&intent.object);
        self.send_apply(&target, intent.object, extent).await
    }

    pub(crate) async fn apply_status(&mut self, object: String) -> Result<String, Error> {
        let intent = check::intent(&object)?;
        let target = self.intended(&intent).await?;
        self.permit(&["patch"], &target, Some("status"))?;
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
            ("name", Some(target.key.name.clone().into())),
            ("namespace", target.key.namespace.clone().map(Value::from)),
            ("uid", uid),
        ]);
        object.insert("metadata".into(), metadata);
        self.send_apply(&target, object, Extent::Status).await
    }

    pub(crate) async fn delete(
        &mut self,
        target: ObjectRef,
        options: DeleteOptions,
    ) -> Result<(), Error> {
        let target = self.target(&target).await?;
        self.permit(&["delete"], &target, None)?;
        if self.door.writes == Writes::Captured {
            return self.capture_delete(&target).await;
        }
        let uri = uri(&target, None)?;
        let seen = self.seen(&target).cloned();
        let (uid, version) = match (options.uid, seen) {
            (Some(uid), _) => (uid, options.resource_version),
            (None, Some(seen)) => (seen.uid, options.resource_version.or(seen.stored_version)),
            // Unseen: what is there now is what is meant.
            (None, None) => {
                let there = self
                    .send("read what is to be deleted", Request::get(uri.clone()))
                    .await?;
                let there = Object::new(there).ok_or(Error::NotFound)?;
                (there.metadata.uid.clone(), options.resource_version)
            }
        };
        let preconditions = json_object([
            ("uid", Some(uid.clone().into())),
            ("resourceVersion", version.map(Value::from)),
        ]);
        let body = json_object([
            ("apiVersion", Some("v1".into())),
            ("kind", Some("DeleteOptions".into())),
            ("preconditions", Some(preconditions)),
            (
                "propagationPolicy",
                options
                    .propagation
                    .map(|wanted| propagation_policy(wanted).into()),
            ),
            (
                "gracePeriodSeconds",
                options.grace_period_seconds.map(Value::from),
            ),
        ]);
        let write = self.door.view.write(
            &target.resource,
            &target.key,
            &self.primary.key,
            Extent::Whole,
        );
        let request = Request::json(Method::DELETE, uri, &body);
        let answer = self.send("delete an object", request).await?;
        self.seen
            .remove(&(target.resource.clone(), target.key.clone()));
        // A Status says that it is gone; the object itself, that it waits for its finalizers.
        match Object::new(answer) {
            Some(object) if object.metadata.uid == uid => write.answered(&object),
            _ => write.deleted(&uid),
        }
        Ok(())
    }

    async fn intended(&mut self, intent: &Intent) -> Result<Target, Error> {
        self.target(&ObjectRef {
            api_version: intent.api_version.clone(),
            kind: intent.kind.clone(),
            namespace: intent.namespace.clone(),
            name: intent.name.clone(),
        })
        .await
    }

    /// Whether the store knows that the primary is being deleted or has been replaced. A finalizing
    /// call may still write what it does not own.
    fn primary_is_going(&self) -> bool {
        let (resource, key) = (&self.primary.resource, &self.primary.key);
        match self.door.view.get(resource, key) {
            Some(object) => object.metadata.deleting || object.metadata.uid != self.primary.uid,
            None => {
                self.door.view.holds(resource, key)
                    || self
                        .door
                        .view
                        .stray(key)
                        .is_some_and(|stray| stray.metadata.deleting)
            }
        }
    }

    /// Asks the API server whether the primary stays: what its deletion did to its children may be seen
    /// before the deletion is (Kubernetes' controllers ask so before they adopt:
    /// `RecheckDeletionTimestamp` in `pkg/controller/controller_ref_manager.go`).
    async fn check_primary(&mut self) -> Result<(), Error> {
        let (resource, key) = (&self.primary.resource, &self.primary.key);
        let path = resource
            .path(key.namespace.as_deref(), Some(&key.name), None)
            .map_err(|error| Error::Other(error.to_string()))?;
        match self.send("read the owner again", Request::get(path)).await {
            Ok(primary) => match Object::new(primary) {
                Some(now) if now.metadata.uid == self.primary.uid && !now.metadata.deleting => {
                    Ok(())
                }
                _ => Err(Error::Gone),
            },
            Err(Error::NotFound) => Err(Error::Gone),
            Err(error) => Err(error),
        }
    }

    async fn send_apply(
        &mut self,
        target: &Target,
        object: Map<String, Value>,
        extent: Extent,
    ) -> Result<String, Error> {
        if self.door.writes == Writes::Captured {
            return self.capture_apply(target, object).await;
        }
        let manager = self.field_manager(target, &object);
        let owned = owned_by(&object, &self.primary);
        let seen = self.seen(target).map(|seen| seen.uid.clone());
        // Before the host adds what the call has read: that is a condition, not what is wanted.
        let mut object = Value::Object(object);
        let intent: [u8; 32] = Sha256::digest(object.to_string()).into();
        let slot = (manager.clone(), extent);
        let unchanged = self
            .door
            .view
            .still_applied(&target.resource, &target.key, &slot, &intent);
        if let Some(unchanged) = unchanged
            && seen
                .as_ref()
                .is_none_or(|uid| *uid == unchanged.metadata.uid)
        {
            return Ok(self.show(&target.resource, &unchanged));
        }
        if let Some(Value::Object(metadata)) = object.get_mut("metadata")
            && let Some(uid) = seen
        {
            metadata.entry("uid").or_insert_with(|| uid.into());
        }
        let (resource, key) = (&target.resource, &target.key);
        if owned && self.door.view.puts_back(resource, key, &self.primary.uid) {
            self.check_primary().await?;
        }
        let parameters = form()
            .append_pair("fieldManager", &manager)
            .append_pair("force", "true")
            .finish();
        let subresource = (extent == Extent::Status).then_some("status");
        let uri = format!("{}?{parameters}", uri(target, subresource)?);
        let write = self
            .door
            .view
            .write(&target.resource, &target.key, &self.primary.key, extent);
        let answer = match extent {
            Extent::Status => self.send_status(target, uri, object).await?,
            Extent::Rest | Extent::Whole => {
                self.send("apply an object", Request::apply(uri, &object))
                    .await?
            }
        };
        let Some(object) = Object::new(answer) else {
            return Err(Error::Other(
                "the API server answered with something that is no object".into(),
            ));
        };
        self.meet(target, &object, false);
        write.answered(&object);
        let applied = Applied::new(intent, &slot, &object);
        self.door
            .view
            .applied(&target.resource, &target.key, slot, applied);
        Ok(self.show(&target.resource, &object))
    }

    /// Sends a status. Whatever its UID, the server would give it to the object that has the name
    /// now; so it names a version of the one that is meant, and a newer one each time it has changed.
    async fn send_status(
        &mut self,
        target: &Target,
        uri: String,
        mut status: Value,
    ) -> Result<Value, Error> {
        let uid = status.pointer("/metadata/uid").cloned();
        let mut latest = self.door.view.get(&target.resource, &target.key);
        let mut races = 0;
        loop {
            if let (Some(uid), Some(latest)) = (&uid, &latest) {
                if *uid != *latest.metadata.uid {
                    return Err(Error::Conflict);
                }
                if let Some(Value::Object(metadata)) = status.get_mut("metadata") {
                    let version = latest.metadata.resource_version.clone();
                    metadata.insert("resourceVersion".into(), version.into());
                }
            }
            let request = Request::apply(uri.clone(), &status);
            match self.send("apply a status", request).await {
                Err(Error::Conflict) if races < RACES => races += 1,
                answer => return answer,
            }
            let read = Request::get(super::read::uri(target, None)?);
            latest = Object::new(self.send("read an object again", read).await?);
        }
    }

    /// Who owns the fields: the plugin, for the primary and what it owns; otherwise the plugin on
    /// behalf of this primary, so that two primaries can share an object and each takes back only
    /// its own part.
    fn field_manager(&self, target: &Target, object: &Map<String, Value>) -> String {
        let plugin = &self.door.plugin;
        let own = target.resource == self.primary.resource && target.key == self.primary.key;
        if own || owned_by(object, &self.primary) {
            return format!("windlass/{plugin}");
        }
        let uid: String = self
            .primary
            .uid
            .chars()
            .filter(char::is_ascii_hexdigit)
            .take(8)
            .collect();
        format!("windlass/{plugin}/{uid}")
    }
}

fn propagation_policy(propagation: Propagation) -> &'static str {
    match propagation {
        Propagation::Background => "Background",
        Propagation::Foreground => "Foreground",
        Propagation::Orphan => "Orphan",
    }
}
