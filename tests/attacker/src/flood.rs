//! Attacks with requests, writes, log lines and processor time.

use std::hint::black_box;

use serde_json::{Value, json};

use crate::memory::long_selector;
use crate::object::{DELETE, query};
use crate::{Action, Outcome, Primary, say, short};
use windlass_sdk::bindings::windlass::plugin::cluster::{self, Consistency};
use windlass_sdk::bindings::windlass::plugin::log::{self, Field, Level};

/// Writes `count` lines that are as long as a line can be.
pub(crate) fn log_long_lines(primary: &Primary) -> Outcome {
    let text = "A\u{200b}".repeat(4_096);
    let field = Field {
        key: "k".repeat(64),
        value: "\u{200b}".repeat(4_096),
    };
    for _ in 0..primary.number("count", 200) {
        log::log(Level::Error, &text, std::slice::from_ref(&field));
    }
    primary.end()
}

/// Reads the primary from the API server until the host refuses.
pub(crate) fn read_from_server(primary: &Primary) -> Outcome {
    let target = primary.reference();
    while cluster::get(&target, None, Consistency::Latest).is_ok() {}
    primary.end()
}

/// Creates a ConfigMap under a new name and deletes it, `count` times. Each pass has listed what it changes, so
/// each change wakes all other primaries.
pub(crate) fn create_and_delete(primary: &Primary) -> Outcome {
    let mut storm = query("ConfigMap", Some(&primary.namespace), Consistency::Stored);
    storm.label_selector = Some("storm=1".to_owned());
    let _ = cluster::list(&storm);
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "generateName": "storm-", "namespace": primary.namespace, "labels": { "storm": "1" },
        },
    });
    for _ in 0..primary.number("count", 1) {
        let made = match cluster::create(&map.to_string()) {
            Ok(made) => made,
            Err(error) => {
                say(&format!("create: {}", short(&format!("{error:?}"))));
                break;
            }
        };
        let made: Value = serde_json::from_str(&made).unwrap_or_default();
        let name = made.pointer("/metadata/name").and_then(Value::as_str);
        let target = primary.core("ConfigMap", name.unwrap_or_default());
        let _ = cluster::delete(&target, &DELETE);
    }
    Ok(Action::AwaitChange)
}

/// Copies memory without end: one instruction that takes milliseconds.
pub(crate) fn copy_without_end(_: &Primary) -> Outcome {
    let mut one = vec![0_u8; 24 << 20];
    let mut other = vec![1_u8; 24 << 20];
    loop {
        one.copy_from_slice(black_box(&other));
        other.copy_from_slice(black_box(&one));
    }
}

/// Lists from the host's store without end, by a selector that is expensive to match.
pub(crate) fn list_without_end(primary: &Primary) -> Outcome {
    let mut query = query("ConfigMap", Some(&primary.namespace), Consistency::Stored);
    query.label_selector = Some(long_selector(1));
    query.limit = Some(1);
    loop {
        let _ = black_box(cluster::list(&query));
    }
}
