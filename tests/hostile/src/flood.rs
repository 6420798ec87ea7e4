//! Attacks with too much of what is allowed.

use crate::{Action, Failure, Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::cluster::{self, Consistency, Error};
use windlass_sdk::bindings::windlass::plugin::events::{self, Event, Severity};
use windlass_sdk::bindings::windlass::plugin::log::{self as host_log, Field, Level};

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
