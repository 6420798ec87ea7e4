//! Builds the tests, runs their suites a few at a time, and reports what each suite and the slowest tests took.
//!
//! - A suite is one test binary, or one top-level module of an end-to-end program.
//! - Most suites wait for processes that they started: three of them run at a time. A suite that computes takes two of these
//!   three slots.
//! - The output of a suite is printed when the suite ends.
//! - Unit tests and other quick suites run first. If one of them fails, nothing else runs.
//! - The run fails if a test failed, if a suite did not start, or if nothing ran.

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
    if finished.iter().any(|job| job.results.failed > 0) {
        println!(
            "\n{} suites did not run, since an early test failed",
            plan.late.len()
        );
    } else {
        finished.extend(run::all(&plan.late, flags.slots)?);
    }
    Ok(report::print(&plan, &finished, built, began.elapsed()))
}
