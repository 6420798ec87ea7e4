//! `make audit`: every known advisory of wasmtime has a proof, and no newer patch release of wasmtime is published.
//!
//! The proofs are in `tests/audit/advisories.yaml`: hostile guests in tests, and lines without which an advisory would
//! be reachable. `tests/audit/unread.yaml` names the advisories whose texts nobody could read.

mod index;
mod proof;
mod table;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::index::{behind, locked, published};

/// The crates that are released together with wasmtime and have advisories of their own.
const CRATES: [&str; 2] = ["wasmtime", "wasmtime-wasi"];

fn main() -> Result<ExitCode> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = here.ancestors().nth(2).unwrap_or(here);
    let read = |path: &str| {
        let path = workspace.join(path);
        std::fs::read_to_string(&path).with_context(|| path.display().to_string())
    };
    let advisories = table::read(&read("tests/audit/advisories.yaml")?)?;
    let mut wrong = table::problems(&advisories);
    for advisory in &advisories {
        let missing = advisory
            .proofs()
            .filter_map(|proof| proof.problem(workspace));
        wrong.extend(missing.map(|problem| format!("{}: {problem}", advisory.name())));
    }
    let lock = read("Cargo.lock")?;
    let unread = table::read_unread(&read("tests/audit/unread.yaml")?)?;
    let held = locked(&lock, "wasmtime").context("Cargo.lock has no wasmtime")?;
    wrong.extend(unread.problems(&held, &advisories));
    for name in CRATES {
        let locked = locked(&lock, name).with_context(|| format!("Cargo.lock has no {name}"))?;
        match published(name, &locked) {
            Ok(newest) => wrong.extend(behind(name, &locked, &newest)),
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    if wrong.is_empty() {
        let ids: usize = advisories.iter().map(|advisory| advisory.ids.len()).sum();
        println!(
            "audit: {ids} names of advisories, each with a proof; no newer patch release of wasmtime"
        );
        if !unread.ends.is_empty() {
            println!(
                "audit: the texts of these advisories are not known, and nothing is proved: {}",
                unread.ends.join(", ")
            );
        }
        return Ok(ExitCode::SUCCESS);
    }
    for problem in wrong {
        eprintln!("audit: {problem}");
    }
    Ok(ExitCode::FAILURE)
}
