//! Kinds that the workloads bring.

use serde_json::{Value, json};

/// A kind whose objects have a status, and whose `spec` has these fields; the plural is the simple one.
pub(crate) fn definition(group: &str, kind: &str, fields: &Value) -> Value {
    let singular = kind.to_lowercase();
    let plural = format!("{singular}s");
    let spec = json!({ "type": "object", "properties": fields });
    let status = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let properties = json!({ "spec": spec, "status": status });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "singular": singular },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": properties } },
            }],
        },
    })
}
