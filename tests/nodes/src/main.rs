//! Simulates nodes on an API server, until it is killed.

use std::path::PathBuf;

use clap::Parser;
use windlass_nodes::{Nodes, Settings};

/// Simulated nodes.
#[derive(Debug, Parser)]
struct Flags {
    /// The cluster
    #[arg(long)]
    kubeconfig: PathBuf,
    /// How many nodes
    #[arg(long, default_value_t = 3)]
    nodes: u32,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let client = windlass_controlplane::client(&flags.kubeconfig).await?;
    let settings = Settings {
        nodes: flags.nodes,
        ..Settings::default()
    };
    let nodes = Nodes::register(client, settings).await?;
    println!("{} nodes are there", flags.nodes);
    nodes.run().await
}
