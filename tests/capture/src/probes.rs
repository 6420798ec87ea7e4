//! Creates the objects of `probes/*.yaml` on the real server, for a dry run, and keeps what comes back.

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::server::Server;

const PROBES: [&str; 4] = [
    include_str!("../probes/pods.yaml"),
    include_str!("../probes/core.yaml"),
    include_str!("../probes/workloads.yaml"),
    include_str!("../probes/others.yaml"),
];
const NAMESPACE: &str = "probe";

/// An object as it was sent, and as it came back.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) sent: Value,
    pub(crate) created: Value,
}

/// Creates all of them; `groups` are those of discovery.
pub(crate) async fn capture(server: &Server, groups: &Value) -> anyhow::Result<Vec<Probe>> {
    server.namespace(NAMESPACE).await?;
    let (mut probes, mut refused) = (Vec::new(), Vec::new());
    for text in PROBES {
        let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
        for sent in documents {
            let path = path(groups, &sent)?;
            let path = format!("{path}?dryRun=All&fieldValidation=Strict");
            match server.post(&path, &sent).await {
                Ok(created) => {
                    let created = masked(created);
                    probes.push(Probe { sent, created });
                }
                Err(error) => refused.push(format!("{error:#}")),
            }
        }
    }
    if !refused.is_empty() {
        bail!("refused:\n{}", refused.join("\n"));
    }
    Ok(probes)
}

/// Where objects of a kind are created.
fn path(groups: &Value, object: &Value) -> anyhow::Result<String> {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let (group, version) = match text("apiVersion").split_once('/') {
        Some(parts) => parts,
        None => ("", text("apiVersion")),
    };
    let versions = groups
        .as_array()
        .into_iter()
        .flatten()
        .filter(|found| found["name"] == group);
    let mut versions =
        versions.flat_map(|group| group["versions"].as_array().into_iter().flatten());
    let version = versions.find(|found| found["version"] == version);
    let resources = version.and_then(|version| version["resources"].as_array());
    let mut resources = resources.into_iter().flatten();
    let resource = resources.find(|found| found["responseKind"]["kind"] == text("kind"));
    let Some(resource) = resource else {
        bail!("{} {} is not served", text("apiVersion"), text("kind"));
    };
    let plural = resource["resource"].as_str().context("no plural")?;
    let base = if group.is_empty() { "/api" } else { "/apis" };
    let scope = match resource["scope"].as_str() {
        Some("Namespaced") => format!("namespaces/{NAMESPACE}/"),
        _ => String::new(),
    };
    Ok(format!("{base}/{}/{scope}{plural}", text("apiVersion")))
}

/// Without what is new at each run.
fn masked(mut created: Value) -> Value {
    if let Some(metadata) = created["metadata"].as_object_mut() {
        for name in [
            "uid",
            "creationTimestamp",
            "resourceVersion",
            "managedFields",
        ] {
            metadata.remove(name);
        }
        if metadata.contains_key("generateName") {
            metadata.insert("name".to_owned(), json!("generated"));
        }
    }
    mask(&mut created);
    created
}

/// The same text for whatever carries a uid, a time or a random name.
fn mask(value: &mut Value) {
    match value {
        Value::String(text) => {
            let is_uid = text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4;
            if is_uid || text.starts_with("kube-api-access-") || text.starts_with("generated-") {
                "masked".clone_into(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "lastPhaseTransitionTime" {
                    *value = json!("masked");
                }
                // What was sent comes back.
                if name != "generateName" {
                    mask(value);
                }
            }
        }
        _ => {}
    }
}

/// A line for each: what was sent and what came back.
pub(crate) fn lines(probes: &[Probe]) -> String {
    let lines = probes.iter().map(|probe| {
        format!(
            "{}\n",
            json!({ "sent": probe.sent, "created": probe.created })
        )
    });
    lines.collect()
}
