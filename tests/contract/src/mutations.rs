//! Changes one field of a valid object after the other, sends it to both servers, and compares their verdicts.
//!
//! - The objects lie in `mutations/`; the schema of the real server says which other fields there are.
//! - Everything follows from one seed. A run is a create or an update, always a dry one.
//! - Of each kind, half of the runs that count are refused by the real server.
//!
//! [`bases`] reads the objects, [`change`] draws what is changed, `held` asks both servers, [`answer`] compares
//! what they say, and [`report`] shows it.

pub mod answer;
pub mod bases;
pub mod change;
mod held;
pub mod report;
mod schemas;
mod values;

use std::collections::HashSet;

use anyhow::Result;
use futures::future::try_join_all;

use crate::server::Server;
use bases::Base;
use held::Held;
use report::{Report, Tally};
use schemas::Schemas;

/// How many requests are under way at once.
const AT_ONCE: usize = 16;
/// How many more changes than runs are tried until there are enough that are refused and that are accepted.
const PATIENCE: usize = 40;

/// What is played.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Everything follows from it.
    pub seed: u64,
    /// How many runs there are in all, shared by the kinds.
    pub runs: usize,
    /// The kinds that are played; all without any.
    pub kinds: Vec<String>,
}

/// Plays the plan on both servers, the real one first.
///
/// # Errors
/// A server does not answer, or refuses an object that is not changed.
pub async fn play(servers: [&Server; 2], plan: &Plan) -> Result<Report> {
    let mut kinds = bases::all()?;
    kinds.retain(|(kind, _)| plan.kinds.is_empty() || plan.kinds.contains(kind));
    let each = plan.runs.div_ceil(kinds.len().max(1));
    let mut report = Report::default();
    for (kind, bases) in &kinds {
        let tally = of_kind(servers, plan.seed, bases, each).await?;
        report.kinds.push((kind.clone(), tally));
    }
    Ok(report)
}

async fn of_kind(servers: [&Server; 2], seed: u64, bases: &[Base], runs: usize) -> Result<Tally> {
    let mut held = Vec::new();
    for base in bases {
        let schemas = Schemas::of(servers[0], base).await?;
        held.push((schemas, Held::create(servers, base).await?));
    }
    let mut tally = Tally::new(runs);
    let mut seen = HashSet::new();
    let (mut nth, all) = (0, held.len());
    while !tally.is_full() && nth < runs * PATIENCE {
        let batch = (nth..nth + AT_ONCE).filter_map(|nth| {
            let (schemas, held) = held.get(nth % held.len())?;
            let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(1_000_003) + nth as u64);
            let change = change::draw(&held.base, schemas, &mut rng)?;
            let is_new = seen.insert(format!("{} {change:?}", nth % all));
            is_new.then(|| held.ask(change))
        });
        let batch: Vec<_> = batch.collect();
        for run in try_join_all(batch).await? {
            tally.count(run);
        }
        nth += AT_ONCE;
    }
    Ok(tally)
}
