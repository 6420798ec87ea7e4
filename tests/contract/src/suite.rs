//! The whole suite: its rows, and what each must have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::{OnceCell, Semaphore};

use crate::judge::{Verdict, judge};
use crate::listed::{self, Listed};
use crate::mask::Masks;
use crate::scenario::{Scenario, read_all};
use crate::server::Server;
use crate::verbs::{self, unserved, walk};

/// How many scenarios are under way at once.
const AT_ONCE: usize = 24;

/// The rows, one folder each, and the least number of scenarios in each.
pub const ROWS: [(&str, usize); 18] = [
    ("access", 5),
    ("admission", 5),
    ("builtin", 5),
    ("crd", 40),
    ("discovery", 5),
    ("events", 5),
    ("gc", 30),
    ("list", 20),
    ("namespaces", 5),
    ("openapi", 5),
    ("patch", 30),
    ("routing", 5),
    ("ssa", 40),
    ("store", 5),
    ("subresources", 5),
    (verbs::ROW, 60),
    ("watch", 40),
    ("write", 5),
];
/// The least number of scenarios in all.
pub const LEAST: usize = 250;

/// Both servers, and everything that is asked of them.
#[derive(Debug)]
pub struct Suite {
    servers: [Server; 2],
    scenarios: Vec<Scenario>,
    masks: Masks,
    listed: Vec<Listed>,
    /// What discovery lists before any scenario changes it.
    discovered: BTreeSet<walk::Deed>,
    turns: Semaphore,
    /// The verdicts of the scenarios that are played before all others.
    alone: OnceCell<Vec<Verdict>>,
    rows: BTreeMap<&'static str, OnceCell<Vec<Verdict>>>,
}

/// The folder of this crate.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Every scenario.
///
/// # Errors
/// A file is not a scenario.
pub fn scenarios() -> Result<Vec<Scenario>> {
    let mut scenarios = read_all(&folder().join("scenarios"))?;
    scenarios.extend(verbs::scenarios()?);
    Ok(scenarios)
}

/// What is masked.
///
/// # Errors
/// The file is not as it should be.
pub fn masks() -> Result<Masks> {
    Masks::parse(&std::fs::read_to_string(folder().join("masks.yaml"))?)
}

/// The differences that are accepted.
///
/// # Errors
/// The file is not as it should be.
pub fn listed() -> Result<Vec<Listed>> {
    listed::parse(&std::fs::read_to_string(folder().join("differences.yaml"))?)
}

impl Suite {
    /// Reads everything. The real server is judged against itself with no differences `listed`.
    ///
    /// # Errors
    /// A file is not as it should be.
    pub async fn new(servers: [Server; 2], listed: Vec<Listed>) -> Result<Self> {
        let discovered = walk::listed(&servers[1]).await?;
        Ok(Self {
            servers,
            scenarios: scenarios()?,
            masks: masks()?,
            listed,
            discovered,
            alone: OnceCell::new(),
            turns: Semaphore::new(AT_ONCE),
            rows: ROWS
                .iter()
                .map(|(row, _)| (*row, OnceCell::new()))
                .collect(),
        })
    }

    /// The verdicts of a row; each scenario is played once, however often this is asked.
    ///
    /// # Errors
    /// There is no such row, or a server is gone.
    pub async fn row(&self, row: &str) -> Result<&[Verdict]> {
        let cell = self.rows.get(row);
        let cell = cell.ok_or_else(|| anyhow::anyhow!("there is no row {row}"))?;
        let verdicts = cell.get_or_try_init(|| self.play(row)).await?;
        Ok(verdicts)
    }

    async fn play(&self, row: &str) -> Result<Vec<Verdict>> {
        let alone = self.alone.get_or_try_init(|| self.play_alone()).await?;
        let scenarios = self.scenarios.iter();
        let scenarios = scenarios.filter(|scenario| scenario.row == row && !scenario.alone);
        let mut verdicts: Vec<Verdict> = stream::iter(scenarios)
            .map(|scenario| async {
                let _turn = self.turns.acquire().await?;
                self.judged(scenario).await
            })
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        let of_row = |verdict: &&Verdict| verdict.scenario.split('/').next() == Some(row);
        verdicts.extend(alone.iter().filter(of_row).cloned());
        Ok(verdicts)
    }

    async fn play_alone(&self) -> Result<Vec<Verdict>> {
        let mut verdicts = Vec::new();
        for scenario in self.scenarios.iter().filter(|scenario| scenario.alone) {
            verdicts.push(self.judged(scenario).await?);
        }
        Ok(verdicts)
    }

    async fn judged(&self, scenario: &Scenario) -> Result<Verdict> {
        let [first, second] = &self.servers;
        judge([first, second], scenario, &self.masks, &self.listed).await
    }

    /// What is wrong with the verbs that the second server lists: no scenario does them with success, and the
    /// list of what is not served does not say why.
    ///
    /// # Errors
    /// A server is gone.
    pub async fn unplayed(&self) -> Result<Vec<String>> {
        for (row, _) in ROWS {
            self.row(row).await?;
        }
        let [_, second] = &self.servers;
        let done = second.done();
        let unserved = unserved::all()?;
        let mut faults = walk::faults(&self.discovered, &done, &unserved::deeds(&unserved));
        faults.extend(unserved::faults(second, &unserved).await?);
        Ok(faults)
    }

    /// The masks that no scenario needs, by their reasons.
    ///
    /// # Errors
    /// A server is gone.
    pub async fn unused_masks(&self) -> Result<Vec<&str>> {
        for (row, _) in ROWS {
            self.row(row).await?;
        }
        Ok(self.masks.unused())
    }

    /// One line per row with its counts, for the end of a run.
    ///
    /// # Errors
    /// A server is gone.
    pub async fn table(&self) -> Result<String> {
        let mut lines = vec![format!(
            "{:<14} {:>9} {:>9}",
            "row", "scenarios", "differing"
        )];
        let (mut all, mut differing) = (0, 0);
        for (row, _) in ROWS {
            let verdicts = self.row(row).await?;
            let faulty = verdicts.iter().filter(|verdict| !verdict.faults.is_empty());
            let faulty = faulty.count();
            lines.push(format!("{row:<14} {:>9} {faulty:>9}", verdicts.len()));
            all += verdicts.len();
            differing += faulty;
        }
        lines.push(format!("{:<14} {all:>9} {differing:>9}", "all"));
        lines.push(format!(
            "{} differences are listed and accepted",
            self.listed.len()
        ));
        Ok(lines.join("\n"))
    }
}

/// What is wrong with the number of scenarios.
pub fn missing(scenarios: &[Scenario]) -> Vec<String> {
    let count = |row: &str| {
        scenarios
            .iter()
            .filter(|scenario| scenario.row == row)
            .count()
    };
    let mut faults: Vec<String> = ROWS
        .iter()
        .filter(|(row, least)| count(row) < *least)
        .map(|(row, least)| format!("{row} has {} scenarios of {least}", count(row)))
        .collect();
    if scenarios.len() < LEAST {
        faults.push(format!(
            "there are {} scenarios of {LEAST}",
            scenarios.len()
        ));
    }
    let known = |scenario: &&Scenario| !ROWS.iter().any(|(row, _)| *row == scenario.row);
    faults.extend(
        scenarios
            .iter()
            .filter(known)
            .map(|scenario| format!("{} lies in no row", scenario.title())),
    );
    faults
}
