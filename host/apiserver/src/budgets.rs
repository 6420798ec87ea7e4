//! PodDisruptionBudgets: which pods they are about, and what evictions they allow (kubernetes
//! `pkg/registry/core/pod/storage/eviction.go`, component-helpers `apps/poddisruptionbudget`).

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::selector::LabelSelector;
use crate::status::{Cause, Named, Refusal};
use crate::store::Labels;
use crate::{conditions, meta};

/// The condition that says whether evictions are allowed.
pub(crate) const ALLOWED: &str = "DisruptionAllowed";
/// Evictions that the disruption controller has not confirmed are at most this many.
const MOST_DISRUPTED: usize = 2000;

/// A number in the status; none is 0.
pub(crate) fn number(budget: &Value, field: &str) -> i64 {
    let found = budget.get("status").and_then(|status| status.get(field));
    found.and_then(Value::as_i64).unwrap_or(0)
}

/// Whether a budget is about a pod of its namespace; one without a selector is about none.
pub(crate) fn selects(budget: &Value, pod: &Value) -> bool {
    let selector = budget
        .pointer("/spec/selector")
        .filter(|selector| !selector.is_null());
    let Some(selector) = selector.and_then(LabelSelector::of) else {
        return false;
    };
    let held = meta::get(pod, "labels").and_then(Value::as_object);
    let labels: Labels = { held.into_iter().flatten() }
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect();
    selector.selects(Some(&labels))
}

/// Whether an unready pod may be evicted without a word of its budget.
pub(crate) fn spares_unready(budget: &Value) -> bool {
    let policy = budget.pointer("/spec/unhealthyPodEvictionPolicy");
    let (healthy, desired) = (
        number(budget, "currentHealthy"),
        number(budget, "desiredHealthy"),
    );
    policy.and_then(Value::as_str) == Some("AlwaysAllow") || (healthy >= desired && desired > 0)
}

/// The budget after an eviction (`checkAndDecrement`).
///
/// # Errors
/// 429 if the budget allows none, 403 if its status cannot be right.
pub(crate) fn decremented(mut budget: Value, pod: &str, now: Timestamp) -> Result<Value, Refusal> {
    let name = meta::text(&budget, "name").to_owned();
    let generation = meta::number(&budget, "generation").unwrap_or(0);
    if number(&budget, "observedGeneration") < generation {
        return Err(still_processed(&name));
    }
    let forbidden = |why: &str| {
        let named = Named {
            group: "policy",
            resource: "poddisruptionbudget",
        };
        Refusal::forbidden(named, &name, why)
    };
    let mut disrupted = budget
        .pointer("/status/disruptedPods")
        .cloned()
        .unwrap_or_else(|| json!({}));
    let allowed = number(&budget, "disruptionsAllowed");
    if allowed < 0 {
        return Err(forbidden("pdb disruptions allowed is negative"));
    }
    if { disrupted.as_object() }.is_some_and(|pods| pods.len() > MOST_DISRUPTED) {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(forbidden(why));
    }
    if allowed == 0 {
        return Err(too_many(0, reason(&budget, &name)));
    }
    meta::set_in(
        &mut budget,
        "status",
        "disruptionsAllowed",
        Some((allowed - 1).into()),
    );
    if allowed == 1 {
        set_condition(&mut budget, now);
    }
    meta::put(&mut disrupted, pod, meta::time(now));
    meta::set_in(&mut budget, "status", "disruptedPods", Some(disrupted));
    Ok(budget)
}

/// Why a budget allows no eviction.
fn reason(budget: &Value, name: &str) -> String {
    let condition = conditions::get(budget, ALLOWED);
    let text = |field: &str| {
        let found = condition.and_then(|held| held.get(field));
        found.and_then(Value::as_str).unwrap_or_default()
    };
    let says = text("status") == "False" && !text("message").is_empty();
    let (why, message) = (text("reason"), text("message"));
    let (healthy, desired) = (
        number(budget, "currentHealthy"),
        number(budget, "desiredHealthy"),
    );
    let not_now = format!("The disruption budget {name} does not allow evicting pods currently");
    if says && why == "SyncFailed" {
        format!("{not_now} because it failed sync: {message}")
    } else if healthy <= desired {
        format!(
            "The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        )
    } else if says {
        format!("{not_now} ({why}): {message}")
    } else {
        not_now
    }
}

/// 429: what a budget says is not known yet.
pub(crate) fn still_processed(name: &str) -> Refusal {
    let why = format!("The disruption budget {name} is still being processed by the server.");
    too_many(10, why)
}

fn too_many(retry_after: u32, why: String) -> Refusal {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message);
    refusal.details.retry_after = retry_after;
    refusal.details.causes = vec![Cause {
        reason: "DisruptionBudget",
        message: why,
        field: String::new(),
    }];
    refusal
}

/// Brings the condition in line with how many disruptions are allowed (`UpdateDisruptionAllowedCondition`).
pub(crate) fn set_condition(budget: &mut Value, now: Timestamp) {
    let (status, reason) = match number(budget, "disruptionsAllowed") {
        1.. => ("True", "SufficientPods"),
        _ => ("False", "InsufficientPods"),
    };
    put_condition(budget, status, (reason, ""), now);
}

/// Puts the condition into a budget's status.
pub(crate) fn put_condition(
    budget: &mut Value,
    status: &str,
    (reason, message): (&str, &str),
    now: Timestamp,
) {
    let mut condition = json!({
        "type": ALLOWED,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": meta::time(now),
    });
    let observed = number(budget, "observedGeneration");
    if observed != 0 {
        meta::put(&mut condition, "observedGeneration", observed);
    }
    conditions::put(budget, condition);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(status: &Value) -> Value {
        let mut budget = json!({ "metadata": { "name": "b", "generation": 1 }, "status": status });
        meta::set_in(&mut budget, "status", "observedGeneration", Some(1.into()));
        budget
    }

    fn refused(status: &Value) -> (u16, String) {
        let now = "2026-11-21T09:30:00Z".parse().unwrap();
        let refusal = decremented(budget(status), "p", now).unwrap_err();
        let cause = refusal.details.causes.first();
        let said = cause.map_or(refusal.message.clone(), |cause| cause.message.clone());
        (refusal.code.as_u16(), said)
    }

    #[test]
    fn a_budget_counts_evictions_down_and_says_why_it_allows_no_more() {
        let now: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        let two = budget(&json!({ "disruptionsAllowed": 2 }));
        let one = decremented(two, "p", now).unwrap();
        assert_eq!(number(&one, "disruptionsAllowed"), 1);
        assert!(conditions::get(&one, ALLOWED).is_none());
        let none = decremented(one, "q", now).unwrap();
        let pods = json!({ "p": "2026-11-21T09:30:00Z", "q": "2026-11-21T09:30:00Z" });
        assert_eq!(none["status"]["disruptedPods"], pods);
        assert_eq!(
            conditions::get(&none, ALLOWED).unwrap()["reason"],
            "InsufficientPods"
        );
        let few = json!({ "currentHealthy": 1, "desiredHealthy": 2 });
        let few_said = "The disruption budget b needs 2 healthy pods and has 1 currently";
        assert_eq!(refused(&few), (429, few_said.to_owned()));
        let failed = json!({ "conditions": [
            { "type": ALLOWED, "status": "False", "reason": "SyncFailed", "message": "no scale" },
        ] });
        let failed_said = "The disruption budget b does not allow evicting pods currently because it failed \
                           sync: no scale";
        assert_eq!(refused(&failed), (429, failed_said.to_owned()));
        let idle = json!({ "currentHealthy": 2, "desiredHealthy": 1 });
        let idle_said = "The disruption budget b does not allow evicting pods currently";
        assert_eq!(refused(&idle), (429, idle_said.to_owned()));
        assert_eq!(refused(&json!({ "disruptionsAllowed": -1 })).0, 403);
        let mut unseen = budget(&json!({ "disruptionsAllowed": 1 }));
        unseen["metadata"]["generation"] = 2.into();
        let refusal = decremented(unseen, "p", now).unwrap_err();
        assert_eq!(
            (refusal.code.as_u16(), refusal.details.retry_after),
            (429, 10)
        );
    }

    #[test]
    fn a_selector_that_says_nothing_selects_all_and_none_selects_none() {
        let pod = json!({ "metadata": { "labels": { "a": "b" } } });
        let with = |selector: Value| json!({ "spec": { "selector": selector } });
        assert!(selects(&with(json!({})), &pod));
        assert!(selects(&with(json!({ "matchLabels": { "a": "b" } })), &pod));
        assert!(!selects(
            &with(json!({ "matchLabels": { "a": "c" } })),
            &pod
        ));
        assert!(!selects(&with(Value::Null), &pod));
    }

    #[test]
    fn unready_pods_go_freely_if_the_policy_or_the_others_allow_it() {
        let with = |policy: Value, healthy: i64, desired: i64| {
            json!({
                "spec": { "unhealthyPodEvictionPolicy": policy },
                "status": { "currentHealthy": healthy, "desiredHealthy": desired },
            })
        };
        assert!(spares_unready(&with(json!("AlwaysAllow"), 0, 1)));
        assert!(spares_unready(&with(json!("IfHealthyBudget"), 1, 1)));
        assert!(!spares_unready(&with(Value::Null, 0, 1)));
        assert!(!spares_unready(&with(Value::Null, 0, 0)));
    }
}
