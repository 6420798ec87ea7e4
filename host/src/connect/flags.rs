//! Which cluster a command means.

use std::path::PathBuf;

use clap::Args;

/// Which cluster.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub struct ClusterFlags {
    /// Kubeconfig file [default: KUBECONFIG, then ~/.kube/config, then the pod's service account]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Namespace of the Leases [default: the context's, or the pod's]
    #[arg(long, short, env = "WINDLASS_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}
