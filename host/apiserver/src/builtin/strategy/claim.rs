//! A claim names where its data comes from in an older and a newer field.

use serde_json::{Map, Value};

use super::{Fields, is_empty, object};
use crate::json::text;

/// Keeps what is known of both fields, and copies one to the other (`PrepareForCreate`, `PrepareForUpdate`).
pub(super) fn sources(claim: &mut Fields, old: Option<&Fields>) {
    let held = old.and_then(|old| old.get("spec")?.as_object());
    let had = |field: &str| held.is_some_and(|held| held.contains_key(field));
    let Some(spec) = object(claim, "spec") else {
        return;
    };
    let is_elsewhere = |source: &Value| source.get("namespace").is_some_and(|name| !is_empty(name));
    // Sources in other namespaces need an alpha feature.
    if !had("dataSourceRef") && spec.get("dataSourceRef").is_some_and(is_elsewhere) {
        spec.remove("dataSourceRef");
    }
    if !had("dataSource") && !had("dataSourceRef") && !spec.contains_key("dataSourceRef") {
        let source = spec.get("dataSource").and_then(Value::as_object);
        if !source.is_some_and(is_of_old) {
            spec.remove("dataSource");
        }
    }
    let (source, newer) = (
        spec.get("dataSource").cloned(),
        spec.get("dataSourceRef").cloned(),
    );
    match (source, newer) {
        (Some(source), None) => {
            spec.insert("dataSourceRef".to_owned(), source);
        }
        (None, Some(mut source)) if !is_elsewhere(&source) => {
            source
                .as_object_mut()
                .map(|fields| fields.remove("namespace"));
            spec.insert("dataSource".to_owned(), source);
        }
        _ => {}
    }
}

/// The only sources that the older field ever took.
fn is_of_old(source: &Map<String, Value>) -> bool {
    let names = (text(source, "apiGroup"), text(source, "kind"));
    matches!(
        names,
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    )
}
