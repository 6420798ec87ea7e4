//! `make apiserver-data`: writes down what the real kube-apiserver knows about its own kinds, for the
//! embedded one to stand on.

#![expect(
    clippy::indexing_slicing,
    reason = "an absent field of a JSON value is null, never a panic"
)]

mod archive;
mod discovery;
mod selection;
mod server;
mod types;

use std::path::PathBuf;

use clap::Parser;
use windlass_controlplane::{ControlPlane, client};

use archive::Archive;
use server::Server;

/// Writes down what the real kube-apiserver knows about its own kinds.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the data goes.
    #[arg(long, default_value = "host/apiserver/data")]
    into: PathBuf,
    /// A control plane that runs already, instead of one of our own.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let (_control_plane, kubeconfig) = match arguments.kubeconfig {
        Some(kubeconfig) => (None, kubeconfig),
        None => {
            let control_plane = ControlPlane::start()?;
            let kubeconfig = control_plane.kubeconfig_admin();
            (Some(control_plane), kubeconfig)
        }
    };
    let server = Server::new(client(&kubeconfig).await?);
    let archive = Archive::new(arguments.into)?;

    let types = types::capture(&server).await?;
    let groups = discovery::capture(&server, &types).await?;
    let types = types.reachable(&discovery::roots(&groups));
    archive.write("resources.json.gz", &format!("{groups}\n"))?;
    archive.write("types.jsonl.gz", &types.structure())?;
    archive.write("texts.jsonl.gz", &types.texts())?;
    Ok(())
}
