//! Which cluster a command means.

use std::path::PathBuf;

use clap::Args;

use windlass_base::seams::environment::variable;
use windlass_base::text::clean;

/// The longest value of `KUBECONFIG` that is shown.
const TEXT: usize = 1 << 10;

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

/// What is used if no flag names a kubeconfig or a context.
pub fn usual() -> String {
    usual_of(variable("KUBECONFIG").as_deref())
}

fn usual_of(kubeconfig: Option<&str>) -> String {
    match kubeconfig.filter(|files| !files.is_empty()) {
        Some(files) => format!("KUBECONFIG, which is {}", clean(files, TEXT)),
        None => "the default kubeconfig or the pod's service account".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubeconfig_of_the_environment_is_named() {
        let usual = "the default kubeconfig or the pod's service account";
        let rows = [
            (None, usual),
            (Some(""), usual),
            (Some("/x/k:/y"), "KUBECONFIG, which is /x/k:/y"),
        ];
        for (kubeconfig, want) in rows {
            assert_eq!(usual_of(kubeconfig), want);
        }
    }
}
