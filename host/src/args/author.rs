//! Flags of the commands for authors of plugins.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Output, TraceFlags, duration};
use crate::admin::BindAddress;
use crate::project::{group_name, kind_name, plugin_name};

/// Create a project for a new plugin.
#[derive(Debug, Args)]
pub struct New {
    /// The plugin's name: a-z, 0-9 and `-`; the first character is a letter
    #[arg(value_parser = plugin_name, value_name = "NAME")]
    pub name: String,
    /// The language of the plugin
    #[arg(long, default_value = "rust", value_name = "LANGUAGE")]
    pub lang: Language,
    /// The kind that the plugin reconciles, in CamelCase [default: Greeting]
    #[arg(long, value_parser = kind_name, value_name = "KIND")]
    pub kind: Option<String>,
    /// The API group of the kind [default: NAME.example.dev]
    #[arg(long, value_parser = group_name, conflicts_with = "from", value_name = "GROUP")]
    pub group: Option<String>,
    /// The kind is cluster-scoped
    #[arg(long, conflicts_with = "from")]
    pub cluster_scoped: bool,
    /// File with the CustomResourceDefinition of an existing kind; if it has several, --kind selects one
    #[arg(long, value_name = "CRD.yaml")]
    pub from: Option<PathBuf>,
}

/// A language that projects are made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust.
    Rust,
    /// JavaScript.
    Js,
}

/// Run projects or components on an embedded API server.
#[derive(Debug, Args)]
pub struct Dev {
    /// Projects (folders with a plugin.yaml), or components (.wasm or .wasm.gz files)
    #[arg(default_value = ".", value_name = "FOLDER | FILE.wasm")]
    pub targets: Vec<PathBuf>,
    /// Exit when everything is settled, with exit code 1 if the last pass over an object failed
    #[arg(long)]
    pub once: bool,
    /// How long --once waits until everything is settled, without the time for builds
    #[arg(long, default_value = "60s", value_parser = duration, value_name = "DURATION")]
    pub timeout: Duration,
    /// Go on if the first build fails
    #[arg(long)]
    pub keep_going: bool,
    /// Output format: text on standard error, or JSON lines on standard output
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: DevOutput,
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
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
    /// Kubeconfig file of a cluster to use instead of the embedded API server; KUBECONFIG is ignored
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of a cluster to use instead of the embedded API server
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    pub context: Option<String>,
    /// Where traces go
    #[command(flatten)]
    pub traces: TraceFlags,
}

/// How the output of `windlass dev` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DevOutput {
    /// For people.
    Text,
    /// A document for each piece of news.
    Json,
}

/// Check whether this machine can build and run plugins.
#[derive(Debug, Args)]
pub struct Doctor {
    /// A project's folder: a missing tool of the project is an error; without a project, missing tools are only listed
    #[arg(default_value = ".", value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Output format
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: InspectOutput,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Print what a plugin would write for objects.
#[derive(Debug, Args)]
pub struct Render {
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
    pub output: Output,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Run the fixtures of a project.
#[derive(Debug, Args)]
pub struct Test {
    /// A project (a folder with a plugin.yaml), or a component (a .wasm or .wasm.gz file)
    #[arg(default_value = ".", value_name = "FOLDER | FILE.wasm")]
    pub target: PathBuf,
    /// Fixture, or folder of fixtures (*.yaml) [default: the project's folder tests]
    #[arg(long, short, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// Write the results of the calls into the fixtures
    #[arg(long)]
    pub update: bool,
    /// Run the fixtures again when a file changes
    #[arg(long, short)]
    pub watch: bool,
    /// Also write the results to a file, as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Output format
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: InspectOutput,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Replay a recorded pass. Exit codes: 0 the same decisions, 1 different decisions, 2 the pass cannot be replayed.
#[derive(Debug, Args)]
pub struct Replay {
    /// The recording of a pass
    #[arg(value_name = "FILE")]
    pub recording: PathBuf,
    /// A project or a component to replay it with [default: the component that made the pass, which is kept beside the recording]
    #[arg(long, value_name = "FOLDER | FILE.wasm")]
    pub with: Option<PathBuf>,
    /// Plugin document whose spec.config replaces the recorded configuration, such as plugin.yaml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Output format
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: InspectOutput,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Build the component of a project.
#[derive(Debug, Args)]
pub struct BuildFlags {
    /// The project's folder, with its plugin.yaml
    #[arg(default_value = ".", value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Print the grants that a plugin needs and its plugin.yaml lacks, or add them.
#[derive(Debug, Args)]
pub struct GrantsFlags {
    /// The project's folder, with its plugin.yaml
    #[arg(default_value = ".", value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Add them to plugin.yaml, and keep its comments
    #[arg(long)]
    pub write: bool,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Describe a component.
#[derive(Debug, Args)]
pub struct Inspect {
    /// The component, a .wasm or .wasm.gz file
    #[arg(value_name = "FILE")]
    pub component: PathBuf,
    /// Output format
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: InspectOutput,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// How a component's description is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InspectOutput {
    /// For people.
    Text,
    /// One document.
    Json,
}
