//! The command line of `cargo xtask test`.

use crate::Error;

/// Which suites run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// Everything.
    All,
    /// Every suite once; the end-to-end suites on the real control plane.
    Real,
    /// Only suites that need neither Go nor Node.js.
    Fast,
    /// Only the end-to-end suites, on the embedded API server.
    Embedded,
    /// Only the end-to-end suites that can run through Plugin objects.
    Objects,
}

/// Which suites run, and how many at a time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flags {
    /// Which suites run.
    pub(super) selection: Selection,
    /// Prints the names of all tests instead of running them.
    pub(super) list: bool,
    /// Tests at a time in each suite.
    pub(super) threads: usize,
    /// Suites at a time.
    pub(super) at_once: usize,
}

impl Flags {
    /// Reads the words of a command line.
    ///
    /// # Errors
    /// A word is unknown, or a number is missing.
    pub(super) fn parse(words: &[&str]) -> Result<Self, Error> {
        let mut flags = Self {
            selection: Selection::All,
            list: false,
            threads: 4,
            at_once: 2,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || -> Result<usize, Error> {
                let value = words.next().and_then(|value| value.parse().ok());
                let value = value.filter(|value| *value > 0);
                value.ok_or_else(|| format!("{word} needs a number above 0").into())
            };
            match *word {
                "all" => flags.selection = Selection::All,
                "real" => flags.selection = Selection::Real,
                "fast" => flags.selection = Selection::Fast,
                "embedded" => flags.selection = Selection::Embedded,
                "objects" => flags.selection = Selection::Objects,
                "--list" => flags.list = true,
                "--threads" => flags.threads = number()?,
                "--at-once" => flags.at_once = number()?,
                _ => return Err(format!("unknown word {word}; see cargo xtask help").into()),
            }
        }
        Ok(flags)
    }
}

#[cfg(test)]
mod tests {
    use super::{Flags, Selection};

    #[test]
    fn flags_are_read_and_unknown_ones_are_refused() {
        let flags = Flags::parse(&["embedded", "--threads", "8"]).unwrap();
        let want = Flags {
            selection: Selection::Embedded,
            list: false,
            threads: 8,
            at_once: 2,
        };
        assert_eq!(flags, want);
        for bad in [&["--threads"][..], &["--threads", "0"], &["fats"]] {
            assert!(Flags::parse(bad).is_err(), "{bad:?}");
        }
    }
}
