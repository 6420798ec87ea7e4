//! `create` and `patch` as the host and an API server do them.

use serde_json::Value;

use super::call::Call;
use super::parts::{check_uid, merge_patch, name_of, text};
use super::store::FakeCluster;
use super::write::Verb;
use crate::failed::Code;
use crate::query::{ObjectRef, Patch};

/// The fields of metadata that are not a plugin's to patch.
const GUARDED: [&str; 3] = ["finalizers", "ownerReferences", "managedFields"];

impl FakeCluster {
    /// Creates an object, with a name made of `generateName` if it has none.
    ///
    /// # Errors
    /// [`Code::Conflict`] if it is there already; otherwise as [`FakeCluster::apply`].
    pub fn create(&mut self, manager: &str, object: &Value) -> Result<Value, Code> {
        let mut object = object.clone();
        let prefix = text(&object, "/metadata/generateName").map(str::to_owned);
        if let (Some(prefix), Some(Value::Object(metadata))) = (prefix, object.get_mut("metadata"))
        {
            let name = format!("{prefix}{:05}", self.version + 1);
            metadata.entry("name").or_insert_with(|| name.into());
        }
        let target = name_of(&object)?;
        if self.get(&target).is_ok() {
            return Err(Code::Conflict);
        }
        self.write(manager, &object, Verb::Create)
    }

    /// Changes an object that is there, whatever it was applied as.
    ///
    /// # Errors
    /// [`Code::NotFound`], [`Code::Conflict`] for another `metadata.uid`, [`Code::Invalid`] for what is not a
    /// patch, for a failed `test`, or a scripted failure.
    pub fn patch(&mut self, target: &ObjectRef, patch: &Patch) -> Result<Value, Code> {
        let mut object = self.get(target)?;
        let sent = match patch {
            Patch::Merge(fields) => {
                check_uid(&object, text(fields, "/metadata/uid"))?;
                merge_patch(&mut object, fields);
                fields
            }
            Patch::Json(operations) => {
                let invalid = |error: String| Code::Invalid(error);
                let read: json_patch::Patch = serde_json::from_value(operations.clone())
                    .map_err(|error| invalid(error.to_string()))?;
                json_patch::patch(&mut object, &read)
                    .map_err(|error| invalid(error.to_string()))?;
                operations
            }
        };
        self.replace(target, object, sent)
    }
}

impl Call<'_> {
    pub(super) fn try_create(&self, object: &Value) -> Result<Value, Code> {
        let mut named = object.clone();
        if let Some(Value::Object(metadata)) = named.get_mut("metadata") {
            let prefix = metadata.get("generateName").cloned();
            metadata
                .entry("name")
                .or_insert(prefix.unwrap_or(Value::Null));
        }
        let target = name_of(&named)?;
        self.may(&["create"], &target, "")?;
        let owned = self.owned(object)?;
        if owned {
            self.check_alive()?;
        }
        self.cluster
            .borrow_mut()
            .create(&self.manager(owned), object)
    }

    pub(super) fn try_patch(
        &self,
        target: &ObjectRef,
        subresource: Option<&str>,
        patch: &Patch,
    ) -> Result<Value, Code> {
        let below = subresource
            .map(|name| format!("/{name}"))
            .unwrap_or_default();
        self.may(&["patch"], target, &below)?;
        if touches_guarded(patch) {
            return Err(Code::Denied);
        }
        if subresource.is_some() {
            return Err(Code::Other("FakeCluster has no subresources".into()));
        }
        self.cluster.borrow_mut().patch(target, patch)
    }
}

fn touches_guarded(patch: &Patch) -> bool {
    let guarded = |field: &str| GUARDED.contains(&field);
    match patch {
        Patch::Merge(fields) => fields.get("metadata").is_some_and(|metadata| {
            let metadata = metadata.as_object();
            metadata.is_none_or(|metadata| metadata.keys().any(|field| guarded(field)))
        }),
        Patch::Json(operations) => operations
            .as_array()
            .into_iter()
            .flatten()
            .any(|operation| {
                let paths = ["/path", "/from"].map(|pointer| text(operation, pointer));
                let reads = text(operation, "/op") == Some("test");
                let leads_there = |path: &str| {
                    let steps: Vec<&str> = path.split('/').collect();
                    match steps.as_slice() {
                        [_] | [_, "metadata"] => true,
                        [_, "metadata", field, ..] => guarded(field),
                        _ => false,
                    }
                };
                !reads && paths.into_iter().flatten().any(leads_there)
            }),
    }
}
