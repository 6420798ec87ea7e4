//! What a plugin may not read does not wake it: neither that it is there, nor when it changes.

use anyhow::{Result, ensure};
use serde_json::json;
use windlass_e2e::{Cluster, eventually};

use crate::attacks::attack::{ATTACK, Attack, Sign};
use crate::attacks::stage::Stage;

/// How often the user changes the object that the plugin may not read.
const CHANGES: usize = 5;

/// A plugin with one worker reads an object that it may not read. A second object of the same kind, which the same
/// watch shows, tells when the host has seen the changes of the first.
const ORACLE: Attack = Attack {
    limits: r#"{ "concurrency": 1 }"#,
    objects: 1,
    passes: 1,
    signs: &[Sign::Log("may not")],
    ..ATTACK
};

#[tokio::test]
async fn an_object_that_resource_names_leave_out_wakes_nobody() -> Result<()> {
    let attack = Attack {
        config: r#"{ "attack": "read_what_is_denied", "kind": "Service" }"#,
        ..ORACLE
    };
    let stage = Stage::set("oracle_by_name", &attack).await?;
    let fence = stage.home.namespace.clone();
    asks_in_vain(stage, "Service", &fence).await
}

#[tokio::test]
async fn an_object_in_the_namespace_of_another_primary_wakes_nobody() -> Result<()> {
    let attack = Attack {
        config: r#"{ "attack": "read_what_is_denied", "kind": "ConfigMap", "elsewhere": 1 }"#,
        in_two_namespaces: true,
        ..ORACLE
    };
    let stage = Stage::set("oracle_by_namespace", &attack).await?;
    let fence = stage.other.namespace.clone();
    asks_in_vain(stage, "ConfigMap", &fence).await
}

/// Changes the object `victim` of `kind` in `namespace`, and sees that nobody is woken.
async fn asks_in_vain(mut stage: Stage, kind: &str, namespace: &str) -> Result<()> {
    let place = Cluster::existing(namespace).await?;
    place.greet("fence", json!({ "name": "fence" })).await?;
    stage.user_has_changed().await?;
    stage.attack().await?;
    let oracle = stage.host.says("oracle: ").await?;
    ensure!(oracle.message.contains("Denied"), "{oracle:?}");
    fence(&stage, 0).await?;
    let before = asked(&stage);
    for change in 1..=CHANGES {
        let labels = json!({ "metadata": { "labels": { "change": change.to_string(), "tenant": "secret" } } });
        place.patch(kind, "victim", labels).await?;
        let labels = json!({ "metadata": { "labels": { "change": change.to_string() } } });
        place.patch(kind, "allowed", labels).await?;
        fence(&stage, change).await?;
    }
    let after = asked(&stage);
    ensure!(
        after == before,
        "it was woken {} times by {CHANGES} changes of what it may not read",
        after - before
    );
    stage.user_has_changed().await?;
    stage.named().await?;
    stage.end().await
}

/// How often the plugin has asked for what it may not read.
fn asked(stage: &Stage) -> usize {
    let is_asked = |line: &windlass_e2e::Line| line.message.starts_with("oracle: ");
    stage.host.count(is_asked)
}

/// Waits until the plugin has read the object that it may read, after so many changes.
async fn fence(stage: &Stage, changes: usize) -> Result<()> {
    let is_fence = |line: &windlass_e2e::Line| line.message.starts_with("fence: ");
    let what = format!("the plugin sees change {changes} of what it may read");
    eventually(windlass_e2e::DEADLINE, &what, async || {
        let seen = stage.host.count(is_fence);
        ensure!(seen > changes, "it has read it {seen} times");
        Ok(Some(()))
    })
    .await
}
