//! Forged artifacts and bad registries, through a host with a Plugin object: the last good version runs, and the status says
//! why the new one does not.
//!
//! - The registry has TLS of its own authority, and a user whose password is in a pull Secret.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod answers;
mod forgeries;
mod planted;
mod shelf;
mod stage;

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use parking_lot::Mutex;
use windlass_controlplane::lying::{LyingServer, Reply, Seen};
use windlass_registry::Digest;

use crate::artifacts::shelf::{Artifact, Shelf};
use crate::artifacts::stage::Stage;

#[tokio::test]
async fn a_manifest_that_is_wrong_is_refused() -> Result<()> {
    let (mut stage, shelf) = Stage::on_shelf("manifests", &[]).await?;
    for forgery in forgeries::manifests(&stage.variant(1))? {
        stage.refuses(&shelf, forgery).await?;
    }
    follows_by_itself(&mut stage, &shelf).await
}

#[tokio::test]
async fn a_layer_that_is_no_plugin_is_refused() -> Result<()> {
    let (mut stage, shelf) = Stage::on_shelf("components", &[]).await?;
    for forgery in forgeries::components(&stage.good)? {
        stage.refuses(&shelf, forgery).await?;
    }
    follows_by_itself(&mut stage, &shelf).await
}

#[tokio::test]
async fn a_registry_that_lies_or_fails_is_not_followed() -> Result<()> {
    let (mut stage, shelf) = Stage::on_shelf("answers", &[]).await?;
    for forgery in answers::answers(&stage.variant(1)) {
        stage.refuses(&shelf, forgery).await?;
    }
    follows_by_itself(&mut stage, &shelf).await?;
    // The registry is gone.
    drop(shelf);
    stage.look().await?;
    let objects = &stage.objects;
    objects
        .until("Fetched", "False", "SourceUnavailable")
        .await?;
    stage.works("no registry").await
}

/// The tag leads to another good version: the host finds it, although nobody tells it to look.
async fn follows_by_itself(stage: &mut Stage, shelf: &Shelf) -> Result<()> {
    let next = stage.variant(2);
    shelf.put(Artifact::of(&next), None);
    stage.follows(&next).await?;
    stage.works("a good version again").await
}

#[tokio::test]
async fn a_tag_that_moves_back_and_forth_is_followed_and_compiles_each_component_once() -> Result<()>
{
    let (mut stage, shelf) = Stage::on_shelf("moves", &[]).await?;
    let versions = [stage.good.clone(), stage.variant(3)];
    let known = async |stage: &Stage| {
        Ok::<_, anyhow::Error>(stage.loads("cache").await? + stage.loads("memory").await?)
    };
    let before = (stage.loads("compiler").await?, known(&stage).await?);
    for turn in 1..=4 {
        let next = &versions[turn % 2];
        shelf.put(Artifact::of(next), None);
        stage.look().await?;
        stage.follows(next).await?;
        stage.works("a tag that moved").await?;
        // From the first turn on, both are known.
        let compiled = stage.loads("compiler").await? - before.0;
        ensure!(compiled == 1.0, "turn {turn}: {compiled} compiled");
    }
    // Each of the other turns has loaded a component that was compiled before.
    let loaded = known(&stage).await? - before.1;
    ensure!(loaded == 3.0, "{loaded} loaded");
    Ok(())
}

#[tokio::test]
async fn a_layer_in_another_store_is_fetched_without_credentials() -> Result<()> {
    let layer = Arc::new(Mutex::new(Vec::new()));
    let held = layer.clone();
    let store = LyingServer::secure(move |_| Reply::ok("", &held.lock())).await?;
    let ca = store.ca.as_deref().context("it has TLS")?;
    let (mut stage, shelf) = Stage::on_shelf("store", &[(&store.host, ca)]).await?;
    let next = stage.variant(4);
    layer.lock().clone_from(&next);
    let name = Digest::of(&next).to_string();
    let to = format!("Location: https://{}/layer\r\n", store.host);
    let lie = move |seen: &Seen| {
        let is_layer = seen.target.ends_with(&name);
        is_layer.then(|| Reply::status("307 Temporary Redirect", &to))
    };
    shelf.put(Artifact::of(&next), Some(Box::new(lie)));
    stage.look().await?;
    stage.follows(&next).await?;
    stage.works("a layer in another store").await?;
    let seen = store.seen();
    ensure!(!seen.is_empty());
    for request in seen {
        ensure!(request.header("authorization").is_none(), "{request:?}");
    }
    Ok(())
}
