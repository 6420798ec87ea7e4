//! The status of PodDisruptionBudgets: how many pods are healthy, and how many may be evicted (kubernetes
//! `pkg/controller/disruption/disruption.go`).

mod expected;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::client::{Agent, At, Client, Failed, resource_at};
use super::feed::{Seen, Thing};
use super::queue::Queue;
use crate::seams::Instant;
use crate::server::Server;
use crate::store::GroupResource;
use crate::{budgets, conditions, meta};

const AGENT: Agent = Agent {
    program: "kube-controller-manager",
    user: "system:serviceaccount:kube-system:disruption-controller",
};
/// How long an evicted pod may take until its deletion is seen.
const DELETION_TIMEOUT: SignedDuration = SignedDuration::from_mins(2);

/// The controller of budgets.
#[derive(Debug, Default)]
pub(super) struct Disruption {
    queue: Queue<Thing>,
}

impl Disruption {
    /// Notes which budgets an event is about: one, or for a pod those of its namespace.
    pub(super) fn observe(&mut self, server: &Server, seen: &Seen) {
        if seen.is("policy", "poddisruptionbudgets") && !seen.is_gone() {
            self.queue.add(seen.thing.clone());
        } else if seen.is("", "pods") {
            let place = GroupResource {
                group: "policy".to_owned(),
                plural: "poddisruptionbudgets".to_owned(),
            };
            let namespace = &seen.thing.key.namespace;
            for entry in server.store().list(&place, Some(namespace)).entries {
                self.queue.add(Thing {
                    place: place.clone(),
                    key: entry.key.clone(),
                });
            }
        }
    }

    /// Works on one budget; says whether there was one.
    pub(super) fn work(&mut self, server: &Server) -> bool {
        let now = server.seams().clock.instant();
        let Some(thing) = self.queue.take(now) else {
            return false;
        };
        match follow(server, &thing) {
            Ok(again) => {
                self.queue.succeeded(&thing);
                let again = again.and_then(|again| std::time::Duration::try_from(again).ok());
                if let Some(again) = again {
                    self.queue.add_at(thing, now + again);
                }
            }
            Err(Failed::Absent) => self.queue.succeeded(&thing),
            Err(Failed::Changed) => self.queue.add(thing),
            Err(Failed::Refused(_)) => self.queue.failed(thing, now),
        }
        true
    }

    /// When there is something to do again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.queue.due()
    }
}

/// Brings a budget's status up to date; answers when it is to be looked at again.
fn follow(server: &Server, thing: &Thing) -> Result<Option<SignedDuration>, Failed> {
    let registry = server.registry();
    let resource = resource_at(&registry, &thing.place).ok_or(Failed::Absent)?;
    let held = server.store().get(&thing.place, &thing.key);
    let budget = held.ok_or(Failed::Absent)?.value();
    let pods = GroupResource {
        group: String::new(),
        plural: "pods".to_owned(),
    };
    let pods = server
        .store()
        .list(&pods, Some(&thing.key.namespace))
        .entries;
    let pods: Vec<Value> = pods
        .iter()
        .map(|entry| entry.value())
        .filter(|pod| budgets::selects(&budget, pod))
        .collect();
    let now = server.seams().clock.wall();
    let (disrupted, again) = disrupted(&budget, &pods, now);
    let expected = expected::of(server, &budget, &pods);
    let is_failed = expected.is_err();
    let new = match expected {
        Ok((expected, desired)) => {
            let healthy = pods.iter().filter(|pod| is_healthy(pod, &disrupted));
            let healthy = i64::try_from(healthy.count()).unwrap_or(i64::MAX);
            counted(&budget, (expected, desired, healthy), disrupted, now)
        }
        Err(why) => failed(&budget, &why, now),
    };
    if new != budget {
        let agent = AGENT;
        Client { server, agent }.replace(At::status(resource, &thing.key), &new)?;
    }
    if is_failed {
        // Who scales the pods is looked for again.
        return Err(Failed::Refused(String::new()));
    }
    Ok(again)
}

/// The pods that were evicted a short while ago and that nobody has begun to delete, and when the first of them
/// has been waited for long enough.
fn disrupted(
    budget: &Value,
    pods: &[Value],
    now: Timestamp,
) -> (Map<String, Value>, Option<SignedDuration>) {
    let held = budget
        .pointer("/status/disruptedPods")
        .and_then(Value::as_object);
    let mut kept = Map::new();
    let mut again: Option<SignedDuration> = None;
    for pod in pods.iter().filter(|pod| !meta::is_deleting(pod)) {
        let name = meta::text(pod, "name");
        let Some(since) = held.and_then(|held| held.get(name)) else {
            continue;
        };
        let time: Option<Timestamp> = since.as_str().and_then(|since| since.parse().ok());
        let waited = time.map(|time| now.duration_since(time));
        let Some(left) = waited.map(|waited| DELETION_TIMEOUT - waited) else {
            continue;
        };
        if !left.is_negative() {
            again = Some(again.map_or(left, |again| again.min(left)));
            kept.insert(name.to_owned(), since.clone());
        }
    }
    // At the very moment it is still waited for.
    let again = again.map(|again| again + SignedDuration::from_millis(1));
    (kept, again)
}

fn is_healthy(pod: &Value, disrupted: &Map<String, Value>) -> bool {
    !meta::is_deleting(pod)
        && !disrupted.contains_key(meta::text(pod, "name"))
        && conditions::is_true(pod, "Ready")
}

/// A budget whose status says how many pods there should be, how many have to be healthy, and how many are.
fn counted(
    budget: &Value,
    (expected, desired, healthy): (i64, i64, i64),
    disrupted: Map<String, Value>,
    now: Timestamp,
) -> Value {
    let mut new = budget.clone();
    let allowed = match expected {
        1.. => (healthy - desired).max(0),
        _ => 0,
    };
    let mut status = json!({
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "disruptionsAllowed": allowed,
    });
    if let Some(generation) = meta::number(budget, "generation") {
        meta::put(&mut status, "observedGeneration", generation);
    }
    if !disrupted.is_empty() {
        meta::put(&mut status, "disruptedPods", disrupted);
    }
    let held = budget.pointer("/status/conditions").cloned();
    if let Some(held) = held {
        meta::put(&mut status, "conditions", held);
    }
    meta::put(&mut new, "status", status);
    budgets::set_condition(&mut new, now);
    new
}

/// A budget that allows nothing, for nobody knows how many pods there should be (`failSafe`).
fn failed(budget: &Value, why: &str, now: Timestamp) -> Value {
    let mut new = budget.clone();
    for field in [
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
    ] {
        let value = match field {
            "disruptionsAllowed" => 0,
            field => budgets::number(budget, field),
        };
        meta::set_in(&mut new, "status", field, Some(value.into()));
    }
    budgets::put_condition(&mut new, "False", ("SyncFailed", why), now);
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_allows_what_is_healthy_beyond_what_has_to_be() {
        let now: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        let budget = json!({ "metadata": { "name": "b", "generation": 3 } });
        let allowed = |numbers| {
            let new = counted(&budget, numbers, Map::new(), now);
            let condition = conditions::get(&new, budgets::ALLOWED).unwrap();
            assert_eq!(condition["observedGeneration"], 3);
            let reason = condition["reason"].as_str().unwrap().to_owned();
            (budgets::number(&new, "disruptionsAllowed"), reason)
        };
        assert_eq!(allowed((3, 1, 3)), (2, "SufficientPods".to_owned()));
        assert_eq!(allowed((3, 2, 1)), (0, "InsufficientPods".to_owned()));
        assert_eq!(allowed((0, 0, 1)), (0, "InsufficientPods".to_owned()));
    }

    #[test]
    fn an_evicted_pod_does_not_count_until_it_is_deleted_or_has_taken_too_long() {
        let now: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        let budget = json!({ "status": { "disruptedPods": {
            "late": "2026-11-21T09:27:59Z", "fresh": "2026-11-21T09:29:00Z", "gone": "2026-11-21T09:29:00Z",
        } } });
        let pod = |name: &str| {
            let ready = json!([{ "type": "Ready", "status": "True" }]);
            json!({ "metadata": { "name": name }, "status": { "conditions": ready } })
        };
        let pods = [pod("late"), pod("fresh"), pod("other")];
        let (kept, again) = disrupted(&budget, &pods, now);
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["fresh"]);
        assert_eq!(again, Some(SignedDuration::from_millis(60_001)));
        let healthy = pods.iter().filter(|pod| is_healthy(pod, &kept)).count();
        assert_eq!(healthy, 2);
    }
}
