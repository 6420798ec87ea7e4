//! Forged artifacts and bad registries, through a host with a Plugin object: the last good version runs, and the status says
//! why the new one does not.
//!
//! - The registry has TLS of its own authority, and a user whose password is in a pull Secret.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod answers;
mod forgeries;
mod shelf;
mod stage;

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use parking_lot::Mutex;
use serde_json::json;
use windlass_controlplane::lying::{LyingServer, Reply, Seen};
use windlass_e2e::{DEADLINE, eventually};
use windlass_registry::Digest;

use crate::shelf::Artifact;
use crate::stage::{Stage, text};

#[tokio::test]
async fn a_manifest_that_is_wrong_is_refused() -> Result<()> {
    let mut stage = Stage::start("manifests", &[]).await?;
    for forgery in forgeries::manifests(&stage.variant(1))? {
        stage.refuses(forgery).await?;
    }
    back_to_good(&mut stage).await
}

#[tokio::test]
async fn a_layer_that_is_no_plugin_is_refused() -> Result<()> {
    let mut stage = Stage::start("components", &[]).await?;
    for forgery in forgeries::components(&stage.good.clone())? {
        stage.refuses(forgery).await?;
    }
    back_to_good(&mut stage).await
}

#[tokio::test]
async fn a_registry_that_lies_or_fails_is_not_followed() -> Result<()> {
    let mut stage = Stage::start("answers", &[]).await?;
    let fresh = stage.variant(1);
    for forgery in answers::answers(&fresh) {
        stage.refuses(forgery).await?;
    }
    back_to_good(&mut stage).await?;
    let Stage { objects, shelf, .. } = stage;
    drop(shelf);
    objects
        .patch(&json!({ "spec": { "source": { "interval": "20s" } } }))
        .await?;
    objects
        .until("Fetched", "False", "SourceUnavailable")
        .await?;
    objects.greets("last").await
}

/// The tag leads to another good version: the host finds it, although nobody tells it to look.
async fn back_to_good(stage: &mut Stage) -> Result<()> {
    let next = stage.variant(2);
    stage.shelf.put(Artifact::of(&next), None);
    follows(stage, &next).await?;
    stage.works("a good version again").await
}

/// Waits until the component `bytes` runs; answers nothing else.
async fn follows(stage: &Stage, bytes: &[u8]) -> Result<()> {
    let want = Digest::of(bytes).to_string();
    eventually(DEADLINE, "the host follows the tag", async || {
        let object = stage.objects.api().get(stage.objects.name()).await?;
        let object = serde_json::to_value(object)?;
        ensure!(
            text(&object, "/status/digest") == want,
            "not {want}: {object:#}"
        );
        Ok(Some(()))
    })
    .await?;
    stage.objects.until("Ready", "True", "Running").await?;
    Ok(())
}

#[tokio::test]
async fn a_tag_that_moves_back_and_forth_is_followed_and_compiles_each_component_once() -> Result<()>
{
    let mut stage = Stage::start("moves", &[]).await?;
    let versions = [stage.good.clone(), stage.variant(3)];
    let mut compiled = None;
    for turn in 1..=4 {
        let next = &versions[turn % 2];
        stage.shelf.put(Artifact::of(next), None);
        follows(&stage, next).await?;
        stage.works("a tag that moved").await?;
        // From the first turn on, both are known.
        let now = stage.loads("compiler").await?;
        let first = *compiled.get_or_insert(now);
        ensure!(
            now.total_cmp(&first).is_eq(),
            "turn {turn}: {first} compiled, then {now}"
        );
    }
    let loads = stage.loads("compiler").await? + stage.loads("cache").await?;
    let known = stage.loads("memory").await?;
    ensure!(loads + known >= 2.0, "{loads} loaded, and {known} known");
    Ok(())
}

#[tokio::test]
async fn a_layer_in_another_store_is_fetched_without_credentials() -> Result<()> {
    let layer = Arc::new(Mutex::new(Vec::new()));
    let held = layer.clone();
    let store = LyingServer::secure(move |_| Reply::ok("", &held.lock())).await?;
    let ca = store.ca.as_deref().context("it has TLS")?;
    let mut stage = Stage::start("store", &[(&store.host, ca)]).await?;
    let next = stage.variant(4);
    layer.lock().clone_from(&next);
    let name = Digest::of(&next).to_string();
    let to = format!("Location: https://{}/layer\r\n", store.host);
    let lie = move |seen: &Seen| {
        let is_layer = seen.target.ends_with(&name);
        is_layer.then(|| Reply::status("307 Temporary Redirect", &to))
    };
    stage.shelf.put(Artifact::of(&next), Some(Box::new(lie)));
    stage.look().await?;
    follows(&stage, &next).await?;
    stage.works("a layer in another store").await?;
    let seen = store.seen();
    ensure!(!seen.is_empty());
    for request in seen {
        ensure!(request.header("authorization").is_none(), "{request:?}");
    }
    Ok(())
}
