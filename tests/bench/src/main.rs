//! `make bench`: Windlass measured beside what would be run instead of it, on one real control plane; and `make
//! bench-scale`, how it grows.
//!
//! Only figures of one run may be compared: contestants take turns, round by round, since the machine drifts.

mod arena;
mod built;
mod calls;
mod changes;
mod chart;
mod contestant;
mod course;
mod curve;
mod family;
mod floor;
mod greet;
mod greetings;
mod ground;
mod hold;
mod idle;
mod installed;
mod kinds;
mod objects;
mod passes;
mod plugins;
mod process;
mod report;
mod requests;
mod rerun;
mod results;
mod ring;
mod start;
mod steps;
mod swap;
mod table;
mod workloads;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use procfs::{CpuInfo, Current};

use crate::contestant::Contestant;
use crate::course::Course;
use crate::results::Results;

/// Measures Windlass beside what would be run instead of it.
#[derive(Debug, Parser)]
struct Flags {
    /// What is measured [default: all but how it grows]
    #[arg(value_name = "WORKLOAD", value_parser = WORKLOADS.map(|one| one.name))]
    workloads: Vec<String>,
    /// Measure how it grows
    #[arg(long, conflicts_with = "workloads")]
    scale: bool,
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
    laps: usize,
    /// How long a ring counts as idle after it has turned, in seconds
    #[arg(long, default_value = "120", value_name = "SECONDS")]
    rest: u64,
    /// Objects that are held, of each kind
    #[arg(long, default_value = "10000", value_name = "N")]
    objects: usize,
    /// Measure only two builds of Windlass: base and present in target/bench/builds
    #[arg(long, conflicts_with = "only")]
    builds: bool,
    /// Only contestants whose name contains this; may be given more than once
    #[arg(long, value_name = "WORD")]
    only: Vec<String>,
    /// Simulated nodes of workloads
    #[arg(long, default_value = "500", value_name = "N")]
    nodes: u32,
    /// Deployments of workloads
    #[arg(long, default_value = "10", value_name = "N")]
    deployments: usize,
    /// Pods of each Deployment
    #[arg(long, default_value = "1000", value_name = "N")]
    replicas: usize,
    /// Pods of each Deployment for kube-controller-manager with its default limits, which creates 20 pods a second
    #[arg(long, default_value = "100", value_name = "N")]
    few_replicas: usize,
    /// How much of what grows is measured, in hundredths
    #[arg(long, default_value = "100", value_name = "N")]
    growth: usize,
    /// File for the figures [default: target/bench/results.json, or scale.json beside it]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Measure nothing, and write what these files hold into this folder of documents
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
    /// Pictures of how figures grow.
    pub(crate) curves: &'static [Curve],
    /// Whether it is how Windlass grows, with no peers.
    pub(crate) grows: bool,
    /// Whether it is measured only if it is named.
    pub(crate) alone: bool,
    /// How long it takes on two processors.
    pub(crate) minutes: usize,
}

impl Workload {
    /// One that says nothing yet.
    pub(crate) const NONE: Self = Self {
        name: "",
        title: "",
        about: "",
        figures: &[],
        charts: &[],
        curves: &[],
        grows: false,
        alone: false,
        minutes: 1,
    };
}

/// A picture of how figures grow.
pub(crate) struct Curve {
    pub(crate) file: &'static str,
    pub(crate) title: &'static str,
    /// What grows, of each figure.
    pub(crate) points: &'static [(f64, &'static str)],
}

const WORKLOADS: [Workload; 16] = [
    greet::WORKLOAD,
    ring::WORKLOAD,
    idle::WORKLOAD,
    installed::WORKLOAD,
    hold::WORKLOAD,
    rerun::WORKLOAD,
    start::WORKLOAD,
    steps::WORKLOAD,
    calls::WORKLOAD,
    swap::WORKLOAD,
    family::WORKLOAD,
    objects::WORKLOAD,
    plugins::WORKLOAD,
    changes::WORKLOAD,
    workloads::WORKLOAD,
    workloads::cluster::WORKLOAD,
];

/// Where figures are, if nobody says otherwise.
const RESULTS: &str = "target/bench/results.json";
const SCALE: &str = "target/bench/scale.json";

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let flags = Flags::parse();
    if let Some(docs) = &flags.report {
        let files = match &flags.output {
            Some(file) => vec![file.clone()],
            None => vec![RESULTS.into(), SCALE.into()],
        };
        let results: Result<Vec<Results>> = files.iter().map(Results::read).collect();
        report::write(&results?, &WORKLOADS, docs)?;
        return Ok(ExitCode::SUCCESS);
    }
    let began = Instant::now();
    let wanted: Vec<_> = WORKLOADS.iter().filter(|one| flags.wants(one)).collect();
    let minutes: usize = wanted.iter().map(|one| one.minutes).sum();
    eprintln!("this takes about {minutes} minutes, and 8 GiB of memory at most");
    let mut course = Course::new(&flags, Results::new(machine()?));
    course.run(&wanted).await?;
    let results = course.results;
    let took = began.elapsed().as_secs_f64();
    let file = flags.output.clone().unwrap_or_else(|| {
        let file = if flags.scale { SCALE } else { RESULTS };
        file.into()
    });
    results.write(&file)?;
    println!("{}; {} rounds, {took:.0} s", results.machine, flags.rounds);
    for workload in wanted {
        let table = table::markdown(&results, workload.name, workload.figures);
        println!("\n{}\n\n{table}", workload.title);
    }
    Ok(if results.has_failures() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

impl Flags {
    fn wants(&self, workload: &Workload) -> bool {
        if self.workloads.is_empty() {
            workload.grows == self.scale && !workload.alone
        } else {
            self.workloads.iter().any(|one| one == workload.name)
        }
    }

    /// Who takes part, of these, in the order of a round: the first of one is the last of the next.
    fn turns(&self, all: &[Contestant], round: usize) -> Vec<Contestant> {
        let builds = Contestant::BUILDS;
        let all = match self.builds {
            true if all.contains(&Contestant::Windlass) => &builds[..],
            true => &[],
            false => all,
        };
        let is_wanted = |one: &Contestant| {
            self.only.is_empty() || self.only.iter().any(|word| one.name().contains(&**word))
        };
        let wanted: Vec<_> = all.iter().copied().filter(is_wanted).collect();
        let turns = wanted.iter().copied().cycle();
        turns.skip(round).take(wanted.len()).collect()
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestant::Contestant::{KubeRs, Windlass, WindlassBase, WindlassPresent};

    #[test]
    fn contestants_take_turns_and_two_builds_take_the_place_of_windlass() {
        let turns = |words: &[&str], all: &[Contestant], round| {
            let words = [&["bench"][..], words].concat();
            Flags::try_parse_from(words).unwrap().turns(all, round)
        };
        let all = [KubeRs, Windlass];
        assert_eq!(turns(&[], &all, 0), [KubeRs, Windlass]);
        assert_eq!(turns(&[], &all, 1), [Windlass, KubeRs]);
        assert_eq!(turns(&["--only", "kube"], &all, 1), [KubeRs]);
        let builds = ["--builds"];
        assert_eq!(turns(&builds, &all, 0), [WindlassBase, WindlassPresent]);
        assert_eq!(turns(&builds, &all, 1), [WindlassPresent, WindlassBase]);
        assert_eq!(turns(&builds, &[KubeRs], 0), []);
    }
}
