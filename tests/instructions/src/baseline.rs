//! What each scene executed when somebody last said that it may: `baseline.json`, in instructions for all steps of a scene.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// By how much a scene may grow before somebody must say that it may, in hundredths.
const MARGIN: f64 = 10.0;

/// Counts by the names of scenes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline(BTreeMap<String, u64>);

/// What a count is beside the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// So many hundredths more, or less.
    Changed(f64),
    /// The baseline does not have it.
    Unknown,
}

impl Baseline {
    fn file() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("baseline.json")
    }

    /// The committed one.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn read() -> Result<Self> {
        let file = Self::file();
        let text = fs::read_to_string(&file);
        let text = text.with_context(|| format!("cannot read {}", file.display()))?;
        let read = serde_json::from_str(&text);
        Ok(Self(read.with_context(|| {
            format!("cannot read {}", file.display())
        })?))
    }

    /// Makes it the one to commit.
    ///
    /// # Errors
    /// The file system said no.
    pub(crate) fn write(&self) -> Result<()> {
        let file = Self::file();
        let text = serde_json::to_string_pretty(&self.0)? + "\n";
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    /// The scene executed so much.
    pub(crate) fn set(&mut self, scene: &str, count: u64) {
        self.0.insert(scene.to_owned(), count);
    }

    /// What `count` is to it.
    pub(crate) fn judge(&self, scene: &str, count: u64) -> Verdict {
        match self.0.get(scene) {
            Some(&before) => {
                // Judged as it is shown.
                let grown = count as f64 / before as f64 - 1.0;
                Verdict::Changed((grown * 1e3).round() / 10.0)
            }
            None => Verdict::Unknown,
        }
    }
}

impl Verdict {
    /// Whether nobody need say anything.
    pub(crate) fn is_well(self) -> bool {
        matches!(self, Self::Changed(by) if by <= MARGIN)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(by) if self.is_well() => write!(out, "{by:+.1} %"),
            Self::Changed(by) => write!(
                out,
                "{by:+.1} %: more than the {MARGIN} % that are let pass"
            ),
            Self::Unknown => write!(out, "which the baseline does not have"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_tenth_is_too_much_and_less_never_is() {
        let mut baseline = Baseline::default();
        baseline.set("known", 1_000);
        let cases = [
            ("known", 1_000, true, "+0.0 %"),
            ("known", 1_100, true, "+10.0 %"),
            (
                "known",
                1_101,
                false,
                "+10.1 %: more than the 10 % that are let pass",
            ),
            ("known", 500, true, "-50.0 %"),
            ("new", 1, false, "which the baseline does not have"),
        ];
        for (scene, count, is_well, said) in cases {
            let verdict = baseline.judge(scene, count);
            assert_eq!((verdict.is_well(), &*verdict.to_string()), (is_well, said));
        }
    }
}
