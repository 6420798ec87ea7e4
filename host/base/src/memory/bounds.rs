//! The limits of an account: those of the version that runs, and of those that are to take over.

/// The limits of one account, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Above it, what calls want is refused.
    pub soft: usize,
    /// Above it, the plugin is stopped.
    pub hard: usize,
}

impl Bounds {
    /// No limits.
    pub const NONE: Self = Self {
        soft: usize::MAX,
        hard: usize::MAX,
    };
}

/// The limits of a plugin's versions.
#[derive(Debug, Default)]
pub(super) struct VersionBounds {
    /// Of the one that runs, or ran last.
    pub(super) running: Option<Bounds>,
    /// Of those that are to take over.
    pub(super) coming: Vec<(u64, Bounds)>,
    /// How many of them there were.
    pub(super) ids: u64,
}

impl VersionBounds {
    /// Their sum: each of them may have full stores of its own. No limits if there is no version.
    pub(super) fn bounds(&self) -> Bounds {
        let coming = self.coming.iter().map(|(_, bounds)| *bounds);
        let sum = |one: Bounds, other: Bounds| Bounds {
            soft: one.soft.saturating_add(other.soft),
            hard: one.hard.saturating_add(other.hard),
        };
        let all = self.running.into_iter().chain(coming);
        all.reduce(sum).unwrap_or(Bounds::NONE)
    }
}
