//! One contract, two servers: a test per row, and three that keep the lists.
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use anyhow::Result;
use tokio::runtime::Runtime;
use windlass_contract::listed;
use windlass_contract::server::Server;
use windlass_contract::suite::{self, Suite};

static CONTRACT: LazyLock<(Runtime, Result<Suite>)> = LazyLock::new(|| {
    let runtime = Runtime::new().expect("a runtime starts");
    let suite = runtime.block_on(start());
    (runtime, suite)
});

/// The second server is the embedded one, or what `WINDLASS_CONTRACT_SECOND` says: a kubeconfig, or `real`
/// for the real server against itself, which tries the masks.
async fn start() -> Result<Suite> {
    let first = Server::real("real").await?;
    let second = std::env::var_os("WINDLASS_CONTRACT_SECOND");
    let second = match second.as_deref().map(OsStr::to_str) {
        None => Server::embedded("embedded").await?,
        Some(Some("real")) => {
            let again = first.again("again");
            return Suite::new([first, again], Vec::new()).await;
        }
        Some(_) => Server::at("second", &PathBuf::from(second.unwrap_or_default())).await?,
    };
    Suite::new([first, second], suite::listed()?).await
}

/// Plays a row, and fails with everything that differs.
fn row(name: &str) {
    let (runtime, suite) = &*CONTRACT;
    let suite = suite.as_ref().expect("both servers start");
    let verdicts = runtime
        .block_on(suite.row(name))
        .expect("the servers answer");
    let mut report = String::new();
    let differing = verdicts.iter().filter(|verdict| !verdict.faults.is_empty());
    let count = differing.clone().count();
    for verdict in differing {
        report.push_str(&format!("\n== {}: {}\n", verdict.scenario, verdict.shows));
        report.push_str(&verdict.faults.join("\n"));
    }
    assert!(
        report.is_empty(),
        "{count} of {} scenarios of {name} differ:\n{report}",
        verdicts.len()
    );
}

macro_rules! rows {
    ($($row:ident)*) => {
        $(#[test]
        fn $row() {
            row(stringify!($row));
        })*

        #[test]
        fn every_row_is_a_test_and_has_its_scenarios() {
            let rows: Vec<&str> = suite::ROWS.iter().map(|(row, _)| *row).collect();
            assert_eq!(rows, [$(stringify!($row)),*]);
            let scenarios = suite::scenarios().expect("scenarios can be read");
            assert_eq!(suite::missing(&scenarios), [""; 0]);
            let (runtime, suite) = &*CONTRACT;
            let suite = suite.as_ref().expect("both servers start");
            let table = runtime.block_on(suite.table()).expect("the servers answer");
            // Written and not printed: a passing test's prints are not shown.
            let _ = writeln!(std::io::stderr(), "\n{table}");
        }
    };
}

rows! {
    access admission builtin crd discovery events gc list namespaces openapi patch routing ssa store
    subresources verbs watch write
}

#[test]
fn every_mask_is_needed() {
    let (runtime, suite) = &*CONTRACT;
    let suite = suite.as_ref().expect("both servers start");
    let unused = runtime.block_on(suite.unused_masks());
    assert_eq!(unused.expect("the servers answer"), [""; 0]);
}

/// Only of the embedded server: another one has other discovery.
#[test]
fn every_verb_that_discovery_lists_does_something() {
    if std::env::var_os("WINDLASS_CONTRACT_SECOND").is_some() {
        return;
    }
    let (runtime, suite) = &*CONTRACT;
    let suite = suite.as_ref().expect("both servers start");
    let faults = runtime.block_on(suite.unplayed());
    assert_eq!(faults.expect("the servers answer"), [""; 0]);
}

/// That each of them still differs is for the test of its row to see.
#[test]
fn the_list_of_differences_is_short_and_reasoned() {
    let list = suite::listed().expect("the list can be read");
    let scenarios = suite::scenarios().expect("scenarios can be read");
    let titles: Vec<String> = scenarios.iter().map(|scenario| scenario.title()).collect();
    assert_eq!(listed::faults(&list, &titles), [""; 0]);
}
