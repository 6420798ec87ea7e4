//! What a server is like, beside what is in it.

use std::time::Duration;

/// What a server is like. The default is what tests in the same process want: everything is allowed, there
/// is no node, and nothing takes longer than it has to.
#[derive(Clone, Debug)]
pub struct Options {
    /// Keeps every accepted write, for an oracle.
    pub history: bool,
    /// Whether pods run on a simulated node, and workloads are as if theirs did.
    pub node: bool,
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
            node: false,
            authorization: Authorization::default(),
            ca: None,
            bootstrap: false,
            namespace_delay: Duration::from_millis(500),
            pod_delay: Duration::from_millis(500),
        }
    }
}
