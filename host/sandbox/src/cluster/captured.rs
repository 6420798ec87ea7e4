//! The writes of a call that is not meant, or of a plugin that observes: answered here, noted, and never sent.

mod notes;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::check::Patch;
use super::memory::MET;
use super::{Call, Target, WriteMode};
use crate::bindings::cluster::{Error, ListQuery};
pub use notes::{CapturedWrite, CapturedWrites};
use windlass_base::memory;
use windlass_kube::api::{Request, Resource, object as json_object};
use windlass_kube::object::{ApplyScope, Key, Object};
use windlass_kube::selector::LabelSelector;
use windlass_policy::grants::Access;
use windlass_policy::rights::Verdict;
use windlass_view::{LiveTarget, UnsentWrite};

/// What a call would have made of the cluster; `None` is what it would have deleted.
#[derive(Default)]
pub(super) struct Captured(BTreeMap<(String, Key), (Resource, Option<Object>)>);

impl Captured {
    /// What `target` would be now, if the call has touched it.
    pub(super) fn get(&self, target: &Target) -> Option<Option<&Object>> {
        let name = (target.resource.to_string(), target.key.clone());
        self.0.get(&name).map(|(_, object)| object.as_ref())
    }

    /// The objects of a list, with what the call would have made of them.
    pub(super) fn over(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &LabelSelector,
        mut objects: Vec<Object>,
    ) -> Vec<Object> {
        for ((_, key), (of, object)) in &self.0 {
            let asked = namespace.is_none_or(|wanted| key.namespace.as_deref() == Some(wanted));
            if of != resource || !asked {
                continue;
            }
            objects.retain(|held| held.metadata.key != *key);
            objects.extend(
                object
                    .clone()
                    .filter(|object| selector.selects(&object.metadata.labels)),
            );
        }
        objects
    }

    fn set(&mut self, target: &Target, object: Option<Object>) {
        let name = (target.resource.to_string(), target.key.clone());
        self.0.insert(name, (target.resource.clone(), object));
    }
}

impl Call {
    /// Answers an apply with the object as it would be, but for defaults and what others would do.
    pub(super) async fn capture_apply(
        &mut self,
        target: &Target,
        intent: Map<String, Value>,
        apply_scope: ApplyScope,
    ) -> Result<String, Error> {
        let verb = match apply_scope {
            ApplyScope::Status => "apply-status",
            ApplyScope::Rest | ApplyScope::Whole => "apply",
        };
        let intent = Value::Object(intent);
        let live = self.there(target).await?;
        self.note(verb, target, Some(&intent))?;
        let left = match &live {
            Some(live) => {
                self.left_by_apply(target, live, &intent, apply_scope)
                    .await?
            }
            None => None,
        };
        let write = UnsentWrite::Apply(&intent, left.as_ref());
        self.tell(target, live.as_ref(), &write);
        let mut object = match live {
            Some(object) => tree(&object)?,
            None => Value::Object(Map::new()),
        };
        merge(&mut object, intent);
        self.capture(target, object)
    }

    /// Answers a creation.
    pub(super) async fn capture_create(
        &mut self,
        target: &Target,
        object: Map<String, Value>,
    ) -> Result<String, Error> {
        match self.there(target).await? {
            Some(_) => Err(Error::conflict("the object exists already")),
            None => {
                let object = Value::Object(object);
                self.note("create", target, Some(&object))?;
                self.tell(target, None, &UnsentWrite::Create(&object));
                self.capture(target, object)
            }
        }
    }

    /// Answers a patch.
    pub(super) async fn capture_patch(
        &mut self,
        target: &Target,
        patch: Patch,
    ) -> Result<String, Error> {
        if self.is_surely_absent(target).await? {
            return Err(Error::NotFound);
        }
        self.note("patch", target, Some(&patch.value()))?;
        let live = self.there(target).await?;
        let object = match &live {
            Some(object) => tree(object)?,
            None => unread(target),
        };
        let object = patch.apply(object)?;
        self.tell(target, live.as_ref(), &UnsentWrite::Change(&object));
        self.capture(target, object)
    }

    /// Answers what is posted to a subresource.
    pub(super) async fn capture_post(
        &mut self,
        target: &Target,
        object: Map<String, Value>,
    ) -> Result<String, Error> {
        if self.is_surely_absent(target).await? {
            return Err(Error::NotFound);
        }
        self.note("create-subresource", target, Some(&Value::Object(object)))?;
        self.tell(target, None, &UnsentWrite::Unseen);
        Ok(json!({ "apiVersion": "v1", "kind": "Status", "status": "Success" }).to_string())
    }

    fn capture(&mut self, target: &Target, mut object: Value) -> Result<String, Error> {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for (field, made_up) in [
                ("uid", "00000000-0000-0000-0000-000000000000"),
                ("resourceVersion", "0"),
                ("creationTimestamp", "1970-01-01T00:00:00Z"),
            ] {
                metadata.entry(field).or_insert_with(|| made_up.into());
            }
        }
        let object = Object::new(&object).ok_or_else(|| Error::other("the object has no name"))?;
        let shown = self.show(&target.resource, &object);
        self.keep_captured(target, Some(object))?;
        Ok(shown)
    }

    /// Answers a delete. What the plugin may not read may be there.
    pub(super) async fn capture_delete(&mut self, target: &Target) -> Result<(), Error> {
        if self.is_surely_absent(target).await? {
            return Err(Error::NotFound);
        }
        let live = self.there(target).await?;
        self.note("delete", target, None)?;
        self.tell(target, live.as_ref(), &UnsentWrite::Delete);
        self.keep_captured(target, None)
    }

    /// Answers an update of a subresource of the object that is `there`.
    pub(super) fn capture_update(
        &mut self,
        target: &Target,
        subresource: &str,
        there: &Object,
        mut object: Map<String, Value>,
    ) -> Result<String, Error> {
        self.note(
            "update-subresource",
            target,
            Some(&Value::Object(object.clone())),
        )?;
        let mut whole = tree(there)?;
        if object.get("kind") != whole.get("kind") {
            self.tell(target, Some(there), &UnsentWrite::Unseen);
            return Ok(Value::Object(object).to_string());
        }
        object.remove("metadata");
        // A status is replaced alone, whatever is beside it.
        object.retain(|field, _| subresource != "status" || field == "status");
        if let Some(fields) = whole.as_object_mut() {
            fields.extend(object);
        }
        self.tell(target, Some(there), &UnsentWrite::Change(&whole));
        self.capture(target, whole)
    }

    /// Answers a delete of many objects. Of those that the plugin may not list, nobody says which they are.
    pub(super) async fn capture_delete_all(
        &mut self,
        resource: &Resource,
        query: &ListQuery,
        selector: &LabelSelector,
    ) -> Result<(), Error> {
        let namespace = query.namespace.as_deref();
        let list = Access {
            verb: "list",
            resource,
            subresource: None,
            namespace,
            name: None,
        };
        let home = self.primary.key.namespace.as_deref();
        let objects = if self.cluster.grants.allow(&list, home) {
            self.list_latest(resource, query, usize::MAX).await?
        } else {
            Vec::new()
        };
        let objects = self.captured.over(resource, namespace, selector, objects);
        let all = Target {
            resource: resource.clone(),
            key: Key::new(namespace, "*"),
        };
        let selectors = json_object([
            (
                "labelSelector",
                query.label_selector.clone().map(Value::from),
            ),
            (
                "fieldSelector",
                query.field_selector.clone().map(Value::from),
            ),
        ]);
        self.note("delete-all", &all, Some(&selectors))?;
        for object in objects {
            let target = Target {
                resource: resource.clone(),
                key: object.metadata.key.clone(),
            };
            self.tell(&target, Some(&object), &UnsentWrite::Delete);
            self.keep_captured(&target, None)?;
        }
        Ok(())
    }

    /// Keeps what `target` would be now, until the call ends, in the place of what was kept of it.
    fn keep_captured(&mut self, target: &Target, object: Option<Object>) -> Result<(), Error> {
        let takes = |kept: Option<Option<&Object>>| kept.map_or(0, |it| MET + it.map_or(0, size));
        let (before, now) = (
            takes(self.captured.get(target)),
            takes(Some(object.as_ref())),
        );
        match before.checked_sub(now) {
            Some(less) => {
                let mut state = self.state.lock();
                let left = state.memory.bytes().saturating_sub(less);
                state.memory.set(left);
            }
            None => self.remember(now - before)?,
        }
        self.captured.set(target, object);
        Ok(())
    }

    /// Notes a write of a call that somebody makes to see its writes. A plugin that observes makes calls without end: what
    /// they would write is in the journals of their passes.
    fn note(
        &mut self,
        verb: &'static str,
        target: &Target,
        body: Option<&Value>,
    ) -> Result<(), Error> {
        if self.cluster.writes == WriteMode::Captured {
            // The notes are read after the call, so they do not count as a part of it.
            let text = body.map(Value::to_string).unwrap_or_default();
            let charge = self.hold(MET + memory::tree(&text))?;
            let captured = &self.cluster.captured;
            captured.note(verb, target, body.cloned(), charge);
        }
        Ok(())
    }

    /// Says in the journal of the pass what a write would change of the object that is `live`.
    fn tell(&self, target: &Target, live: Option<&Object>, write: &UnsentWrite<'_>) {
        if self.cluster.writes != WriteMode::Observed {
            return;
        }
        // Who may not read an object does not know whether it is there.
        let write = match write {
            UnsentWrite::Apply(..) | UnsentWrite::Change(_) if !self.may("get", target) => {
                &UnsentWrite::Unseen
            }
            write => write,
        };
        let (resource, key) = (&target.resource, &target.key);
        let live = LiveTarget {
            resource,
            key,
            object: live,
        };
        let view = &self.cluster.view;
        view.would_write(&self.primary.key, &live, write);
        // What it shows is compared again when the object changes. Without room to remember that, it waits for its resync.
        let _ = view.reads_one(
            &self.primary.key,
            &resource.api_version(),
            &resource.kind,
            key,
        );
    }

    async fn is_surely_absent(&mut self, target: &Target) -> Result<bool, Error> {
        let is_told = self.may("get", target)
            && self.account_may(&target.access("get")).await? == Verdict::Allowed;
        let certain = is_told || self.captured.get(target).is_some();
        Ok(self.there(target).await?.is_none() && certain)
    }

    /// The object as it is, or as the call would have made it.
    pub(super) async fn there(&mut self, target: &Target) -> Result<Option<Object>, Error> {
        if let Some(captured) = self.captured.get(target) {
            return Ok(captured.cloned());
        }
        // Who may not read it learns nothing of it, and the host may have no right either.
        if !self.may("get", target) {
            return Ok(None);
        }
        if self.cluster.view.holds(&target.resource, &target.key) {
            if self.account_may(&target.access("get")).await? != Verdict::Allowed {
                return Ok(None);
            }
            let view = &self.cluster.view;
            return Ok(view.get(&target.resource, &target.key));
        }
        let read = Request::get(super::read::uri(target, None)?);
        match self.send("read an object", read).await {
            Ok(object) => Ok(Object::parse(object.get())),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The bytes that an object takes here.
fn size(object: &Object) -> usize {
    object.json.size() + object.metadata.bytes()
}

/// What the plugin may change but not read.
fn unread(target: &Target) -> Value {
    let (resource, key) = (&target.resource, &target.key);
    json!({
        "apiVersion": resource.api_version(), "kind": resource.kind,
        "metadata": { "name": *key.name, "namespace": key.namespace.as_deref() },
    })
}

/// Lays `over` on `object`: fields are merged, all else is replaced.
fn merge(object: &mut Value, over: Value) {
    match (object, over) {
        (Value::Object(fields), Value::Object(over)) => {
            for (name, value) in over {
                merge(fields.entry(name).or_insert(Value::Null), value);
            }
        }
        (object, over) => *object = over,
    }
}

/// What a write that is not sent would change.
fn tree(object: &Object) -> Result<Value, Error> {
    match object.value() {
        Value::Null => Err(Error::other(
            "the object is nested more than 127 levels deep, and the write is not meant: the host cannot say what it would make of it",
        )),
        tree => Ok(tree),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_apply_is_laid_over_what_is_there() {
        let mut object = json!({"a": 1, "b": {"c": 2, "d": [1]}});
        merge(&mut object, json!({"b": {"d": [2], "e": 3}, "f": 4}));
        assert_eq!(
            object,
            json!({"a": 1, "b": {"c": 2, "d": [2], "e": 3}, "f": 4})
        );
    }
}
