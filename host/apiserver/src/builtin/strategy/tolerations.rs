//! Tolerations of a pod and of its runtime class, as one list (kubernetes `pkg/util/tolerations`).

use serde_json::Value;

use crate::json::text;

/// All tolerations but those that another one covers.
pub(super) fn merged(all: &[&Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for (index, one) in all.iter().enumerate() {
        let mut later = all.iter().skip(index + 1);
        // Of equal ones the first stays.
        let is_covered = merged.iter().any(|kept| covers(kept, one))
            || later.any(|other| other != one && covers(other, one));
        if !is_covered {
            merged.push((*one).clone());
        }
    }
    merged
}

/// Whether a toleration tolerates all that another one does.
fn covers(wide: &Value, narrow: &Value) -> bool {
    if wide == narrow {
        return true;
    }
    let of = |toleration: &'static str| (text(wide, toleration), text(narrow, toleration));
    let (operator, other_operator) = of("operator");
    let (key, other_key) = of("key");
    if key != other_key && !(key.is_empty() && operator == "Exists") {
        return false;
    }
    let (effect, other_effect) = of("effect");
    if effect != other_effect && !effect.is_empty() {
        return false;
    }
    if effect == "NoExecute"
        && let Some(most) = seconds(wide)
        && seconds(narrow).is_none_or(|seconds| seconds > most)
    {
        return false;
    }
    let (value, other_value) = of("value");
    match operator {
        "" | "Equal" => other_operator == "Equal" && value == other_value,
        "Exists" => true,
        _ => false,
    }
}

fn seconds(toleration: &Value) -> Option<i64> {
    toleration.get("tolerationSeconds")?.as_i64()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The cases of kubernetes `pkg/util/tolerations/tolerations_test.go`.
    #[test]
    fn what_another_one_covers_is_left_out() {
        let all = json!({ "operator": "Exists" });
        let all_no_schedule = json!({ "operator": "Exists", "effect": "NoSchedule" });
        let key = json!({ "key": "foo", "operator": "Exists" });
        let key_no_schedule = json!({ "key": "foo", "operator": "Exists", "effect": "NoSchedule" });
        let value =
            json!({ "key": "foo", "operator": "Equal", "value": "bar", "effect": "NoSchedule" });
        let for_long = |seconds: i64| {
            json!({ "key": "foo", "operator": "Equal", "value": "bar", "effect": "NoExecute",
                    "tolerationSeconds": seconds })
        };
        let unlimited =
            json!({ "key": "foo", "operator": "Equal", "value": "bar", "effect": "NoExecute" });
        let no_operator = json!({ "key": "foo", "value": "bar", "effect": "NoSchedule" });
        let greater =
            json!({ "key": "foo", "operator": "Gt", "value": "1", "effect": "NoSchedule" });
        let rows = [
            (vec![], vec![]),
            (vec![&all], vec![&all]),
            (vec![&all, &all], vec![&all]),
            (vec![&value, &key], vec![&key]),
            (vec![&key, &value], vec![&key]),
            (
                vec![&key_no_schedule, &all_no_schedule, &unlimited],
                vec![&all_no_schedule, &unlimited],
            ),
            (vec![&value, &unlimited, &all, &key], vec![&all]),
            (vec![&value, &unlimited], vec![&value, &unlimited]),
            (vec![&no_operator, &no_operator], vec![&no_operator]),
            (vec![&value, &no_operator], vec![&no_operator]),
            (vec![&greater, &value], vec![&greater, &value]),
            (vec![&greater, &key], vec![&key]),
        ];
        for (given, expected) in rows {
            let expected: Vec<Value> = expected.into_iter().cloned().collect();
            assert_eq!(merged(&given), expected, "{given:?}");
        }
        let (short, long) = (for_long(10), for_long(20));
        assert_eq!(merged(&[&short, &long]), std::slice::from_ref(&long));
        assert_eq!(merged(&[&long, &unlimited]), [unlimited]);
    }
}
