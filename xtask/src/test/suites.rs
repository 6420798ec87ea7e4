//! The suites and tests that are special in some way: nothing else here knows suites and tests by name.

use crate::{Error, workspace};

/// The package whose programs have a suite in each of their modules.
pub(super) const END_TO_END: &str = "tests/e2e";

/// The longest suites start first.
pub(super) const FIRST: [&str; 6] = [
    SHARES,
    "dev",
    "simulation",
    "attacks",
    "trouble",
    "contract",
];

/// Suites that compute for minutes: each takes two slots.
pub(super) const HEAVY: [&str; 4] = ["dev", "simulation", "attacks", "contract"];

/// The suite of [`ALONE`].
pub(super) const SHARES: &str = "shares";

/// Tests that measure shares of the processor: nothing runs at the same time.
pub(super) const ALONE: [&str; 1] = ["eight_plugins_that_spin_leave_their_neighbours_their_share"];

/// Suites that do not run on the embedded API server once more. `dev` and `cluster` bring their own server. Attacks,
/// crashes, faults and bad registries hit the host, and the real control plane has seen them.
pub(super) const NOT_EMBEDDED: [&str; 8] = [
    "artifacts",
    "attacks",
    "cluster",
    "crash",
    "dev",
    "poison",
    SHARES,
    "trouble",
];

/// Tests of what the embedded API server lacks: Pod Security admission, controllers that make pods of Deployments, flow
/// control, and the type checker of policies.
pub(super) const REAL_ONLY: [&str; 4] = [
    "a_pod_with_more_rights_than_restricted_allows_is_refused",
    "its_pods_are_admitted_and_its_budget_counts_them",
    "each_request_of_a_host_has_the_priority_of_its_kind",
    "the_type_checker_warns_of_nothing",
];

/// Suites that put plugins into config folders. They run once more, and each document is a Plugin object then. Each test
/// has an embedded server of its own, since objects have no namespace and tests share names.
pub(super) const OBJECTS: [&str; 18] = [
    "crash",
    "crds",
    "every_kind",
    "finalizers",
    "grants",
    "kinds",
    "late_kind",
    "lifecycle",
    "neighbours",
    "observe",
    "pause",
    "poison",
    "reload",
    "sweeper",
    "takeover",
    "traces",
    "tracked_reads",
    "why",
];

/// Suites among [`OBJECTS`] that are quick, and run with everything.
pub(super) const QUICK_OBJECTS: [&str; 9] = [
    "finalizers",
    "grants",
    "kinds",
    "lifecycle",
    "observe",
    "pause",
    "sweeper",
    "tracked_reads",
    "why",
];

/// Suites among [`OBJECTS`] that also run on the real control plane, one test after the other.
pub(super) const OBJECTS_REAL: [&str; 2] = ["kinds", "sweeper"];

/// Modules of suites whose guests are built with Node.js: `fast` leaves them out.
pub(super) const NODE: [(&str, &str); 1] = [("sandbox", "javascript::")];

pub(super) const EMBEDDED_SERVER: (&str, &str) = ("WINDLASS_TEST_SERVER", "embedded");
pub(super) const THROUGH_OBJECTS: (&str, &str) = ("WINDLASS_TEST_ORIGIN", "objects");

/// A list of tests: one a line, and the reason after the name.
pub(super) fn list(file: &str) -> Result<Vec<(String, String)>, Error> {
    let text = std::fs::read_to_string(workspace().join(file))
        .map_err(|error| format!("{file}: {error}"))?;
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pair = |line: &str| {
        let (name, reason) = line
            .split_once(' ')
            .ok_or_else(|| format!("{file}: {line} has no reason"))?;
        Ok((name.to_owned(), reason.to_owned()))
    };
    lines.map(pair).collect()
}
