//! How passes fail.

use windlass_sandbox::CallFailure;

/// How a pass failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// The call of the plugin failed.
    Call(CallFailure),
    /// The finalizer could not be changed.
    Finalizer,
    /// The object could not be read.
    Read,
}

impl FailureKind {
    /// All of them, in the order of their names: a series of each is there before the first pass fails.
    pub(super) const ALL: [Self; 9] = [
        Self::Call(CallFailure::CpuExceeded),
        Self::Call(CallFailure::DeadlineExceeded),
        Self::Finalizer,
        Self::Call(CallFailure::Host),
        Self::Read,
        Self::Call(CallFailure::Stopped),
        Self::Call(CallFailure::Terminal),
        Self::Call(CallFailure::Transient),
        Self::Call(CallFailure::Trapped),
    ];

    /// Names it in logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Call(call) => call.label(),
            Self::Finalizer => "finalizer",
            Self::Read => "read",
        }
    }
}
