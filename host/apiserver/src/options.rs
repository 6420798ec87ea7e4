//! What a server is like, beside what is in it.

pub(crate) mod controllers;

use std::time::Duration;

pub use controllers::{Controllers, UnknownController};

/// What a server is like. The default is what tests in the same process want: everything is allowed, it
/// has no nodes, and nothing takes longer than it has to.
#[derive(Clone, Debug)]
pub struct Options {
    /// Keeps every accepted write, for an oracle.
    pub history: bool,
    /// Whether there are simulated nodes, and what they do.
    pub node: Node,
    /// How many simulated nodes there are, if any.
    pub nodes: u32,
    /// Which controllers run.
    pub controllers: Controllers,
    /// Who may do what.
    pub authorization: Authorization,
    /// The certificates of the server's authority, for `kube-root-ca.crt`, which is only published where
    /// there are some.
    pub ca: Option<String>,
    /// Whether the objects are there that a server makes for its clients and itself: where to reach it, whom
    /// it trusts, and who it is.
    pub bootstrap: bool,
    /// How long a namespace stays as it is after its deletion before its content goes (a real cluster
    /// takes five seconds).
    pub namespace_delay: Duration,
    /// How long a pod takes to start, and to end.
    pub pod_delay: Duration,
    /// How long a pod of a Job runs on the simulated node until it has succeeded.
    pub job_duration: Duration,
}

/// Whether there are simulated nodes, and what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Node {
    /// There is none.
    #[default]
    Absent,
    /// Pods are scheduled to it and run, and workloads without pods are as if they had some.
    Full,
    /// It runs the pods that are bound to it, and does nothing else: for use next to kube-scheduler and
    /// kube-controller-manager.
    PodsOnly,
}

/// Who may do what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// Everybody may do everything.
    #[default]
    AlwaysAllow,
    /// Roles and their bindings say it; those of a new cluster are there.
    Rbac,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            history: false,
            node: Node::default(),
            nodes: 1,
            controllers: Controllers::default(),
            authorization: Authorization::default(),
            ca: None,
            bootstrap: false,
            namespace_delay: Duration::from_millis(500),
            pod_delay: Duration::from_millis(500),
            job_duration: Duration::from_millis(500),
        }
    }
}
