//! What people are told of a pass: one log line, and an Event on the primary if something is wrong.

use std::time::Duration;

use tracing::{Span, record_all};

use super::hot::WINDOW;
use super::reconcile::{Pass, PassError};
use super::record::{PrimaryKey, Record};
use super::retry::SHORTEST_REQUEUE;
use windlass_base::error::Chain;
use windlass_base::spans;
use windlass_base::text::clean;
use windlass_kube::events::{Event, Severity};
use windlass_sandbox::cluster::{ClusterAccess, Primary};
use windlass_sandbox::{CallError, Failure};
use windlass_view::{Journal, WriteOutcome, Wrote};

/// The longest piece of a guest's output in one log line.
const OUTPUT: usize = 4 << 10;
/// The longest piece of a failure that was logged before.
const SAME: usize = 200;

/// Says in the span of a pass what has become of it.
pub(super) fn span(span: &Span, record: &Record) {
    if span.is_disabled() {
        return;
    }
    let why = record.reasons.first.first();
    // All at once: each record of a field by itself takes longer than these together.
    record_all!(
        span,
        outcome = record.outcome.label(),
        why = why.map(display),
        cpu_ms = record.cpu.as_secs_f64() * 1000.0,
        memory = i64::try_from(record.memory).unwrap_or(i64::MAX),
        requests = i64::from(record.requests)
    );
    if let Some(error) = &record.error {
        spans::failed(span, error);
    }
}

/// The one log line of the pass, and an Event on the primary if it failed. `last` is the failure of the pass before, if
/// it failed: what that said is not logged in full again.
pub(super) fn pass(
    cluster: &ClusterAccess,
    primary: &Primary,
    pass: &Pass,
    record: &Record,
    last: Option<&Record>,
) {
    let plugin = &*cluster.plugin;
    let object = primary.to_string();
    let why = record.reasons.first.first().map(ToString::to_string);
    let Record {
        step,
        outcome,
        attempt,
        memory,
        requests,
        trace: trace_id,
        ..
    } = record;
    let (step, outcome) = (step.label(), outcome.label());
    let (elapsed_ms, cpu_ms) = (millis(record.took), millis(record.cpu));
    let Err(error) = &pass.outcome else {
        tracing::info!(
            plugin, object, step, outcome, why, elapsed_ms, cpu_ms, memory, requests, trace_id,
            "pass"
        );
        return;
    };
    let retry_ms = record.next.map(millis);
    let output = clean(pass.output.trim(), OUTPUT);
    let cause = with_answers(&Chain(error).to_string(), &record.journal);
    let told = told(&cause, record, last);
    tracing::warn!(
        plugin,
        object,
        step,
        outcome,
        why,
        elapsed_ms,
        cpu_ms,
        memory,
        requests,
        attempt,
        retry_ms,
        output,
        trace_id,
        "pass failed: {told}"
    );
    if let Some(reason) = event_reason(error) {
        let note = event_note(&cause, &record.journal, &output);
        warn(cluster, primary, reason, &note);
    }
}

/// What the Event of a failed pass says.
fn event_note(cause: &str, journal: &Journal, output: &str) -> String {
    let denied = journal.denied.first();
    let denied = denied.map_or_else(String::new, |what| format!("; it may not {what}"));
    if output.is_empty() {
        format!("{cause}{denied}")
    } else {
        format!("{cause}{denied}; its output: {output}")
    }
}

/// Why a pass failed, and what the API server answered that this does not say.
fn with_answers(cause: &str, journal: &Journal) -> String {
    let untold = journal.untold(cause);
    let parts: Vec<&str> = std::iter::once(cause).chain(untold).collect();
    parts.join("; ")
}

/// The part of `cause` that is logged: its beginning, if the last pass failed in the same words.
fn told(cause: &str, record: &Record, last: Option<&Record>) -> String {
    let words = |record: &Record| (record.error.clone(), record.journal.failed.clone());
    match last {
        Some(last) if words(last) == words(record) => clean(cause, SAME),
        Some(_) | None => cause.to_owned(),
    }
}

/// A plugin asks for its next pass sooner than it may have it.
pub(super) fn too_soon(cluster: &ClusterAccess, primary: &Primary, asked: u32) {
    let (plugin, object) = (&*cluster.plugin, primary.to_string());
    let least = SHORTEST_REQUEUE.as_millis();
    tracing::warn!(
        plugin,
        object,
        "the plugin asks for the next pass after {asked} ms, and gets it after {least}: let it wait for a change, or longer"
    );
}

/// What a plugin does again and again.
pub(super) struct HotLoop<'a> {
    /// The last write of it.
    pub(super) wrote: &'a Wrote,
    /// The path of the field; empty if that is not known.
    pub(super) field: &'a str,
    /// Another primary of the plugin, if the same object is written for that as well.
    pub(super) rival: Option<&'a PrimaryKey>,
}

/// A plugin keeps rewriting a field, or making the same object: so many `times` within [`WINDOW`].
pub(super) fn hot(cluster: &ClusterAccess, primary: &Primary, seen: &HotLoop<'_>, times: usize) {
    let plugin = &*cluster.plugin;
    let object = primary.to_string();
    let (note, remedy) = seen.told(plugin, times);
    tracing::warn!(plugin, object, "hot loop: {note}; its key is slowed down");
    warn(cluster, primary, "HotLoop", &format!("{note}: {remedy}"));
}

impl HotLoop<'_> {
    /// What each turn of the loop does.
    pub(super) fn endless(&self) -> String {
        let (object, key) = (&self.wrote.kind, &self.wrote.key);
        let what = match &self.wrote.end {
            WriteOutcome::Created(_) => format!("makes {object} {key}"),
            _ if self.field.is_empty() => format!("writes {object} {key}"),
            _ => format!("rewrites {object} {key} {}", self.field),
        };
        match self.rival {
            Some(rival) => format!("{what}, in turn with the passes over {rival}"),
            None => what,
        }
    }

    /// What `plugin` did so many `times`, and what to do about it.
    fn told(&self, plugin: &str, times: usize) -> (String, &'static str) {
        let (object, key) = (&self.wrote.kind, &self.wrote.key);
        let what = match &self.wrote.end {
            WriteOutcome::Created(_) => format!("made {object} {key}"),
            _ if self.field.is_empty() => format!("wrote {object} {key}"),
            _ => format!("rewrote {object} {key} {}", self.field),
        };
        let seconds = WINDOW.as_secs();
        let note = format!("{plugin} {what} {times} times in {seconds} s");
        match self.rival {
            Some(rival) => (
                format!("{note}, in turn with its passes over {rival}"),
                "let only one of the two primaries name that object",
            ),
            None => (
                note,
                "look for another writer of that field, or for a value that changes with each pass",
            ),
        }
    }
}

/// A plugin keeps making objects and deleting them again.
pub(super) fn churns(cluster: &ClusterAccess, primary: &Primary, wrote: &Wrote, times: usize) {
    let plugin = &*cluster.plugin;
    let (kind, key, seconds) = (&wrote.kind, &wrote.key, WINDOW.as_secs());
    let note = format!(
        "{plugin} made and deleted {times} objects of kind {kind} in {seconds} s, {key} last"
    );
    let object = primary.to_string();
    tracing::warn!(plugin, object, "hot loop: {note}; its key is slowed down");
    let remedy = "let it keep the object, under a name that does not change";
    warn(cluster, primary, "HotLoop", &format!("{note}: {remedy}"));
}

/// A plugin is slowed down, since most of its calls trap or time out.
pub(super) fn slowed_down(cluster: &ClusterAccess, primary: &Primary, why: &str, is_new: bool) {
    let plugin = &*cluster.plugin;
    tracing::warn!(plugin, "slowed down: {why}");
    if is_new {
        let remedy = "look at its last failure, and deploy a fixed version";
        warn(
            cluster,
            primary,
            "PluginSlowedDown",
            &format!("{why}: {remedy}"),
        );
    }
}

/// A plugin that was slowed down has answered.
pub(super) fn free(cluster: &ClusterAccess) {
    let plugin = &*cluster.plugin;
    tracing::info!(
        plugin,
        "a call ended well: the plugin is slowed down no more"
    );
}

fn warn(cluster: &ClusterAccess, primary: &Primary, reason: &str, note: &str) {
    cluster.events.publish(Event {
        plugin: cluster.plugin.clone(),
        reporter: None,
        regarding: primary.about(),
        related: None,
        severity: Severity::Warning,
        reason: reason.to_owned(),
        action: "Reconcile".to_owned(),
        note: clean(note, 1000),
    });
}

/// The stable reason of the Event for a failed pass; none if nobody need know.
fn event_reason(error: &PassError) -> Option<&'static str> {
    match error {
        PassError::Call(CallError::Failed(Failure::Terminal(_))) => Some("TerminalError"),
        PassError::Call(CallError::Failed(Failure::Transient(_))) => Some("ReconcileFailed"),
        PassError::Call(CallError::DeadlineExceeded { .. }) => Some("DeadlineExceeded"),
        PassError::Call(CallError::CpuExceeded(_)) => Some("CPUExceeded"),
        PassError::Call(CallError::Trapped(_)) => Some("PluginTrapped"),
        PassError::Call(CallError::Host(_)) => Some("HostError"),
        PassError::Finalizer(_) => Some("FinalizerFailed"),
        PassError::Call(CallError::Stopped | CallError::Undecided) | PassError::Read(_) => None,
    }
}

fn millis(duration: Duration) -> f64 {
    // Three digits after the point are what a reader can use.
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_kube::object::Key;

    fn failed(error: &str, answers: &[&str]) -> Record {
        let answers = answers.iter().map(|words| (*words).to_owned());
        let journal = Journal {
            failed: answers.collect(),
            ..Journal::default()
        };
        Record {
            journal,
            error: Some(error.to_owned()),
            ..Record::settled()
        }
    }

    #[test]
    fn a_failed_pass_tells_what_the_api_server_answered_once() {
        let answer = "API server answered 503 ServiceUnavailable: etcd is away";
        let journal = failed("", &[answer]).journal;
        let vague = "cannot apply ConfigMap/n/a: the API server is not available";
        let whole = format!("{vague}; {answer}");
        assert_eq!(with_answers(vague, &journal), whole);
        assert_eq!(with_answers(&whole, &journal), whole);
    }

    #[test]
    fn a_long_failure_is_logged_in_full_once_until_it_changes() {
        let long = format!("exceeded quota: {}", "x".repeat(4000));
        let record = failed(&long, &[&long]);
        let short = clean(&long, SAME);
        let other = failed("no luck", &[]);
        let cases = [
            (None, &long),
            (Some(&record), &short),
            (Some(&other), &long),
        ];
        for (last, want) in cases {
            assert_eq!(&told(&long, &record, last), want);
        }
        assert_eq!(told("no luck", &other, Some(&other)), "no luck");
    }

    #[test]
    fn a_hot_loop_names_the_object_the_field_and_the_rival() {
        let wrote = Wrote {
            kind: "Secret".into(),
            key: Key::new(Some("n"), "tls"),
            end: WriteOutcome::Changed(Vec::new()),
            followed: Vec::new(),
            unread: Vec::new(),
            version: None,
        };
        let rival = PrimaryKey::greeting(Some("n"), "bob");
        let mut seen = HotLoop {
            wrote: &wrote,
            field: ".data.crt",
            rival: None,
        };
        let alone = "certs rewrote Secret n/tls .data.crt 40 times in 60 s";
        assert_eq!(seen.told("certs", 40).0, alone);
        assert_eq!(seen.endless(), "rewrites Secret n/tls .data.crt");
        // One that only may have changed a field.
        seen.field = "";
        let vague = "certs wrote Secret n/tls 40 times in 60 s";
        assert_eq!(seen.told("certs", 40).0, vague);
        assert_eq!(seen.endless(), "writes Secret n/tls");
        seen.field = ".data.crt";
        seen.rival = Some(&rival);
        let (note, remedy) = seen.told("certs", 40);
        assert_eq!(
            note,
            format!("{alone}, in turn with its passes over Greeting n/bob")
        );
        assert!(remedy.contains("only one of the two"));
        let turn = "rewrites Secret n/tls .data.crt, in turn with the passes over Greeting n/bob";
        assert_eq!(seen.endless(), turn);
    }
}
