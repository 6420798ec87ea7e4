//! O11: no host panics, and none logs an error that the faults do not explain.

use tracing::Level;

use super::Failure;
use crate::run::Evidence;
use crate::trace::What;

/// What may be logged as an error when Leases are lost.
const LOST: [&str; 2] = [
    "another host has taken the lease",
    "the lease could not be renewed in time",
];

pub(super) fn judge(run: &Evidence) -> Vec<Failure> {
    let about_leases = run.faults.iter().any(|fault| fault.what.is_about_leases());
    let explained = |message: &str| about_leases && LOST.contains(&message);
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
