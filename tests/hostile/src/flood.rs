//! Attacks with too much of what is allowed.

use serde_json::Value;

use crate::guest::configuration;
use crate::trespass::config_map;
use crate::{Action, Failure, Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::cluster::{self, Consistency, DeleteOptions, Error};
use windlass_sdk::bindings::windlass::plugin::events::{self, Event, Severity};
use windlass_sdk::bindings::windlass::plugin::log::{self as host_log, Field, Level};
use windlass_sdk::bindings::windlass::plugin::{clock, metrics};

/// Writes 100,000 log lines.
pub(crate) fn log(_: &Primary) -> Outcome {
    for line in 0..100_000 {
        let field = Field {
            key: "line".to_owned(),
            value: line.to_string(),
        };
        host_log::log(Level::Error, "hostile flood", &[field]);
    }
    Ok(Action::AwaitChange)
}

/// Publishes 100,000 Events, each of its own kind.
pub(crate) fn events(_: &Primary) -> Outcome {
    for number in 0..100_000 {
        events::publish(&Event {
            regarding: None,
            related: None,
            severity: Severity::Warning,
            reason: format!("Flood{number}"),
            action: "Flood".to_owned(),
            note: format!("hostile event {number}"),
        });
    }
    Ok(Action::AwaitChange)
}

/// Counts 100,000 numbers of its own, each under another name, and with values that are none.
pub(crate) fn metrics(_: &Primary) -> Outcome {
    for number in 0..100_000 {
        let label = metrics::Label {
            name: "of\n# EOF".to_owned(),
            value: "\"}\n# EOF".to_owned(),
        };
        let fine = metrics::Label {
            name: "of".to_owned(),
            ..label.clone()
        };
        metrics::add(&format!("flood{number}"), &[fine], 1.0);
        metrics::set("gauge\n# EOF", &[], f64::NAN);
        metrics::observe("controller", &[label], f64::INFINITY);
    }
    Ok(Action::AwaitChange)
}

/// Asks for a pass at the time `at` of the configuration, until it has come; it does no harm.
pub(crate) fn alarm(_: &Primary) -> Outcome {
    let config = configuration();
    let at = config.get("at").and_then(Value::as_str).unwrap_or_default();
    // Both have the same form, so they are in the order of their texts.
    let says = if *clock::now() < *at {
        clock::wake_at(at);
        "alarm waits"
    } else {
        "alarm rings"
    };
    host_log::log(Level::Info, says, &[]);
    Ok(Action::AwaitChange)
}

/// Reads from the API server until it is told to stop; the failure says how often it could.
pub(crate) fn api(primary: &Primary) -> Outcome {
    let target = primary.reference();
    for reads in 0_u32.. {
        if let Err(error) = cluster::get(&target, None, Consistency::Latest) {
            let text = format!("stopped after {reads} reads: {error:?}");
            return Err(Failure::Transient(text));
        }
    }
    Ok(Action::AwaitChange)
}

/// Reads the primary from the API server 100 times, which is allowed, so the call mostly waits.
pub(crate) fn wait_api(primary: &Primary) -> Outcome {
    let target = primary.reference();
    for read in 0..100 {
        match cluster::get(&target, None, Consistency::Latest) {
            Ok(_) | Err(Error::NotFound) => {}
            Err(error) => return Err(Failure::Transient(format!("read {read}: {error:?}"))),
        }
    }
    Ok(Action::AwaitChange)
}

/// Writes what differs with each pass, and asks to run again at once.
pub(crate) fn hurry(primary: &Primary) -> Outcome {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos().to_string();
    let mut map = config_map(primary, "clock");
    if let Some(data) = map.get_mut("data") {
        *data = serde_json::json!({ "time": now });
    }
    match cluster::apply(&map.to_string()) {
        Ok(_) => Ok(Action::RequeueAfter(0)),
        Err(error) => Err(Failure::Transient(format!("cannot apply: {error:?}"))),
    }
}

/// Makes an object under a name that no other pass has, deletes it, and asks to run again at once.
pub(crate) fn storm(primary: &Primary) -> Outcome {
    let options = DeleteOptions {
        uid: None,
        resource_version: None,
        propagation: None,
        grace_period_seconds: None,
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    for number in 0..10 {
        let suffix = format!("storm-{now}-{number}");
        let made = cluster::create(&config_map(primary, &suffix).to_string());
        let gone = made.and_then(|_| cluster::delete(&primary.config_map(&suffix), &options));
        gone.map_err(|error| Failure::Transient(format!("no storm: {error:?}")))?;
    }
    Ok(Action::RequeueAfter(0))
}
