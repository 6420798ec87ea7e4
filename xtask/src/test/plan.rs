//! Decides which jobs run, in which order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::built::{self, Binary};
use super::flags::{Flags, Selection};
use super::job::Job;
use super::suites::{
    ALONE, EMBEDDED_SERVER, END_TO_END, FIRST, HEAVY, NODE, NOT_EMBEDDED, OBJECTS, OBJECTS_REAL,
    QUICK_OBJECTS, REAL_ONLY, SHARES, THROUGH_OBJECTS, list,
};
use crate::{Error, workspace};

/// The jobs of one call of `cargo xtask test`, and the reasons for the report.
#[derive(Debug)]
pub(super) struct Plan {
    /// Unit tests and other quick suites, in the order in which they start.
    pub(super) early: Vec<Job>,
    /// The other suites, in the order in which they start. They run only if no early test failed.
    pub(super) late: Vec<Job>,
    /// The tests that do not run through Plugin objects, with the reason of each.
    pub(super) files_only: Vec<(String, String)>,
    /// The tests that may take more than 20 seconds, with the reason of each.
    slow: Vec<(String, String)>,
}

impl Plan {
    /// The reason for which a test may take more than 20 seconds.
    pub(super) fn reason(&self, test: &str) -> Option<&str> {
        let mut slow = self.slow.iter();
        let (_, reason) = slow.find(|(name, _)| ends_with(test, name))?;
        Some(reason)
    }

    /// The tests of all jobs, sorted: `suite test`.
    pub(super) fn names(&self) -> BTreeSet<String> {
        let of_job = |job: &Job| {
            let suite = job.name.clone();
            job.tests
                .clone()
                .into_iter()
                .map(move |test| format!("{suite} {test}"))
        };
        self.early
            .iter()
            .chain(&self.late)
            .flat_map(of_job)
            .collect()
    }
}

/// A suite: a test binary, or a module of one.
#[derive(Clone, Debug)]
struct Suite {
    name: String,
    binary: Binary,
    tests: Vec<String>,
    is_end_to_end: bool,
}

/// Decides which jobs run.
///
/// # Errors
/// A binary does not list its tests, or a table or list names a suite or test that does not exist.
pub(super) fn plan(flags: &Flags, binaries: &[Binary]) -> Result<Plan, Error> {
    let mut suites = Vec::new();
    for binary in binaries {
        suites.extend(of_binary(binary, built::tests(&binary.path)?));
    }
    let files_only = list("tests/e2e/files-only")?;
    let slow = list("tests/slow")?;
    if flags.selection != Selection::Fast {
        check(&suites, &files_only, &slow)?;
    }
    if !flags.suites.is_empty() {
        if let Some(name) = flags
            .suites
            .iter()
            .find(|name| suites.iter().all(|suite| suite.name != **name))
        {
            return Err(format!("there is no suite {name}").into());
        }
        suites.retain(|suite| flags.suites.contains(&suite.name));
    }
    let first = |suite: &Suite| {
        let place = FIRST.iter().position(|name| *name == suite.name);
        place.unwrap_or(FIRST.len())
    };
    suites.sort_by_key(first);
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for suite in &suites {
        let is_early = !suite.is_end_to_end && !FIRST.contains(&suite.name.as_str());
        let jobs = if is_early { &mut early } else { &mut late };
        jobs.extend(of_suite(suite, flags, &files_only));
    }
    let is_whole = flags.suites.is_empty();
    if is_whole && matches!(flags.selection, Selection::All | Selection::Real) {
        early.push(documentation(flags));
        early.extend(node()?);
    }
    let is_left_out = |(name, _): &(String, String)| {
        let mut through = late
            .iter()
            .filter(|job| job.settings.contains(&THROUGH_OBJECTS));
        through.any(|job| {
            let mut suites = suites.iter().filter(|suite| {
                job.tests
                    .first()
                    .is_some_and(|test| suite.tests.contains(test))
            });
            suites.any(|suite| suite.tests.iter().any(|test| ends_with(test, name)))
        })
    };
    let files_only = files_only
        .iter()
        .filter(|pair| is_left_out(pair))
        .cloned()
        .collect();
    Ok(Plan {
        early,
        late,
        files_only,
        slow,
    })
}

/// The suites of a binary with these tests.
fn of_binary(binary: &Binary, tests: Vec<String>) -> Vec<Suite> {
    let is_program = binary.folder.ends_with(END_TO_END) && !binary.name.ends_with(" (unit)");
    let suite = |name: &str, tests: Vec<String>| Suite {
        name: name.to_owned(),
        binary: binary.clone(),
        tests,
        is_end_to_end: is_program,
    };
    if !is_program {
        return vec![suite(&binary.name, tests)];
    }
    let mut modules: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for test in tests {
        let is_alone = ALONE.iter().any(|name| ends_with(&test, name));
        let module = if is_alone {
            Some(SHARES)
        } else {
            test.split("::").next()
        };
        let module = module.unwrap_or_default().to_owned();
        modules.entry(module).or_default().push(test);
    }
    modules
        .into_iter()
        .map(|(module, tests)| suite(&module, tests))
        .collect()
}

/// The jobs of a suite, one for each way in which it runs.
fn of_suite(suite: &Suite, flags: &Flags, files_only: &[(String, String)]) -> Vec<Job> {
    let is = |names: &[&str]| suite.is_end_to_end && names.contains(&suite.name.as_str());
    let is_embedded = suite.is_end_to_end && !is(&NOT_EMBEDDED);
    let on_real = |test: &str| REAL_ONLY.iter().any(|name| ends_with(test, name));
    let of_files = |test: &str| files_only.iter().any(|(name, _)| ends_with(test, name));
    let of_node = |test: &str| {
        let mut modules = NODE.iter();
        modules.any(|(name, module)| suite.name == *name && test.starts_with(module))
    };
    let mut jobs = Vec::new();
    let mut add = |name: String,
                   settings: &[(&'static str, &'static str)],
                   threads,
                   left_out: &dyn Fn(&str) -> bool| {
        let mut tests = suite.tests.clone();
        tests.retain(|test| !left_out(test));
        if tests.is_empty() {
            return;
        }
        let mut command = vec![suite.binary.path.display().to_string()];
        command.push(format!("--test-threads={threads}"));
        if suite.is_end_to_end || tests.len() != suite.tests.len() {
            command.push("--exact".to_owned());
            command.extend(tests.iter().cloned());
        }
        jobs.push(Job {
            name,
            folder: suite.binary.folder.clone(),
            command,
            settings: settings.to_vec(),
            tests,
            threads,
            slots: match suite.name.as_str() {
                SHARES => usize::MAX,
                name if HEAVY.contains(&name) => 2,
                _ => 1,
            },
        });
    };
    let (name, threads) = (&suite.name, flags.threads);
    match flags.selection {
        Selection::All | Selection::Real => {
            add(name.clone(), &[], threads, &|_| false);
            if is_embedded && flags.selection == Selection::All {
                add(
                    format!("{name} (embedded)"),
                    &[EMBEDDED_SERVER],
                    threads,
                    &on_real,
                );
            }
        }
        Selection::Fast => add(name.clone(), &[], threads, &of_node),
        Selection::Embedded if is_embedded => {
            add(
                format!("{name} (embedded)"),
                &[EMBEDDED_SERVER],
                threads,
                &on_real,
            );
        }
        Selection::Embedded | Selection::Objects => {}
    }
    let through_objects = match flags.selection {
        Selection::All => is(&QUICK_OBJECTS),
        Selection::Objects => is(&OBJECTS),
        Selection::Real | Selection::Fast | Selection::Embedded => false,
    };
    if through_objects {
        let settings = [THROUGH_OBJECTS, EMBEDDED_SERVER];
        add(format!("{name} (objects)"), &settings, threads, &|test| {
            on_real(test) || of_files(test)
        });
    }
    if flags.selection == Selection::Objects && is(&OBJECTS_REAL) {
        add(
            format!("{name} (objects, real)"),
            &[THROUGH_OBJECTS],
            1,
            &of_files,
        );
    }
    jobs
}

/// The examples in documentation.
fn documentation(flags: &Flags) -> Job {
    let words = ["cargo", "test", "--doc", "--workspace", "--"].map(str::to_owned);
    let mut command = words.to_vec();
    command.push(format!("--test-threads={}", flags.threads));
    foreign("docs", workspace().to_owned(), command)
}

/// The tests in JavaScript, one suite for each package.
fn node() -> Result<Vec<Job>, Error> {
    let mut packages = vec!["guest-sdk/js".to_owned(), "tests/page-js".to_owned()];
    for entry in std::fs::read_dir(workspace().join("plugins"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with("-js") {
            packages.push(format!("plugins/{name}"));
        }
    }
    packages.sort();
    let command = ["node", "--test", "--test-reporter=spec", "test/"].map(str::to_owned);
    let job = |package: String| {
        let folder = workspace().join(&package);
        foreign(&format!("{package} (node)"), folder, command.to_vec())
    };
    Ok(packages.into_iter().map(job).collect())
}

fn foreign(name: &str, folder: PathBuf, command: Vec<String>) -> Job {
    Job {
        name: name.to_owned(),
        folder,
        command,
        settings: Vec::new(),
        tests: Vec::new(),
        threads: 1,
        slots: 1,
    }
}

/// Whether this is the path of a test that a list names by its last words.
fn ends_with(test: &str, name: &str) -> bool {
    let before = test.strip_suffix(name);
    before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
}

/// Checks that everything that is named exists.
fn check(
    suites: &[Suite],
    files_only: &[(String, String)],
    slow: &[(String, String)],
) -> Result<(), Error> {
    let tables = [
        &FIRST[..],
        &NOT_EMBEDDED,
        &OBJECTS,
        &QUICK_OBJECTS,
        &OBJECTS_REAL,
        &HEAVY,
    ];
    for name in tables.concat() {
        if !suites.iter().any(|suite| suite.name == name) {
            return Err(format!("there is no suite {name}").into());
        }
    }
    let lists = files_only.iter().chain(slow).map(|(name, _)| name.as_str());
    for name in REAL_ONLY.into_iter().chain(ALONE).chain(lists) {
        let mut tests = suites.iter().flat_map(|suite| &suite.tests);
        if !tests.any(|test| ends_with(test, name)) {
            return Err(format!("there is no test {name}").into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ends_with, of_binary, of_suite};
    use crate::test::built::Binary;
    use crate::test::flags::Flags;
    use crate::test::suites::{ALONE, SHARES};

    fn jobs(
        program: &str,
        tests: &[&str],
        flags: &[&str],
        files_only: &[&str],
    ) -> Vec<(String, Vec<String>, bool)> {
        let binary = Binary {
            name: program.to_owned(),
            folder: "/w/tests/e2e".into(),
            path: "/t/program-1".into(),
        };
        let flags = Flags::parse(flags).unwrap();
        let files_only: Vec<_> = files_only
            .iter()
            .map(|name| ((*name).to_owned(), String::new()))
            .collect();
        let tests = tests.iter().map(|test| (*test).to_owned()).collect();
        let suites = of_binary(&binary, tests);
        let jobs = suites
            .iter()
            .flat_map(|suite| of_suite(suite, &flags, &files_only));
        let jobs = jobs.map(|job| (job.name, job.tests, job.slots == usize::MAX));
        jobs.collect()
    }

    fn job(name: &str, tests: &[&str], alone: bool) -> (String, Vec<String>, bool) {
        (
            name.to_owned(),
            tests.iter().map(|test| (*test).to_owned()).collect(),
            alone,
        )
    }

    #[test]
    fn each_module_of_a_program_is_a_suite_that_runs_on_both_servers_and_through_objects() {
        let tests = ["config::b", "kinds::a", "why::c::d"];
        let want = [
            job("config", &["config::b"], false),
            job("config (embedded)", &["config::b"], false),
            job("kinds", &["kinds::a"], false),
            job("kinds (embedded)", &["kinds::a"], false),
            job("why", &["why::c::d"], false),
            job("why (embedded)", &["why::c::d"], false),
        ];
        assert_eq!(jobs("plugins", &tests, &["all"], &["a", "d"]), want);
        let want = [
            job("kinds (objects)", &["kinds::a"], false),
            job("kinds (objects, real)", &["kinds::a"], false),
        ];
        assert_eq!(jobs("plugins", &tests, &["objects"], &["d"]), want);
    }

    #[test]
    fn what_measures_shares_runs_alone_and_on_the_real_server() {
        let alone = format!("attacks::cpu::{}", ALONE[0]);
        let tests = ["attacks::cpu::x", &alone];
        let want = [
            job("attacks", &["attacks::cpu::x"], false),
            job(SHARES, &[&alone], true),
        ];
        assert_eq!(jobs("faults", &tests, &["all"], &[]), want);
    }

    #[test]
    fn a_list_names_a_test_by_its_last_words() {
        assert!(ends_with("a::b::c", "c") && ends_with("a::b::c", "b::c") && ends_with("c", "c"));
        assert!(!ends_with("a::xc", "c"));
    }
}
