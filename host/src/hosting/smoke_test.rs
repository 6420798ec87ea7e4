//! The smoke test of a version: `reconcile` of live primaries, with its reads answered and its writes captured.
//!
//! - A trap or a missed limit is a reason to refuse the version.
//! - The version that runs is called about the same objects, and people are told what the new one would do differently.
//!   That refuses nothing.

mod compare;
mod kinds;
mod sample;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join;
use tokio::time::Instant;

use super::Host;
use super::dry_run::{DryRun, Returned};
use super::refusal::RefusalReason;
use super::version::Version;
use compare::{Tried, compare, is_alike};
use kinds::{Kind, kinds};
use sample::sample;
use windlass_base::error::Chain;
use windlass_controller::metrics::SmokeTestReport;
use windlass_controller::recording::Function;
use windlass_kube::api::{ApiError, Resource};
use windlass_kube::object::Object;
use windlass_sandbox::cluster::Primary;
use windlass_sandbox::{Action, CallError, Cancel, Progress};
use windlass_view::{Hide, View};

/// How long a test goes on, beyond an object of each kind.
const BUDGET: Duration = Duration::from_secs(2);

/// So many differences are told.
const TOLD: usize = 10;

/// What a smoke test shows.
pub(super) enum SmokeTest {
    /// The plugin answered.
    Passed,
    /// There is no object to call it about, or none that the host may read.
    NoObject,
    /// The API server did not say whether there is one.
    Unknown(ApiError),
    /// It did not: about this object, for this reason.
    Failed(String, CallError),
}

impl SmokeTest {
    /// Why the version in `file` is refused after it, if it is: a trap or a missed limit refuses it, a failure that the
    /// plugin reports does not. `was_short`: the account of the plugin had no room meanwhile.
    pub(super) fn verdict(self, file: String, was_short: bool) -> Option<RefusalReason> {
        match self {
            Self::Passed | Self::NoObject => None,
            Self::Unknown(error) => Some(RefusalReason::Untested { file, error }),
            Self::Failed(object, error) => Some(RefusalReason::FailsSmokeTest {
                file,
                object,
                error,
                was_short,
            }),
        }
    }

    /// What `answer` of a call about `object` shows.
    fn of(object: &Primary, answer: Result<Returned, CallError>) -> Self {
        match answer {
            // It has come as far as a test can.
            Ok(_) | Err(CallError::Failed(_) | CallError::Undecided) => Self::Passed,
            Err(error) => Self::Failed(object.to_string(), error),
        }
    }

    /// Tests `version` with some objects of its kinds, until one says something against it; answers also what it would do
    /// differently from `before`, which runs.
    pub(super) async fn test(
        host: &Host,
        version: &Version,
        before: &Version,
    ) -> (Self, SmokeTestReport) {
        let mut report = SmokeTestReport {
            digest: version.full_digest(),
            ..SmokeTestReport::default()
        };
        let (kinds, objects) = match kinds(host, version).await {
            Ok(found) => found.into_iter().unzip(),
            Err(error) => return (Self::Unknown(error), report),
        };
        let (kinds, objects): (Vec<Kind>, Vec<Vec<Object>>) = (kinds, objects);
        let of_each_kind = objects.iter().filter(|objects| !objects.is_empty()).count();
        let until = host.seams.clock.now() + BUDGET;
        let mut shown = Self::NoObject;
        let sample = sample(objects);
        let all = sample.len();
        for (number, (kind, object)) in sample.into_iter().enumerate() {
            let Some(kind) = kinds.get(kind) else {
                continue;
            };
            let until_then = (number >= of_each_kind).then_some(until);
            if until_then.is_some_and(|until| host.seams.clock.now() >= until) {
                report.left_out = count(all - number);
                break;
            }
            let about = (kind, &object);
            match try_one(host, (version, before), about, (until, until_then)).await {
                (Some(failed), _) => return (failed, report),
                (None, Compared::LeftOut) => report.left_out += 1,
                (None, Compared::Tried(differences)) => {
                    shown = Self::Passed;
                    report.objects += 1;
                    report.differing += u64::from(!differences.is_empty());
                    let object = format!("{} {}", kind.resource.kind, object.metadata.key);
                    let lines = differences
                        .into_iter()
                        .map(|line| format!("{object}: {line}"));
                    let left = TOLD.saturating_sub(report.differences.len());
                    report.differences.extend(lines.take(left));
                }
            }
        }
        (shown, report)
    }
}

/// What came of the test with one object that says nothing against the version.
enum Compared {
    /// There was not enough time.
    LeftOut,
    /// In what the two versions differ.
    Tried(Vec<String>),
}

/// Calls the new version about an object, and the one before it, until `compared_until`. The new one has until then as
/// well, if `until` says so. Answers what says something against it, if it is that.
async fn try_one(
    host: &Host,
    (version, before): (&Version, &Version),
    (kind, object): (&Kind, &Object),
    (compared_until, until): (Instant, Option<Instant>),
) -> (Option<SmokeTest>, Compared) {
    let Some(view) = kind.view() else {
        return (None, Compared::LeftOut);
    };
    let new = run(host, version, view, (&kind.resource, object), until);
    let old = async || {
        let (view, object) = kind.before(object)?;
        let about = (&kind.resource, &object);
        let old = run(host, before, view, about, Some(compared_until)).await;
        (!is_stopped(&old)).then_some(old)
    };
    let (new, old_run) = join(new, old()).await;
    if until.is_some() && is_stopped(&new) {
        return (None, Compared::LeftOut);
    }
    let (new_hide, tried) = (new.hide.clone(), tried(&new));
    match SmokeTest::of(&new.primary, new.answer) {
        SmokeTest::Passed => {}
        bad => return (Some(bad), Compared::LeftOut),
    }
    let Some(old_run) = old_run else {
        return (None, Compared::Tried(Vec::new()));
    };
    let old_tried = self::tried(&old_run);
    if is_alike(&old_tried, &tried) {
        return (None, Compared::Tried(Vec::new()));
    }
    // Once more: what it does not do twice is not the new version's.
    let Some(again) = old().await else {
        return (None, Compared::Tried(Vec::new()));
    };
    let hides = [old_run.hide, again.hide.clone(), new_hide];
    let hide: Hide =
        Arc::new(move |text| hides.iter().fold(text.to_owned(), |text, hide| hide(&text)));
    let differences = compare(&old_tried, &self::tried(&again), &tried, &hide);
    (None, Compared::Tried(differences))
}

/// Calls a version about an object, at most until then.
async fn run(
    host: &Host,
    version: &Version,
    view: View,
    about: (&Resource, &Object),
    until: Option<Instant>,
) -> DryRun {
    let cancel = Cancel::default();
    let tried = (&*version.plugin, &version.candidate.document);
    let called = host.dry_run_until(tried, view, about, Function::Reconcile, &cancel);
    let late = async {
        match until {
            Some(until) => host.seams.clock.sleep_until(until).await,
            None => std::future::pending().await,
        }
        cancel.stop();
        // It ends soon.
        std::future::pending().await
    };
    tokio::select! {
        biased;
        called = called => called,
        never = late => never,
    }
}

fn is_stopped(run: &DryRun) -> bool {
    matches!(run.answer, Err(CallError::Stopped))
}

fn tried(run: &DryRun) -> Tried {
    Tried {
        answer: match &run.answer {
            Ok(Returned::Action(Action::AwaitChange)) => "await-change".to_owned(),
            Ok(Returned::Action(Action::RequeueAfter(millis))) => {
                format!("requeue-after {millis} ms")
            }
            Ok(Returned::Progress(Progress::Done)) => "done".to_owned(),
            Ok(Returned::Progress(Progress::Pending(millis))) => format!("pending {millis} ms"),
            Err(error) => format!("fails: {}", Chain(error)),
        },
        writes: run.writes.clone(),
    }
}

fn count(objects: usize) -> u64 {
    u64::try_from(objects).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use windlass_kube::object::Key;
    use windlass_sandbox::{Action, Failure};

    #[test]
    fn what_traps_or_exceeds_a_limit_is_refused_and_what_reports_a_failure_is_not() {
        let primary = Primary {
            resource: Resource {
                group: "x.dev".into(),
                version: "v1".into(),
                kind: "X".into(),
                plural: "xes".into(),
                namespaced: true,
            },
            key: Key::new(Some("default"), "ada"),
            uid: "1".into(),
        };
        let text = || "because".to_owned();
        let action = || Ok(Returned::Action(Action::AwaitChange));
        let late = CallError::DeadlineExceeded {
            deadline: Duration::from_secs(1),
            waited: Duration::ZERO,
        };
        let failed = |error| SmokeTest::of(&primary, Err(error));
        let cpu = CallError::CpuExceeded(Duration::from_secs(1));
        let away = ApiError::Unreachable(text());
        // (what the test shows; why the version is refused, if it is)
        let rows = [
            (SmokeTest::of(&primary, action()), None),
            (SmokeTest::NoObject, None),
            (failed(CallError::Failed(Failure::Transient(text()))), None),
            (failed(CallError::Failed(Failure::Terminal(text()))), None),
            (failed(CallError::Undecided), None),
            (
                failed(CallError::Trapped(text())),
                Some("fails its smoke test, a call about X/default/ada"),
            ),
            (failed(cpu), Some("fails its smoke test")),
            (failed(late), Some("fails its smoke test")),
            (SmokeTest::Unknown(away), Some("cannot be tested")),
        ];
        for (shown, want) in rows {
            let verdict = shown.verdict("a.yaml".into(), false);
            let why = verdict.map(|reason| reason.to_string());
            match want {
                Some(want) => assert!(
                    why.as_deref().is_some_and(|why| why.contains(want)),
                    "{why:?}"
                ),
                None => assert_eq!(why, None),
            }
        }
    }
}
