//! One of the two clusters: a real API server with simulated nodes, and the controllers that are judged.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::Context;
use futures::StreamExt;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::Resource;
use kube::{Api, Client};
use kube_runtime::{WatchStreamExt, watcher};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use windlass_controlplane::{Assets, ControlPlane};
use windlass_nodes::{Nodes, Settings};

use crate::bounds::Judge;
use crate::job;
use crate::state::Objects;
use crate::step::Step;

/// The controllers that are judged.
const JUDGED: [&str; 3] = ["deployment", "job", "replicaset"];
const NAMESPACE: &str = "default";

/// Who does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// kube-controller-manager.
    Original,
    /// Plugins in a host.
    Plugins,
}

/// A cluster.
pub struct Side {
    plane: ControlPlane,
    client: Client,
    folder: TempDir,
    windlass: PathBuf,
    bundle: PathBuf,
    /// Who works now.
    pub who: Who,
    controllers: Option<Child>,
    /// What was seen of the pods.
    pub judge: Arc<Mutex<Judge>>,
    swaps: usize,
    _tasks: Vec<JoinHandle<()>>,
}

impl Drop for Side {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Side {
    /// Starts a cluster in which `who` works.
    ///
    /// # Errors
    /// Something does not start.
    pub async fn start(who: Who, windlass: &Path, bundle: &Path) -> anyhow::Result<Self> {
        let off: Vec<String> = JUDGED
            .iter()
            .map(|name| format!(",-{name}-controller"))
            .collect();
        let plane = ControlPlane::start_with_controllers(&format!("*{}", off.concat()))?;
        let client = plane.client().await?;
        let nodes = Nodes::register(client.clone(), Settings::default()).await?;
        let nodes = tokio::spawn(async move {
            if let Err(error) = nodes.run().await {
                eprintln!("the nodes have ended: {error:#}");
            }
        });
        let judge: Arc<Mutex<Judge>> = Arc::default();
        let pods = tokio::spawn(watch(client.clone(), judge.clone()));
        let mut side = Self {
            plane,
            client,
            folder: tempfile::tempdir()?,
            windlass: windlass.to_owned(),
            bundle: bundle.to_owned(),
            who,
            controllers: None,
            judge,
            swaps: 0,
            _tasks: vec![nodes, pods],
        };
        std::fs::create_dir(side.folder.path().join("plugins"))?;
        side.work(who)?;
        Ok(side)
    }

    /// Lets somebody work in place of the one who does.
    ///
    /// # Errors
    /// A program does not start.
    pub fn work(&mut self, who: Who) -> anyhow::Result<()> {
        self.stop();
        self.who = who;
        let admin = self.plane.kubeconfig_admin();
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"))?;
        let mut command = match who {
            Who::Original => {
                let mut command = Command::new(Assets::find()?.kube_controller_manager);
                let names: Vec<String> = JUDGED
                    .iter()
                    .map(|name| format!("{name}-controller"))
                    .collect();
                command.arg(format!("--kubeconfig={}", admin.display()));
                command.arg(format!("--controllers={}", names.join(",")));
                let more = [
                    "--leader-elect=false",
                    "--secure-port=0",
                    "--kube-api-qps=2000",
                    "--kube-api-burst=4000",
                ];
                command.args(more);
                command
            }
            Who::Plugins => {
                for name in JUDGED {
                    let file = format!("{name}.yaml");
                    std::fs::copy(self.bundle.join(&file), self.plugins().join(&file))?;
                    self.put(name, 0)?;
                }
                let mut command = Command::new(&self.windlass);
                command.arg("run").arg("--config").arg(self.plugins());
                command.arg("--kubeconfig").arg(&admin);
                command.args(["--admin-bind-address", "0", "--log-format", "text"]);
                command
            }
        };
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        self.controllers = Some(command.spawn().context("cannot start the controllers")?);
        Ok(())
    }

    /// The last lines of the log of those who work.
    pub fn log(&self) -> String {
        let log = std::fs::read_to_string(self.folder.path().join("log"));
        let log = log.unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines
            .get(lines.len().saturating_sub(20)..)
            .unwrap_or_default()
            .join("\n")
    }

    fn stop(&mut self) {
        if let Some(mut controllers) = self.controllers.take() {
            let _ = controllers.kill();
            let _ = controllers.wait();
        }
    }

    fn plugins(&self) -> PathBuf {
        self.folder.path().join("plugins")
    }

    /// Puts other builds of the plugins into the folder of the host.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn swap(&mut self) -> anyhow::Result<()> {
        if self.who == Who::Plugins {
            self.swaps += 1;
            JUDGED
                .iter()
                .try_for_each(|name| self.put(name, self.swaps))?;
        }
        Ok(())
    }

    /// A build of a plugin: every second one has a custom section more.
    fn put(&self, name: &str, number: usize) -> anyhow::Result<()> {
        let file = format!("{name}.wasm");
        let mut component = std::fs::read(self.bundle.join(&file))?;
        if number % 2 == 1 {
            component.extend(b"\0\x05\x04swap");
        }
        let draft = self.folder.path().join("draft");
        std::fs::write(&draft, component)?;
        Ok(std::fs::rename(&draft, self.plugins().join(&file))?)
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// Does a step.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn take(&self, step: &Step) -> anyhow::Result<()> {
        let deployments: Api<Deployment> = self.api();
        let jobs: Api<Job> = self.api();
        match step {
            Step::Want(name, wanted) => {
                let spec = wanted.spec(name);
                put(&deployments, name, spec.clone(), spec).await?;
            }
            Step::Run(name, wanted) => {
                // The rest of a Job's spec stays as it is.
                let change = json!({ "suspend": wanted.is_suspended });
                put(&jobs, name, change, wanted.spec(name)).await?;
            }
            Step::Delete(name, how) => {
                let params = match *how {
                    "Foreground" => DeleteParams::foreground(),
                    _ => DeleteParams::background(),
                };
                if job::NAMES.contains(name) {
                    jobs.delete(name, &params).await?;
                } else {
                    deployments.delete(name, &params).await?;
                }
            }
            Step::DeletePod(name) => {
                let pod = self.a_pod(name).await?;
                let pods: Api<Pod> = self.api();
                pods.delete(&pod, &DeleteParams::default()).await?;
            }
            Step::Unlabel(name) => {
                let pod = self.a_pod(name).await?;
                let pods: Api<Pod> = self.api();
                let patch = Patch::Merge(json!({ "metadata": { "labels": { "app": "gone" } } }));
                pods.patch(&pod, &PatchParams::default(), &patch).await?;
            }
        }
        Ok(())
    }

    /// The first pod of a Deployment by its name.
    async fn a_pod(&self, name: &str) -> anyhow::Result<String> {
        let pods: Api<Pod> = self.api();
        let params = ListParams::default().labels(&format!("app={name}"));
        let pods = pods.list(&params).await?;
        let alive = pods.items.into_iter().map(|pod| pod.metadata);
        let mut names = alive
            .filter(|it| it.deletion_timestamp.is_none())
            .filter_map(|it| it.name);
        names.next().context("there is no pod")
    }

    /// What is there.
    ///
    /// # Errors
    /// The API server does not say it.
    pub async fn objects(&self) -> anyhow::Result<Objects> {
        Ok(Objects {
            deployments: self.list::<Deployment>().await?,
            sets: self.list::<ReplicaSet>().await?,
            jobs: self.list::<Job>().await?,
            pods: self.list::<Pod>().await?,
            events: self.list::<Event>().await?,
        })
    }

    async fn list<K>(&self) -> anyhow::Result<Vec<Value>>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
        K: Clone + std::fmt::Debug + DeserializeOwned + Serialize,
    {
        let listed = self.api::<K>().list(&ListParams::default()).await?;
        let items = listed.items.into_iter().map(serde_json::to_value);
        Ok(items.collect::<Result<_, _>>()?)
    }
}

/// Changes the spec of an object, or makes the object with this spec.
async fn put<K>(api: &Api<K>, name: &str, change: Value, mut spec: Value) -> anyhow::Result<()>
where
    K: Clone + std::fmt::Debug + DeserializeOwned + Serialize,
{
    let patch = Patch::Merge(json!({ "spec": change }));
    match api.patch(name, &PatchParams::default(), &patch).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            without_nulls(&mut spec);
            let object = json!({ "metadata": { "name": name }, "spec": spec });
            let object = serde_json::from_value(object)?;
            api.create(&PostParams::default(), &object).await?;
        }
        other => drop(other?),
    }
    Ok(())
}

fn without_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(without_nulls);
    }
}

/// Shows every version of every pod to the judge.
async fn watch(client: Client, judge: Arc<Mutex<Judge>>) {
    let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
    let events = watcher(pods, watcher::Config::default()).default_backoff();
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        let (pod, is_gone) = match event {
            Ok(watcher::Event::Apply(pod) | watcher::Event::InitApply(pod)) => (pod, false),
            Ok(watcher::Event::Delete(pod)) => (pod, true),
            Ok(watcher::Event::Init | watcher::Event::InitDone) => continue,
            Err(error) => {
                judge
                    .lock()
                    .errors
                    .push(format!("the watch is broken: {error}"));
                continue;
            }
        };
        if let Ok(pod) = serde_json::to_value(pod) {
            judge.lock().see(&pod, is_gone);
        }
    }
}
