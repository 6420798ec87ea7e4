//! How far an informer is.

use tokio::time::Instant;

/// How far an informer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InformerPhase {
    /// Its first list is not in yet.
    Starting,
    /// It has its first list.
    Synced,
    /// The kind is not served, so there is nothing.
    Absent,
}

/// How far an informer is, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::informer) struct InformerState {
    pub(in crate::informer) phase: InformerPhase,
    /// The edition of the fields that the last complete list kept.
    pub(in crate::informer) listed: u32,
    /// When the server was last asked for a list of the newest state that has come.
    pub(in crate::informer) asked: Option<Instant>,
}

impl InformerState {
    /// Nothing is listed yet.
    pub(super) fn starting() -> Self {
        Self {
            phase: InformerPhase::Starting,
            listed: 0,
            asked: None,
        }
    }
}
