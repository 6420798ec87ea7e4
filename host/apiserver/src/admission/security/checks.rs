//! The checks of each level and version, in the order of messages (pod-security-admission `policy/registry.go`).

use super::labels::{Level, LevelVersion};
use super::template::PodTemplate;
use super::{baseline, profiles, restricted};

/// The parts of a pod that a check forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) reason: &'static str,
    pub(super) detail: String,
}

impl Violation {
    pub(super) fn new(reason: &'static str, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }

    /// The reason with its detail.
    pub(super) fn detailed(&self) -> String {
        format!("{} ({})", self.reason, self.detail)
    }
}

type CheckPod = fn(&PodTemplate<'_>) -> Option<Violation>;

/// One check.
struct Check {
    /// The minor versions that it changed in, in order, each with how it is from then on.
    versions: &'static [(u64, CheckPod)],
    /// The minor version from which a stricter check takes its place where pods must be restricted.
    overridden: Option<u64>,
}

const fn check(versions: &'static [(u64, CheckPod)]) -> Check {
    Check {
        versions,
        overridden: None,
    }
}

const fn overridden(from: u64, versions: &'static [(u64, CheckPod)]) -> Check {
    Check {
        versions,
        overridden: Some(from),
    }
}

/// The newest version in which any check changed: all later ones are the same.
const NEWEST: u64 = 35;

const BASELINE: [Check; 12] = [
    check(&[(0, profiles::app_armor)]),
    overridden(22, &[(0, baseline::capabilities)]),
    check(&[(0, baseline::host_namespaces)]),
    overridden(0, &[(0, baseline::host_paths)]),
    check(&[(0, baseline::host_ports)]),
    check(&[(34, baseline::host_probes)]),
    check(&[(0, baseline::privileged)]),
    overridden(
        35,
        &[(0, baseline::proc_mount), (35, baseline::proc_mount_1_35)],
    ),
    check(&[(0, profiles::se_linux), (31, profiles::se_linux_1_31)]),
    overridden(
        19,
        &[
            (0, profiles::seccomp_annotations),
            (19, profiles::seccomp_baseline),
        ],
    ),
    check(&[
        (0, baseline::sysctls),
        (27, baseline::sysctls_1_27),
        (29, baseline::sysctls_1_29),
        (32, baseline::sysctls_1_32),
    ]),
    check(&[(0, baseline::host_process)]),
];

const RESTRICTED: [Check; 7] = [
    check(&[
        (8, restricted::escalation),
        (25, restricted::escalation_1_25),
    ]),
    check(&[
        (22, restricted::capabilities),
        (25, restricted::capabilities_1_25),
    ]),
    check(&[(35, baseline::proc_mount)]),
    check(&[(0, restricted::volumes)]),
    check(&[(0, restricted::non_root), (35, restricted::non_root_1_35)]),
    check(&[(23, restricted::user), (35, restricted::user_1_35)]),
    check(&[
        (19, profiles::seccomp_restricted),
        (25, profiles::seccomp_restricted_1_25),
    ]),
];

/// All that a level in a version forbids of a pod.
pub(super) fn violations(level: LevelVersion, template: &PodTemplate<'_>) -> Vec<Violation> {
    let version = level.version.0.map_or(NEWEST, |minor| minor.min(NEWEST));
    let is_restricted = level.level == Level::Restricted;
    let stays =
        |check: &&Check| !is_restricted || check.overridden.is_none_or(|from| version < from);
    let baseline = BASELINE.iter().filter(stays);
    let restricted = RESTRICTED.iter().filter(|_| is_restricted);
    let all = baseline.chain(restricted);
    let all = all.filter(|_| level.level != Level::Privileged);
    let all = all.filter_map(|check| {
        let mut versions = check.versions.iter().rev();
        let (_, check) = versions.find(|(from, _)| *from <= version)?;
        check(template)
    });
    all.collect()
}
