//! How requests share the server.

use serde_json::Value;

use super::part::{NONE, TimedValue};

pub(super) fn flow_schema(object: TimedValue<'_>) -> Vec<Value> {
    let conditions = object.list("/status/conditions");
    let dangling = conditions
        .iter()
        .find(|held| held.text("/type") == "Dangling");
    vec![
        object.name(),
        object.text("/spec/priorityLevelConfiguration/name").into(),
        object.int("/spec/matchingPrecedence").into(),
        object
            .maybe_text("/spec/distinguisherMethod/type")
            .unwrap_or(NONE)
            .into(),
        object.age(),
        dangling.map_or("?", |held| held.text("/status")).into(),
    ]
}

pub(super) fn priority_level(object: TimedValue<'_>) -> Vec<Value> {
    let queues = "/spec/limited/limitResponse/queuing";
    let number = |at: &str| match object.maybe_int(at) {
        Some(number) => number.into(),
        None => Value::from(NONE),
    };
    vec![
        object.name(),
        object.text("/spec/type").into(),
        number("/spec/limited/nominalConcurrencyShares"),
        number(&format!("{queues}/queues")),
        number(&format!("{queues}/handSize")),
        number(&format!("{queues}/queueLengthLimit")),
        object.age(),
    ]
}
