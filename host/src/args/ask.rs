//! Flags of the commands that ask a host that runs.

use clap::{Args, ValueEnum};

use super::InspectOutput;

/// Explain why an object was reconciled or not.
#[derive(Debug, Args)]
pub struct WhyFlags {
    /// The object, as KIND/NAME or KIND NAME; KIND is a kind, its plural or its short name, optionally with .GROUP
    #[arg(required = true, num_args = 1..=2, value_name = "KIND/NAME")]
    pub object: Vec<String>,
    /// The object's namespace [default: the namespace with an object of that name]
    #[arg(long, short, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Output format
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: WhyOutput,
    /// Which host
    #[command(flatten)]
    pub host: AskedHost,
}

/// Show what each plugin of a host does.
#[derive(Debug, Args)]
pub struct Top {
    /// Print once, in this format [default: a view that refreshes; text once if there is no terminal]
    #[arg(long, short, value_name = "FORMAT")]
    pub output: Option<InspectOutput>,
    /// Which host
    #[command(flatten)]
    pub host: AskedHost,
}

/// Which host is asked.
#[derive(Clone, Debug, Args)]
pub struct AskedHost {
    /// URL of the host's status page [default: the host that `windlass dev` runs in this folder, or http://127.0.0.1:8082]
    #[arg(long, env = "WINDLASS_ADMIN_URL", value_name = "URL")]
    pub admin_url: Option<String>,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhyOutput {
    /// For people.
    Text,
    /// One document.
    Json,
    /// A graph, for Graphviz.
    Dot,
}
