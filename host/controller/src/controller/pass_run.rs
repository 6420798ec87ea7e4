//! A pass that has been made, before it is settled and recorded.

use std::time::Duration;

use jiff::Timestamp;
use tracing::Span;

use super::queue::Priority;
use super::reconcile::{Pass, PassVersion, Reconciler};
use super::record::{PassOutcome, Record};
use super::work::WorkItem;
use windlass_base::error::Chain;
use windlass_base::spans;
use windlass_base::text::clean;
use windlass_kube::object::Metadata;
use windlass_sandbox::cluster::Primary;
use windlass_view::Journal;

/// The longest error that is kept.
const TEXT: usize = 2 << 10;

/// A pass that has been made, and what it was about.
pub(super) struct PassRun<'a> {
    /// Who made it.
    pub(super) reconciler: &'a Reconciler,
    /// Why the key ran.
    pub(super) taken: &'a WorkItem,
    /// The version that made it.
    pub(super) version: &'a PassVersion,
    /// The primary as it was when the pass began.
    pub(super) metadata: &'a Metadata,
    pub(super) pass: Pass,
    pub(super) span: Span,
    pub(super) primary: Primary,
    /// How often it had failed before.
    pub(super) attempt: u32,
    pub(super) began: Timestamp,
    pub(super) took: Duration,
}

impl PassRun<'_> {
    /// Its record. `next` is when the key runs next, if nothing happens before.
    pub(super) fn record(
        &self,
        journal: Journal,
        hot_loop: Option<String>,
        next: Option<Duration>,
    ) -> Record {
        let (taken, pass) = (self.taken, &self.pass);
        let error = pass.outcome.as_ref().err();
        Record {
            primary: self.reconciler.primary_key(&taken.key.key),
            uid: self.primary.uid.clone(),
            version: self.metadata.resource_version.to_string(),
            reasons: taken.reasons.clone(),
            low: taken.priority == Priority::Low,
            step: pass.step,
            attempt: self.attempt,
            began: self.began,
            took: self.took,
            cpu: pass.cpu,
            memory: pass.memory,
            requests: pass.traffic.requests,
            journal,
            outcome: PassOutcome::of(&pass.outcome),
            error: error.map(|error| clean(&Chain(error).to_string(), TEXT)),
            output: clean(pass.output.trim(), TEXT),
            recording: pass.recording.clone(),
            observes: self.reconciler.observes(),
            hot_loop,
            trace: spans::trace_id(&self.span),
            next,
        }
    }
}
