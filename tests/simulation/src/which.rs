//! Which plugin a run is about, which run beside it, and what its objects are called.

use std::fmt::{self, Display, Formatter};

/// A plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// The example: a set of two children, and an entry in another namespace.
    Greeter,
    /// The guest that reads, lists, deletes and needs two calls to finalize (`tests/steward`).
    Steward,
    /// Kubernetes' controller of ReplicaSets.
    ReplicaSet,
    /// Kubernetes' controller of Deployments.
    Deployment,
    /// Kubernetes' controller of Jobs.
    Job,
}

impl Which {
    /// Those that run alone.
    pub const ALL: [Self; 2] = [Self::Greeter, Self::Steward];

    /// Those that run together, on simulated nodes.
    pub const WORKLOADS: [Self; 3] = [Self::ReplicaSet, Self::Deployment, Self::Job];

    /// Whether it is one of Kubernetes' controllers of workloads.
    pub fn is_of_workloads(self) -> bool {
        Self::WORKLOADS.contains(&self)
    }

    /// All plugins of a run that is about this one.
    pub fn company(self) -> Vec<Self> {
        if self.is_of_workloads() {
            Self::WORKLOADS.to_vec()
        } else {
            vec![self]
        }
    }

    /// Its name, and that of its crate.
    pub fn name(self) -> &'static str {
        match self {
            Self::Greeter => "greeter",
            Self::Steward => "steward",
            Self::ReplicaSet => "replicaset",
            Self::Deployment => "deployment",
            Self::Job => "job",
        }
    }

    /// Where it is, from the folder of the workspace.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Greeter => "plugins/greeter",
            Self::Steward => "tests/steward",
            Self::ReplicaSet => "plugins/replicaset",
            Self::Deployment => "plugins/deployment",
            Self::Job => "plugins/job",
        }
    }

    /// What its cluster has from the beginning.
    pub fn cluster(self) -> &'static [&'static str] {
        match self {
            Self::Greeter => &["greeting.crd.yaml", "namespace.yaml"],
            Self::Steward => &["bookcase.crd.yaml"],
            Self::ReplicaSet | Self::Deployment | Self::Job => &[],
        }
    }

    /// The plural of its primaries.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Greeter => "greetings",
            Self::Steward => "bookcases",
            Self::ReplicaSet => "replicasets",
            Self::Deployment => "deployments",
            Self::Job => "jobs",
        }
    }

    /// The API version and kind of its primaries.
    pub fn kind(self) -> (&'static str, &'static str) {
        match self {
            Self::Greeter => ("examples.windlass.dev/v1", "Greeting"),
            Self::Steward => ("tests.windlass.dev/v1", "Bookcase"),
            Self::ReplicaSet => ("apps/v1", "ReplicaSet"),
            Self::Deployment => ("apps/v1", "Deployment"),
            Self::Job => ("batch/v1", "Job"),
        }
    }

    /// Where its primaries are.
    pub fn path(self) -> String {
        let (api_version, _) = self.kind();
        format!("/apis/{api_version}/namespaces/default/{}", self.plural())
    }

    /// The path of one of them.
    pub fn path_of(self, name: &str) -> String {
        format!("{}/{name}", self.path())
    }

    /// What it makes for each primary, unowned, is called this with the primary's UID behind it.
    pub fn entry(self) -> &'static str {
        match self {
            Self::Greeter => "greeting-",
            Self::Steward => "tally-",
            Self::ReplicaSet | Self::Deployment | Self::Job => "none-",
        }
    }

    /// The finalizer that its primaries carry.
    pub fn finalizer(self) -> String {
        format!("windlass.dev/{}", self.name())
    }

    /// The name of its Lease.
    pub fn lease(self) -> String {
        format!("windlass-{}", self.name())
    }
}

impl Display for Which {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
