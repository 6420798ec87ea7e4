//! `make bench-check`: what each scene of the machinery ([`windlass_host::benchmarks`]) executes, counted by Valgrind's callgrind and
//! held against `baseline.json`. Counts of one build differ by less than a hundredth, however busy the machine is.
//!
//! gungraun does this as a framework; it keeps its baselines in `target`, wants a second program in the same version,
//! and brings bincode 1, which nobody maintains (RUSTSEC-2025-0141). All that is needed of it is here.

mod baseline;
mod count;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use tikv_jemallocator::Jemalloc;
use windlass_controlplane::table::row;
use windlass_host::benchmarks::{SCENES, Set, scene};

use crate::baseline::Baseline;

/// As in the host's own program.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Holds what the machinery executes against what it executed before.
#[derive(Debug, Parser)]
struct Flags {
    /// Write what is counted into the baseline: it may be so from now on
    #[arg(long)]
    update: bool,
    /// Count nothing: tell how long a step takes
    #[arg(long, conflicts_with = "update")]
    time: bool,
    /// Write the times as JSON, in nanoseconds
    #[arg(long, requires = "time")]
    json: bool,
    /// Play one scene, to be counted
    #[arg(long, hide = true, value_name = "SCENE")]
    play: Option<String>,
}

/// How often each scene is played to take its time.
const PLAYS: usize = 9;

fn main() -> Result<ExitCode> {
    let flags = Flags::parse();
    if let Some(name) = &flags.play {
        let scene = scene(name);
        let scene = scene.with_context(|| format!("there is no scene {name:?}"))?;
        drop(scene.play());
        return Ok(ExitCode::SUCCESS);
    }
    if flags.time {
        tell(&times(), flags.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (before, mut now) = (Baseline::read()?, Baseline::default());
    let mut is_well = true;
    for (name, set) in SCENES {
        let count = count::instructions(name)?;
        let verdict = before.judge(name, count);
        let steps = set().steps as u64;
        row(
            name,
            format!("{} instructions a step, {verdict}", count / steps),
        );
        is_well &= verdict.is_well();
        now.set(name, count);
    }
    if flags.update {
        now.write()?;
        return Ok(ExitCode::SUCCESS);
    }
    if !is_well {
        eprintln!("if that is right: make bench-baseline, and say why in the commit");
    }
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// How long a step of each scene takes here and now, in nanoseconds: the middle of some plays.
fn times() -> Vec<(&'static str, f64)> {
    let time = |(name, set): (&'static str, Set)| {
        let mut took: Vec<f64> = (0..PLAYS)
            .map(|_| {
                let scene = set();
                let (steps, began) = (scene.steps as f64, Instant::now());
                let played = scene.play();
                let took = began.elapsed();
                drop(played);
                took.as_nanos() as f64 / steps
            })
            .collect();
        took.sort_by(f64::total_cmp);
        (name, took.get(PLAYS / 2).copied().unwrap_or_default())
    };
    SCENES.into_iter().map(time).collect()
}

fn tell(times: &[(&str, f64)], as_json: bool) -> Result<()> {
    if as_json {
        let times: BTreeMap<_, _> = times.iter().copied().collect();
        println!("{}", serde_json::to_string(&times)?);
        return Ok(());
    }
    for (name, took) in times {
        row(name, format!("{took:.0} ns"));
    }
    Ok(())
}
