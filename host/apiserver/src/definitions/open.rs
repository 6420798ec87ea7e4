//! A definition that was read, while its status is worked out.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::fields::{self, Set, Writer};
use crate::meta;
use crate::registry::Served;
use crate::store::{Entry, Write};

/// Who writes the status of definitions.
const MANAGER: &str = "kube-apiserver";
const API_VERSION: &str = "apiextensions.k8s.io/v1";

/// A definition: its versions, which no step looks at and which may be large, lie beside the rest.
pub(super) struct OpenDefinition {
    entry: Arc<Entry>,
    head: Value,
    versions: Option<Value>,
}

impl OpenDefinition {
    /// Parses a definition.
    pub(super) fn of(entry: &Arc<Entry>) -> Self {
        let mut head = entry.value();
        let spec = head.get_mut("spec").and_then(Value::as_object_mut);
        let versions = spec.and_then(|spec| spec.remove("versions"));
        Self {
            entry: Arc::clone(entry),
            head,
            versions,
        }
    }

    /// The definition without its versions.
    pub(super) fn head(&self) -> &Value {
        &self.head
    }

    /// The group, names and status alone.
    pub(super) fn short(&self) -> Value {
        let part = |pointer: &str| self.head.pointer(pointer).cloned().unwrap_or_default();
        json!({
            "spec": { "group": part("/spec/group"), "names": part("/spec/names") },
            "status": part("/status"),
        })
    }

    /// The definition as it was read, or last written.
    pub(super) fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// The whole definition.
    pub(super) fn whole(self) -> Value {
        with_versions(self.head, self.versions)
    }

    /// Writes a new status, if there is one; says whether nobody else wrote first. The other writer has it
    /// followed in its turn.
    pub(super) fn write(&mut self, served: &Served, new: Option<Value>, now: Timestamp) -> bool {
        let Some(new) = new else {
            return true;
        };
        // The versions are the same before and after: nobody's fields change there.
        let mut new = owned(served, &self.head, new, now);
        let whole = with_versions(new.clone(), self.versions.clone());
        let (key, expected) = (self.entry.key.clone(), Some(self.entry.revision));
        let written = served
            .store()
            .write(&super::place(), key, expected, Write::Put(whole));
        let Ok(entry) = written else {
            return false;
        };
        meta::set_text(&mut new, "resourceVersion", &entry.revision.to_string());
        self.head = new;
        self.entry = entry;
        true
    }
}

fn with_versions(mut head: Value, versions: Option<Value>) -> Value {
    if let (Some(Value::Object(spec)), Some(versions)) = (head.get_mut("spec"), versions) {
        spec.insert("versions".to_owned(), versions);
    }
    head
}

/// The new definition with its managedFields.
fn owned(served: &Served, old: &Value, new: Value, now: Timestamp) -> Value {
    let writer = Writer {
        manager: MANAGER,
        api_version: API_VERSION,
        kind: "CustomResourceDefinition",
        versions: &[API_VERSION],
        schemas: &[],
        subresource: "status",
        now,
    };
    let anything = crate::schema::anything();
    let registry = served.registry();
    let resource = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let schema = resource
        .and_then(|resource| resource.schema())
        .unwrap_or(&anything);
    fields::update(Some(old), new, schema.view(), &writer, &Set::default())
}
