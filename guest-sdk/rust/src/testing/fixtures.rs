//! Runs a folder of fixtures against a reconciler.

use std::path::Path;

use serde::Deserialize;
use serde_json::json;

use super::call::{Tested, answered};
use super::description::plugin;
use super::fake_cluster::begin;
use super::process::FakeError;
use crate::adapter::And;
use crate::reconciler::Reconciler;

/// What came of a file.
#[derive(Deserialize)]
struct Case {
    file: String,
    failures: Vec<CaseFailure>,
}

#[derive(Deserialize)]
struct CaseFailure {
    step: Option<usize>,
    message: String,
    log: String,
}

/// Runs every `*.yaml` in `folder`, as `windlass test` does, and gives their number. The project is that of the folder,
/// or of one above it.
///
/// For a plugin with several reconcilers, use the macro [`run_dir!`](crate::run_dir).
///
/// Each step is also run with each of its writes and HTTP requests failing once: when it is then repeated, the cluster
/// must be as if nothing had failed.
///
/// # Errors
/// If a fixture does not hold, with the differences of all that do not; or if there is none.
pub fn run_dir<R: Reconciler>(folder: impl AsRef<Path>) -> Result<usize, FakeError> {
    run_list::<And<R, ()>>(folder)
}

/// Runs fixtures against the reconcilers of a plugin, as [`run_dir`](crate::testing::run_dir) does: `run_dir!(Orders,
/// Invoices)` with the list of [`export!`](crate::export). The folder is `tests`, or another one before the list:
/// `run_dir!("tests/paid", Orders, Invoices)`.
#[macro_export]
macro_rules! run_dir {
    ($folder:literal, $($reconciler:ty),+ $(,)?) => {
        $crate::testing::run_list::<$crate::export!(@list $($reconciler),+)>($folder)
    };
    ($($reconciler:ty),+ $(,)?) => {
        $crate::run_dir!("tests", $($reconciler),+)
    };
}

/// As [`run_dir`], for a list of reconcilers.
///
/// # Errors
/// As there.
#[doc(hidden)]
pub fn run_list<K: Tested>(folder: impl AsRef<Path>) -> Result<usize, FakeError> {
    let folder = folder.as_ref();
    let wrong = |error: &dyn std::fmt::Display| FakeError(format!("{}: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| wrong(&error))? {
        files.push(entry.map_err(|error| wrong(&error))?.path());
    }
    files.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    if files.is_empty() {
        return Err(wrong(&"there is no fixture"));
    }
    let mut process = begin(folder)?;
    let request = json!({ "fixtures": { "plugin": plugin::<K>(), "files": files } });
    let (cases, _) = answered(&mut process, &|call| call.make_of::<K>(), &request)?;
    let cases: Vec<Case> = serde_json::from_value(cases).map_err(|error| wrong(&error))?;
    let failed: Vec<String> = cases.iter().flat_map(texts).collect();
    if failed.is_empty() {
        return Ok(files.len());
    }
    Err(FakeError(format!("\n{}", failed.join("\n"))))
}

fn texts(case: &Case) -> impl Iterator<Item = String> {
    case.failures.iter().map(|failure| {
        let step = failure.step.map(|step| format!(": step {step}"));
        let step = step.unwrap_or_default();
        let CaseFailure { message, log, .. } = failure;
        format!("{}{step}: {}\n{log}", case.file, message.trim_end())
    })
}
