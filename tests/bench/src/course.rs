//! A run of the benchmark: which workload on which ground, how often, and in which order the contestants take turns.

use std::fs;
use std::time::Duration;

use anyhow::Result;

use crate::arena::Arena;
use crate::contestant::Contestant;
use crate::ground::Ground;
use crate::results::{Results, Round};
use crate::{
    Flags, Workload, built, calls, changes, family, greet, hold, idle, installed, objects, plugins,
    rerun, ring, start, steps, swap, workloads,
};

/// A run, and what has come of it so far.
pub(crate) struct Course<'a> {
    flags: &'a Flags,
    pub(crate) results: Results,
}

impl<'a> Course<'a> {
    /// One that has yet to begin.
    pub(crate) fn new(flags: &'a Flags, results: Results) -> Self {
        Self { flags, results }
    }

    /// Measures all of these.
    ///
    /// # Errors
    /// There is no API server, or it refuses what all of them need.
    pub(crate) async fn run(&mut self, wanted: &[&Workload]) -> Result<()> {
        let (alone, wanted): (Vec<_>, Vec<_>) = wanted.iter().partition(|one| one.alone);
        self.alone(&alone).await;
        let (grow, rest): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|one| one.grows);
        if !rest.is_empty() {
            let arena = Arena::new(Ground::real()?).await?;
            self.beside_peers(&arena, &rest).await?;
        }
        if !grow.is_empty() {
            self.growth(&grow).await?;
        }
        Ok(())
    }

    /// Those that peers take part in, and what Windlass alone has, on one real control plane.
    async fn beside_peers(&mut self, arena: &Arena, wanted: &[&Workload]) -> Result<()> {
        let wants = |workload: &Workload| wanted.iter().any(|one| one.name == workload.name);
        let flags = self.flags;
        arena.apply(&[greetings()?, calls::kind()]).await?;
        if wants(&greet::WORKLOAD) {
            let size = greet::Size {
                crowd: flags.crowd,
                queue: flags.queue,
            };
            let turn = async |contestant| greet::round(arena, contestant, size).await;
            let all = greet::CONTESTANTS;
            self.take_turns(&greet::WORKLOAD, &all, flags.rounds, turn)
                .await;
        }
        if wants(&start::WORKLOAD) {
            let turn = async |contestant| start::round(arena, contestant).await;
            let all = start::CONTESTANTS;
            self.take_turns(&start::WORKLOAD, &all, flags.rounds, turn)
                .await;
        }
        if wants(&ring::WORKLOAD) {
            self.ring(arena).await?;
        }
        if wants(&idle::WORKLOAD) {
            arena.apply(&ring::kinds(flags.stations)).await?;
            let size = self.ring_size();
            let turn = async |contestant| idle::round(arena, contestant, size).await;
            self.take_turns(&idle::WORKLOAD, &idle::CONTESTANTS, 1, turn)
                .await;
        }
        if wants(&installed::WORKLOAD) {
            let size = self.ring_size();
            let turn = async |contestant| installed::round(arena, contestant, size).await;
            self.take_turns(&installed::WORKLOAD, &installed::CONTESTANTS, 1, turn)
                .await;
        }
        if wants(&rerun::WORKLOAD) || wants(&hold::WORKLOAD) {
            let holds = wants(&hold::WORKLOAD);
            let filled = hold::fill(arena, flags.objects, holds).await?;
            if wants(&rerun::WORKLOAD) {
                let turn = async |contestant| rerun::round(arena, contestant, &filled).await;
                let all = rerun::CONTESTANTS;
                self.take_turns(&rerun::WORKLOAD, &all, flags.rounds, turn)
                    .await;
            }
            if holds {
                let all = flags.turns(&hold::CONTESTANTS, 0);
                let rounds = hold::all(arena, &all, &filled).await;
                self.take_in(&hold::WORKLOAD, hold::WORKLOAD.figures, rounds);
                for number in 1..flags.rounds {
                    let all = flags.turns(&hold::CONTESTANTS, number);
                    let rounds = hold::again(arena, &all, &filled).await;
                    self.take_in(&hold::WORKLOAD, &hold::PACE, rounds);
                }
            }
        }
        if wants(&steps::WORKLOAD) {
            let turn = async |contestant| steps::round(contestant).await;
            let all = steps::CONTESTANTS;
            self.take_turns(&steps::WORKLOAD, &all, flags.rounds, turn)
                .await;
        }
        if wants(&calls::WORKLOAD) {
            let turn = async |contestant| calls::round(arena, contestant).await;
            self.take_turns(&calls::WORKLOAD, &calls::CONTESTANTS, 1, turn)
                .await;
        }
        if wants(&swap::WORKLOAD) {
            let turn = async |contestant| swap::round(arena, contestant).await;
            self.take_turns(&swap::WORKLOAD, &swap::CONTESTANTS, 1, turn)
                .await;
        }
        Ok(())
    }

    fn ring_size(&self) -> ring::Size {
        ring::Size {
            stations: self.flags.stations,
            turns: self.flags.laps,
            rest: Duration::from_secs(self.flags.rest),
        }
    }

    async fn ring(&mut self, arena: &Arena) -> Result<()> {
        let flags = self.flags;
        arena.apply(&ring::kinds(flags.stations)).await?;
        let size = self.ring_size();
        // A hundred processes take long to start, and three rounds of twenty turns of a hundred hops say enough.
        let rounds = flags.rounds.min(3);
        for number in 0..rounds {
            for contestant in flags.turns(&ring::CONTESTANTS, number) {
                let round = ring::round(arena, contestant, size).await;
                self.take_in(&ring::WORKLOAD, ring::TURNING, vec![(contestant, round)]);
            }
        }
        // One program in two ways at once would share its pages.
        for all in ring::AT_REST {
            let all = flags.turns(all, 0);
            if all.is_empty() {
                continue;
            }
            let rounds = ring::rest(arena, &all, size).await;
            self.take_in(&ring::WORKLOAD, ring::RESTING, rounds);
        }
        Ok(())
    }

    /// Kubernetes' own controllers next to the plugins: each contestant on a ground of its own.
    async fn alone(&mut self, wanted: &[&Workload]) {
        let flags = self.flags;
        for workload in wanted {
            if workload.name == workloads::WORKLOAD.name {
                let size = workloads::Size {
                    nodes: flags.nodes,
                    deployments: flags.deployments,
                    replicas: flags.replicas,
                    few: flags.few_replicas,
                };
                let turn = async |contestant| workloads::round(contestant, size).await;
                self.take_turns(workload, &workloads::CONTESTANTS, flags.rounds, turn)
                    .await;
            } else {
                let turn = async |contestant| workloads::cluster::round(contestant).await;
                let all = workloads::cluster::CONTESTANTS;
                self.take_turns(workload, &all, flags.rounds, turn).await;
            }
        }
    }

    /// How Windlass grows: each on a ground of its own.
    async fn growth(&mut self, wanted: &[&Workload]) -> Result<()> {
        let share = self.flags.growth;
        for workload in wanted {
            let ours = self.flags.turns(&[Contestant::Windlass], 0);
            for contestant in ours {
                let round = match workload.name {
                    name if name == family::WORKLOAD.name => family::round(contestant, share).await,
                    name if name == objects::WORKLOAD.name => {
                        objects::round(contestant, share).await
                    }
                    name if name == plugins::WORKLOAD.name => {
                        plugins::round(contestant, share).await
                    }
                    _ => changes::round(contestant, share).await,
                };
                self.take_in(workload, workload.figures, vec![(contestant, round)]);
            }
        }
        Ok(())
    }

    /// Lets contestants take turns at a workload.
    async fn take_turns(
        &mut self,
        workload: &Workload,
        all: &[Contestant],
        rounds: usize,
        mut turn: impl AsyncFnMut(Contestant) -> Result<Round>,
    ) {
        for number in 0..rounds {
            for contestant in self.flags.turns(all, number) {
                let round = turn(contestant).await;
                self.take_in(workload, workload.figures, vec![(contestant, round)]);
            }
        }
    }

    /// Tells how a round went, as it goes, and keeps it. One that failed counts against each of `figures`.
    fn take_in(
        &mut self,
        workload: &Workload,
        figures: &[&'static str],
        rounds: Vec<(Contestant, Result<Round>)>,
    ) {
        for (contestant, round) in rounds {
            let round = round.map_err(|error| format!("{error:#}"));
            let who = format!("{}, {}", workload.name, contestant.name());
            match &round {
                Ok(round) => {
                    let figures = round
                        .iter()
                        .map(|(figure, value)| format!("{figure}: {value:.2}"));
                    eprintln!("{who}: {}", figures.collect::<Vec<_>>().join("; "));
                }
                Err(why) => eprintln!("{who} failed: {why}"),
            }
            self.results.add(workload.name, figures, contestant, &round);
        }
    }
}

/// The kind of the first workload.
///
/// # Errors
/// The file is gone.
pub(crate) fn greetings() -> Result<serde_json::Value> {
    let text = fs::read_to_string(built::workspace().join("tests/bench/greeting.crd.json"))?;
    Ok(serde_json::from_str(&text)?)
}
