//! The usage of a quota in its namespace, counted again (apiserver `pkg/quota/v1/resources.go`, `CalculateUsage`).

use jiff::Timestamp;
use serde_json::Value;

use super::evaluators::{self, Evaluator};
use crate::admission::amounts::{self, Amounts};
use crate::builtin::quantity::Amount;
use crate::json::get;
use crate::store::{GroupResource, Store};

/// The usage of each resource in `hard`, by the objects at these places.
pub(crate) fn calculated(
    store: &Store,
    places: impl Iterator<Item = GroupResource>,
    namespace: &str,
    quota: &Value,
    now: Timestamp,
) -> Amounts {
    let hard = amounts::read(get(get(quota, "spec"), "hard"));
    let mut all = Amounts::new();
    for place in places {
        let Some(evaluator) = Evaluator::of(&place) else {
            continue;
        };
        let names = evaluator.matching(hard.keys());
        if names.is_empty() {
            continue;
        }
        for name in names {
            all.entry(name).or_insert(Amount::whole(0));
        }
        for entry in store.list(&place, Some(namespace)).entries {
            let object = entry.value();
            if evaluator.is_in_scope(quota, &object) {
                amounts::add(&mut all, &evaluator.usage(&object, now));
            }
        }
    }
    amounts::masked(&all, |name| hard.contains_key(name))
}

/// Whether quotas that limit this may be about the objects at a place.
pub(crate) fn tracks(place: &GroupResource, hard: &Value) -> bool {
    let names = hard.as_object().into_iter().flat_map(|hard| hard.keys());
    Evaluator::of(place).is_some_and(|evaluator| !evaluator.matching(names).is_empty())
}

/// Whether a pod does not count any more, or may have come into another scope.
pub(crate) fn is_settled_pod(pod: &Value, now: Timestamp) -> bool {
    let deadline = get(get(pod, "spec"), "activeDeadlineSeconds");
    !evaluators::is_counted(pod, now) || !deadline.is_null()
}
