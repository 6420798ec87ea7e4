//! A suite as it is run.

use std::path::PathBuf;

/// A suite as it is run: a command, and the tests that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    /// The suite's name in the report.
    pub(super) name: String,
    /// The folder in which it runs.
    pub(super) folder: PathBuf,
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// Settings in its environment.
    pub(super) settings: Vec<(&'static str, &'static str)>,
    /// The tests, in the order in which libtest starts them. None are named for other runners.
    pub(super) tests: Vec<String>,
    /// Tests at a time.
    pub(super) threads: usize,
    /// The slots that it takes, at most all of them.
    pub(super) slots: usize,
}
