//! Owners and finalizers of objects that are there, as the host and an API server change them.

use serde_json::{Map, Value, json};

use super::call::Call;
use super::parts::text;
use crate::failed::Code;
use crate::query::{Adoption, ChildrenQuery, ListQuery, ObjectRef, Patch};

/// What the fake calls the plugin's own finalizer.
const FINALIZER: &str = "windlass.dev/plugin";

impl Call<'_> {
    pub(super) fn try_list_children(&self, query: &ChildrenQuery) -> Result<Vec<Value>, Code> {
        let any = ObjectRef::cluster_scoped(&query.api_version, &query.kind, "");
        self.may(&["list"], &any, "")?;
        let all = ListQuery {
            namespace: query.namespace.clone(),
            ..ListQuery::all(&query.api_version, &query.kind)
        };
        let owner = query.owner.as_deref().unwrap_or(&self.uid);
        let mut found = self.cluster.borrow().list(&all)?;
        found.retain(|object| {
            let owned = owners(object).any(|held| text(held, "/uid") == Some(owner));
            owned || query.orphans && controller(object).is_none()
        });
        if query.metadata_only {
            for object in &mut found {
                if let Value::Object(fields) = object {
                    fields.retain(|name, _| ["apiVersion", "kind", "metadata"].contains(&&**name));
                }
            }
        }
        Ok(found)
    }

    pub(super) fn try_adopt(
        &self,
        target: &ObjectRef,
        uid: &str,
        adoption: &Adoption,
    ) -> Result<Value, Code> {
        self.may(&["patch"], target, "")?;
        self.check_alive()?;
        let owner = adoption.owner.as_ref().unwrap_or(&self.primary);
        let owner = self.cluster.borrow().get(owner).map_err(|_| Code::Gone)?;
        let owner_uid = text(&owner, "/metadata/uid").unwrap_or_default();
        let object = self.meant(target, uid)?.ok_or(Code::Conflict)?;
        let held = controller(&object).and_then(|held| text(held, "/uid"));
        if is_going(&object) || held.is_some_and(|held| held != owner_uid) {
            return Err(Code::Conflict);
        }
        let mut metadata = Map::new();
        if held.is_none() {
            let mut all: Vec<Value> = owners(&object).cloned().collect();
            all.retain(|held| text(held, "/uid") != Some(owner_uid));
            all.push(json!({
                "apiVersion": owner.get("apiVersion"), "kind": owner.get("kind"),
                "name": owner.pointer("/metadata/name"), "uid": owner_uid,
                "controller": true, "blockOwnerDeletion": true,
            }));
            metadata.insert("ownerReferences".into(), all.into());
        }
        with_finalizer(&mut metadata, &object, adoption.finalizer.as_deref());
        self.edit(target, &object, &metadata)
    }

    pub(super) fn try_disown(
        &self,
        target: &ObjectRef,
        uid: &str,
        taken: &[String],
        finalizer: Option<&str>,
    ) -> Result<(), Code> {
        self.may(&["patch"], target, "")?;
        let Some(object) = self.meant(target, uid)? else {
            return Ok(());
        };
        let primary = [self.uid.clone()];
        let taken = if taken.is_empty() { &primary } else { taken };
        let is_taken = |held: &&Value| taken.iter().any(|uid| text(held, "/uid") == Some(uid));
        let mut metadata = Map::new();
        if owners(&object).any(|held| is_taken(&held)) {
            let left: Vec<Value> = owners(&object)
                .filter(|held| !is_taken(held))
                .cloned()
                .collect();
            metadata.insert("ownerReferences".into(), left.into());
        }
        without_finalizer(&mut metadata, &object, finalizer);
        self.edit(target, &object, &metadata).map(drop)
    }

    pub(super) fn try_hold(
        &self,
        target: &ObjectRef,
        uid: &str,
        finalizer: &str,
    ) -> Result<Value, Code> {
        self.may(&["patch"], target, "")?;
        let object = self.meant(target, uid)?.ok_or(Code::Conflict)?;
        if is_going(&object) && !finalizers(&object).contains(&finalizer) {
            return Err(Code::Gone);
        }
        let mut metadata = Map::new();
        with_finalizer(&mut metadata, &object, Some(finalizer));
        self.edit(target, &object, &metadata)
    }

    /// The host writes its own finalizer: the plugin does not write it.
    pub(super) fn try_protect(&self) -> Result<(), Code> {
        self.may(&["patch"], &self.primary, "")?;
        let mut object = self.meant(&self.primary, &self.uid)?.ok_or(Code::Gone)?;
        let held = object.pointer("/metadata/finalizers");
        let mut all = held.and_then(Value::as_array).cloned().unwrap_or_default();
        if all.contains(&json!(FINALIZER)) {
            return Ok(());
        }
        if is_going(&object) {
            return Err(Code::Gone);
        }
        all.push(json!(FINALIZER));
        if let Some(metadata) = object
            .pointer_mut("/metadata")
            .and_then(Value::as_object_mut)
        {
            metadata.insert("finalizers".into(), all.into());
        }
        self.cluster.borrow_mut().put(object).map(drop)
    }

    pub(super) fn try_release(
        &self,
        target: &ObjectRef,
        uid: &str,
        finalizer: &str,
    ) -> Result<(), Code> {
        self.may(&["patch"], target, "")?;
        let Some(object) = self.meant(target, uid)? else {
            return Ok(());
        };
        let mut metadata = Map::new();
        without_finalizer(&mut metadata, &object, Some(finalizer));
        self.edit(target, &object, &metadata).map(drop)
    }

    /// The object with this UID, if it is there.
    fn meant(&self, target: &ObjectRef, uid: &str) -> Result<Option<Value>, Code> {
        match self.cluster.borrow().get(target) {
            Ok(object) if text(&object, "/metadata/uid") == Some(uid) => Ok(Some(object)),
            Ok(_) | Err(Code::NotFound) => Ok(None),
            Err(code) => Err(code),
        }
    }

    /// Writes these fields of the metadata; nothing if there are none.
    fn edit(
        &self,
        target: &ObjectRef,
        object: &Value,
        metadata: &Map<String, Value>,
    ) -> Result<Value, Code> {
        if metadata.is_empty() {
            return Ok(object.clone());
        }
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let mut cluster = self.cluster.borrow_mut();
        let changed = cluster.patch(target, &patch)?;
        if is_going(&changed) {
            // It goes with its last finalizer.
            cluster.remove(target);
        }
        Ok(changed)
    }
}

fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    let list = object.pointer("/metadata/ownerReferences");
    list.and_then(Value::as_array).into_iter().flatten()
}

fn controller(object: &Value) -> Option<&Value> {
    owners(object).find(|held| held.get("controller") == Some(&Value::Bool(true)))
}

fn finalizers(object: &Value) -> Vec<&str> {
    let list = object.pointer("/metadata/finalizers");
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

fn with_finalizer(metadata: &mut Map<String, Value>, object: &Value, finalizer: Option<&str>) {
    let held = finalizers(object);
    if let Some(name) = finalizer.filter(|name| !held.contains(name)) {
        let all: Vec<&str> = held.into_iter().chain([name]).collect();
        metadata.insert("finalizers".into(), json!(all));
    }
}

fn without_finalizer(metadata: &mut Map<String, Value>, object: &Value, finalizer: Option<&str>) {
    let held = finalizers(object);
    if let Some(name) = finalizer.filter(|name| held.contains(name)) {
        let left: Vec<&str> = held.into_iter().filter(|held| *held != name).collect();
        metadata.insert("finalizers".into(), json!(left));
    }
}
