//! Attacks that tell people what a Secret holds.

use serde_json::Value;

use crate::guest::configuration;
use crate::{Failure, Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::cluster::{self, Consistency};
use windlass_sdk::bindings::windlass::plugin::events::{self, Event, Severity};
use windlass_sdk::bindings::windlass::plugin::log::{self as host_log, Field, Level};
use windlass_sdk::bindings::windlass::plugin::metrics;

/// Reads the Secret `<primary>-secret`, tells each of the configured `texts` in every way that it has, and fails with
/// all of them.
pub(crate) fn tell(primary: &Primary) -> Outcome {
    let config = configuration();
    let texts = config.get("texts").and_then(Value::as_array).into_iter();
    let texts: Vec<&str> = texts.flatten().filter_map(Value::as_str).collect();
    let mut secret = primary.config_map("secret");
    secret.kind = "Secret".to_owned();
    if let Err(error) = cluster::get(&secret, None, Consistency::Latest) {
        return Err(Failure::Terminal(format!("cannot read it: {error:?}")));
    }
    for text in &texts {
        let field = Field {
            key: "told".to_owned(),
            value: (*text).to_owned(),
        };
        host_log::log(Level::Info, &format!("logged {text}"), &[field]);
        events::publish(&Event {
            regarding: None,
            related: None,
            severity: Severity::Normal,
            reason: "Told".to_owned(),
            action: "Tell".to_owned(),
            note: format!("noted {text}"),
        });
        let label = metrics::Label {
            name: "of".to_owned(),
            value: (*text).to_owned(),
        };
        metrics::add("told_total", &[label], 1.0);
        // No letter of base64 stands beside the text or at the beginning of the next line.
        println!("> printed: {text}");
    }
    Err(Failure::Terminal(format!("failed {}", texts.join(" | "))))
}
