//! Devices of nodes: who offers them, and who claims them.

use serde_json::Value;

use super::part::TimedValue;

pub(super) fn claim(object: TimedValue<'_>) -> Vec<Value> {
    let deleted = object.is_terminating();
    let mut states = Vec::new();
    if deleted {
        states.push("deleted");
    }
    match object.has("/status/allocation") {
        false if deleted => {}
        false => states.push("pending"),
        true => {
            states.push("allocated");
            if object.count("/status/reservedFor") > 0 {
                states.push("reserved");
            }
        }
    }
    vec![object.name(), states.join(",").into(), object.age()]
}

pub(super) fn slice(object: TimedValue<'_>) -> Vec<Value> {
    vec![
        object.name(),
        object.text("/spec/nodeName").into(),
        object.text("/spec/driver").into(),
        object.text("/spec/pool/name").into(),
        object.age(),
    ]
}
