//! What is counted of a pass, as controller-runtime counts reconciliations.

use super::reconcile::{Done, Pass, PassError};
use super::record::Record;
use crate::metrics::{PassMetrics, PluginMetrics};
use windlass_sandbox::{CallError, Failure};

/// Counts a pass that has ended, one of the `passes` over its kind.
pub(super) fn count(meters: &PluginMetrics, passes: &PassMetrics, pass: &Pass, record: &Record) {
    passes.time.observe(record.took.as_secs_f64());
    meters.cpu.inc_by(record.cpu.as_secs_f64());
    meters.requests.inc_by(record.requests.into());
    let memory = u64::try_from(record.memory).unwrap_or(u64::MAX);
    if memory > meters.memory.get() {
        meters.memory.set(memory);
    }
    let error = match &pass.outcome {
        Ok(done) => {
            let result = match done {
                Done::Rest => &passes.success,
                Done::Again => &passes.requeue,
                Done::After(_) => &passes.requeue_after,
            };
            result.inc();
            return;
        }
        Err(error) => error,
    };
    passes.error.inc();
    meters.failed(error.kind());
    match error {
        PassError::Call(CallError::Failed(Failure::Terminal(_))) => passes.terminal.inc(),
        PassError::Call(CallError::Trapped(_)) => passes.panics.inc(),
        PassError::Call(CallError::DeadlineExceeded { .. } | CallError::CpuExceeded(_)) => {
            passes.timeouts.inc()
        }
        PassError::Call(
            CallError::Failed(Failure::Transient(_))
            | CallError::Host(_)
            | CallError::Stopped
            | CallError::Undecided,
        )
        | PassError::Finalizer(_)
        | PassError::Read(_) => 0,
    };
}
