//! Runs tests that failed once more, alone: a test that passes then is flaky.

use super::job::Job;
use super::libtest::Results;
use super::run::Finished;
use crate::Error;

/// Runs the failed tests of these jobs again with `run`, one at a time, and counts those that pass as passed. Runs none
/// if more than `most` failed: so many are no accident. Returns the flaky tests, as `suite: test`.
///
/// # Errors
/// Those of `run`.
pub(super) fn failed_tests(
    finished: &mut [Finished],
    most: usize,
    mut run: impl FnMut(Job) -> Result<Results, Error>,
) -> Result<Vec<String>, Error> {
    let failed: usize = finished.iter().map(|job| job.results.failed).sum();
    if failed > most {
        return Ok(Vec::new());
    }
    let mut flaky = Vec::new();
    for Finished { job, results, .. } in finished {
        for test in results.failures.clone() {
            let again = run(alone(job, &test))?;
            if (again.passed, again.failed) == (1, 0) {
                results.passed += 1;
                results.failed = results.failed.saturating_sub(1);
                flaky.push(format!("{}: {test}", job.name));
            }
        }
    }
    Ok(flaky)
}

/// The job with one of its tests only.
fn alone(job: &Job, test: &str) -> Job {
    let program = job.command.iter().take(1).cloned();
    let arguments = ["--test-threads=1", "--exact", test].map(str::to_owned);
    Job {
        name: format!("{} (again)", job.name),
        command: program.chain(arguments).collect(),
        tests: vec![test.to_owned()],
        threads: 1,
        ..job.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::failed_tests;
    use crate::test::job::Job;
    use crate::test::libtest::Results;
    use crate::test::run::Finished;

    fn results(passed: usize, failures: &[String]) -> Results {
        let mut results = Results::new(Vec::new(), 0);
        results.passed = passed;
        results.failed = failures.len();
        results.failures = failures.to_vec();
        results
    }

    /// A job in which these tests failed, and another one passed.
    fn finished(name: &str, failures: &[&str]) -> Finished {
        let failures: Vec<String> = failures.iter().map(|&test| test.to_owned()).collect();
        Finished {
            job: Job {
                name: name.to_owned(),
                folder: "/w/t".into(),
                command: ["/t/program-1", "--test-threads=4"]
                    .map(str::to_owned)
                    .to_vec(),
                settings: vec![("A", "b")],
                tests: failures.clone(),
                threads: 4,
                slots: 2,
            },
            took: Duration::ZERO,
            results: results(1, &failures),
            output: Vec::new(),
        }
    }

    #[test]
    fn a_test_that_passes_when_it_runs_again_is_flaky_and_one_that_fails_twice_has_failed() {
        let mut jobs = [finished("a", &["never"]), finished("b", &["sometimes"])];
        let mut commands = Vec::new();
        let flaky = failed_tests(&mut jobs, 2, |job| {
            let passed = usize::from(job.command.ends_with(&["sometimes".to_owned()]));
            assert_eq!(job.settings, [("A", "b")]);
            commands.push(job.command.join(" "));
            let failures = job.tests.get(passed..).unwrap_or_default();
            Ok(results(passed, failures))
        });
        assert_eq!(flaky.unwrap(), ["b: sometimes"]);
        let want = ["never", "sometimes"];
        let want = want.map(|test| format!("/t/program-1 --test-threads=1 --exact {test}"));
        assert_eq!(commands, want);
        let counts = jobs.map(|job| (job.results.passed, job.results.failed));
        assert_eq!(counts, [(1, 1), (2, 0)]);
    }

    #[test]
    fn so_many_failures_are_no_accident() {
        let mut jobs = [finished("a", &["x", "y"]), finished("b", &["z"])];
        let flaky = failed_tests(&mut jobs, 2, |_| Err("nothing runs again".into()));
        assert_eq!(flaky.unwrap(), [""; 0]);
        assert_eq!(jobs.map(|job| job.results.failed), [2, 1]);
    }

    /// A suite that died, or is not of libtest, counts as failed and names no test.
    #[test]
    fn a_suite_that_names_no_test_has_failed() {
        let mut jobs = [finished("a", &[])];
        jobs[0].results.failed = 1;
        let flaky = failed_tests(&mut jobs, 2, |_| Err("nothing runs again".into()));
        assert_eq!(flaky.unwrap(), [""; 0]);
        assert_eq!(jobs[0].results.failed, 1);
    }
}
