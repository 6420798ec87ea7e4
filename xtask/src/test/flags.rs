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
    /// The suites that run; all if none is named.
    pub(super) suites: Vec<String>,
    /// Prints the names of all tests instead of running them.
    pub(super) list: bool,
    /// Tests at a time in each suite.
    pub(super) threads: usize,
    /// Slots for suites that run at the same time.
    pub(super) slots: usize,
}

impl Flags {
    /// Reads the words of a command line.
    ///
    /// # Errors
    /// A word is unknown, or a number is missing.
    pub(super) fn parse(words: &[&str]) -> Result<Self, Error> {
        let mut flags = Self {
            selection: Selection::All,
            suites: Vec::new(),
            list: false,
            threads: 4,
            slots: 3,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "all" => flags.selection = Selection::All,
                "real" => flags.selection = Selection::Real,
                "fast" => flags.selection = Selection::Fast,
                "embedded" => flags.selection = Selection::Embedded,
                "objects" => flags.selection = Selection::Objects,
                "--suite" => match words.next() {
                    Some(name) => flags.suites.push((*name).to_owned()),
                    None => return Err("--suite needs the name of a suite".into()),
                },
                "--list" => flags.list = true,
                "--threads" => flags.threads = number(word, words.next())?,
                "--slots" => flags.slots = number(word, words.next())?,
                _ => return Err(format!("unknown word {word}; see cargo xtask help").into()),
            }
        }
        Ok(flags)
    }
}

/// The number after this flag.
fn number(flag: &str, value: Option<&&str>) -> Result<usize, Error> {
    let number = value.and_then(|value| value.parse().ok());
    let number = number.filter(|number| *number > 0);
    number.ok_or_else(|| format!("{flag} needs a number above 0").into())
}

#[cfg(test)]
mod tests {
    use super::{Flags, Selection};

    #[test]
    fn flags_are_read_and_unknown_ones_are_refused() {
        let flags = ["embedded", "--threads", "8", "--suite", "why"];
        let flags = Flags::parse(&flags).unwrap();
        let want = Flags {
            selection: Selection::Embedded,
            suites: vec!["why".to_owned()],
            list: false,
            threads: 8,
            slots: 3,
        };
        assert_eq!(flags, want);
        for bad in [
            &["--threads"][..],
            &["--threads", "0"],
            &["fats"],
            &["--suite"],
        ] {
            assert!(Flags::parse(bad).is_err(), "{bad:?}");
        }
    }
}
