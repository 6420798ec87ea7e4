//! What is counted of the passes over one kind of objects, as controller-runtime counts reconciliations.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

/// The upper bounds of `controller_runtime_reconcile_time_seconds`
/// (controller-runtime, `pkg/internal/controller/metrics`).
const RECONCILE_TIME: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

/// What is counted of the passes over one kind.
#[derive(Debug)]
pub(crate) struct PassMetrics {
    /// Passes that ended well, and rest.
    pub(crate) success: Counter,
    /// Passes that failed.
    pub(crate) error: Counter,
    /// Passes that are to run again at once.
    pub(crate) requeue: Counter,
    /// Passes that are to run again after a time.
    pub(crate) requeue_after: Counter,
    /// Failures that only a change can fix.
    pub(crate) terminal: Counter,
    /// Calls that trapped.
    pub(crate) panics: Counter,
    /// Calls that were too slow.
    pub(crate) timeouts: Counter,
    /// How long passes took, in seconds.
    pub(crate) time: Histogram,
}

impl Default for PassMetrics {
    fn default() -> Self {
        Self {
            success: Counter::default(),
            error: Counter::default(),
            requeue: Counter::default(),
            requeue_after: Counter::default(),
            terminal: Counter::default(),
            panics: Counter::default(),
            timeouts: Counter::default(),
            time: Histogram::new(RECONCILE_TIME),
        }
    }
}

impl PassMetrics {
    /// How many passes have ended.
    pub(super) fn ended(&self) -> u64 {
        let ends = [
            &self.success,
            &self.error,
            &self.requeue,
            &self.requeue_after,
        ];
        ends.iter().map(|end| end.get()).sum()
    }
}
