//! What a user does to Deployments and Jobs, from a seed: no I/O.

use std::collections::BTreeMap;
use std::fmt;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::job::{self, WantedJob};

/// The Deployments that there can be.
const NAMES: [&str; 3] = ["ant", "bee", "cat"];

/// How a Deployment is at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// How many replicas.
    pub replicas: i64,
    /// The version of the template.
    pub version: u32,
    /// Whether pods of this version never run.
    pub is_stuck: bool,
    /// `maxSurge` and `maxUnavailable`. None recreates pods.
    pub bounds: Option<(i64, i64)>,
    /// Whether it is paused.
    pub is_paused: bool,
}

impl Wanted {
    /// The most pods that there may be.
    pub fn most(&self) -> i64 {
        self.replicas + self.bounds.map_or(0, |(surge, _)| surge)
    }

    /// The fewest pods that must be ready, once all were.
    pub fn least(&self) -> i64 {
        let unavailable = self
            .bounds
            .map_or(self.replicas, |(_, unavailable)| unavailable);
        (self.replicas - unavailable).max(0)
    }

    /// The spec of the Deployment with this name.
    pub fn spec(&self, name: &str) -> Value {
        let strategy = match self.bounds {
            None => json!({ "type": "Recreate", "rollingUpdate": null }),
            Some((surge, unavailable)) => json!({
                "type": "RollingUpdate",
                "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable },
            }),
        };
        let stuck = self.is_stuck.then_some("stuck");
        json!({
            "replicas": self.replicas,
            "paused": self.is_paused,
            "revisionHistoryLimit": 2,
            "selector": { "matchLabels": { "app": name } },
            "strategy": strategy,
            "template": {
                "metadata": {
                    "labels": { "app": name },
                    "annotations": { "nodes.windlass.dev/simulate": stuck },
                },
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{ "name": "main", "image": format!("image:{}", self.version) }],
                },
            },
        })
    }
}

/// What a user does.
#[derive(Clone, Debug)]
pub enum Step {
    /// Makes a Deployment, or changes the spec of one.
    Want(&'static str, Wanted),
    /// Makes a Job, or resumes one.
    Run(&'static str, WantedJob),
    /// Deletes a Deployment or a Job, with this propagation.
    Delete(&'static str, &'static str),
    /// Deletes one of its pods.
    DeletePod(&'static str),
    /// Takes the label from one of its pods.
    Unlabel(&'static str),
}

impl Step {
    /// The Deployment or Job that it is about.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Want(name, _)
            | Self::Run(name, _)
            | Self::Delete(name, _)
            | Self::DeletePod(name)
            | Self::Unlabel(name) => name,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Want(name, wanted) => write!(f, "{name}: {wanted:?}"),
            Self::Run(name, wanted) => write!(f, "{name}: {wanted:?}"),
            Self::Delete(name, how) => write!(f, "{name}: delete ({how})"),
            Self::DeletePod(name) => write!(f, "{name}: delete a pod"),
            Self::Unlabel(name) => write!(f, "{name}: take the label from a pod"),
        }
    }
}

/// A user, who knows what is there.
#[derive(Debug)]
pub struct User {
    rng: Rng,
    /// The Deployments that there are.
    pub wanted: BTreeMap<&'static str, Wanted>,
    /// The Jobs that there are.
    pub jobs: BTreeMap<&'static str, WantedJob>,
    versions: u32,
}

impl User {
    /// A user who does what follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::with_seed(seed),
            wanted: BTreeMap::new(),
            jobs: BTreeMap::new(),
            versions: 0,
        }
    }

    /// What the user does next. `wanted` is as it will be then.
    pub fn step(&mut self) -> Step {
        if self.rng.u32(..4) == 0 {
            return self.job_step();
        }
        let name = NAMES
            .get(self.rng.usize(..NAMES.len()))
            .copied()
            .unwrap_or("ant");
        let Some(before) = self.wanted.get(name).cloned() else {
            let wanted = self.new_wanted();
            self.wanted.insert(name, wanted.clone());
            return Step::Want(name, wanted);
        };
        let mut wanted = before.clone();
        match self.rng.u32(..20) {
            0..5 => wanted.replicas = self.rng.i64(0..7),
            5..10 if !before.is_stuck => wanted.version = self.version(),
            // A version that never runs, and back to one that does.
            10..12 if before.bounds.is_some() && !before.is_paused => {
                wanted.is_stuck = !before.is_stuck;
                wanted.version = self.version();
            }
            12 | 13 if !before.is_stuck => wanted.is_paused = !before.is_paused,
            14 if !before.is_stuck && !before.is_paused => wanted.bounds = self.bounds(),
            15 | 16 if before.replicas > 0 && !before.is_stuck => return Step::DeletePod(name),
            17 if before.replicas > 0 && !before.is_stuck => return Step::Unlabel(name),
            18 => {
                self.wanted.remove(name);
                return Step::Delete(name, self.propagation());
            }
            _ => {
                wanted.is_stuck = false;
                wanted.is_paused = false;
                wanted.version = self.version();
                wanted.replicas = self.rng.i64(1..7);
            }
        }
        self.wanted.insert(name, wanted.clone());
        Step::Want(name, wanted)
    }

    /// A Job is made, resumed if it waits, and deleted.
    fn job_step(&mut self) -> Step {
        let name = job::NAMES
            .get(self.rng.usize(..job::NAMES.len()))
            .copied()
            .unwrap_or("dog");
        let wanted = match self.jobs.remove(name) {
            None => WantedJob::any(&mut self.rng),
            Some(held) if held.is_suspended && self.rng.u32(..4) > 0 => WantedJob {
                is_suspended: false,
                ..held
            },
            Some(_) => return Step::Delete(name, self.propagation()),
        };
        self.jobs.insert(name, wanted.clone());
        Step::Run(name, wanted)
    }

    fn propagation(&mut self) -> &'static str {
        if self.rng.bool() {
            "Background"
        } else {
            "Foreground"
        }
    }

    fn new_wanted(&mut self) -> Wanted {
        Wanted {
            replicas: self.rng.i64(0..7),
            version: self.version(),
            is_stuck: false,
            bounds: self.bounds(),
            is_paused: false,
        }
    }

    fn version(&mut self) -> u32 {
        self.versions += 1;
        self.versions
    }

    fn bounds(&mut self) -> Option<(i64, i64)> {
        match self.rng.u32(..4) {
            0 => None,
            1 => Some((1, 0)),
            2 => Some((0, 1)),
            _ => Some((2, 2)),
        }
    }
}
