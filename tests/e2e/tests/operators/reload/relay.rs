//! The relay guest in a config folder that changes: versions of it, good and bad.

use anyhow::{Result, bail};
use serde_json::{Value, json};
use windlass_controlplane::eventually;
use windlass_e2e::variant::relay;
pub(crate) use windlass_e2e::variant::{component, put};
use windlass_e2e::{Cluster, DEADLINE, Host, Plugins, Scene};

/// The relay in a namespace of its own, in the version `v1`.
pub(crate) async fn scene(prefix: &str, more: &[&str]) -> Result<Scene> {
    let cluster = Cluster::new(prefix).await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    put(plugins.folder(), "relay.wasm", &component(1)?)?;
    document(&plugins, "v1", "")?;
    Scene::start_with(cluster, plugins, more)
}

/// The text of the relay's document: a version, and what is wrong with it.
pub(crate) fn text(plugins: &Plugins, version: &str, fault: &str) -> Value {
    relay(plugins, "relay", version, fault)
}

/// Replaces the relay's document.
pub(crate) fn document(plugins: &Plugins, version: &str, fault: &str) -> Result<()> {
    let text = text(plugins, version, fault).to_string();
    put(plugins.folder(), "relay.yaml", text.as_bytes())
}

/// Waits until the status of a Greeting says `text`.
pub(crate) async fn until_says(cluster: &Cluster, name: &str, text: &str) -> Result<()> {
    let said = cluster.until("Greeting", name, text, |greeting| {
        greeting.pointer("/status/text") == Some(&json!(text))
    });
    said.await.map(drop)
}

/// Waits until so many lines of the log contain `text`.
pub(crate) async fn until_said(host: &Host, times: usize, text: &str) -> Result<()> {
    eventually(
        DEADLINE,
        &format!("the host says {text:?}, {times} times"),
        async || {
            let said = host.count(|line| line.message.contains(text));
            if said >= times {
                return Ok(Some(()));
            }
            bail!("it did {said} times: {:#?}", host.log())
        },
    )
    .await
}
