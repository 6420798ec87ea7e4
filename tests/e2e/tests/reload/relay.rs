//! The relay guest in a config folder that changes: versions of it, good and bad.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use windlass_controlplane::eventually;
use windlass_e2e::{Cluster, DEADLINE, Host, Plugins, Scene};
use windlass_sandbox_tests::guests::guest;

/// The relay in a namespace of its own, in the version `v1`.
pub(crate) async fn scene(prefix: &str, more: &[&str]) -> Result<Scene> {
    let cluster = Cluster::new(prefix).await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    put(plugins.folder(), "relay.wasm", &component(1)?)?;
    document(&plugins, "v1", "")?;
    Scene::start_with(cluster, plugins, more)
}

/// The relay's component, different in its bytes for each `variant`: a section that nobody reads.
pub(crate) fn component(variant: u32) -> Result<Vec<u8>> {
    let mut bytes = fs::read(guest("relay")?)?;
    let name = b"variant";
    let content = variant.to_le_bytes();
    bytes.push(0);
    bytes.push(u8::try_from(1 + name.len() + content.len())?);
    bytes.push(u8::try_from(name.len())?);
    bytes.extend(name);
    bytes.extend(content);
    Ok(bytes)
}

/// Puts a file where it belongs as `mv` does: whole, from one moment to the next.
pub(crate) fn put(folder: &Path, name: &str, content: &[u8]) -> Result<()> {
    let draft = folder.join(format!(".{name}.draft"));
    fs::write(&draft, content)?;
    fs::rename(draft, folder.join(name))?;
    Ok(())
}

/// The text of the relay's document: a version, and what is wrong with it.
pub(crate) fn text(plugins: &Plugins, version: &str, fault: &str) -> Value {
    json!({
        "apiVersion": "windlass.dev/v1alpha1",
        "kind": "Plugin",
        "metadata": { "name": "relay" },
        "spec": {
            "source": { "file": "relay.wasm" },
            "config": { "version": version, "fault": fault },
            "limits": { "cpu": "100ms" },
            "grants": [
                plugins.grant("examples.windlass.dev", &["greetings"], &["get", "list", "watch", "patch"]),
                plugins.grant("examples.windlass.dev", &["greetings/status"], &["patch"]),
                plugins.grant("", &["configmaps"], &["get", "list", "watch"]),
            ],
        },
    })
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
