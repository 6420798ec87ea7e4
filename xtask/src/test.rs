//! Builds the tests, runs their suites a few at a time, and reports what each suite and the slowest tests took.
//!
//! - A suite is one test binary, or one top-level module of an end-to-end program.
//! - Most suites wait for processes that they started: three of them run at a time. A suite that computes takes two of these
//!   three slots.
//! - The output of a suite is printed when the suite ends.
//! - Unit tests and other quick suites run first. If one of them fails, nothing else runs.
//! - A test that fails runs again, alone. If it passes then, it is flaky: the report names it, and the run goes on.
//! - The run fails if a test failed, if a suite did not start, or if nothing ran.

mod again;
mod built;
mod flags;
mod job;
mod libtest;
mod plan;
mod report;
mod run;
mod suites;

use std::time::Instant;

use crate::Error;
use flags::Flags;
use job::Job;
use libtest::Results;

/// The most tests of a run that may be flaky.
const MOST_FLAKY: usize = 3;

/// Runs the suites that `flags` select. `true` if all tests passed.
///
/// # Errors
/// A flag is unknown, the tests do not build, or a list of tests names one that does not exist.
pub(crate) fn run(flags: &[&str]) -> Result<bool, Error> {
    let began = Instant::now();
    let flags = Flags::parse(flags)?;
    let binaries = built::build(&flags)?;
    let built = began.elapsed();
    let plan = plan::plan(&flags, &binaries)?;
    if flags.list {
        for name in plan.names() {
            println!("{name}");
        }
        return Ok(true);
    }
    let mut finished = run::all(&plan.early, flags.slots)?;
    let mut flaky = again::failed_tests(&mut finished, MOST_FLAKY, alone)?;
    if finished.iter().any(|job| job.results.failed > 0) {
        println!(
            "\n{} suites did not run, since an early test failed",
            plan.late.len()
        );
    } else {
        let mut late = run::all(&plan.late, flags.slots)?;
        let most = MOST_FLAKY.saturating_sub(flaky.len());
        flaky.extend(again::failed_tests(&mut late, most, alone)?);
        finished.extend(late);
    }
    let total = began.elapsed();
    Ok(report::print(&plan, &finished, &flaky, built, total))
}

/// Runs one job, with nothing beside it.
fn alone(job: Job) -> Result<Results, Error> {
    let finished = run::all(&[job], 1)?;
    let mut results = finished.into_iter().map(|job| job.results);
    results.next().ok_or_else(|| "a job has no end".into())
}
