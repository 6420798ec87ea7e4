//! Whether a pod's node selector and its required node affinity match a node (component-helpers
//! `scheduling/corev1/nodeaffinity`).

use serde_json::Value;

use crate::json::{list, text, texts};

const REQUIRED: &str =
    "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";

/// Whether a pod may be on a node by its labels and its name.
pub(super) fn matches(spec: &Value, node: &Value) -> bool {
    let wanted = spec.get("nodeSelector").and_then(Value::as_object);
    let selected =
        { wanted.into_iter().flatten() }.all(|(name, value)| label(node, name) == value.as_str());
    let terms = spec.pointer(REQUIRED).and_then(Value::as_array);
    selected && terms.is_none_or(|terms| terms.iter().any(|term| meets(term, node)))
}

fn label<'a>(node: &'a Value, name: &str) -> Option<&'a str> {
    node.pointer("/metadata/labels")?.get(name)?.as_str()
}

/// Whether a node meets all requirements of a term; an empty term matches no node.
fn meets(term: &Value, node: &Value) -> bool {
    let (expressions, fields) = (list(term, "matchExpressions"), list(term, "matchFields"));
    let name = node.pointer("/metadata/name").and_then(Value::as_str);
    !(expressions.is_empty() && fields.is_empty())
        && { expressions.iter() }.all(|one| requires(one, label(node, text(one, "key"))))
        && { fields.iter() }.all(|one| text(one, "key") == "metadata.name" && requires(one, name))
}

fn requires(requirement: &Value, held: Option<&str>) -> bool {
    let values: Vec<&str> = texts(requirement, "values").collect();
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
    let bound = number(values.first().copied());
    match text(requirement, "operator") {
        "In" => held.is_some_and(|held| values.contains(&held)),
        "NotIn" => held.is_none_or(|held| !values.contains(&held)),
        "Exists" => held.is_some(),
        "DoesNotExist" => held.is_none(),
        "Gt" => { number(held).zip(bound) }.is_some_and(|(held, bound)| held > bound),
        "Lt" => { number(held).zip(bound) }.is_some_and(|(held, bound)| held < bound),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_selector_and_one_of_the_terms_have_to_match() {
        let node =
            json!({ "metadata": { "name": "n", "labels": { "disk": "ssd", "cores": "8" } } });
        let of = |terms: Value| {
            let required = json!({ "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms } });
            json!({ "affinity": { "nodeAffinity": required } })
        };
        let one = |key: &str, operator: &str, values: Value| {
            of(
                json!([{ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] }]),
            )
        };
        for (spec, want) in [
            (json!({}), true),
            (json!({ "nodeSelector": { "disk": "ssd" } }), true),
            (
                json!({ "nodeSelector": { "disk": "ssd", "no": "such" } }),
                false,
            ),
            (one("disk", "In", json!(["hdd", "ssd"])), true),
            (one("disk", "NotIn", json!(["ssd"])), false),
            (one("zone", "NotIn", json!(["a"])), true),
            (one("zone", "Exists", json!([])), false),
            (one("zone", "DoesNotExist", json!([])), true),
            (one("cores", "Gt", json!(["4"])), true),
            (one("cores", "Lt", json!(["4"])), false),
            (of(json!([{}])), false),
            (
                of(
                    json!([{}, { "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["n"] }] }]),
                ),
                true,
            ),
        ] {
            assert_eq!(matches(&spec, &node), want, "{spec}");
        }
    }
}
