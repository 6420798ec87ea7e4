//! Prints what ran: each suite with its time and its counts, and the slowest tests.

use std::time::Duration;

use super::plan::Plan;
use super::run::Finished;
use crate::workspace;

/// The number of slowest tests that the report has at least.
const SLOWEST: usize = 10;
/// A test that takes longer has a reason in `tests/slow`.
const SLOW: Duration = Duration::from_secs(20);

/// Prints the report. `true` if tests passed and none failed.
pub(super) fn print(
    plan: &Plan,
    finished: &[Finished],
    flaky: &[String],
    built: Duration,
    total: Duration,
) -> bool {
    if !plan.files_only.is_empty() {
        println!(
            "\nNot through Plugin objects, {} tests:",
            plan.files_only.len()
        );
        for (name, reason) in &plan.files_only {
            println!("  {name} {reason}");
        }
    }
    if !flaky.is_empty() {
        println!("\nFlaky tests, which failed once and passed when they ran again, alone:");
        for name in flaky {
            println!("  {name}");
        }
    }
    println!("\nThe slowest tests:");
    for (suite, test, took) in slowest(finished) {
        let reason = match plan.reason(test) {
            _ if took <= SLOW => "",
            Some(reason) => reason,
            None => "(tests/slow has no reason)",
        };
        println!("{:6.1} s  {suite}: {test} {reason}", took.as_secs_f64());
    }
    println!();
    let mut suites: Vec<&Finished> = finished.iter().collect();
    suites.sort_by(|a, b| a.job.name.cmp(&b.job.name));
    let (mut passed, mut failed) = (0, 0);
    for suite in suites {
        let Finished {
            job, took, results, ..
        } = suite;
        let name = &job.name;
        let minutes = took.as_secs_f64() / 60.0;
        let counts = (results.passed, results.failed);
        if counts != (0, 0) {
            println!(
                "{name:<32} {minutes:5.1} min  {:4} passed  {} failed",
                counts.0, counts.1
            );
        }
        passed += counts.0;
        failed += counts.1;
    }
    println!("{:<32} {:5.1} min", "building", built.as_secs_f64() / 60.0);
    println!(
        "{:<32} {:5.1} min",
        "all, with building",
        total.as_secs_f64() / 60.0
    );
    let counts = format!("{passed} passed, {failed} failed");
    println!("\n{counts}");
    // CI prints this line once more at the very end. Without the file, it has been printed once.
    let _ = std::fs::write(
        workspace().join("target/tests-counted"),
        format!("{counts}\n"),
    );
    failed == 0 && passed > 0
}

/// The slowest tests of all suites: suite, test, time.
fn slowest(finished: &[Finished]) -> Vec<(&str, &str, Duration)> {
    let mut tests = Vec::new();
    for suite in finished {
        let times = suite.results.times.iter();
        tests.extend(times.map(|(test, took)| (suite.job.name.as_str(), test.as_str(), *took)));
    }
    tests.sort_by_key(|(.., took)| std::cmp::Reverse(*took));
    let slow = tests.iter().filter(|(.., took)| *took > SLOW).count();
    tests.truncate(SLOWEST.max(slow));
    tests
}
