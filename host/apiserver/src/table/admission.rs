//! Admission policies and their bindings.

use serde_json::Value;

use super::part::{TimedValue, UNSET};

/// Takes where that lies which is counted.
pub(super) fn policy(object: TimedValue<'_>, counted: &str) -> Vec<Value> {
    let kind = object
        .part("/spec/paramKind")
        .map(|kind| format!("{}/{}", kind.text("/apiVersion"), kind.text("/kind")));
    vec![
        object.name(),
        object.count(counted).into(),
        kind.unwrap_or_else(|| UNSET.to_owned()).into(),
        object.age(),
    ]
}

pub(super) fn binding(object: TimedValue<'_>) -> Vec<Value> {
    let parameters = object.part("/spec/paramRef").map(|parameters| {
        let namespace = parameters.text_or("/namespace", "*");
        match (parameters.text("/name"), parameters.part("/selector")) {
            ("", Some(selector)) => go_selector(&selector),
            ("", None) => UNSET.to_owned(),
            (name, _) => format!("{namespace}/{name}"),
        }
    });
    vec![
        object.name(),
        object.text("/spec/policyName").into(),
        parameters.unwrap_or_else(|| UNSET.to_owned()).into(),
        object.age(),
    ]
}

/// A `LabelSelector` as its Go type prints it.
fn go_selector(selector: &TimedValue<'_>) -> String {
    let labels = selector.map("/matchLabels");
    let labels: String = labels
        .iter()
        .map(|(key, value)| format!("{key}: {value},"))
        .collect();
    let expressions = selector.list("/matchExpressions");
    let expressions: String = expressions
        .iter()
        .map(|one| {
            let values = one.texts("/values").join(" ");
            let (key, operator) = (one.text("/key"), one.text("/operator"));
            format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
        })
        .collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:\
         []LabelSelectorRequirement{{{expressions}}},}}"
    )
}
