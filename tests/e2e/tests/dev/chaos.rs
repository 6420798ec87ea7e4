//! Whole hosts with faults: `windlass test --chaos`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use windlass_e2e::workspace;
use windlass_sandbox_tests::guests::guest;

use super::fixtures::{said, test};

/// The bugs of the guest, and what the report says of each.
const BUGS: [(&str, &str); 8] = [
    ("status-first", "ada-sign\n- present\n+ absent"),
    ("creates-blindly", "ada-key-* (2)"),
    ("finalizes-by-status", "configmaps default/ledger-"),
    ("marks-before-it-deletes", "configmaps default/ledger-"),
    ("takes-over", "the user made it under the name of a child"),
    (
        "deletes-by-name",
        "the user made it under the name of a child",
    ),
    ("counts-afterwards", "ada-level-*"),
    ("requeues-once", ".status.open"),
];

/// A project of the guest with a bug, or without one if it is called nothing: what is in its folder, and its component.
fn wrong(bug: &str) -> Result<TempDir> {
    let from = workspace().join("tests/wrong");
    let home = tempfile::Builder::new().prefix("a b ü").tempdir()?;
    fs::copy(
        from.join("garden.crd.yaml"),
        home.path().join("garden.crd.yaml"),
    )?;
    fs::copy(guest("wrong")?, home.path().join("wrong.wasm"))?;
    let config = format!("config: {{ bug: {bug:?} }}");
    let document = fs::read_to_string(from.join("plugin.yaml"))?;
    ensure!(document.contains("config: {}"), "{document}");
    let document = document.replace("config: {}", &config);
    fs::write(home.path().join("plugin.yaml"), document)?;
    fs::create_dir(home.path().join("tests"))?;
    for file in fs::read_dir(from.join("tests"))? {
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
    for (bug, shown) in BUGS {
        let home = wrong(bug)?;
        // What fixtures say of each call holds; only a write that fails may show more.
        let (_, report) = runs(home.path(), &[])?;
        let differ = messages(&report)
            .into_iter()
            .find(|text| text.contains("want -, got +"));
        ensure!(differ.is_none(), "{bug}: {report:#}");
        let (passed, report) = runs(home.path(), &["--chaos", "--runs", "300"])?;
        let all = messages(&report).join("\n");
        ensure!(!passed && all.contains(shown), "{bug}: {report:#}");
        ensure!(
            all.contains("run it again with: windlass test --chaos --seed "),
            "{all}"
        );
    }
    Ok(())
}

#[test]
fn who_has_none_of_these_bugs_passes() -> Result<()> {
    let home = wrong("")?;
    let (passed, report) = runs(home.path(), &[])?;
    ensure!(passed, "{report:#}");
    let (passed, report) = runs(home.path(), &["--chaos", "--runs", "150"])?;
    ensure!(passed, "{report:#}");
    let cases = report["cases"].as_array().context("there are cases")?;
    let counts = cases.iter().map(|case| case["chaosRuns"].as_u64());
    assert_eq!(counts.map(Option::unwrap_or_default).sum::<u64>(), 150);
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
    let home = wrong("")?;
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
