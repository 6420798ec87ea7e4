//! Flags of the commands for authors of plugins.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Output, TraceFlags, duration};
use crate::admin::BindAddress;
use crate::project::{group_name, kind_name, plugin_name};

/// Make a project for a new plugin.
#[derive(Debug, Args)]
pub struct New {
    /// The plugin's name: a-z, 0-9 and `-`, with a letter first
    #[arg(value_parser = plugin_name, value_name = "NAME")]
    pub name: String,
    /// The language that it is written in
    #[arg(long, default_value = "rust", value_name = "LANGUAGE")]
    pub lang: Language,
    /// The kind that it reconciles, in CamelCase [default: Greeting]
    #[arg(long, value_parser = kind_name, value_name = "KIND")]
    pub kind: Option<String>,
    /// The API group of the kind [default: NAME.example.dev]
    #[arg(long, value_parser = group_name, conflicts_with = "from", value_name = "GROUP")]
    pub group: Option<String>,
    /// Objects of the kind are in no namespace
    #[arg(long, conflicts_with = "from")]
    pub cluster_scoped: bool,
    /// File with the CustomResourceDefinition of a kind that is there already; of several, --kind chooses one
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

/// Run projects or components on an API server inside.
#[derive(Debug, Args)]
pub struct Dev {
    /// Projects (folders with a plugin.yaml), or components (.wasm or .wasm.gz files)
    #[arg(default_value = ".", value_name = "FOLDER | FILE.wasm")]
    pub targets: Vec<PathBuf>,
    /// End when everything is settled, with exit code 1 if the last pass over an object failed
    #[arg(long)]
    pub once: bool,
    /// How long --once waits until everything is settled, builds not counted
    #[arg(long, default_value = "60s", value_parser = duration, value_name = "DURATION")]
    pub timeout: Duration,
    /// Go on if the first build fails
    #[arg(long)]
    pub keep_going: bool,
    /// How it is told what happens: text on standard error, or json lines on standard output
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: DevOutput,
    /// Time zone of the times that are shown, such as Europe/Berlin [default: that of this machine]
    #[arg(long, env = "TZ", value_name = "ZONE")]
    pub time_zone: Option<String>,
    /// Port of the API server inside, on 127.0.0.1; 0 takes any that is free
    #[arg(
        long,
        env = "WINDLASS_APISERVER_PORT",
        default_value = "0",
        value_name = "PORT"
    )]
    pub port: u16,
    /// File for the kubeconfig of the API server inside [default: .windlass/kubeconfig in the first folder]
    #[arg(long, env = "WINDLASS_APISERVER_KUBECONFIG_OUT", value_name = "FILE")]
    pub kubeconfig_out: Option<PathBuf>,
    /// Where the status is served; 0 for nowhere [default: 127.0.0.1:8082, or any free port if that is taken]
    #[arg(long, env = "WINDLASS_ADMIN_BIND_ADDRESS", value_name = "ADDRESS")]
    pub admin_bind_address: Option<BindAddress>,
    /// Private folder for compiled code; made if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
    /// Kubeconfig file of a cluster to use in place of the API server inside; KUBECONFIG is not looked at
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of a cluster to use in place of the API server inside
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    pub context: Option<String>,
    /// Where traces go
    #[command(flatten)]
    pub traces: TraceFlags,
}

/// How it is told what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DevOutput {
    /// For people.
    Text,
    /// A document for each piece of news.
    Json,
}

/// Look whether this machine can build and run plugins.
#[derive(Debug, Args)]
pub struct Doctor {
    /// A project's folder, whose tools are needed; without a project, what is missing is only named
    #[arg(default_value = ".", value_name = "FOLDER")]
    pub folder: PathBuf,
    /// How it is written
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: InspectOutput,
    /// Private folder for compiled code; made if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Print what a plugin would write for objects.
#[derive(Debug, Args)]
pub struct Render {
    /// A project (a folder with a plugin.yaml), or a component (a .wasm or .wasm.gz file)
    #[arg(default_value = ".", value_name = "FOLDER | FILE.wasm")]
    pub target: PathBuf,
    /// File with objects, - for standard input: those that are rendered, and what they find; without any, the project's own
    #[arg(long, short, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// Call finalize in place of reconcile
    #[arg(long)]
    pub finalize: bool,
    /// How the writes are written: yaml for kubectl apply -f -, or json with all that is known
    #[arg(long, short, default_value = "yaml", value_name = "FORMAT")]
    pub output: Output,
    /// Private folder for compiled code; made if absent [default: windlass/code in the user's cache folder]
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
    /// Write into the fixtures what came of their calls
    #[arg(long)]
    pub update: bool,
    /// Run them again whenever a file changes
    #[arg(long, short)]
    pub watch: bool,
    /// Also write what came of them to a file, as JUnit's XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// How it is written
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: InspectOutput,
    /// Private folder for compiled code; made if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Make a recorded pass again. Exit codes: 0 the same decisions, 1 others, 2 it cannot be made again.
#[derive(Debug, Args)]
pub struct Replay {
    /// The recording of a pass
    #[arg(value_name = "FILE")]
    pub recording: PathBuf,
    /// A project or a component to make it with [default: the component that made it, which is kept beside it]
    #[arg(long, value_name = "FOLDER | FILE.wasm")]
    pub with: Option<PathBuf>,
    /// Plugin document whose spec.config is used in place of the recorded configuration, such as plugin.yaml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How it is written
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: InspectOutput,
    /// Private folder for compiled code; made if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Build the component of a project.
#[derive(Debug, Args)]
pub struct BuildFlags {
    /// The project's folder, with its plugin.yaml
    #[arg(default_value = ".", value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Private folder for compiled code; made if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Print the grants that a plugin needs and its plugin.yaml lacks, or add them.
#[derive(Debug, Args)]
pub struct GrantsFlags {
    /// The project's folder, with its plugin.yaml
    #[arg(default_value = ".", value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Add them to plugin.yaml, whose comments stay
    #[arg(long)]
    pub write: bool,
    /// Private folder for compiled code; made if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Say what a component is.
#[derive(Debug, Args)]
pub struct Inspect {
    /// The component, a .wasm or .wasm.gz file
    #[arg(value_name = "FILE")]
    pub component: PathBuf,
    /// How it is written
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: InspectOutput,
    /// Private folder for compiled code; made if absent [default: windlass/code in the user's cache folder]
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
