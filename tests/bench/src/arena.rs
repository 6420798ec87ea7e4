//! Where contestants meet: one control plane, and a namespace of its own for each round of each.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use kube::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_controlplane::{ControlPlane, eventually};

use crate::contestant::{Contestant, Running, Task};

/// How long a new kind may take until it is served.
const SERVED: Duration = Duration::from_secs(60);

/// What all workloads share.
pub(crate) struct Arena {
    /// A real one.
    pub(crate) control_plane: ControlPlane,
    /// The judge's connections, as an administrator.
    pub(crate) judge: Client,
}

/// A round of a contestant.
pub(crate) struct Stage {
    /// Where it works.
    pub(crate) namespace: String,
    /// Its processes; the floor has none.
    pub(crate) running: Vec<Running>,
    _config: TempDir,
}

impl Arena {
    /// Starts the control plane.
    ///
    /// # Errors
    /// It did not start.
    pub(crate) async fn new() -> Result<Self> {
        let control_plane = ControlPlane::start()?;
        let judge = control_plane.client().await?;
        Ok(Self {
            control_plane,
            judge,
        })
    }

    /// Starts a contestant in `namespace`, with `words` as the task of each process; Windlass with what `lay_out`
    /// puts into its config folder, which answers how many plugins these are.
    ///
    /// # Errors
    /// It did not become ready.
    pub(crate) async fn stage(
        &self,
        contestant: Contestant,
        namespace: String,
        words: Vec<Vec<String>>,
        lay_out: impl FnOnce(&Path, &str) -> Result<usize>,
    ) -> Result<Stage> {
        let config = tempfile::tempdir()?;
        let plugins = match contestant.is_ours() {
            true => lay_out(config.path(), &namespace)?,
            false => 0,
        };
        let task = Task {
            words,
            namespace: namespace.clone(),
            leases: self.namespace().await?,
            config: config.path().to_owned(),
            plugins,
        };
        let running = contestant.start(&self.control_plane, &task).await?;
        Ok(Stage {
            namespace,
            running,
            _config: config,
        })
    }

    /// A namespace that nobody has worked in.
    ///
    /// # Errors
    /// The control plane did not make it.
    pub(crate) async fn namespace(&self) -> Result<String> {
        self.control_plane.namespace("bench").await
    }

    /// Applies objects, and waits until those that are kinds are served.
    ///
    /// # Errors
    /// The API server refuses one of them.
    pub(crate) async fn apply(&self, objects: &[Value]) -> Result<()> {
        self.control_plane.apply(objects).await?;
        for object in objects {
            let Some(plural) = object.pointer("/spec/names/plural").and_then(Value::as_str) else {
                continue;
            };
            let path = format!("/apis/bench.windlass.dev/v1/{plural}?limit=1");
            eventually(SERVED, &path, async || {
                let request = http::Request::get(&path).body(Vec::new())?;
                Ok(self.judge.request_text(request).await.ok())
            })
            .await?;
        }
        Ok(())
    }
}

/// Puts a plugin into a config folder: its component, and a document with these grants.
///
/// # Errors
/// The file system said no.
pub(crate) fn plugin(folder: &Path, name: &str, component: &[u8], grants: &Value) -> Result<()> {
    let document = json!({
        "apiVersion": "windlass.dev/v1alpha1",
        "kind": "Plugin",
        "metadata": { "name": name },
        "spec": {
            "source": { "file": format!("{name}.wasm") },
            "limits": { "concurrency": 8 },
            "grants": grants,
        },
    });
    fs::write(folder.join(format!("{name}.wasm")), component)?;
    fs::write(folder.join(format!("{name}.yaml")), document.to_string())?;
    Ok(())
}
