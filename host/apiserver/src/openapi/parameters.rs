//! The query parameters of requests, as the real server describes them (`parameters.json`, from
//! `api/openapi-spec/v3` of Kubernetes 1.36).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

/// What a parameter is.
#[derive(Debug, Deserialize)]
struct CapturedParameter {
    #[serde(rename = "type")]
    kind: String,
    description: String,
}

static KNOWN: LazyLock<BTreeMap<String, CapturedParameter>> =
    LazyLock::new(|| serde_json::from_str(include_str!("parameters.json")).unwrap_or_default());

/// What every request has.
const ANY: &[&str] = &["pretty"];
const GET_CUSTOM: &[&str] = &["pretty", "resourceVersion"];
const LIST: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "pretty",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
];
const WRITE: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "pretty"];
/// For the parameter of patches, whose text differs.
const OF_PATCHES: &str = "fieldManager of patches";
const PATCH: &[&str] = &["dryRun", OF_PATCHES, "fieldValidation", "force", "pretty"];
const DELETE: &[&str] = &[
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "pretty",
    "propagationPolicy",
];
const DELETE_ALL: &[&str] = &[
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "labelSelector",
    "limit",
    "orphanDependents",
    "pretty",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
];

/// The query parameters of a request, sorted by name. Those of custom resources are said by another part
/// of the real server (apiextensions-apiserver `pkg/controller/openapi/builder`).
pub(super) fn of(action: &str, custom: bool) -> Vec<Value> {
    let names = match action {
        "get" if custom => GET_CUSTOM,
        "list" => LIST,
        "deletecollection" if custom => LIST,
        "put" | "post" => WRITE,
        "patch" => PATCH,
        "delete" => DELETE,
        "deletecollection" => DELETE_ALL,
        _ => ANY,
    };
    names.iter().filter_map(|name| in_query(name)).collect()
}

fn in_query(key: &str) -> Option<Value> {
    let known = KNOWN.get(key)?;
    let name = if key == OF_PATCHES {
        "fieldManager"
    } else {
        key
    };
    Some(json!({
        "description": known.description, "in": "query", "name": name,
        "schema": { "type": known.kind, "uniqueItems": true },
    }))
}

/// All query parameters, by the names that a document has for them.
pub(super) fn all() -> impl Iterator<Item = (String, Value)> {
    let all = KNOWN.keys();
    all.filter_map(|key| Some((named(key), in_query(key)?)))
}

/// The name that a document has for a query parameter.
pub(super) fn key(parameter: &Value) -> Option<String> {
    let text = parameter.get("description")?;
    let mut known = KNOWN.iter();
    let (key, _) = known.find(|(_, known)| *text == known.description)?;
    Some(named(key))
}

fn named(key: &str) -> String {
    key.replace(' ', "-")
}

/// A part of a path.
pub(super) fn in_path(name: &str, text: &str) -> Value {
    json!({
        "description": text, "in": "path", "name": name, "required": true,
        "schema": { "type": "string", "uniqueItems": true },
    })
}

/// Takes out of operations what all of them have, sorted by name: a path has those parameters itself.
pub(super) fn common<'a>(operations: impl Iterator<Item = &'a mut Value>) -> Vec<Value> {
    let mut lists: Vec<&mut Vec<Value>> = operations
        .filter_map(|operation| operation.get_mut("parameters")?.as_array_mut())
        .collect();
    let name = |parameter: &Value| parameter.get("name").cloned().unwrap_or_default();
    let Some(first) = lists.first() else {
        return Vec::new();
    };
    let mut shared: Vec<Value> = first.iter().map(name).collect();
    for list in &lists {
        shared.retain(|wanted| list.iter().any(|held| name(held) == *wanted));
    }
    let mut taken = Vec::new();
    for list in &mut lists {
        let (common, own) = list
            .drain(..)
            .partition(|parameter| shared.contains(&name(parameter)));
        taken = common;
        **list = own;
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_known() {
        for names in [ANY, GET_CUSTOM, LIST, WRITE, PATCH, DELETE, DELETE_ALL] {
            for name in names {
                let parameter = in_query(name).unwrap();
                assert!(
                    parameter["description"].as_str().unwrap().len() > 10,
                    "{name}"
                );
            }
        }
        assert_eq!(of("list", false).len(), LIST.len());
    }

    #[test]
    fn what_all_operations_have_is_the_paths() {
        let mut operations = [
            json!({ "parameters": [{ "name": "a" }, { "name": "pretty" }] }),
            json!({ "parameters": [{ "name": "pretty" }] }),
        ];
        assert_eq!(common(operations.iter_mut()), [json!({ "name": "pretty" })]);
        assert_eq!(operations[0]["parameters"], json!([{ "name": "a" }]));
        assert_eq!(operations[1]["parameters"], json!([]));
    }
}
