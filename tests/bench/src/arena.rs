//! Where contestants meet: one control plane, and a namespace of its own for each round of each.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_controlplane::{apply, eventually};

use crate::contestant::{Contestant, Running, Task};
use crate::ground::Ground;

/// How long a new kind may take until it is served.
const SERVED: Duration = Duration::from_secs(60);

/// What all workloads share.
pub(crate) struct Arena {
    /// The API server.
    pub(crate) ground: Ground,
    /// The judge's connections, as an administrator.
    pub(crate) judge: Client,
}

/// A round of a contestant.
pub(crate) struct Stage {
    /// Where it works.
    pub(crate) namespace: String,
    /// Where Windlass keeps its Leases.
    pub(crate) leases: String,
    /// Its processes; the floor has none.
    pub(crate) running: Vec<Running>,
    /// Windlass's config folder.
    pub(crate) config: TempDir,
}

impl Arena {
    /// On that ground.
    ///
    /// # Errors
    /// It cannot be reached.
    pub(crate) async fn new(ground: Ground) -> Result<Self> {
        let judge = ground.client().await?;
        Ok(Self { ground, judge })
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
        let plugins = if contestant.is_ours() {
            lay_out(config.path(), &namespace)?
        } else {
            0
        };
        let task = Task {
            words,
            namespace,
            leases: self.namespace().await?,
            config: config.path().to_owned(),
            plugins,
            more: Vec::new(),
        };
        self.started(contestant, task, config).await
    }

    /// Starts a host that takes the Plugin objects with the label `bench` and the namespace of its Leases as the value.
    ///
    /// # Errors
    /// It did not start.
    pub(crate) async fn host_of_objects(&self, contestant: Contestant) -> Result<Stage> {
        let config = tempfile::tempdir()?;
        let leases = self.namespace().await?;
        let task = Task {
            words: Vec::new(),
            namespace: self.namespace().await?,
            config: config.path().to_owned(),
            plugins: 0,
            more: vec![
                "--plugin-objects".into(),
                format!("--plugin-selector=bench={leases}").into(),
            ],
            leases,
        };
        self.started(contestant, task, config).await
    }

    async fn started(&self, contestant: Contestant, task: Task, config: TempDir) -> Result<Stage> {
        let running = contestant.start(self.ground.kubeconfig(), &task).await?;
        Ok(Stage {
            namespace: task.namespace,
            leases: task.leases,
            running,
            config,
        })
    }

    /// A namespace that nobody has worked in.
    ///
    /// # Errors
    /// The control plane did not make it.
    pub(crate) async fn namespace(&self) -> Result<String> {
        self.ground.namespace().await
    }

    /// Applies objects, and waits until those that are kinds are served.
    ///
    /// # Errors
    /// The API server refuses one of them.
    pub(crate) async fn apply(&self, objects: &[Value]) -> Result<()> {
        for object in objects {
            apply(&self.judge, object).await?;
        }
        for object in objects {
            let text = |path| object.pointer(path).and_then(Value::as_str);
            let (Some(group), Some(plural)) = (text("/spec/group"), text("/spec/names/plural"))
            else {
                continue;
            };
            let path = format!("/apis/{group}/v1/{plural}?limit=1");
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
    let more = json!({ "limits": { "concurrency": 8 } });
    plugin_with(folder, name, component, grants, &more)
}

/// As [`plugin`], with more fields of its spec.
///
/// # Errors
/// The file system said no.
pub(crate) fn plugin_with(
    folder: &Path,
    name: &str,
    component: &[u8],
    grants: &Value,
    more: &Value,
) -> Result<()> {
    put(folder, &format!("{name}.wasm"), component)?;
    document(folder, name, grants, more)?;
    Ok(())
}

/// Puts the document of a plugin into a config folder, in the place of the one that is there. Answers when.
///
/// # Errors
/// The file system said no.
pub(crate) fn document(
    folder: &Path,
    name: &str,
    grants: &Value,
    more: &Value,
) -> Result<Timestamp> {
    let mut spec = json!({ "source": { "file": format!("{name}.wasm") }, "grants": grants });
    if let (Value::Object(spec), Value::Object(more)) = (&mut spec, more) {
        spec.extend(more.clone());
    }
    let document = json!({
        "apiVersion": "windlass.dev/v1alpha1",
        "kind": "Plugin",
        "metadata": { "name": name },
        "spec": spec,
    });
    let text = document.to_string();
    put(folder, &format!("{name}.yaml"), text.as_bytes())
}

/// Puts a file into a config folder, whole: the host sees the old one or the new one. Answers when.
///
/// # Errors
/// The file system said no.
pub(crate) fn put(folder: &Path, name: &str, content: &[u8]) -> Result<Timestamp> {
    // Elsewhere in the same file system: what lies in the folder is looked at.
    let mut draft = tempfile::NamedTempFile::new()?;
    draft.write_all(content)?;
    let renamed = Timestamp::now();
    draft.persist(folder.join(name))?;
    Ok(renamed)
}
