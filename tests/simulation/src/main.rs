//! Runs seeds, and says which fail and how.

use std::process::ExitCode;

use clap::Parser;
use windlass_simulation::fault::Fault;
use windlass_simulation::run::Case;
use windlass_simulation::suite::{judge, judge_all, shrink};

/// Seeds that are run before it is said how far it has come.
const BATCH: u64 = 500;

/// Runs hosts, a user and an API server with faults, all from one seed.
#[derive(Debug, Parser)]
struct Flags {
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many seeds.
    #[arg(long, default_value_t = 1)]
    runs: u64,
    /// Other faults than the seed's: `crash-done@3,freeze@1500/20`, or `none`.
    #[arg(long)]
    faults: Option<String>,
    /// The plain life of one Greeting instead of the seed's script, with one host.
    #[arg(long)]
    life: bool,
    /// How many hosts, rather than what the seed says.
    #[arg(long)]
    hosts: Option<usize>,
    /// Shows everything that happens in the first seed.
    #[arg(long)]
    trace: bool,
}

impl Flags {
    fn case(&self, seed: u64) -> anyhow::Result<Case> {
        let mut case = Case::of_seed(seed);
        if self.life {
            case = Case::life(&[]);
            case.seed = seed;
        }
        case.hosts = self.hosts.unwrap_or(case.hosts);
        match self.faults.as_deref() {
            None => {}
            Some("none" | "") => case.faults.clear(),
            Some(faults) => {
                let faults = faults.split(',').map(str::parse::<Fault>);
                case.faults = faults.collect::<anyhow::Result<_>>()?;
            }
        }
        Ok(case)
    }
}

fn main() -> anyhow::Result<ExitCode> {
    let flags = Flags::parse();
    if flags.trace {
        let case = flags.case(flags.seed)?;
        for line in case.run()?.trace {
            println!("{line}");
        }
    }
    let mut failed = 0;
    let end = flags.seed + flags.runs;
    let mut next = flags.seed;
    while next < end {
        let batch = next..end.min(next + BATCH);
        next = batch.end;
        let cases = batch.map(|seed| flags.case(seed));
        let cases = cases.collect::<anyhow::Result<Vec<_>>>()?;
        let failures = judge_all(&cases, |verdict| {
            (!verdict.failures.is_empty()).then_some(verdict.case)
        })?;
        failed += failures.len();
        for case in failures {
            println!("{}", shrink(judge(case)?)?.report());
        }
        println!("{} seeds run, {failed} failed", next - flags.seed);
    }
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
