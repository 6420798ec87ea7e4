//! What is wrong with a run, judged by what really happened at the server.
//!
//! - Nothing here goes by what a host believes; the log is asked only for what leaves no other trace.
//! - What may vary is learnt from runs of the same script without faults ([`Reference`]).

mod counts;
mod deletes;
mod exclusive;
mod finalizers;
mod grants;
mod leaks;
mod logs;
mod of_plugin;
mod others;
mod past;
mod reads;
mod retries;
mod stable;
mod state;

use std::fmt::{self, Display, Formatter};

pub use counts::Counts;
pub use state::State;

use crate::run::Evidence;
use crate::workloads::oracle as workloads;

/// Something that is wrong with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which property does not hold: `O4 stable`.
    pub check: &'static str,
    /// How that shows.
    pub text: String,
}

/// What runs of a script without faults come to.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The state in the end.
    pub state: State,
    /// What was written how often, in each of the runs.
    pub counts: Vec<Counts>,
    /// The most tasks at rest.
    pub tasks: usize,
}

impl Reference {
    /// What these runs have in common.
    ///
    /// # Errors
    /// Something is wrong with them already, or they end in different states.
    pub fn learn(runs: &[Evidence]) -> Result<Self, Failure> {
        let Some((first, others)) = runs.split_first() else {
            return Err(Failure::new("reference", "there are no runs"));
        };
        let state = State::of(first);
        for run in runs {
            if let Some(failure) = alone(run).into_iter().next() {
                return Err(failure);
            }
        }
        for run in others {
            let difference = state.difference(&State::of(run));
            if !difference.is_empty() {
                return Err(Failure::new("reference", difference.join("\n")));
            }
        }
        Ok(Self {
            state,
            counts: runs.iter().map(Counts::of).collect(),
            tasks: runs.iter().map(|run| run.tasks_at_rest).max().unwrap_or(0),
        })
    }
}

/// Everything that is wrong with a run, compared with runs without faults.
pub fn judge(run: &Evidence, reference: &Reference) -> Vec<Failure> {
    let mut failures = Vec::new();
    let difference = reference.state.difference(&State::of(run));
    if !difference.is_empty() {
        failures.push(Failure::new("O1 final state", difference.join("\n")));
    }
    failures.extend(counts::compare(run, reference));
    failures.extend(leaks::more_at_rest(run, reference));
    failures.extend(alone(run));
    failures
}

/// Everything that is wrong with a run by itself.
fn alone(run: &Evidence) -> Vec<Failure> {
    let mut failures = Vec::new();
    failures.extend(deletes::judge(run));
    failures.extend(stable::writes_after_rest(run));
    failures.extend(reads::judge(run));
    failures.extend(exclusive::epochs(run));
    failures.extend(exclusive::passes(run));
    failures.extend(finalizers::judge(run));
    failures.extend(grants::judge(run));
    failures.extend(leaks::left(run));
    failures.extend(logs::judge(run));
    failures.extend(retries::judge(run));
    failures.extend(others::judge(run));
    failures
}

/// Everything that is wrong with a run of workloads. Each plugin is judged by itself too: what others write is not its own.
pub fn judge_workloads(run: &mut Evidence) -> Vec<Failure> {
    let mut failures = workloads::judge(run);
    failures.extend(stable::writes_after_rest(run));
    failures.extend(grants::judge(run));
    failures.extend(leaks::left(run));
    failures.extend(logs::judge(run));
    for number in 0..=run.others.len() {
        of_plugin::look(run, number, |view| {
            failures.extend(reads::judge_wake_ups(view));
            failures.extend(exclusive::epochs(view));
            failures.extend(retries::judge(view));
        });
    }
    failures
}

impl Failure {
    pub(crate) fn new(check: &'static str, text: impl Into<String>) -> Self {
        Self {
            check,
            text: text.into(),
        }
    }
}

impl Display for Failure {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.check, self.text)
    }
}
