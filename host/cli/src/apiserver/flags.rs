//! The flags of `windlass apiserver`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass_apiserver::options::{Controllers, Node};

use windlass_kube::flags::duration;

/// Serve an in-memory Kubernetes API on this machine.
#[derive(Debug, Args)]
pub struct ApiServerFlags {
    /// Port of 127.0.0.1; 0 for any free port
    #[arg(
        long,
        env = "WINDLASS_APISERVER_PORT",
        default_value = "0",
        value_name = "PORT"
    )]
    pub port: u16,
    /// Simulate a node: run pods, and give workloads the status of running pods. `pods` only runs pods that are bound to the node, next to kube-scheduler and kube-controller-manager
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "full", value_name = "MODE")]
    pub node: Option<NodeMode>,
    /// How long a pod of a Job runs on the simulated node until it succeeds
    #[arg(long, default_value = "500ms", value_parser = duration, value_name = "DURATION")]
    pub job_duration: Duration,
    /// Controllers to run, by kube-controller-manager's names: `*` for all, `foo` for one, `-foo` for all but one
    #[arg(
        long,
        env = "WINDLASS_APISERVER_CONTROLLERS",
        default_value = "*",
        allow_hyphen_values = true,
        value_name = "LIST"
    )]
    pub controllers: Controllers,
    /// Enforce RBAC; without this, every user may do everything
    #[arg(long)]
    pub rbac: bool,
    /// File for the kubeconfig: written when the server is ready, removed when it ends
    #[arg(long, env = "WINDLASS_APISERVER_KUBECONFIG_OUT", value_name = "FILE")]
    pub kubeconfig_out: PathBuf,
}

/// What the simulated node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NodeMode {
    /// Schedules pods, runs them, and brings workloads further.
    Full,
    /// Runs the pods that are bound to it.
    Pods,
}

impl ApiServerFlags {
    /// What the node of the server does.
    pub fn node(&self) -> Node {
        match self.node {
            None => Node::Absent,
            Some(NodeMode::Full) => Node::Full,
            Some(NodeMode::Pods) => Node::PodsOnly,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        flags: ApiServerFlags,
    }

    fn parse(more: &[&str]) -> Result<ApiServerFlags, String> {
        let given = ["windlass", "--kubeconfig-out", "a"].iter().chain(more);
        let parsed = Flags::try_parse_from(given);
        parsed
            .map(|parsed| parsed.flags)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_node_has_a_mode_and_controllers_have_the_names_of_kubernetes() {
        assert_eq!(parse(&[]).unwrap().node(), Node::Absent);
        assert_eq!(parse(&["--node"]).unwrap().node(), Node::Full);
        assert_eq!(
            parse(&["--node=pods", "--rbac"]).unwrap().node(),
            Node::PodsOnly
        );
        assert!(parse(&["--node=other"]).is_err());
        let off = parse(&["--controllers", "*,-garbage-collector-controller"]).unwrap();
        assert!(!off.controllers.runs("garbage-collector-controller"));
        assert!(off.controllers.runs("job-controller"));
        let none = parse(&["--controllers", "-job-controller"]).unwrap();
        assert!(!none.controllers.runs("namespace-controller"));
        let unknown = parse(&["--controllers=*,-foo"]).unwrap_err();
        assert!(
            unknown.contains("\"foo\" is not in the list of known controllers: clusterrole"),
            "{unknown}"
        );
    }
}
