//! Whole hosts with faults: `windlass test --chaos`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use windlass_e2e::workspace;
use windlass_sandbox_tests::guests::guest;

use super::fixtures::{said, test};

/// A bug: the guest, its fixtures, the runs that suffice to find it, and what the report says of it.
type Bug = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// The bugs of both guests.
const BUGS: [Bug; 20] = [
    (
        "status-first",
        "wrong",
        "garden",
        "300",
        "ada-sign\n- present\n+ absent",
    ),
    ("creates-blindly", "wrong", "garden", "100", "ada-key-* (2)"),
    (
        "finalizes-by-status",
        "wrong",
        "garden",
        "150",
        "configmaps default/ledger-",
    ),
    (
        "marks-before-it-deletes",
        "wrong",
        "garden",
        "300",
        "configmaps default/ledger-",
    ),
    ("takes-over", "wrong", "garden", "60", FOREIGN),
    ("deletes-by-name", "wrong", "garden", "100", FOREIGN),
    ("counts-afterwards", "wrong", "garden", "300", "ada-level-*"),
    ("requeues-once", "wrong", "garden", "300", ".status.open"),
    (
        "takes-the-first-for-all",
        "wrong",
        "hive",
        "150",
        "ada-wax-inner",
    ),
    (
        "compares-with-what-it-wrote",
        "wrong",
        "hive",
        "400",
        "ada-frames",
    ),
    ("leaves-the-old-one", "wrong", "hive", "150", "ada-queen-*"),
    (
        "protects-late",
        "wrong",
        "hive",
        "100",
        "configmaps default/apiary-",
    ),
    ("gives-up", "wrong", "hive", "100", "a change was missed"),
    ("orders-at-random", "wrong", "meadow", "12", AT_REST),
    ("shares-a-name", "wrong", "meadow", "12", AT_REST),
    ("keeps-the-lock", "wrong-js", "visit", "100", "ada-ticket"),
    (
        "takes-an-error-for-there",
        "wrong-js",
        "visit",
        "100",
        "ada-badge",
    ),
    (
        "posts-again",
        "wrong-js",
        "visit",
        "100",
        "visits.example.com/visits/",
    ),
    (
        "fails-when-it-is-gone",
        "wrong-js",
        "visit",
        "100",
        "waits for its deletion",
    ),
    (
        "waits-to-see-it-go",
        "wrong-js",
        "table",
        "150",
        "ada-seat-",
    ),
];

/// What the report says of who touches what a user has made.
const FOREIGN: &str = "the user made it under the name of a child";

/// What the report says of who never comes to rest.
const AT_REST: &str = "writes during two resyncs, although nothing changed";

/// How many of the bugs are to be found.
const FOUND: usize = 18;

/// The correct twins: those of all bugs of a guest that have one folder of fixtures.
const TWINS: [(&str, &str); 5] = [
    ("wrong", "garden"),
    ("wrong", "hive"),
    ("wrong", "meadow"),
    ("wrong-js", "visit"),
    ("wrong-js", "table"),
];

/// A project of a guest with a bug, or without one if it is called nothing: what is in its folder, and its component.
fn wrong(name: &str, fixtures: &str, bug: &str) -> Result<TempDir> {
    let from = workspace().join("tests").join(name);
    let home = tempfile::Builder::new().prefix("a b ü").tempdir()?;
    for file in fs::read_dir(&from)? {
        let file = file?;
        if file.path().extension().is_some_and(|end| end == "yaml") {
            fs::copy(file.path(), home.path().join(file.file_name()))?;
        }
    }
    fs::copy(guest(name)?, home.path().join(name).with_extension("wasm"))?;
    let config = format!("config: {{ bug: {bug:?} }}");
    let document = fs::read_to_string(from.join("plugin.yaml"))?;
    ensure!(document.contains("config: {}"), "{document}");
    let document = document.replace("config: {}", &config);
    fs::write(home.path().join("plugin.yaml"), document)?;
    fs::create_dir(home.path().join("tests"))?;
    for file in fs::read_dir(from.join("tests").join(fixtures))? {
        let file = file?;
        let text = fs::read_to_string(file.path())?;
        ensure!(text.contains("given:\n  objects:"), "{text}");
        let given = format!("given:\n  {config}\n  objects:");
        let text = text.replacen("given:\n  objects:", &given, 1);
        fs::write(home.path().join("tests").join(file.file_name()), text)?;
    }
    Ok(home)
}

/// The report of runs, and whether they passed.
pub(super) fn runs(folder: &Path, arguments: &[&str]) -> Result<(bool, Value)> {
    let output = test(folder, &[&["-o", "json"], arguments].concat())?;
    let report = serde_json::from_slice(&output.stdout);
    let report = report.with_context(|| said(&output))?;
    Ok((output.status.success(), report))
}

/// The messages of a report.
pub(super) fn messages(report: &Value) -> Vec<&str> {
    let cases = report["cases"].as_array().into_iter().flatten();
    let failures = cases.flat_map(|case| case["failures"].as_array().into_iter().flatten());
    failures
        .filter_map(|failure| failure["message"].as_str())
        .collect()
}

#[test]
fn bugs_that_no_fixture_shows_are_found_with_faults() -> Result<()> {
    let mut missed = Vec::new();
    for (bug, name, fixtures, number, shown) in BUGS {
        let home = wrong(name, fixtures, bug)?;
        // What fixtures say of each call holds; only a write that fails may show more.
        let (_, report) = runs(home.path(), &[])?;
        let differ = messages(&report)
            .into_iter()
            .find(|text| text.contains("want -, got +"));
        ensure!(differ.is_none(), "{bug}: {report:#}");
        let (passed, report) = runs(home.path(), &["--chaos", "--runs", number])?;
        let all = messages(&report).join("\n");
        let is_found = !passed && all.contains(shown);
        if is_found {
            let again = "run it again with: windlass test --chaos --seed ";
            ensure!(all.contains(again), "{all}");
        } else {
            missed.push(format!("{bug}: {report:#}"));
        }
        let how = if is_found { "found" } else { "missed" };
        println!("{bug:28} {name:9} {number:>3} runs  {how:6}  {shown:?}");
    }
    let found = BUGS.len() - missed.len();
    println!("{found} of {} are found", BUGS.len());
    ensure!(found >= FOUND, "{}", missed.join("\n"));
    Ok(())
}

#[test]
fn who_has_none_of_these_bugs_passes() -> Result<()> {
    for (name, fixtures) in TWINS {
        let home = wrong(name, fixtures, "")?;
        let (passed, report) = runs(home.path(), &[])?;
        ensure!(passed, "{report:#}");
        let (passed, report) = runs(home.path(), &["--chaos", "--runs", "60"])?;
        ensure!(passed, "{report:#}");
        let cases = report["cases"].as_array().context("there are cases")?;
        let counts = cases.iter().map(|case| case["chaosRuns"].as_u64());
        assert_eq!(counts.map(Option::unwrap_or_default).sum::<u64>(), 60);
    }
    Ok(())
}

#[test]
fn the_greeter_passes_and_a_seed_can_be_run_alone() -> Result<()> {
    let folder = workspace().join("plugins/greeter");
    let home = tempfile::tempdir()?;
    for file in [
        "greeting.crd.yaml",
        "namespace.yaml",
        "plugin.yaml",
        "example.yaml",
    ] {
        fs::copy(folder.join(file), home.path().join(file))?;
    }
    fs::copy(guest("greeter")?, home.path().join("greeter.wasm"))?;
    let fixtures = folder.join("tests");
    let fixtures = fixtures.to_str().context("a path is text")?;
    let junit = home.path().join("junit.xml");
    let junit = junit.to_str().context("a path is text")?;
    let (passed, report) = runs(home.path(), &["--chaos", "-f", fixtures, "--junit", junit])?;
    ensure!(passed, "{report:#}");
    ensure!(fs::read_to_string(junit)?.contains("failures=\"0\""));
    // Without fixtures there is the example.
    let alone = ["--chaos", "--seed", "7", "--runs", "1"];
    let (passed, report) = runs(home.path(), &alone)?;
    ensure!(passed, "{report:#}");
    let files: Vec<_> = report["cases"].as_array().into_iter().flatten().collect();
    ensure!(files.len() == 1, "{report:#}");
    let file = files[0]["file"].as_str().unwrap_or_default();
    ensure!(file.ends_with("example.yaml"), "{report:#}");
    Ok(())
}

#[test]
fn who_has_nothing_to_begin_with_is_told_what_to_write() -> Result<()> {
    let home = wrong("wrong", "garden", "")?;
    fs::remove_dir_all(home.path().join("tests"))?;
    let output = test(home.path(), &["--chaos"])?;
    let said = said(&output);
    let shown = "write a fixture, or an example.yaml, with an object of the kind Garden";
    ensure!(
        output.status.code() == Some(1) && said.contains(shown),
        "{said}"
    );
    let output = test(home.path(), &["--runs", "1"])?;
    ensure!(output.status.code() == Some(2));
    Ok(())
}
