//! Takes over what an earlier operator wrote (`spec.replaces`), before the plugin's first apply to an object. A plugin
//! that observes is shown what the takeover would remove.
//!
//! - It costs a read for each object that is applied, once for each time that the controller starts.
//! - The change is for the version that was read, and is decided again if others changed the object meanwhile.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::read::uri;
use super::retry::Repeat;
use super::write::{ApplyTarget, parameters};
use super::{Call, Target, WriteMode};
use crate::bindings::cluster::Error;
use windlass_kube::api::Request;
use windlass_kube::object::{ApplyScope, Object, handed_over, is_written_by, without_dropped};
use windlass_view::FieldOwner;

/// How often an object is read again that others change.
const RACES: u32 = 5;

/// The field managers that the plugin replaces, and where it has done so. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Replaces {
    managers: Arc<[String]>,
    /// Of each object and field manager the hash: 8 bytes each, since there may be many.
    done: Arc<Mutex<HashSet<u64>>>,
}

impl Replaces {
    /// Nothing is taken over from `managers` yet.
    pub fn of(managers: &[String]) -> Self {
        Self {
            managers: managers.into(),
            done: Arc::default(),
        }
    }
}

impl Call {
    /// Hands what the replaced managers wrote to that of `slot`, which is going to apply.
    pub(super) async fn replace_managers(
        &mut self,
        target: &Target,
        slot: &FieldOwner,
    ) -> Result<(), Error> {
        let Replaces { managers, done } = self.cluster.replaces.clone();
        if managers.is_empty() {
            return Ok(());
        }
        let held = self.cluster.view.get(&target.resource, &target.key);
        let uid = held.map(|held| held.metadata.uid.to_string());
        let place = place(target, slot, uid.as_deref());
        if done.lock().contains(&place) {
            return Ok(());
        }
        let (manager, scope) = slot;
        let subresource = match scope {
            ApplyScope::Status if !self.may("patch", target) => {
                let (resource, key) = (&target.resource, &target.key);
                self.remark(&format!(
                    "the status of {resource} {key} is not taken over from an earlier operator: that needs the verb `patch` on {}",
                    resource.plural
                ));
                return Ok(());
            }
            ApplyScope::Status => "status",
            ApplyScope::Rest | ApplyScope::Whole => "",
        };
        for race in 0.. {
            let Some(object) = self.read_managed(target).await? else {
                return Ok(());
            };
            let entries = managed_fields(&object);
            let Some(entries) = handed_over(entries, &managers, (manager, subresource)) else {
                break;
            };
            let at = |path: &str| object.pointer(path).cloned().unwrap_or_default();
            let patch = json!([
                { "op": "test", "path": "/metadata/uid", "value": at("/metadata/uid") },
                { "op": "replace", "path": "/metadata/managedFields", "value": entries },
                { "op": "replace", "path": "/metadata/resourceVersion", "value": at("/metadata/resourceVersion") },
            ]);
            let parameters = parameters(manager, &ApplyTarget::New);
            // A request to a subresource cannot change them.
            let uri = format!("{}?{parameters}", uri(target, None)?);
            let sent = self.send_write(
                "take over the fields of an earlier operator",
                Request::json_patch(uri, &patch),
                Repeat::Harmless,
            );
            match sent.await {
                Err(Error::Conflict(_)) if race < RACES => {}
                answer => {
                    answer?;
                    break;
                }
            }
        }
        done.lock().insert(place);
        Ok(())
    }

    /// The object that is `live` without the fields that an apply takes away: the plugin, or an operator that it replaces,
    /// owns them alone, and does not apply them. None if there are none, or if nobody is to see what the plugin would do.
    pub(super) async fn left_by_apply(
        &mut self,
        target: &Target,
        live: &Object,
        intent: &Value,
        scope: ApplyScope,
    ) -> Result<Option<Value>, Error> {
        if self.cluster.writes != WriteMode::Observed || !self.may("get", target) {
            return Ok(None);
        }
        let Some(read) = self.read_managed(target).await? else {
            return Ok(None);
        };
        let manager = match intent {
            Value::Object(fields) => self.author(target, fields)?,
            _ => return Ok(None),
        };
        let subresource = match scope {
            ApplyScope::Status => "status",
            ApplyScope::Rest | ApplyScope::Whole => "",
        };
        let (entries, slot) = (managed_fields(&read), (&*manager, subresource));
        let managers = self.cluster.replaces.managers.clone();
        let handed = handed_over(entries, &managers, slot);
        let entries = handed.as_deref().unwrap_or(entries);
        let live = live.value();
        let left = without_dropped(&live, entries, slot, intent);
        Ok((left != live).then_some(left))
    }

    /// Whether the primary owns what is there, and an operator made it that the plugin replaces.
    pub(super) async fn is_replaced(
        &mut self,
        target: &Target,
        there: &Object,
    ) -> Result<bool, Error> {
        let managers = self.cluster.replaces.managers.clone();
        let mut owners = there.metadata.owners.iter();
        if managers.is_empty() || !owners.any(|owner| owner.uid == self.primary.uid) {
            return Ok(false);
        }
        let read = self.read_managed(target).await?;
        Ok(read.is_some_and(|object| is_written_by(managed_fields(&object), &managers)))
    }

    /// What the server has of the object, since stores do not keep `managedFields`.
    async fn read_managed(&mut self, target: &Target) -> Result<Option<Value>, Error> {
        let read = Request::get(uri(target, None)?);
        match self
            .look_up("read the field managers of an object", read)
            .await
        {
            Ok(object) => Ok(serde_json::from_str(object.get()).ok()),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn managed_fields(object: &Value) -> &[Value] {
    let entries = object.pointer("/metadata/managedFields");
    entries.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The hash of an object and a field manager. An object that is not watched has no UID here.
fn place(target: &Target, slot: &FieldOwner, uid: Option<&str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&target.resource, &target.key, slot, uid).hash(&mut hasher);
    hasher.finish()
}
