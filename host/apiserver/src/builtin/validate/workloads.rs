//! What is wrong with something that makes pods.

use serde_json::{Value, json};

use super::pods;
use crate::selector::LabelSelector;
use crate::status::Cause;
use crate::store::Labels;

/// Judges a workload of the group `apps`.
pub(super) fn validate(object: &Value, plural: &str, causes: &mut Vec<Cause>) {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    if plural == "daemonsets" {
        selection(spec, plural, causes);
        template(spec, causes);
        return;
    }
    not_negative(spec, "replicas", causes);
    selection(spec, plural, causes);
    template(spec, causes);
    for field in [
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ] {
        not_negative(spec, field, causes);
    }
}

/// Judges a Job.
pub(super) fn job(object: &Value, causes: &mut Vec<Cause>) {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
    ] {
        not_negative(spec, field, causes);
    }
    pods::validate(spec.pointer("/template/spec"), "spec.template.spec", causes);
    let policy = spec
        .pointer("/template/spec/restartPolicy")
        .and_then(Value::as_str);
    if let Some(policy) = policy.filter(|policy| !matches!(*policy, "OnFailure" | "Never")) {
        let field = "spec.template.spec.restartPolicy";
        if policy == "Always" {
            let all = ["OnFailure", "Never"].map(str::to_owned);
            causes.push(Cause::unsupported(field, &policy.into(), &all));
        }
    }
}

fn selection(spec: &Value, plural: &str, causes: &mut Vec<Cause>) {
    let Some(selector) = spec.get("selector").filter(|selector| !selector.is_null()) else {
        causes.push(Cause::required("spec.selector", ""));
        // No selector selects nothing.
        mismatch(spec, causes);
        return;
    };
    let text = as_text(selector);
    if text.is_empty() {
        let kind = plural.trim_end_matches('s');
        let why = format!("empty selector is invalid for {kind}");
        causes.push(Cause::invalid("spec.selector", selector, &why));
        return;
    }
    let labels = spec.pointer("/template/metadata/labels");
    let pairs = labels.and_then(Value::as_object).into_iter().flatten();
    let held: Labels = pairs
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect();
    let Ok(selects) = LabelSelector::parse(&text) else {
        causes.push(Cause::invalid(
            "spec.selector",
            selector,
            "invalid label selector",
        ));
        return;
    };
    if !selects.selects(Some(&held)) {
        mismatch(spec, causes);
    }
}

fn mismatch(spec: &Value, causes: &mut Vec<Cause>) {
    let labels = spec
        .pointer("/template/metadata/labels")
        .unwrap_or(&Value::Null);
    let why = "`selector` does not match template `labels`";
    causes.push(Cause::invalid("spec.template.metadata.labels", labels, why));
}

fn template(spec: &Value, causes: &mut Vec<Cause>) {
    pods::validate(spec.pointer("/template/spec"), "spec.template.spec", causes);
    let policy = spec
        .pointer("/template/spec/restartPolicy")
        .and_then(Value::as_str);
    if let Some(policy @ ("OnFailure" | "Never")) = policy {
        let all = ["Always".to_owned()];
        causes.push(Cause::unsupported(
            "spec.template.spec.restartPolicy",
            &policy.into(),
            &all,
        ));
    }
}

/// A `LabelSelector` object in the notation of queries.
fn as_text(selector: &Value) -> String {
    let labels = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let mut parts: Vec<String> = labels
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for expression in expressions.into_iter().flatten() {
        let text = |field: &str| {
            expression
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let values = expression.get("values").and_then(Value::as_array);
        let values = values.into_iter().flatten().filter_map(Value::as_str);
        let values = values.collect::<Vec<_>>().join(",");
        let key = text("key");
        parts.push(match text("operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    parts.join(",")
}

fn not_negative(spec: &Value, field: &str, causes: &mut Vec<Cause>) {
    if let Some(number) = spec
        .get(field)
        .and_then(Value::as_i64)
        .filter(|number| *number < 0)
    {
        let why = "must be greater than or equal to 0";
        causes.push(Cause::invalid(format!("spec.{field}"), &number.into(), why));
    }
}
