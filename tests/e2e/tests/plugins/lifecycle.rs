//! A Greeting's life on a real control plane: made, changed, meddled with, deleted, made again; and how
//! hosts begin and end.
#![expect(clippy::indexing_slicing, reason = "JSON that is not there is null")]

mod adoption;
mod children;
mod deletion;
mod hosts;
mod replaced;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use windlass_e2e::Cluster;

/// The greeter's finalizer.
const OURS: &str = "windlass.dev/greeter";

async fn read(cluster: &Cluster, kind: &str, name: &str) -> Result<Value> {
    match cluster.get(kind, name).await? {
        Some(object) => Ok(serde_json::to_value(object)?),
        None => bail!("there is no {kind} {name}"),
    }
}

fn uid(object: &Value) -> Result<&str> {
    object["metadata"]["uid"].as_str().context("no UID")
}
