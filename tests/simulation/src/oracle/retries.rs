//! O12: failures are counted as they should be, and deletions wait for nobody.
//!
//! - A failure counts once for each retry, however many events come meanwhile; a new generation begins again;
//!   a server that asks for patience is not a failure.
//! - A primary that is being deleted is never protected, and its pass never waits with the rest of a list.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use windlass_controller::controller::{Record as Pass, Step};

use super::Failure;
use super::past::Past;
use crate::run::Evidence;
use crate::trace::{Answer, What};
use crate::world::START;

pub(super) fn judge(run: &Evidence) -> Vec<Failure> {
    let past = Past::of(run);
    let mut failures = Vec::new();
    for (host, passes) in &run.passes {
        let mut last: BTreeMap<_, (&Arc<Pass>, bool)> = BTreeMap::new();
        for pass in passes {
            failures.extend(deletion(pass, run, &past));
            let before = last.get(&pass.primary.key).copied();
            if let Some((before, early)) = before
                && before.error.is_some()
                && before.uid == pass.uid
            {
                failures.extend(attempt(host, (before, early, pass), run, &past));
            }
            let early = before.is_some_and(|(before, _)| is_early(before, pass));
            last.insert(&pass.primary.key, (pass, early));
        }
    }
    failures.truncate(1);
    failures
}

fn deletion(pass: &Pass, run: &Evidence, past: &Past<'_>) -> Option<Failure> {
    let fail = |text: &str| {
        let text = format!(
            "the pass over {} at {} {text}",
            pass.primary.key, pass.began
        );
        Some(Failure::new("O12 deletions", text))
    };
    match pass.step {
        Step::Finalize if pass.low => fail("waited with the rest"),
        Step::Protect if of_version(pass, run, past, "/metadata/deletionTimestamp").is_some() => {
            fail("protects what is being deleted")
        }
        _ => None,
    }
}

/// Whether a pass began before the retry of a failed one was due: then only a change has brought it about.
fn is_early(before: &Pass, pass: &Pass) -> bool {
    let due = before.next.and_then(|delay| {
        let due = before.began.checked_add(before.took).ok()?;
        due.checked_add(delay).ok()
    });
    before.error.is_some() && due.is_some_and(|due| pass.began < due)
}

fn attempt(
    host: &str,
    (before, early, pass): (&Pass, bool, &Pass),
    run: &Evidence,
    past: &Past<'_>,
) -> Option<Failure> {
    let generation = |pass| of_version(pass, run, past, "/metadata/generation");
    let most = match () {
        () if generation(before) != generation(pass) => 0,
        () if is_throttled(host, before, run) => before.attempt,
        () if early => before.attempt.max(1),
        () => before.attempt + 1,
    };
    (pass.attempt > most).then(|| {
        let text = format!(
            "{host} counts {} failures of {} at {}, where {most} would be many",
            pass.attempt, pass.primary.key, pass.began
        );
        Failure::new("O12 failures", text)
    })
}

/// A part of the primary in the version that a pass is about.
fn of_version(pass: &Pass, run: &Evidence, past: &Past<'_>, path: &str) -> Option<Value> {
    let (_, kind) = run.which.kind();
    let version = pass.version.parse().ok()?;
    let record = past.last(kind, &pass.primary.key, version)?;
    let entry = record.after.as_ref()?;
    entry.value().pointer(path).cloned()
}

/// Whether nothing went wrong for a host during a pass but that the server asked for patience, and the pass met that: the
/// answer may have been for another one.
fn is_throttled(host: &str, pass: &Pass, run: &Evidence) -> bool {
    let mut said = pass.error.iter().chain(&pass.journal.failed);
    if !said.any(|text| text.contains("429")) {
        return false;
    }
    let Ok(start) = START.parse::<Timestamp>() else {
        return false;
    };
    let from = pass.began.duration_since(start).unsigned_abs();
    let until = from + pass.took;
    let answers = run.trace.iter().filter_map(|line| match line.what {
        What::Request { answer, .. } if *line.who == *host && (from..=until).contains(&line.at) => {
            Some(answer)
        }
        _ => None,
    });
    let odd = |answer: &Answer| !matches!(answer, Answer::Status(200..300 | 404));
    let odd: Vec<Answer> = answers.filter(odd).collect();
    !odd.is_empty() && odd.iter().all(|answer| *answer == Answer::Status(429))
}
