//! The Helm chart of `deploy/chart`, by the real Helm: what it renders, what it refuses, and its life on an API
//! server. What is in it besides, for Prometheus and Grafana, is held against the metrics of a live host.
#![expect(clippy::indexing_slicing, reason = "JSON that is not there is null")]

mod life;
mod monitoring;
mod queries;
mod render;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_e2e::{control_plane, documents, workspace};

/// Values that turn everything on.
fn everything() -> Value {
    json!({
        "imagePullSecrets": [{ "name": "registry" }],
        "serviceAccount": { "annotations": { "examples.windlass.dev/role": "host" } },
        "rbac": { "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] }] },
        "plugins": { "greeter": { "source": { "file": "greeter.wasm" } } },
        "nodeSelector": { "kubernetes.io/os": "linux" },
        "tolerations": [{ "key": "dedicated", "operator": "Exists" }],
        "priorityClassName": "system-cluster-critical",
        "networkPolicy": {
            "enabled": true,
            "apiServer": ["192.0.2.1/32", "2001:db8::1/128"],
            "registries": ["198.51.100.0/24"],
        },
        "prometheus": { "serviceMonitor": { "enabled": true }, "rules": { "enabled": true } },
        "grafana": { "dashboards": { "enabled": true } },
        "extraArgs": ["--event-qps=10"],
        "extraVolumes": [{ "name": "more", "emptyDir": {} }],
        "extraVolumeMounts": [{ "name": "more", "mountPath": "/more" }],
    })
}

/// A chart, and a folder for all that Helm keeps and reads.
struct Chart {
    folder: PathBuf,
    work: TempDir,
}

impl Chart {
    /// `deploy/chart`.
    fn new() -> Result<Self> {
        let folder = workspace().join("deploy/chart");
        let work = tempfile::tempdir()?;
        Ok(Self { folder, work })
    }

    /// A copy of it that brings another definition than those of `deploy/crds`: a release owns the definitions that it brings.
    fn with_definition(text: &str) -> Result<Self> {
        let chart = Self::new()?;
        let folder = chart.work.path().join("windlass");
        let mut copy = Command::new("cp");
        copy.arg("-rL").arg(&chart.folder).arg(&folder);
        ensure!(copy.status()?.success(), "the chart is copied");
        for owned in ["crds/plugins.windlass.dev.yaml", "plugin-policy.yaml"] {
            fs::remove_file(folder.join("files").join(owned))?;
        }
        fs::write(folder.join("files/crds/things.example.com.yaml"), text)?;
        Ok(Self { folder, ..chart })
    }

    /// Runs Helm as administrator of the cluster.
    fn helm(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(windlass_controlplane::helm()?);
        command.args(arguments).stdin(Stdio::null());
        let kept = self.work.path();
        for (name, folder) in [
            ("HELM_CACHE_HOME", "cache"),
            ("HELM_CONFIG_HOME", "config"),
            ("HELM_DATA_HOME", "data"),
        ] {
            command.env(name, kept.join(folder));
        }
        command.env("KUBECONFIG", control_plane()?.kubeconfig_admin());
        command.output().context("cannot start helm")
    }

    /// Runs `helm` with `words`, the chart, and `values`; answers what it printed, or its refusal as an error.
    fn run(&self, words: &[&str], values: &Value) -> Result<String> {
        let file = self.work.path().join("values.json");
        fs::write(&file, values.to_string())?;
        let more = [text(&self.folder)?, "--values", text(&file)?];
        let output = self.helm(&[words, &more].concat())?;
        let error = String::from_utf8(output.stderr)?;
        ensure!(output.status.success(), "helm {words:?}: {error}");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The objects of the release `windlass` in `namespace`.
    fn render(&self, namespace: &str, values: &Value) -> Result<Vec<Value>> {
        let words = ["template", "windlass", "--namespace", namespace];
        let mut objects = documents(&self.run(&words, values)?)?;
        objects.retain(|object| !object.is_null());
        Ok(objects)
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path is text")
}

/// Runs kubectl as administrator, and answers what it wrote to standard output.
async fn kubectl(arguments: &[&str], input: &str) -> Result<String> {
    let admin = control_plane()?.kubeconfig_admin();
    let output = control_plane()?
        .kubectl_with(&admin, arguments, input)
        .await?;
    let error = String::from_utf8(output.stderr)?;
    ensure!(output.status.success(), "kubectl {arguments:?}: {error}");
    Ok(String::from_utf8(output.stdout)?)
}

/// An object that is there.
async fn read(namespace: &str, kind: &str, name: &str) -> Result<Value> {
    let text = kubectl(&["get", kind, name, "-n", namespace, "-o", "json"], "").await?;
    Ok(serde_json::from_str(&text)?)
}

/// The object of a kind and name among `objects`.
fn object<'a>(objects: &'a [Value], kind: &str, name: &str) -> Result<&'a Value> {
    let is_it = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
    let found = objects.iter().find(is_it);
    found.with_context(|| format!("there is a {kind} {name}"))
}
