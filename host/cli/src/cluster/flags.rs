//! The flags of `windlass cluster`.

use std::path::PathBuf;

use clap::Args;

use windlass_host::admin::BindAddress;

/// Run a small cluster in this process.
#[derive(Debug, Args)]
pub struct LocalClusterFlags {
    /// How many nodes to simulate. They run pods without containers
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "NUMBER")]
    pub nodes: u32,
    /// File for the kubeconfig: written when the cluster is ready, removed when it ends [default: .windlass/kubeconfig]
    #[arg(long, env = "WINDLASS_APISERVER_KUBECONFIG_OUT", value_name = "FILE")]
    pub kubeconfig_out: Option<PathBuf>,
    /// Controllers that do not run, such as job
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub without: Vec<String>,
    /// Folder with more plugins, as for `windlass run --config`. A plugin with the name of a bundled one runs in its place
    #[arg(long, value_name = "DIR")]
    pub plugins: Option<PathBuf>,
    /// Port of the API server, on 127.0.0.1; 0 for any free port
    #[arg(
        long,
        env = "WINDLASS_APISERVER_PORT",
        default_value = "0",
        value_name = "PORT"
    )]
    pub port: u16,
    /// Address that serves the status; 0 to turn it off [default: 127.0.0.1:8082, or any free port if that is taken]
    #[arg(long, env = "WINDLASS_ADMIN_BIND_ADDRESS", value_name = "ADDRESS")]
    pub admin_bind_address: Option<BindAddress>,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}
