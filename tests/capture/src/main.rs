//! `make apiserver-data`: writes down what the real kube-apiserver knows about its own kinds, for the
//! embedded one to stand on.

#![expect(
    clippy::indexing_slicing,
    reason = "an absent field of a JSON value is null, never a panic"
)]

mod archive;
mod defaults;
mod discovery;
mod probes;
mod rbac;
mod selection;
mod server;
mod structs;
mod types;

use std::path::PathBuf;

use clap::Parser;
use windlass_controlplane::ControlPlane;

use archive::Archive;
use server::Server;

/// Writes down what the real kube-apiserver knows about its own kinds.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the data goes.
    #[arg(long, default_value = "host/apiserver/data")]
    into: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    // A fresh one: what others put into a cluster shows in what it adds.
    let control_plane = ControlPlane::start()?;
    let server = Server::new(control_plane.client().await?);
    let archive = Archive::new(arguments.into)?;

    let types = types::capture(&server).await?;
    let groups = discovery::capture(&server, &types).await?;
    let types = types.reachable(&discovery::roots(&groups));
    archive.write("resources.json.gz", &format!("{groups}\n"))?;
    archive.write("types.jsonl.gz", &types.structure())?;
    let structs = structs::capture(types.names())?;
    archive.write("structs.txt.gz", &structs)?;
    archive.write("texts.jsonl.gz", &types.texts())?;
    let probes = probes::capture(&server, &groups).await?;
    let defaults = defaults::learn(&probes, &types, &defaults::pointers(&structs))?;
    archive.write("defaults.json.gz", &format!("{defaults}\n"))?;
    archive.write("../testdata/created.jsonl.gz", &probes::lines(&probes))?;
    let rbac = rbac::capture(&server).await?;
    archive.write("rbac.json.gz", &format!("{rbac}\n"))?;
    Ok(())
}
