//! `windlass why`: asks a host that runs.

use std::path::Path;

use anyhow::bail;
use clap::{Args, ValueEnum};

use crate::admin::client::document;
use crate::admin::folder;
use crate::why::{Explanation, dot, text};
use windlass_base::screen::{print, print_json};
use windlass_base::seams::Seams;
use windlass_kube::flags::{HostFlags, object_name};

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
    pub host: HostFlags,
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

/// Asks, and prints the answer.
///
/// # Errors
/// No host answers there, or what is asked for is none.
pub async fn ask(flags: WhyFlags, seams: Seams) -> anyhow::Result<()> {
    let Some((kind, name)) = object_name(&flags.object) else {
        bail!("name one object, as KIND/NAME or KIND NAME");
    };
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("kind", kind).append_pair("name", name);
    if let Some(namespace) = &flags.namespace {
        query.append_pair("namespace", namespace);
    }
    let query: String = query.append_pair("o", "json").finish();
    let path = format!("/why?{query}");
    let base = folder::find_host(flags.host.admin_url.as_deref(), Path::new("."), &seams).await;
    let (answer, json): (Explanation, String) = document(&base, &path, &seams).await?;
    Ok(match flags.output {
        WhyOutput::Text => print(&text(&answer)),
        WhyOutput::Json => print_json(&json),
        WhyOutput::Dot => print(&dot(&answer)),
    }?)
}
