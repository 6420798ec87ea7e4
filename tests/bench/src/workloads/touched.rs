//! What a change costs that leads to no write: an annotation of a ReplicaSet with all its pods.

use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::controllers::Controllers;
use crate::passes::Line;
use crate::results::percentile;

/// Changes that are made.
const CHANGES: u32 = 40;
/// How far they are apart: long enough that each leads to a pass of its own.
const APART: Duration = Duration::from_millis(250);

/// CPU time of one change, in milliseconds.
pub(super) struct Touched {
    /// Of the whole process: the passes of both controllers, beyond what it uses at rest.
    pub(super) process: f64,
    /// Of the pass of the ReplicaSet, as the log of a host has it.
    pub(super) pass: Option<f64>,
}

/// Changes a ReplicaSet again and again.
///
/// # Errors
/// There is none, or the API server refuses a change.
pub(super) async fn measure(
    client: &Client,
    namespace: &str,
    controllers: &mut Controllers,
) -> Result<Touched> {
    let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), namespace);
    let found = sets.list(&ListParams::default()).await?;
    let name = found.items.first().context("there is a set")?.name_any();
    let before = controllers.cpu()?;
    tokio::time::sleep(APART * CHANGES).await;
    let idle = controllers.cpu()? - before;
    let (began, before) = (Timestamp::now(), controllers.cpu()?);
    for number in 0..CHANGES {
        let note = json!({ "bench.windlass.dev/number": number.to_string() });
        let patch = Patch::Merge(json!({ "metadata": { "annotations": note } }));
        sets.patch(&name, &PatchParams::default(), &patch).await?;
        tokio::time::sleep(APART).await;
    }
    controllers.check()?;
    let process = (controllers.cpu()? - before - idle) / f64::from(CHANGES) * 1e3;
    let mut passes = Vec::new();
    for line in Line::passes_of(&controllers.log(), "replicaset") {
        if line.written()? > began && line.number("requests")? == 0.0 {
            passes.push(line.number("cpu_ms")?);
        }
    }
    let pass = (!passes.is_empty()).then(|| percentile(&mut passes, 50));
    Ok(Touched { process, pass })
}
