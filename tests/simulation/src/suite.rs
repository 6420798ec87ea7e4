//! Many runs: which cases a seed stands for, what they are compared with, and how few faults suffice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use anyhow::bail;
use parking_lot::Mutex;
use windlass_base::bugs::Bug;

use crate::fault::Fault;
use crate::oracle::{self, Failure, Reference};
use crate::run::{Case, Evidence};
use crate::script;
use crate::which::Which;

/// How many scripts there are: each has its runs without faults.
pub const SCRIPTS: u64 = 40;

/// In one of so many seeds the user makes objects with the names of children.
const SQUATTERS: u64 = 8;

/// How often a script is run without faults, each time by another schedule.
const SCHEDULES: u64 = 3;

/// So many seeds are run before it is looked whether one has failed.
const BATCH: usize = 20;

/// How many runs go on at once.
const THREADS: usize = 2;

static REFERENCES: LazyLock<Mutex<BTreeMap<String, Arc<Reference>>>> =
    LazyLock::new(Mutex::default);

/// A case, and what is wrong with it.
#[derive(Debug)]
pub struct Verdict {
    /// What was run.
    pub case: Case,
    /// What is wrong with it.
    pub failures: Vec<Failure>,
    /// What is known of it.
    pub evidence: Evidence,
}

impl Case {
    /// The case that a seed stands for: a script, one or two hosts, a pair of faults.
    pub fn of_seed(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let faults = (0..2).filter_map(|_| Fault::drawn(&mut rng));
        let mut faults: Vec<Fault> = faults.collect();
        // With twice as many refusals one after the other a key would wait for minutes.
        if faults.iter().all(|fault| fault.what.refuses_many()) {
            faults.truncate(1);
        }
        let (script, hosts) = (rng.u64(..SCRIPTS), rng.usize(1..=2));
        let which = rng.choice(Which::ALL).unwrap_or(Which::Greeter);
        let drawn = script::drawn(which, script);
        let script = match seed % SQUATTERS {
            4 => script::squatted(drawn, script),
            _ => drawn,
        };
        Self {
            seed,
            which,
            script,
            hosts,
            faults,
            bug: None,
        }
    }

    /// The same with hosts that have a bug.
    pub fn with_bug(bug: Bug, seed: u64) -> Self {
        Self {
            bug: Some(bug),
            ..Self::of_seed(seed)
        }
    }

    fn without(&self, index: usize) -> Self {
        let mut fewer = self.clone();
        fewer.faults.remove(index);
        fewer
    }
}

/// What runs of the case's script without faults come to; they are run once for each process.
///
/// # Errors
/// Something is wrong without faults already.
pub fn reference(case: &Case) -> anyhow::Result<Arc<Reference>> {
    let key = format!("{} {} {:?}", case.which, case.hosts, case.script);
    let held = || REFERENCES.lock();
    if let Some(reference) = held().get(&key) {
        return Ok(reference.clone());
    }
    let mut runs = Vec::new();
    for seed in 0..SCHEDULES {
        let calm = Case {
            seed,
            faults: Vec::new(),
            bug: None,
            ..case.clone()
        };
        runs.push(calm.run()?);
    }
    match Reference::learn(&runs) {
        Ok(reference) => {
            let reference = Arc::new(reference);
            held().insert(key, reference.clone());
            Ok(reference)
        }
        Err(failure) => bail!("without faults, {failure}\n{case}"),
    }
}

/// Runs a case and judges it.
///
/// # Errors
/// It could not be run, or something is wrong without faults already.
pub fn judge(case: Case) -> anyhow::Result<Verdict> {
    if case.which.is_of_workloads() {
        let mut evidence = case.run()?;
        return Ok(Verdict {
            failures: oracle::judge_workloads(&mut evidence),
            evidence,
            case,
        });
    }
    let reference = reference(&case)?;
    let evidence = case.run()?;
    Ok(Verdict {
        failures: oracle::judge(&evidence, &reference),
        evidence,
        case,
    })
}

/// Runs all cases, some at once; answers what `keep` keeps of each, in their order.
///
/// # Errors
/// The first that could not be run.
pub fn judge_all<T: Send>(
    cases: &[Case],
    keep: impl Fn(Verdict) -> Option<T> + Sync,
) -> anyhow::Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let kept = Mutex::new(BTreeMap::new());
    let work = || -> anyhow::Result<()> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else {
                return Ok(());
            };
            if let Some(one) = keep(judge(case.clone())?) {
                let mut kept = kept.lock();
                kept.insert(index, one);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            match thread.join() {
                Ok(done) => done?,
                Err(_) => bail!("a thread of the simulation panicked"),
            }
        }
        anyhow::Ok(())
    })?;
    let kept = kept.into_inner();
    Ok(kept.into_values().collect())
}

/// The first of some seeds in which hosts with this bug fail, and how; none if they pass in all.
///
/// # Errors
/// A run could not be made.
pub fn search(bug: Bug, seeds: impl Iterator<Item = u64>) -> anyhow::Result<Option<Verdict>> {
    let seeds: Vec<u64> = seeds.collect();
    for some in seeds.chunks(BATCH) {
        let cases: Vec<_> = some.iter().map(|seed| Case::with_bug(bug, *seed)).collect();
        let failed = |verdict: Verdict| (!verdict.failures.is_empty()).then_some(verdict);
        if let Some(verdict) = judge_all(&cases, failed)?.into_iter().next() {
            return Ok(Some(verdict));
        }
    }
    Ok(None)
}

/// The same failure with as few faults as suffice.
///
/// # Errors
/// A run could not be made.
pub fn shrink(verdict: Verdict) -> anyhow::Result<Verdict> {
    let Some(check) = verdict.failures.first().map(|failure| failure.check) else {
        return Ok(verdict);
    };
    let mut least = verdict;
    let mut index = 0;
    while index < least.case.faults.len() {
        let fewer = judge(least.case.without(index))?;
        if fewer.failures.iter().any(|failure| failure.check == check) {
            least = fewer;
        } else {
            index += 1;
        }
    }
    Ok(least)
}

impl Verdict {
    /// Everything that a person needs to look into it.
    pub fn report(&self) -> String {
        let failures = self.failures.iter().map(|failure| format!("  {failure}\n"));
        let faults: Vec<_> = self.case.faults.iter().map(ToString::to_string).collect();
        let faults = match faults.as_slice() {
            [] => "none".to_owned(),
            faults => faults.join(","),
        };
        let bug = self.case.bug;
        let bug = bug.map_or_else(String::new, |bug| format!(" BUG={bug:?}"));
        let workloads = if self.case.which.is_of_workloads() {
            " WORKLOADS=1"
        } else {
            ""
        };
        format!(
            "{}{}replay: make simulate SEED={} RUNS=1{workloads} FAULTS={faults}{bug} TRACE=1\n",
            self.case,
            failures.collect::<String>(),
            self.case.seed
        )
    }
}
