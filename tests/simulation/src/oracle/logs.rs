//! O11: no host panics, and none logs an error that the faults do not explain.

use tracing::Level;

use super::Failure;
use crate::fault::{Fault, What as Fate};
use crate::network::Class;
use crate::run::Evidence;
use crate::trace::What;

/// What may be logged as an error when Leases are lost.
const LOST: [&str; 3] = [
    "the lease could not be kept in time",
    "another host has taken the lease",
    "the session could not be renewed in time",
];

/// What may be logged as an error when a watch loses events.
const AUDIT: &str = "has lost events: listing everything again";

/// What may be logged as an error when the server does not answer reads while a plugin gets a new version.
const UNTESTED: &str = "the new version cannot be tested, since no object can be read for it";

/// What may be logged as an error when a host stands still while a plugin gets a new version.
const LATE: &str = "writes are not sent: plugin ran past its deadline";

/// What is logged as an error when more writes of a new version fail than of the one before it, although both do the same.
const ROLLED_BACK: &str = "the new version is rolled back";

/// Why writes fail, whatever the version: the server refuses them, or somebody else has made the object.
const FAILING: [&str; 2] = [
    "this was made to fail on purpose",
    "somebody else was first",
];

pub(super) fn judge(run: &Evidence) -> Vec<Failure> {
    let about_leases = run.faults.iter().any(|fault| fault.what.is_about_leases());
    let loses = run.faults.iter().any(|fault| fault.what.loses_events());
    let deaf = |fault: &Fault| {
        fault.what.class() == Some(Class::Read)
            || matches!(fault.what, Fate::Takeover | Fate::Outage | Fate::OldServer)
    };
    let deaf = run.faults.iter().any(deaf);
    let frozen = run.faults.iter().any(|fault| fault.what == Fate::Freeze);
    let explained = |message: &str| {
        about_leases && LOST.contains(&message)
            || loses && message.ends_with(AUDIT)
            || deaf && message.contains(UNTESTED)
            || frozen && message.contains(LATE)
            || message.contains(ROLLED_BACK) && FAILING.iter().any(|why| message.contains(why))
    };
    let mut failures: Vec<Failure> = run
        .panics
        .iter()
        .map(|panic| Failure::new("O11 panics", panic.clone()))
        .collect();
    for line in &run.trace {
        match &line.what {
            What::Log(log) if log.level == Level::ERROR && !explained(&log.message) => {
                failures.push(Failure::new("O11 errors", line.to_string()));
            }
            What::Log(_) | What::Request { .. } | What::Deed(_) => {}
        }
    }
    failures
}
