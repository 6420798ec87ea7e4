//! Takes a key, makes a pass, settles it: forever, and with one log line for each.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::backoff::Backoff;
use super::queue::Cause;
use super::reconcile::{Done, Pass, PassError, Reconciler};
use super::retry::{Next, next};
use super::work::WorkQueue;
use crate::error::Chain;
use crate::events::{Note, Severity};
use crate::plugin::{CallError, Failure, Plugin};
use crate::seams::Seams;
use crate::text::clean;
use crate::view::Key;
use crate::view::Metadata;

/// How much later than asked for a key may run: spreads what would happen at once.
const SPREAD: f64 = 0.1;

/// The longest piece of a guest's output in one log line.
const OUTPUT: usize = 4 << 10;

/// What the workers of one plugin share.
pub(super) struct Worker {
    reconciler: Arc<Reconciler>,
    queue: Arc<WorkQueue>,
    backoff: Mutex<Backoff<Key>>,
    seams: Seams,
}

impl Worker {
    pub(super) fn new(reconciler: Arc<Reconciler>, queue: Arc<WorkQueue>, seams: Seams) -> Self {
        Self {
            reconciler,
            queue,
            backoff: Mutex::default(),
            seams,
        }
    }

    /// From the next pass on, `plugin` is called, and it gets a first try at every object.
    pub(super) fn swap(&self, plugin: Arc<Plugin>) {
        self.reconciler.swap(plugin);
        *self.backoff() = Backoff::default();
        self.queue.add_low(self.reconciler.door().view.primaries());
    }

    /// Makes passes until the queue is closed.
    pub(super) async fn run(&self) {
        while let Some((key, cause)) = self.queue.take().await {
            // Handed back also when the pass panics: the key is not lost with it.
            let _done = HandBack {
                queue: &self.queue,
                key: &key,
            };
            self.turn(&key, cause).await;
        }
    }

    async fn turn(&self, key: &Key, cause: Cause) {
        let Some(object) = self.reconciler.find(key) else {
            self.backoff().forget(key); // deleted since it was queued
            self.reconciler.door().view.forgets(key);
            return;
        };
        let generation = object.metadata.generation;
        let attempt = self.backoff().attempt(key, generation);
        let started = self.seams.clock.now();
        let pass = self.reconciler.pass(&object, attempt).await;
        let elapsed = self.seams.clock.now() - started;
        let next = next(&pass.outcome, pass.traffic.slow_down);
        if let Some(delay) = pass.traffic.slow_down {
            self.queue.pause(delay);
        }
        let delay = self.settle(key, generation, cause, next);
        self.report(&object.metadata, &pass, attempt, elapsed, delay);
    }

    /// Queues the key as `next` says; answers the delay if it failed.
    fn settle(
        &self,
        key: &Key,
        generation: Option<i64>,
        cause: Cause,
        next: Next,
    ) -> Option<Duration> {
        if next != Next::Backoff && !matches!(next, Next::SlowDown(_)) {
            self.backoff().forget(key);
        }
        match next {
            Next::Rest => None,
            Next::Again => {
                self.queue.add(key.clone());
                None
            }
            Next::After(delay) => {
                self.queue
                    .add_after(key.clone(), self.seams.rng.spread(delay, SPREAD));
                None
            }
            Next::Backoff => {
                let delay = self.backoff().failed(key, generation, cause);
                let delay = self.seams.rng.spread(delay, SPREAD);
                self.queue.add_after(key.clone(), delay);
                Some(delay)
            }
            Next::SlowDown(delay) => {
                self.queue.add_after(key.clone(), delay);
                Some(delay)
            }
        }
    }

    /// The one log line of the pass, and an Event on the primary if it failed.
    fn report(
        &self,
        object: &Metadata,
        pass: &Pass,
        attempt: u32,
        elapsed: Duration,
        delay: Option<Duration>,
    ) {
        let plugin = &*self.reconciler.door().plugin;
        let primary = self.reconciler.primary(object);
        let name = primary.to_string();
        let step = pass.step.label();
        let elapsed_ms = millis(elapsed);
        let cpu_ms = millis(pass.cpu);
        let (memory, requests) = (pass.memory, pass.traffic.requests);
        let error = match &pass.outcome {
            Ok(done) => {
                let outcome = match done {
                    Done::Rest => "rest",
                    Done::Again => "again",
                    Done::After(_) => "after",
                };
                tracing::info!(
                    plugin,
                    object = name,
                    step,
                    outcome,
                    elapsed_ms,
                    cpu_ms,
                    memory,
                    requests,
                    "pass"
                );
                return;
            }
            Err(error) => error,
        };
        let outcome = error.label();
        let retry_ms = delay.map(millis);
        let output = clean(pass.output.trim(), OUTPUT);
        let cause = Chain(error);
        tracing::warn!(
            plugin,
            object = name,
            step,
            outcome,
            elapsed_ms,
            cpu_ms,
            memory,
            requests,
            attempt,
            retry_ms,
            output,
            "pass failed: {cause}"
        );
        if let Some(reason) = event_reason(error) {
            let cause = cause.to_string();
            let note = if output.is_empty() {
                cause
            } else {
                format!("{cause}; its output: {output}")
            };
            self.reconciler.door().events.publish(Note {
                plugin: self.reconciler.door().plugin.clone(),
                regarding: primary.about(),
                related: None,
                severity: Severity::Warning,
                reason: reason.to_owned(),
                action: "Reconcile".to_owned(),
                note: clean(&note, 1000),
            });
        }
    }

    fn backoff(&self) -> std::sync::MutexGuard<'_, Backoff<Key>> {
        self.backoff.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands a key back to the queue when the pass over it has ended, however it did.
struct HandBack<'a> {
    queue: &'a WorkQueue,
    key: &'a Key,
}

impl Drop for HandBack<'_> {
    fn drop(&mut self) {
        self.queue.done(self.key);
    }
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
