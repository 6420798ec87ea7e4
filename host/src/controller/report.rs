//! What people are told of a pass: one log line, and an Event on the primary if something is wrong.

use std::time::Duration;

use super::hot::WINDOW;
use super::reconcile::{Done, Pass, PassError};
use super::record::Record;
use super::retry::SHORTEST_REQUEUE;
use crate::error::Chain;
use crate::events::{Note, Severity};
use crate::plugin::cluster::{Door, Primary};
use crate::plugin::{CallError, Failure};
use crate::text::clean;
use crate::view::{End, Wrote};

/// The longest piece of a guest's output in one log line.
const OUTPUT: usize = 4 << 10;

/// How a pass ended, in a word.
pub(super) fn label(outcome: &Result<Done, PassError>) -> &'static str {
    match outcome {
        Ok(Done::Rest) => "rest",
        Ok(Done::Again) => "again",
        Ok(Done::After(_)) => "after",
        Err(error) => error.label(),
    }
}

/// The one log line of the pass, and an Event on the primary if it failed.
pub(super) fn pass(door: &Door, primary: &Primary, pass: &Pass, record: &Record) {
    let plugin = &*door.plugin;
    let object = primary.to_string();
    let why = record.whys.first.first().map(ToString::to_string);
    let Record {
        step,
        outcome,
        attempt,
        memory,
        requests,
        trace: trace_id,
        ..
    } = record;
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
    let cause = Chain(error);
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
        "pass failed: {cause}"
    );
    if let Some(reason) = event_reason(error) {
        let cause = cause.to_string();
        let denied = record.journal.denied.first();
        let denied = denied.map_or_else(String::new, |what| format!("; it may not {what}"));
        let note = match output.is_empty() {
            true => format!("{cause}{denied}"),
            false => format!("{cause}{denied}; its output: {output}"),
        };
        warn(door, primary, reason, &note);
    }
}

/// A plugin asks for its next pass sooner than it may have it.
pub(super) fn too_soon(door: &Door, primary: &Primary, asked: u32) {
    let (plugin, object) = (&*door.plugin, primary.to_string());
    let least = SHORTEST_REQUEUE.as_millis();
    tracing::warn!(
        plugin,
        object,
        "the plugin asks for the next pass after {asked} ms, and gets it after {least}: let it wait for a change, or longer"
    );
}

/// A plugin keeps rewriting a field, or making the same object.
pub(super) fn hot(door: &Door, primary: &Primary, wrote: &Wrote, field: &str, times: usize) {
    let plugin = &*door.plugin;
    let (kind, key, seconds) = (&wrote.kind, &wrote.key, WINDOW.as_secs());
    let what = match &wrote.end {
        End::Created(_) => format!("made {kind} {key}"),
        End::Unseen => format!("wrote {kind} {key}"),
        _ => format!("rewrote {kind} {key} {field}"),
    };
    let note = format!("{plugin} {what} {times} times in {seconds} s");
    let object = primary.to_string();
    tracing::warn!(plugin, object, "hot loop: {note}; its key is slowed down");
    let remedy =
        "look for another writer of that field, or for a value that changes with each pass";
    warn(door, primary, "HotLoop", &format!("{note}: {remedy}"));
}

fn warn(door: &Door, primary: &Primary, reason: &str, note: &str) {
    door.events.publish(Note {
        plugin: door.plugin.clone(),
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
        PassError::Call(CallError::DeadlineExceeded(_)) => Some("DeadlineExceeded"),
        PassError::Call(CallError::CpuExceeded(_)) => Some("CPUExceeded"),
        PassError::Call(CallError::Trapped(_)) => Some("PluginTrapped"),
        PassError::Call(CallError::Host(_)) => Some("HostError"),
        PassError::Finalizer(_) => Some("FinalizerFailed"),
        PassError::Call(CallError::Stopped) | PassError::Read(_) => None,
    }
}

fn millis(duration: Duration) -> f64 {
    // Three digits after the point are what a reader can use.
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
