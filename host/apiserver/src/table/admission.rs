//! Admission policies, which nobody enforces here.

use serde_json::Value;

use super::part::Part;

const UNSET: &str = "<unset>";

pub(super) fn policy(object: Part<'_>) -> Vec<Value> {
    let kind = object
        .part("/spec/paramKind")
        .map(|kind| format!("{}/{}", kind.text("/apiVersion"), kind.text("/kind")));
    vec![
        object.name(),
        object.count("/spec/validations").into(),
        kind.unwrap_or_else(|| UNSET.to_owned()).into(),
        object.age(),
    ]
}

pub(super) fn binding(object: Part<'_>) -> Vec<Value> {
    let parameters = object.part("/spec/paramRef").map(|parameters| {
        match (parameters.text("/namespace"), parameters.text("/name")) {
            ("", "") if parameters.has("/selector") => parameters.selector("/selector"),
            (_, "") => UNSET.to_owned(),
            ("", name) => format!("*/{name}"),
            (namespace, name) => format!("{namespace}/{name}"),
        }
    });
    vec![
        object.name(),
        object.text("/spec/policyName").into(),
        parameters.unwrap_or_else(|| UNSET.to_owned()).into(),
        object.age(),
    ]
}
