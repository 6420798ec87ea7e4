//! The operators in `plugins/`: their fixtures, and whole hosts with faults.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use windlass_e2e::workspace;
use windlass_harness::guest;

use super::chaos::times;
use super::fixtures::{said, test};

/// The project of an operator with its component, and no source.
fn operator(name: &str) -> Result<TempDir> {
    let from = workspace().join("plugins").join(name);
    let home = tempfile::tempdir()?;
    for file in fs::read_dir(&from)? {
        let path = file?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            copy_into(&path, home.path())?;
        }
    }
    let path = home.path().join("plugin.yaml");
    let document = fs::read_to_string(&path)?;
    let without_build = document.split("\n  build:\n").next().unwrap_or_default();
    fs::write(&path, format!("{without_build}\n"))?;
    fs::create_dir(home.path().join("tests"))?;
    for file in fs::read_dir(from.join("tests"))? {
        copy_into(&file?.path(), &home.path().join("tests"))?;
    }
    fs::copy(guest(name)?, home.path().join(format!("{name}.wasm")))?;
    Ok(home)
}

fn copy_into(file: &Path, folder: &Path) -> Result<()> {
    if let Some(name) = file.file_name().filter(|_| file.is_file()) {
        fs::copy(file, folder.join(name))?;
    }
    Ok(())
}

/// Runs the fixtures of an operator, and `runs` hosts with faults. At least `cases` fixtures pass.
fn holds(name: &str, cases: usize, runs: u32) -> Result<()> {
    let home = operator(name)?;
    let fixtures = test(home.path(), &["-o", "json"])?;
    ensure!(fixtures.status.success(), "{name}: {}", said(&fixtures));
    let report: Value = serde_json::from_slice(&fixtures.stdout)?;
    let passed = report["cases"].as_array().map_or(0, Vec::len);
    ensure!(passed >= cases, "{name}: {report:#}");
    // Nothing answers the requests of an example.
    let files = home.path().join("tests");
    let files = files.to_str().unwrap_or_default();
    let chaos = test(
        home.path(),
        &["--chaos", "--runs", &times(runs)?, "-f", files],
    )?;
    ensure!(chaos.status.success(), "{name}: {}", said(&chaos));
    Ok(())
}

#[test]
fn backup_starts_each_job_once_while_hosts_fail() -> Result<()> {
    holds("backup", 5, 12)
}

#[test]
fn cronjob_starts_each_job_once_while_hosts_fail() -> Result<()> {
    holds("cronjob", 3, 12)
}

#[test]
fn deployment_rolls_out_while_hosts_fail() -> Result<()> {
    holds("deployment", 10, 12)
}

#[test]
fn dns_keeps_its_records_at_a_server_that_fails() -> Result<()> {
    holds("dns", 3, 12)
}

#[test]
fn janitor_deletes_each_kind_in_time_while_hosts_fail() -> Result<()> {
    holds("janitor", 3, 12)
}

#[test]
fn job_counts_each_pod_once_while_hosts_fail() -> Result<()> {
    holds("job", 5, 12)
}

#[test]
fn the_small_controllers_do_their_work_while_hosts_fail() -> Result<()> {
    for name in [
        "pv-protection",
        "pvc-protection",
        "root-ca",
        "sample-controller",
        "serviceaccount",
        "ttl-after-finished",
    ] {
        holds(name, 2, 5)?;
    }
    Ok(())
}

#[test]
fn reflector_copies_both_kinds_while_hosts_fail() -> Result<()> {
    holds("reflector", 4, 12)
}

#[test]
fn replicaset_keeps_its_pods_while_hosts_fail() -> Result<()> {
    holds("replicaset", 4, 12)
}

#[test]
fn team_gives_each_team_a_namespace_while_hosts_fail() -> Result<()> {
    holds("team", 3, 12)
}

#[test]
fn webapp_keeps_its_children_while_hosts_fail() -> Result<()> {
    holds("webapp", 3, 12)
}
