//! The flags of the commands for a project.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{group_name, kind_name, plugin_name};
use windlass_kube::flags::OutputFormat;
use windlass_policy::registries::RegistryFlags;

/// Create a project for a new plugin.
#[derive(Debug, Args)]
pub struct NewFlags {
    /// The plugin's name: a-z, 0-9 and `-`; the first character is a letter
    #[arg(value_parser = plugin_name, value_name = "NAME")]
    pub name: String,
    /// The language of the plugin
    #[arg(long, default_value = "rust", value_name = "LANGUAGE")]
    pub lang: Language,
    /// The kind that the plugin reconciles: a name in CamelCase for one of your own, or apps/v1/Deployment and the like
    /// for one of Kubernetes [default: Greeting]
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

/// Print the Plugin document of a component, with the grants to review.
#[derive(Debug, Args)]
pub struct ManifestFlags {
    /// The component: a .wasm or .wasm.gz file, or an artifact in a registry, such as registry.example.com/greeter:v1
    #[arg(value_name = "FILE|REFERENCE")]
    pub component: String,
    /// Which registries
    #[command(flatten)]
    pub registries: RegistryFlags,
    /// The plugin's name [default: what the component calls itself]
    #[arg(long, value_parser = plugin_name, value_name = "NAME")]
    pub name: Option<String>,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Push a component to a registry, and print its digest.
#[derive(Debug, Args)]
pub struct PushFlags {
    /// Where to, such as registry.example.com/plugins/greeter:v1, or oci:FOLDER for a folder with an OCI image layout
    #[arg(value_name = "REFERENCE")]
    pub reference: String,
    /// A component (.wasm or .wasm.gz), or a project's folder, which is built first
    #[arg(default_value = ".", value_name = "FILE|FOLDER")]
    pub path: PathBuf,
    /// Which registries
    #[command(flatten)]
    pub registries: RegistryFlags,
    /// Output format
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: OutputFormat,
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

/// Check whether this machine can build and run plugins.
#[derive(Debug, Args)]
pub struct DoctorFlags {
    /// A project's folder: a missing tool of the project is an error; without a project, missing tools are only listed
    #[arg(default_value = ".", value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Output format
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: OutputFormat,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}
