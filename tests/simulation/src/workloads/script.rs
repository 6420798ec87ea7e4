//! What a user of Deployments and Jobs does in a run, drawn from a seed.
//!
//! - The end comes when everything is healed. Each Deployment that is there then gets a version that runs.

use std::collections::BTreeMap;

use fastrand::Rng;
use windlass_life::job::WantedJob;
use windlass_life::step::Wanted;

use super::work::Work;
use crate::fault::Fault;
use crate::network::Class;
use crate::run::Case;
use crate::script::Action;
use crate::which::Which;

/// The Deployments that there can be.
pub(crate) const DEPLOYMENTS: [&str; 2] = ["ant", "bee"];

/// The Jobs that there can be.
pub(crate) const JOBS: [&str; 2] = ["dog", "eel"];

/// How many pods of a Job are made to fail: each one delays the next pods for longer.
const FAILURES: u32 = 2;

/// What a Job is like, as the user knows it.
struct Running {
    wanted: WantedJob,
    failures: u32,
}

/// A user, who knows what is there.
struct Author {
    rng: Rng,
    deployments: BTreeMap<&'static str, Wanted>,
    jobs: BTreeMap<&'static str, Running>,
    versions: u32,
    script: Vec<Action>,
}

impl Case {
    /// The case about workloads that a seed stands for: a script, one or two hosts, and two faults.
    pub fn of_workloads(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x30b5_10ad);
        let faults = (0..2).filter_map(|_| Fault::drawn(&mut rng));
        let mut faults: Vec<Fault> = faults.collect();
        if faults.iter().all(|fault| fault.what.refuses_many()) {
            faults.truncate(1);
        }
        for fault in &mut faults {
            // Workloads are written more often, and are watched by more plugins.
            match fault.what.class() {
                Some(Class::Write | Class::Read) => fault.at *= rng.u64(1..8),
                Some(Class::Watch) => fault.at *= rng.u64(1..3),
                _ => {}
            }
        }
        let hosts = rng.usize(1..=2);
        let which = rng.choice(Which::WORKLOADS).unwrap_or(Which::Deployment);
        Self {
            seed,
            which,
            script: drawn(rng),
            hosts,
            faults,
            bug: None,
        }
    }
}

fn drawn(rng: Rng) -> Vec<Action> {
    let mut author = Author {
        rng,
        deployments: BTreeMap::new(),
        jobs: BTreeMap::new(),
        versions: 0,
        script: Vec::new(),
    };
    let steps = author.rng.usize(4..12);
    for _ in 0..steps {
        author.step();
        let pause = match author.rng.u32(..4) {
            0 => author.rng.u64(..50),
            1 => author.rng.u64(..6000),
            _ => author.rng.u64(..1500),
        };
        author.script.push(Action::Wait(pause));
    }
    author.script.push(Action::Heal);
    author.end();
    author.script
}

impl Author {
    fn push(&mut self, work: Work) {
        self.script.push(Action::Work(work));
    }

    fn step(&mut self) {
        if self.rng.u32(..3) == 0 {
            self.job();
        } else {
            self.deployment();
        }
    }

    fn version(&mut self) -> u32 {
        self.versions += 1;
        self.versions
    }

    fn bounds(&mut self) -> Option<(i64, i64)> {
        let all = [None, Some((1, 0)), Some((0, 1)), Some((2, 2))];
        self.rng.choice(all).flatten()
    }

    fn want(&mut self, name: &'static str, wanted: Wanted) {
        self.deployments.insert(name, wanted.clone());
        self.push(Work::Want(name, wanted));
    }

    fn deployment(&mut self) {
        let name = self.rng.choice(DEPLOYMENTS).unwrap_or("ant");
        let Some(before) = self.deployments.get(name).cloned() else {
            let wanted = Wanted {
                replicas: self.rng.i64(1..5),
                version: self.version(),
                is_stuck: false,
                bounds: self.bounds(),
                is_paused: false,
            };
            self.want(name, wanted);
            if self.rng.bool() {
                self.push(Work::Settle(name));
            }
            return;
        };
        let mut wanted = before.clone();
        match self.rng.u32(..20) {
            0..4 => wanted.replicas = self.rng.i64(0..6),
            4..9 => wanted.version = self.version(),
            9 | 10 => {
                wanted.is_stuck = !before.is_stuck;
                wanted.version = self.version();
            }
            // A new version and a new size at once.
            11 => {
                wanted.version = self.version();
                wanted.replicas = self.rng.i64(0..6);
            }
            12 => wanted.is_paused = !before.is_paused,
            13 => wanted.bounds = self.bounds(),
            14 => {
                // Back to an older version: its set is there, or was deleted.
                wanted.version = self.rng.u32(..self.versions) + 1;
            }
            15 | 16 => return self.push(Work::DeletePod(name)),
            17 => return self.push(Work::Unlabel(name)),
            18 => {
                self.deployments.remove(name);
                let how = self.rng.choice(["Background", "Foreground", "Orphan"]);
                return self.push(Work::Delete(name, how.unwrap_or("Background")));
            }
            _ if before.is_stuck || before.is_paused => {
                wanted.is_stuck = false;
                wanted.is_paused = false;
                wanted.version = self.version();
            }
            _ => return self.push(Work::Settle(name)),
        }
        self.want(name, wanted);
    }

    fn job(&mut self) {
        let name = self.rng.choice(JOBS).unwrap_or("dog");
        let Some(running) = self.jobs.get_mut(name) else {
            let wanted = WantedJob::any(&mut self.rng);
            let running = Running {
                wanted: wanted.clone(),
                failures: 0,
            };
            self.jobs.insert(name, running);
            return self.push(Work::Run(name, wanted));
        };
        let may_fail = running.failures < FAILURES && !running.wanted.fails;
        let work = match self.rng.u32(..10) {
            0 | 1 if !running.wanted.fails => Work::Parallel(name, self.rng.i64(1..5)),
            2 | 3 => {
                let is_suspended = !running.wanted.is_suspended;
                running.wanted.is_suspended = is_suspended;
                Work::Suspend(name, is_suspended)
            }
            4 | 5 if may_fail => {
                running.failures += 1;
                Work::DeletePod(name)
            }
            6 | 7 if may_fail => {
                running.failures += 1;
                Work::FailPod(name)
            }
            8 => {
                self.jobs.remove(name);
                let how = self.rng.choice(["Background", "Foreground", "Orphan"]);
                Work::Delete(name, how.unwrap_or("Background"))
            }
            _ => Work::Settle(name),
        };
        self.push(work);
    }

    /// What is done when everything is healed.
    fn end(&mut self) {
        for name in DEPLOYMENTS {
            let Some(mut wanted) = self.deployments.get(name).cloned() else {
                continue;
            };
            if wanted.is_stuck || wanted.is_paused {
                wanted.is_stuck = false;
                wanted.is_paused = false;
                wanted.version = self.version();
                self.want(name, wanted);
            } else {
                let work = match self.rng.u32(..3) {
                    0 => Work::DeletePod(name),
                    1 => {
                        wanted.version = self.version();
                        self.deployments.insert(name, wanted.clone());
                        Work::Want(name, wanted)
                    }
                    _ => {
                        wanted.replicas = self.rng.i64(0..5);
                        Work::Want(name, wanted)
                    }
                };
                self.push(Work::Settle(name));
                self.push(work);
            }
        }
        for name in JOBS {
            if self.jobs.contains_key(name) && self.rng.bool() {
                let how = self.rng.choice(["Background", "Foreground"]);
                self.jobs.remove(name);
                self.push(Work::Delete(name, how.unwrap_or("Background")));
            }
            if !self.jobs.contains_key(name) && self.rng.bool() {
                let wanted = WantedJob::any(&mut self.rng);
                self.push(Work::Run(name, wanted));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_end_every_deployment_can_come_to_rest() {
        for seed in 0..500 {
            let script = Case::of_workloads(seed).script;
            assert_eq!(script, Case::of_workloads(seed).script);
            let mut last = BTreeMap::new();
            for action in &script {
                match action {
                    Action::Work(Work::Want(name, wanted)) => {
                        last.insert(*name, wanted.clone());
                    }
                    Action::Work(Work::Delete(name, _)) => drop(last.remove(name)),
                    _ => {}
                }
            }
            for wanted in last.values() {
                assert!(!wanted.is_stuck && !wanted.is_paused, "{seed}: {wanted:?}");
            }
        }
    }
}
