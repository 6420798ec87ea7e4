//! What a host finds by itself that somebody should look at: tokio-console's idea.
//!
//! - A pure function of what is counted and recorded; each warning has a word, a sentence with what to do, and a
//!   situation in the tests.

use std::sync::Arc;
use std::time::Duration;

use super::document::Warning;
use windlass_base::text::counted;
use windlass_controller::controller::{FailureSummary, Record, Step};
use windlass_controller::metrics::QueueDepth;
use windlass_view::{WakeReason, Wrote};

/// A key that has failed so often in a row is worth a look.
const MANY_FAILURES: u32 = 10;
/// A key that waits so long for a worker is worth a look.
const LONG_WAIT: Duration = Duration::from_secs(5);
/// Requests that have waited so long, together, are worth a look.
const LONG_THROTTLED: Duration = Duration::from_secs(10);
/// So many passes of one kind in a row are a habit.
const HABIT: usize = 10;
/// So much of a limit is near it, in percent.
const NEAR: u64 = 80;

/// What is known of a plugin.
#[derive(Clone, Debug, Default)]
pub(super) struct WarningInput {
    /// Why the newest version that was asked for does not run.
    pub(super) refused: Option<String>,
    /// It is quarantined.
    pub(super) is_quarantined: bool,
    /// Why its passes are slowed down, if they are.
    pub(super) slowed_down: Option<String>,
    /// Its passes, the oldest first.
    pub(super) records: Vec<Arc<Record>>,
    /// Of those, the ones of the last ten minutes: what failed long ago may be fixed.
    pub(super) recent: Vec<Arc<Record>>,
    /// The objects that fail now.
    pub(super) trouble: FailureSummary,
    /// What waits.
    pub(super) waiting: QueueDepth,
    /// Fields that became hot in the last ten minutes.
    pub(super) hot_loops: u64,
    /// How long requests to the API server waited for their turn in the last ten minutes, together.
    pub(super) throttled: Duration,
    /// Log lines that were dropped in that time.
    pub(super) log_lines: u64,
    /// Events that were dropped in that time.
    pub(super) events: u64,
    /// The most memory that a call may take, in bytes.
    pub(super) memory_limit: Option<u64>,
    /// The most CPU time that a call may take.
    pub(super) cpu_limit: Option<Duration>,
}

/// What should be looked at, the most urgent first.
pub(super) fn warnings(known: &WarningInput) -> Vec<Warning> {
    let all = [
        refused(known),
        slowed_down(known),
        fails(known),
        fails_for_good(known),
        not_granted(known),
        hot_loop(known),
        throttled(known),
        drops_log(known),
        drops_events(known),
        queue_slow(known),
        near_memory(known),
        near_cpu(known),
        polls(known),
        writes_status(known),
    ];
    let told = all.into_iter().flatten();
    told.map(|(reason, message)| Warning {
        reason: reason.to_owned(),
        message,
    })
    .collect()
}

type WarningText = Option<(&'static str, String)>;

fn refused(known: &WarningInput) -> WarningText {
    let why = known.refused.as_ref()?;
    let reason = if known.is_quarantined {
        "Quarantined"
    } else {
        "Refused"
    };
    Some((reason, format!("the newest version does not run: {why}")))
}

fn slowed_down(known: &WarningInput) -> WarningText {
    let why = known.slowed_down.as_ref()?;
    let text = format!("{why}: look at the objects that fail, and deploy a fixed version");
    Some(("SlowedDown", text))
}

fn fails(known: &WarningInput) -> WarningText {
    let worst = known.trouble.worst.as_ref();
    let worst = worst.filter(|worst| worst.times >= MANY_FAILURES)?;
    let (key, times, since) = (&worst.primary, worst.times, worst.since);
    let text = format!(
        "{key} has failed {times} times in a row, since {since:.0}: ask `windlass why` about it"
    );
    Some(("FailsAgainAndAgain", text))
}

fn fails_for_good(known: &WarningInput) -> WarningText {
    let (number, one) = (known.trouble.terminal, known.trouble.for_good.as_ref()?);
    (number > 0).then(|| {
        let text = format!("{} failed in a way that only a change can fix, {one} among them: ask `windlass why` about it", counted(number, "object"));
        ("FailsForGood", text)
    })
}

fn not_granted(known: &WarningInput) -> WarningText {
    let mut newest = known.recent.iter().rev();
    let denied = newest.find(|record| !record.journal.denied.is_empty())?;
    // What has gone well since is not missing.
    let (key, what) = (&denied.primary, denied.journal.denied.first()?);
    let after = known.records.iter().rev();
    let mut after = after.take_while(|record| !Arc::ptr_eq(record, denied));
    if after.any(|record| record.primary == *key) {
        return None;
    }
    Some(("NotGranted", format!("for {key} it may not {what}")))
}

fn hot_loop(known: &WarningInput) -> WarningText {
    let times = known.hot_loops;
    (times > 0).then(|| {
        let text = format!("the same fields or objects were written again and again, {} in the last ten minutes: the Events HotLoop name them, and another writer", counted(times, "time"));
        ("HotLoop", text)
    })
}

fn throttled(known: &WarningInput) -> WarningText {
    let seconds = known.throttled.as_secs();
    (known.throttled >= LONG_THROTTLED).then(|| {
        let text = format!("its requests to the API server have waited {seconds} s for their turn in the last ten minutes: the plugins send more than the API server answers without delay, or more than limits.apiQPS or --kube-api-qps allows. Let them send fewer, or raise the limit");
        ("Throttled", text)
    })
}

fn drops_log(known: &WarningInput) -> WarningText {
    let lines = known.log_lines;
    (lines > 0).then(|| {
        let lines = counted(lines, "log line");
        let text = format!("the host dropped {lines} of it in the last ten minutes: let it write fewer, or raise limits.logBytesPerSecond");
        ("DropsLogLines", text)
    })
}

fn drops_events(known: &WarningInput) -> WarningText {
    let events = known.events;
    (events > 0).then(|| {
        let events = counted(events, "Event");
        let text = format!("the host dropped {events} of it in the last ten minutes: let it publish fewer, also about one object, or raise limits.weight");
        ("DropsEvents", text)
    })
}

fn queue_slow(known: &WarningInput) -> WarningText {
    let oldest = known.waiting.oldest;
    (oldest >= LONG_WAIT).then(|| {
        let seconds = oldest.as_secs();
        let text = format!("a key has waited {seconds} s for a worker: raise limits.concurrency, or make passes shorter");
        ("QueueSlow", text)
    })
}

fn near_memory(known: &WarningInput) -> WarningText {
    let (peaks, limit) = (
        known.recent.iter().map(|record| record.memory),
        known.memory_limit?,
    );
    let peak = u64::try_from(peaks.max()?).unwrap_or(u64::MAX);
    (peak.saturating_mul(100) >= limit.saturating_mul(NEAR)).then(|| {
        let (peak, limit) = (peak >> 20, limit >> 20);
        let text =
            format!("a call took {peak} of {limit} MiB: raise limits.memory before one traps");
        ("NearMemoryLimit", text)
    })
}

fn near_cpu(known: &WarningInput) -> WarningText {
    let limit = known.cpu_limit?;
    let most = known.recent.iter().map(|record| record.cpu).max()?;
    (most * 100 >= limit * u32::try_from(NEAR).unwrap_or(100)).then(|| {
        let (most, limit) = (most.as_millis(), limit.as_millis());
        let text = format!(
            "a call took {most} of {limit} ms of CPU time: raise limits.cpu before one is stopped"
        );
        ("NearCPULimit", text)
    })
}

/// Passes that only the plugin itself asked for, and that found nothing to do.
fn polls(known: &WarningInput) -> WarningText {
    let newest: Vec<_> = known.records.iter().rev().take(HABIT).collect();
    let asked = |record: &&Arc<Record>| {
        let asked = |why: &WakeReason| *why == WakeReason::Requeued;
        record.reasons.first.iter().all(asked) && !record.reasons.first.is_empty()
    };
    let idle = |record: &&Arc<Record>| !record.journal.writes.iter().any(Wrote::has_effect);
    let habit = newest.len() == HABIT && newest.iter().all(|it| asked(it) && idle(it));
    habit.then(|| {
        let text = format!("the last {HABIT} passes ran only since the plugin asked for them, and changed nothing: let it wait for a change, or longer");
        ("PollsForNothing", text)
    })
}

fn writes_status(known: &WarningInput) -> WarningText {
    let newest = known
        .records
        .iter()
        .rev()
        .filter(|record| record.step == Step::Reconcile);
    let newest: Vec<_> = newest.take(HABIT).collect();
    let writes = |record: &&Arc<Record>| {
        let mut writes = record.journal.writes.iter();
        writes.any(|wrote| {
            let primary = &record.primary;
            let own = wrote.kind == primary.resource.kind && wrote.key == primary.key;
            own && wrote
                .end
                .differences()
                .iter()
                .any(|one| one.path.starts_with(".status"))
        })
    };
    let same_version = newest.iter().map(|record| (&record.primary, &record.uid));
    let keys: std::collections::BTreeSet<_> = same_version.collect();
    let habit = newest.len() == HABIT && keys.len() < HABIT / 2 && newest.iter().all(writes);
    habit.then(|| {
        let text = format!("each of the last {HABIT} passes changed its object's status: is there a time or a counter in it, or does somebody else write it too?");
        ("WritesStatusEachTime", text)
    })
}

#[cfg(test)]
mod tests;
