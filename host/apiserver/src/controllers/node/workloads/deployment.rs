//! The status of a Deployment.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Stage, counts, number, ready, template_hash, wanted};
use crate::{conditions, meta};

pub(super) fn status(object: &Value, stage: Stage, now: Timestamp) -> Value {
    let (wanted, ready) = (wanted(object), ready(object, stage));
    let mut status = json!({ "terminatingReplicas": 0 });
    counts(
        &mut status,
        &[
            ("replicas", wanted),
            ("updatedReplicas", wanted),
            ("readyReplicas", ready),
            ("availableReplicas", ready),
            ("unavailableReplicas", wanted - ready),
            ("collisionCount", number(object, "/status/collisionCount")),
        ],
    );
    let mut whole = object.clone();
    let available = if ready >= wanted - max_unavailable(object, wanted) {
        (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
    } else {
        (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    };
    condition(&mut whole, "Available", available, now);
    let set = format!("{}-{}", meta::text(object, "name"), template_hash(object));
    let progressing = match stage {
        Stage::Starting | Stage::Stuck(_) | Stage::Expired => (
            "ReplicaSetUpdated",
            format!("ReplicaSet {set:?} is progressing."),
        ),
        Stage::Done => (
            "NewReplicaSetAvailable",
            format!("ReplicaSet {set:?} has successfully progressed."),
        ),
    };
    condition(
        &mut whole,
        "Progressing",
        ("True", progressing.0, &progressing.1),
        now,
    );
    let conditions = whole
        .pointer("/status/conditions")
        .cloned()
        .unwrap_or_default();
    meta::put(&mut status, "conditions", conditions);
    status
}

fn condition(
    object: &mut Value,
    kind: &str,
    (status, reason, message): (&str, &str, &str),
    now: Timestamp,
) {
    let held = conditions::get(object, kind);
    let same = held.is_some_and(|held| {
        held.get("reason").and_then(Value::as_str) == Some(reason)
            && held.get("message").and_then(Value::as_str) == Some(message)
    });
    if same {
        return;
    }
    let now = meta::time(now);
    let condition = json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastUpdateTime": now,
        "lastTransitionTime": now,
    });
    conditions::put(object, condition);
}

/// How many pods may be missing in a rolling update.
fn max_unavailable(object: &Value, wanted: i64) -> i64 {
    let strategy = object
        .pointer("/spec/strategy/type")
        .and_then(Value::as_str);
    if strategy == Some("Recreate") || wanted == 0 {
        return 0;
    }
    let share = |at: &str, up: i64| {
        let said = object.pointer(at);
        let percent = said
            .and_then(Value::as_str)
            .and_then(|said| said.strip_suffix('%')?.parse::<i64>().ok());
        let number = said.and_then(Value::as_i64);
        number.unwrap_or_else(|| (percent.unwrap_or(25) * wanted + up) / 100)
    };
    let unavailable = share("/spec/strategy/rollingUpdate/maxUnavailable", 0);
    let surge = share("/spec/strategy/rollingUpdate/maxSurge", 99);
    if unavailable == 0 && surge == 0 {
        1
    } else {
        unavailable.min(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_progresses_and_ends_well() {
        let at = |text: &str| text.parse().unwrap();
        let mut object =
            json!({ "metadata": { "name": "web" }, "spec": { "replicas": 2, "template": {} } });
        let starting = status(&object, Stage::Starting, at("2026-11-21T09:30:00Z"));
        let said = |status: &Value| -> Vec<String> {
            let all = status["conditions"].as_array().unwrap().iter();
            let text = |held: &Value, field: &str| held[field].as_str().unwrap().to_owned();
            all.map(|held| {
                [
                    text(held, "type"),
                    text(held, "status"),
                    text(held, "reason"),
                ]
                .join(" ")
            })
            .collect()
        };
        assert_eq!(
            said(&starting),
            [
                "Available False MinimumReplicasUnavailable",
                "Progressing True ReplicaSetUpdated"
            ]
        );
        assert_eq!(starting["unavailableReplicas"], 2);
        meta::put(&mut object, "status", starting);
        let done = status(&object, Stage::Done, at("2026-11-21T09:30:05Z"));
        assert_eq!(
            said(&done),
            [
                "Available True MinimumReplicasAvailable",
                "Progressing True NewReplicaSetAvailable"
            ]
        );
        let progressing = &done["conditions"][1];
        assert_eq!(progressing["lastTransitionTime"], "2026-11-21T09:30:00Z");
        assert_eq!(progressing["lastUpdateTime"], "2026-11-21T09:30:05Z");
        assert_eq!(
            (
                &done["replicas"],
                &done["availableReplicas"],
                done.get("unavailableReplicas")
            ),
            (&json!(2), &json!(2), None)
        );
    }

    #[test]
    fn a_part_of_the_pods_may_be_missing() {
        let with = |unavailable: Value, surge: Value| {
            let update = json!({ "maxUnavailable": unavailable, "maxSurge": surge });
            json!({ "spec": { "strategy": { "rollingUpdate": update } } })
        };
        for (object, wanted, want) in [
            (with(json!("25%"), json!("25%")), 4, 1),
            (with(json!("25%"), json!("25%")), 2, 0),
            (with(json!(0), json!(0)), 2, 1),
            (with(json!(5), json!(1)), 2, 2),
            (with(json!("50%"), json!(0)), 3, 1),
            (
                json!({ "spec": { "strategy": { "type": "Recreate" } } }),
                4,
                0,
            ),
        ] {
            assert_eq!(max_unavailable(&object, wanted), want, "{object}");
        }
    }
}
