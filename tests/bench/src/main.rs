//! `make bench-peers`: Windlass measured beside what would be run instead of it, on one real control plane.
//!
//! Only figures of one run may be compared: contestants take turns, round by round, since the machine drifts.

mod arena;
mod built;
mod chart;
mod contestant;
mod floor;
mod greet;
mod greetings;
mod hold;
mod process;
mod report;
mod requests;
mod rerun;
mod results;
mod ring;
mod start;
mod table;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use procfs::{CpuInfo, Current};

use crate::arena::Arena;
use crate::contestant::Contestant;
use crate::results::{Results, Round};

/// Measures Windlass beside what would be run instead of it.
#[derive(Debug, Parser)]
struct Flags {
    /// What is measured: greet, ring, hold, rerun, start [default: all]
    #[arg(value_name = "WORKLOAD", value_parser = WORKLOADS.map(|one| one.name))]
    workloads: Vec<String>,
    /// How often each contestant takes its turn
    #[arg(long, default_value = "5", value_name = "N")]
    rounds: usize,
    /// Objects that are made, changed and deleted at once
    #[arg(long, default_value = "1000", value_name = "N")]
    crowd: usize,
    /// Objects that live one after the other
    #[arg(long, default_value = "100", value_name = "N")]
    queue: usize,
    /// Controllers of the ring
    #[arg(long, default_value = "100", value_name = "N")]
    stations: usize,
    /// How often the ring turns in a round
    #[arg(long, default_value = "20", value_name = "N")]
    turns: usize,
    /// How long a ring counts as idle after it has turned, in seconds
    #[arg(long, default_value = "120", value_name = "SECONDS")]
    rest: u64,
    /// Objects that are held, of each kind
    #[arg(long, default_value = "10000", value_name = "N")]
    objects: usize,
    /// Only contestants whose name contains this; may be given more than once
    #[arg(long, value_name = "WORD")]
    only: Vec<String>,
    /// File for the figures
    #[arg(long, default_value = "target/bench/results.json", value_name = "FILE")]
    output: PathBuf,
    /// Measure nothing, and write what that file holds into this folder of documents
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
}

/// What is measured, and how it is told.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) figures: &'static [&'static str],
    /// Pictures, and the figures that they show.
    pub(crate) charts: &'static [(&'static str, &'static str)],
}

const WORKLOADS: [Workload; 5] = [
    greet::WORKLOAD,
    ring::WORKLOAD,
    hold::WORKLOAD,
    rerun::WORKLOAD,
    start::WORKLOAD,
];

/// A run of the benchmark.
struct Course<'a> {
    arena: &'a Arena,
    flags: &'a Flags,
    results: &'a mut Results,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let flags = Flags::parse();
    if let Some(docs) = &flags.report {
        let text = fs::read_to_string(&flags.output);
        let text = text.with_context(|| format!("cannot read {}", flags.output.display()))?;
        report::write(&serde_json::from_str(&text)?, &WORKLOADS, docs)?;
        return Ok(ExitCode::SUCCESS);
    }
    let began = Instant::now();
    let arena = Arena::new().await?;
    let mut results = Results {
        machine: machine()?,
        samples: Vec::new(),
    };
    let mut course = Course {
        arena: &arena,
        flags: &flags,
        results: &mut results,
    };
    if flags.wants(greet::WORKLOAD.name) {
        course.greet().await?;
    }
    if flags.wants(start::WORKLOAD.name) {
        course.start().await?;
    }
    if flags.wants(ring::WORKLOAD.name) {
        course.ring().await?;
    }
    if flags.wants(hold::WORKLOAD.name) || flags.wants(rerun::WORKLOAD.name) {
        course.filled().await?;
    }
    let text = serde_json::to_string_pretty(&results)?;
    fs::write(&flags.output, text)
        .with_context(|| format!("cannot write {}", flags.output.display()))?;
    let took = began.elapsed().as_secs_f64();
    println!("{}; {} rounds, {took:.0} s", results.machine, flags.rounds);
    for workload in WORKLOADS.iter().filter(|one| flags.wants(one.name)) {
        let table = table::markdown(&results, workload.name, workload.figures);
        println!("\n{}\n\n{table}", workload.title);
    }
    Ok(match results.has_failures() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

impl Flags {
    fn wants(&self, workload: &str) -> bool {
        self.workloads.is_empty() || self.workloads.iter().any(|one| one == workload)
    }

    /// Who takes part, of these, in the order of a round: whoever comes first in one comes last in the next.
    fn turns(&self, all: &[Contestant], round: usize) -> Vec<Contestant> {
        let is_wanted = |one: &Contestant| {
            self.only.is_empty() || self.only.iter().any(|word| one.name().contains(&**word))
        };
        let wanted: Vec<_> = all.iter().copied().filter(is_wanted).collect();
        let turns = wanted.iter().copied().cycle();
        turns.skip(round).take(wanted.len()).collect()
    }
}

impl Course<'_> {
    /// Lets contestants take turns at a workload.
    async fn run(
        &mut self,
        workload: &Workload,
        all: &[Contestant],
        rounds: usize,
        mut turn: impl AsyncFnMut(usize, Contestant) -> Result<Round>,
    ) {
        for number in 0..rounds {
            for contestant in self.flags.turns(all, number) {
                let round = turn(number, contestant).await;
                let round = told(workload.name, number, contestant, round);
                let (name, figures) = (workload.name, workload.figures);
                self.results.add(name, figures, contestant, &round);
            }
        }
    }

    /// Has the kind of Greetings served.
    async fn greetings(&self) -> Result<()> {
        let text = fs::read_to_string(built::workspace().join("tests/bench/greeting.crd.json"))?;
        self.arena.apply(&[serde_json::from_str(&text)?]).await
    }

    async fn start(&mut self) -> Result<()> {
        self.greetings().await?;
        let (arena, flags) = (self.arena, self.flags);
        let turn = async |_, contestant| start::round(arena, contestant).await;
        let all = start::CONTESTANTS;
        self.run(&start::WORKLOAD, &all, flags.rounds, turn).await;
        Ok(())
    }

    async fn greet(&mut self) -> Result<()> {
        self.greetings().await?;
        let (arena, flags) = (self.arena, self.flags);
        let size = greet::Size {
            crowd: flags.crowd,
            queue: flags.queue,
        };
        let turn = async |_, contestant| greet::round(arena, contestant, size).await;
        let all = greet::CONTESTANTS;
        self.run(&greet::WORKLOAD, &all, flags.rounds, turn).await;
        Ok(())
    }

    async fn ring(&mut self) -> Result<()> {
        let (arena, flags) = (self.arena, self.flags);
        arena.apply(&ring::kinds(flags.stations)).await?;
        let size = ring::Size {
            stations: flags.stations,
            turns: flags.turns,
            rest: Duration::from_secs(flags.rest),
        };
        let turn = async |number, contestant| {
            // To rest takes minutes, and what is held then differs little.
            ring::round(arena, contestant, size, number == 0).await
        };
        let all = ring::CONTESTANTS;
        self.run(&ring::WORKLOAD, &all, flags.rounds, turn).await;
        Ok(())
    }

    /// Those that need many objects.
    async fn filled(&mut self) -> Result<()> {
        let (arena, flags) = (self.arena, self.flags);
        let holds = flags.wants(hold::WORKLOAD.name);
        let filled = hold::fill(arena, flags.objects, holds).await?;
        if flags.wants(rerun::WORKLOAD.name) {
            let turn = async |_, contestant| rerun::round(arena, contestant, &filled).await;
            let all = rerun::CONTESTANTS;
            self.run(&rerun::WORKLOAD, &all, flags.rounds, turn).await;
        }
        if holds {
            // What is held differs little from one round to the next.
            let rounds = flags.rounds.min(2);
            let turn = async |_, contestant| hold::round(arena, contestant, &filled).await;
            let all = hold::CONTESTANTS;
            self.run(&hold::WORKLOAD, &all, rounds, turn).await;
        }
        Ok(())
    }
}

/// Tells how a round went, as it goes.
fn told(
    workload: &str,
    number: usize,
    contestant: Contestant,
    round: Result<Round>,
) -> Result<Round, String> {
    let round = round.map_err(|error| format!("{error:#}"));
    let who = format!("{workload}, round {}, {}", number + 1, contestant.name());
    match &round {
        Ok(round) => {
            let figures = round
                .iter()
                .map(|(figure, value)| format!("{figure}: {value:.2}"));
            eprintln!("{who}: {}", figures.collect::<Vec<_>>().join("; "));
        }
        Err(why) => eprintln!("{who} failed: {why}"),
    }
    round
}

/// What this machine is.
fn machine() -> Result<String> {
    let processors = std::thread::available_parallelism()?;
    let cpus = CpuInfo::current()?;
    let model = cpus.model_name(0).unwrap_or("unknown");
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    // What follows the version is the distribution's.
    let version = kernel.trim().split('-').next().unwrap_or_default();
    Ok(format!("{processors} × {model}, Linux {version}"))
}
