//! Which taints of a node a pod tolerates (component-helpers `scheduling/corev1/helpers.go`, api
//! `core/v1/toleration.go`).

use serde_json::Value;

use crate::json::{list, list_at, text};

/// The first taint that keeps a pod away from a node.
pub(super) fn untolerated<'a>(spec: &Value, node: &'a Value) -> Option<&'a Value> {
    list_at(node, "/spec/taints").iter().find(|taint| {
        let effect = text(taint, "effect");
        matches!(effect, "NoSchedule" | "NoExecute")
            && !tolerates(spec, text(taint, "key"), text(taint, "value"), effect)
    })
}

/// Whether a pod tolerates a taint.
pub(super) fn tolerates(spec: &Value, key: &str, value: &str, effect: &str) -> bool {
    list(spec, "tolerations").iter().any(|toleration| {
        let same = |field: &str, wanted: &str| {
            let said = text(toleration, field);
            said.is_empty() || said == wanted
        };
        let by_value = match text(toleration, "operator") {
            "Exists" => true,
            "" | "Equal" => text(toleration, "value") == value,
            _ => false,
        };
        same("effect", effect) && same("key", key) && by_value
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_toleration_has_to_meet_key_value_and_effect() {
        for (toleration, want) in [
            (json!({ "operator": "Exists" }), true),
            (json!({ "key": "a", "operator": "Exists" }), true),
            (
                json!({ "key": "a", "value": "b", "effect": "NoSchedule" }),
                true,
            ),
            (
                json!({ "key": "a", "operator": "Equal", "value": "c" }),
                false,
            ),
            (
                json!({ "key": "a", "operator": "Exists", "effect": "NoExecute" }),
                false,
            ),
            (json!({ "key": "c", "operator": "Exists" }), false),
        ] {
            let spec = json!({ "tolerations": [toleration] });
            assert_eq!(tolerates(&spec, "a", "b", "NoSchedule"), want, "{spec}");
        }
        let node = json!({ "spec": { "taints": [
            { "key": "soft", "effect": "PreferNoSchedule" }, { "key": "hard", "effect": "NoSchedule" },
        ] } });
        let found = untolerated(&json!({}), &node).unwrap();
        assert_eq!(found["key"], "hard");
    }
}
