//! What is said of a version that failed its trial.

use std::fmt;

use super::super::version::Version;
use windlass_base::text::counted;
use windlass_controller::controller::Share;

/// A version that failed its trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct RolledBack {
    /// Where its document stands.
    origin: String,
    /// All of the digest of its component, and how its passes ended.
    new: (String, Share),
    /// The same of the version that runs again.
    old: (String, Share),
    /// What most of its failed passes said.
    error: Option<String>,
}

impl RolledBack {
    /// `version` failed its trial, and `before` runs again.
    pub(in super::super) fn of(version: &Version, before: &Version) -> Self {
        Self {
            origin: version.candidate.document.origin.to_string(),
            new: (version.full_digest(), version.tally.all()),
            old: (before.full_digest(), before.tally.recent()),
            error: version.tally.frequent_error(),
        }
    }
}

impl fmt::Display for RolledBack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (new, share) = &self.new;
        let (old, before) = &self.old;
        let Share { objects, failed } = share;
        write!(
            out,
            "{}: the new version is rolled back: it failed for {failed} of {}",
            self.origin,
            counted(*objects, "object")
        )?;
        match before.objects {
            0 => write!(out, ", and the version before it made no pass")?,
            of => write!(
                out,
                ", and the version before it for {} of {of}",
                before.failed
            )?,
        }
        if let Some(error) = &self.error {
            write!(out, "; most of them said: {error}")?;
        }
        if new == old {
            write!(
                out,
                ". Its component is {new}, as before: its document is to blame. Correct the document"
            )
        } else {
            write!(
                out,
                ". Its component is {new}; {old} runs again. Deploy a version that is corrected"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollback_says_shares_digests_and_the_most_frequent_error() {
        let share = |failed, objects| Share { objects, failed };
        let mut told = RolledBack {
            origin: "plugin.windlass.dev/p".into(),
            new: ("sha256:b".into(), share(10, 10)),
            old: ("sha256:a".into(), share(1, 90)),
            error: Some("no luck".into()),
        };
        let want = "plugin.windlass.dev/p: the new version is rolled back: it failed for 10 of 10 objects, and the version before it for 1 of 90; most of them said: no luck. Its component is sha256:b; sha256:a runs again. Deploy a version that is corrected";
        assert_eq!(told.to_string(), want);
        told.old = ("sha256:b".into(), share(0, 0));
        told.error = None;
        let want = "plugin.windlass.dev/p: the new version is rolled back: it failed for 10 of 10 objects, and the version before it made no pass. Its component is sha256:b, as before: its document is to blame. Correct the document";
        assert_eq!(told.to_string(), want);
    }
}
