//! The flags of `windlass dev` and `windlass render`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use windlass_host::admin::BindAddress;
use windlass_kube::flags::{ObjectFormat, OutputFormat, duration};
use windlass_kube::telemetry::TraceFlags;

/// Run projects or components on an embedded API server.
#[derive(Debug, Args)]
pub struct DevFlags {
    /// Projects (folders with a plugin.yaml), or components (.wasm or .wasm.gz files)
    #[arg(default_value = ".", value_name = "FOLDER | FILE.wasm")]
    pub targets: Vec<PathBuf>,
    /// Exit when no object waits to be reconciled, with exit code 1 if the last pass over an object failed
    #[arg(long)]
    pub once: bool,
    /// How long --once waits until no object waits to be reconciled, without the time for builds
    #[arg(long, default_value = "60s", value_parser = duration, value_name = "DURATION")]
    pub timeout: Duration,
    /// Continue if the first build fails
    #[arg(long)]
    pub keep_going: bool,
    /// Output format: text on standard error, or JSON lines on standard output
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: OutputFormat,
    /// Time zone of the times in the output, such as Europe/Berlin [default: this machine's]
    #[arg(long, env = "TZ", value_name = "ZONE")]
    pub time_zone: Option<String>,
    /// Port of the embedded API server, on 127.0.0.1; 0 for any free port
    #[arg(
        long,
        env = "WINDLASS_APISERVER_PORT",
        default_value = "0",
        value_name = "PORT"
    )]
    pub port: u16,
    /// File for the kubeconfig of the embedded API server [default: .windlass/kubeconfig in the first folder]
    #[arg(long, env = "WINDLASS_APISERVER_KUBECONFIG_OUT", value_name = "FILE")]
    pub kubeconfig_out: Option<PathBuf>,
    /// Address that serves the status; 0 to turn it off [default: 127.0.0.1:8082, or any free port if that is taken]
    #[arg(long, env = "WINDLASS_ADMIN_BIND_ADDRESS", value_name = "ADDRESS")]
    pub admin_bind_address: Option<BindAddress>,
    /// Send HTTP requests of plugins to ORIGIN to a server on this machine instead, such as
    /// `https://api.example.com=http://127.0.0.1:8000`
    #[arg(long, value_name = "ORIGIN=URL")]
    pub http: Vec<String>,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
    /// Kubeconfig file of a cluster to use instead of the embedded API server; KUBECONFIG is ignored
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of a cluster to use instead of the embedded API server
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    pub context: Option<String>,
    /// Use this build in place of the plugin of the same name that a host runs in the cluster
    #[arg(long, help_heading = "Cluster")]
    pub attach: bool,
    /// With --attach, print what the plugin would write and send nothing; with false, take over from the host, which stands
    /// by until this command ends
    #[arg(
        long,
        requires = "attach",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = clap::ArgAction::Set,
        value_name = "BOOL",
        help_heading = "Cluster"
    )]
    pub dry_run: bool,
    /// With --attach, the namespace of that host [default: where the plugin's Lease is]
    #[arg(
        long,
        short,
        requires = "attach",
        value_name = "NAMESPACE",
        help_heading = "Cluster"
    )]
    pub namespace: Option<String>,
    /// Where traces go
    #[command(flatten)]
    pub traces: TraceFlags,
}

/// Print what a plugin would write for objects.
#[derive(Debug, Args)]
pub struct RenderFlags {
    /// A project (a folder with a plugin.yaml), or a component (a .wasm or .wasm.gz file)
    #[arg(default_value = ".", value_name = "FOLDER | FILE.wasm")]
    pub target: PathBuf,
    /// File with objects, or - for standard input: the objects to render, and the objects that the plugin can read [default: the project's own]
    #[arg(long, short, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// Call finalize instead of reconcile
    #[arg(long)]
    pub finalize: bool,
    /// Output format: yaml for kubectl apply -f -, or json with all details
    #[arg(long, short, default_value = "yaml", value_name = "FORMAT")]
    pub output: ObjectFormat,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}
