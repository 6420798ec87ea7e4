//! What is wrong with the status of a workload.

use super::super::spot::{Causes, Spot};
use crate::status::Cause;

/// Numbers that a status must not have below zero.
const COUNTS: &[&str] = &[
    "active",
    "availableReplicas",
    "collisionCount",
    "currentNumberScheduled",
    "currentReplicas",
    "desiredNumberScheduled",
    "failed",
    "fullyLabeledReplicas",
    "numberAvailable",
    "numberMisscheduled",
    "numberReady",
    "numberUnavailable",
    "observedGeneration",
    "ready",
    "readyReplicas",
    "replicas",
    "succeeded",
    "terminating",
    "terminatingReplicas",
    "unavailableReplicas",
    "updatedNumberScheduled",
    "updatedReplicas",
];
/// Parts of all replicas.
const PARTS: [&str; 5] = [
    "updatedReplicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "currentReplicas",
    "availableReplicas",
];

/// Judges the status of a workload, which takes the place of another.
pub(in super::super) fn validate_status(
    new: &Spot<'_>,
    old: &Spot<'_>,
    plural: &str,
    causes: &mut Causes,
) {
    let (status, old) = (new.of("status"), old.of("status"));
    status.not_negative(COUNTS, causes);
    let count = |field: &str| status.of(field).number().unwrap_or(0);
    if matches!(plural, "deployments" | "replicasets" | "statefulsets") {
        for part in PARTS {
            if count(part) > count("replicas") {
                status
                    .of(part)
                    .invalid("cannot be greater than status.replicas", causes);
            }
        }
        if count("availableReplicas") > count("readyReplicas") {
            let what = if plural == "statefulsets" {
                "status."
            } else {
                ""
            };
            let why = format!("cannot be greater than {what}readyReplicas");
            status.of("availableReplicas").invalid(&why, causes);
        }
    }
    let held = old.of("collisionCount").number().unwrap_or(0);
    if count("collisionCount") < held {
        let field = status.of("collisionCount").path();
        let wanted = count("collisionCount").into();
        causes.push(Cause::invalid(field, &wanted, "cannot be decremented"));
    }
}
