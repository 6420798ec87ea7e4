//! Runs seeds, and says which fail and how.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::ensure;
use clap::Parser;
use windlass_base::bugs::Bug;
use windlass_simulation::days;
use windlass_simulation::fault::Fault;
use windlass_simulation::run::Case;
use windlass_simulation::suite::{judge, judge_all, search, shrink};
use windlass_simulation::which::Which;

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
    /// Hosts have this bug on purpose; `all`: one after the other, until each is found.
    #[arg(long)]
    bug: Option<String>,
    /// Kubernetes' controllers of workloads instead of the greeter and the steward.
    #[arg(long)]
    workloads: bool,
    /// Instead of seeds, a steady life of so many days, with what each evening shows.
    #[arg(long)]
    days: Option<usize>,
    /// Only looks for the first seed that finds the bug.
    #[arg(long)]
    first: bool,
    /// Shows everything that happens in the first seed.
    #[arg(long)]
    trace: bool,
}

impl Flags {
    /// What is wrong with the hosts.
    fn bugs(&self) -> anyhow::Result<Vec<Bug>> {
        let Some(wanted) = &self.bug else {
            return Ok(Vec::new());
        };
        let named = |bug: &&Bug| wanted == ALL || format!("{bug:?}") == *wanted;
        let found: Vec<Bug> = Bug::ALL.iter().filter(named).copied().collect();
        ensure!(
            !found.is_empty(),
            "there is no bug {wanted}: there are {:?}",
            Bug::ALL
        );
        Ok(found)
    }

    fn case(&self, seed: u64) -> anyhow::Result<Case> {
        let mut case = if self.workloads {
            Case::of_workloads(seed)
        } else {
            Case::of_seed(seed)
        };
        if self.life {
            case = Case::life(&[]);
            case.seed = seed;
        }
        case.hosts = self.hosts.unwrap_or(case.hosts);
        case.bug = self.bugs()?.first().copied();
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

/// All bugs.
const ALL: &str = "all";

fn main() -> anyhow::Result<ExitCode> {
    let flags = Flags::parse();
    if let Some(count) = flags.days {
        for which in Which::ALL {
            let evenings = days::live(which, count)?;
            for (day, evening) in evenings.iter().enumerate() {
                println!("{which}, day {}: {evening}", day + 1);
            }
            days::judge(&evenings)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if flags.first || flags.bug.as_deref() == Some(ALL) {
        return judge_the_judge(&flags);
    }
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
            (!verdict.failures.is_empty()).then(|| (verdict.report(), verdict.case))
        })?;
        failed += failures.len();
        for (report, case) in failures {
            let again = shrink(judge(case)?)?;
            // A run with several plugins need not fail again.
            let passes = again.failures.is_empty();
            println!("{}", if passes { report } else { again.report() });
        }
        println!("{} seeds run, {failed} failed", next - flags.seed);
    }
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Gives hosts one bug after the other, and says which seed finds it first.
fn judge_the_judge(flags: &Flags) -> anyhow::Result<ExitCode> {
    let mut missed = 0;
    for bug in flags.bugs()? {
        match search(bug, flags.seed..flags.seed + flags.runs)? {
            Some(verdict) => {
                let checks = verdict.failures.iter().map(|failure| failure.check);
                let checks: BTreeSet<_> = checks.collect();
                println!("{bug:?}: seed {}, {checks:?}", verdict.case.seed);
            }
            None => {
                missed += 1;
                println!("{bug:?}: not found in {} seeds", flags.runs);
            }
        }
    }
    let all = flags.bugs()?.len();
    println!("{} of {all} found", all - missed);
    Ok(match missed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}
