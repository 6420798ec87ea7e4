//! The metrics of kube-controller-manager's Job controller, under the names that they have there. The host adds `_total`.

use windlass_sdk::{Cluster, Measure, Metric};

use crate::failure_policy::Action;
use crate::indexes::Indexes;
use crate::spec::Rules;
use crate::status::{Cause, Status};

/// Adds to a counter, unless there is nothing to add.
fn add(cluster: &dyn Cluster, name: &str, by: usize, labels: &[(&str, &str)]) {
    let Some(by) = u32::try_from(by).ok().filter(|by| *by > 0) else {
        return;
    };
    let metric = labels
        .iter()
        .fold(Metric::count(name), |metric, (label, value)| {
            metric.label(label, *value)
        });
    let measure = Measure::Add(by.into());
    cluster.metric(&Metric { measure, ..metric });
}

fn mode(rules: &Rules<'_>) -> (&'static str, &'static str) {
    let mode = if rules.indexed {
        "Indexed"
    } else {
        "NonIndexed"
    };
    ("completion_mode", mode)
}

/// Counts the pods and the indexes that a new status counts.
pub(crate) fn counted(cluster: &dyn Cluster, rules: &Rules<'_>, before: &Status, after: &Status) {
    let mode = mode(rules);
    for (result, before, after) in [
        ("succeeded", before.succeeded, after.succeeded),
        ("failed", before.failed, after.failed),
    ] {
        let labels = [mode, ("result", result)];
        add(
            cluster,
            "job_pods_finished",
            after.saturating_sub(before),
            &labels,
        );
    }
    let per_index = rules.index_limit.is_some();
    let limit = (
        "backoffLimit",
        if per_index { "perIndex" } else { "global" },
    );
    let number = |text: &str| Indexes::parse(text, rules.index_end()).len();
    let failed = |status: &Status| number(status.failed_indexes.as_deref().unwrap_or_default());
    for (result, before, after) in [
        (
            "succeeded",
            number(&before.completed_indexes),
            number(&after.completed_indexes),
        ),
        ("failed", failed(before), failed(after)),
    ] {
        let labels = [("status", result), limit];
        add(
            cluster,
            "job_finished_indexes",
            after.saturating_sub(before),
            &labels,
        );
    }
}

/// Counts a Job that has ended.
pub(crate) fn ended(cluster: &dyn Cluster, rules: &Rules<'_>, kind: &str, cause: &Cause) {
    let result = if kind == "Complete" {
        "succeeded"
    } else {
        "failed"
    };
    let labels = [mode(rules), ("result", result), ("reason", &cause.reason)];
    add(cluster, "jobs_finished", 1, &labels);
}

/// Counts the failures that a policy has decided about.
pub(crate) fn handled(cluster: &dyn Cluster, actions: &[Action]) {
    for action in actions {
        let labels = [("action", action.name())];
        add(
            cluster,
            "pod_failures_handled_by_failure_policy",
            1,
            &labels,
        );
    }
}

/// Counts finished pods that have had the finalizer and lost it.
pub(crate) fn released(cluster: &dyn Cluster, count: usize) {
    for event in ["add", "delete"] {
        let labels = [("event", event)];
        add(
            cluster,
            "terminated_pods_tracking_finalizer",
            count,
            &labels,
        );
    }
}

/// Counts pods that were created, or could not be.
pub(crate) fn created(cluster: &dyn Cluster, reason: &str, status: &str, count: usize) {
    let labels = [("reason", reason), ("status", status)];
    add(cluster, "job_pods_creation", count, &labels);
}

/// Counts a Job that another controller manages.
pub(crate) fn external(cluster: &dyn Cluster, manager: &str) {
    let labels = [("controller_name", manager)];
    add(cluster, "jobs_by_external_controller", 1, &labels);
}
