//! `windlass cluster` as a person uses it: Kubernetes' controllers are plugins, nodes fail on command, and a controller is replaced
//! in the middle of a rollout.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::transcript::{Shell, played};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use kube_runtime::watcher;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_controlplane::{Assets, eventually};
use windlass_e2e::{DEADLINE, host_binary, workspace};
use windlass_harness::guest;

/// What `make bundle` builds.
const BUNDLE: [&str; 8] = [
    "cronjob",
    "deployment",
    "job",
    "pv-protection",
    "pvc-protection",
    "replicaset",
    "serviceaccount",
    "ttl-after-finished",
];

/// A cluster of its own. It ends with this.
struct Local {
    child: Child,
    folder: TempDir,
    client: Client,
    /// What it said when it was ready.
    said: String,
}

impl Local {
    /// Starts it with these plugins, and with more arguments.
    async fn start(plugins: &[&str], arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("plugins")).unwrap();
        for name in plugins {
            put(&folder.path().join("plugins"), name, &[]);
        }
        let mut child = command(folder.path(), arguments).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.as_mut().unwrap());
        let mut said = String::new();
        while !said.contains("export KUBECONFIG=") {
            assert_ne!(out.read_line(&mut said).unwrap(), 0, "it has ended: {said}");
        }
        let kubeconfig = folder.path().join(".windlass/kubeconfig");
        let client = windlass_controlplane::client(&kubeconfig).await.unwrap();
        Self {
            child,
            folder,
            client,
            said,
        }
    }

    fn deployments(&self) -> Api<Deployment> {
        Api::namespaced(self.client.clone(), "default")
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), "default")
    }

    async fn deploy(&self, name: &str, replicas: u32, image: &str) -> Deployment {
        let deployment = serde_json::from_value(json!({
            "metadata": { "name": name },
            "spec": {
                "replicas": replicas,
                "selector": { "matchLabels": { "app": name } },
                "template": {
                    "metadata": { "labels": { "app": name } },
                    "spec": { "containers": [{ "name": "web", "image": image }] },
                },
            },
        }));
        let deployment = deployment.unwrap();
        let params = PostParams::default();
        let created = self.deployments().create(&params, &deployment).await;
        created.unwrap()
    }

    async fn change(&self, name: &str, patch: Value) {
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let patched = self.deployments().patch(name, &params, &patch).await;
        patched.unwrap();
    }

    /// Waits until a rollout is complete, as `kubectl rollout status` does.
    async fn rolled_out(&self, name: &str) {
        let look = async || {
            let found = self.deployments().get(name).await?;
            let wanted = found.spec.as_ref().and_then(|spec| spec.replicas);
            let status = found.status.unwrap_or_default();
            let is_complete = status.observed_generation == found.metadata.generation
                && status.updated_replicas == wanted
                && status.replicas == wanted
                && status.available_replicas == wanted;
            Ok(is_complete.then_some(()))
        };
        eventually(DEADLINE, "the rollout is complete", look)
            .await
            .unwrap();
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(host_binary().unwrap());
    command.env("WINDLASS_CODE_CACHE", workspace().join("target/code-cache"));
    command.env("XDG_STATE_HOME", workspace().join("target/state"));
    command
        .current_dir(folder)
        .args(["cluster", "--plugins", "plugins"]);
    command.args(["--admin-bind-address", "0"]).args(arguments);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Puts a plugin into a folder. `more` makes its component another one.
fn put(folder: &Path, name: &str, more: &[u8]) {
    let document = workspace().join("plugins").join(name).join("plugin.yaml");
    let mut component = fs::read(guest(name).unwrap()).unwrap();
    component.extend(more);
    let draft: PathBuf = folder.join("draft");
    fs::write(&draft, component).unwrap();
    fs::rename(&draft, folder.join(format!("{name}.wasm"))).unwrap();
    fs::copy(document, folder.join(format!("{name}.yaml"))).unwrap();
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|one| one.type_ == "Ready");
    ready.any(|one| one.status == "True")
}

/// The most pods at any time, and the fewest that were ready, from the first time on that `enough` were.
#[derive(Debug, Default)]
struct Bounds {
    most: usize,
    fewest: Option<usize>,
}

async fn watch(
    pods: Api<Pod>,
    enough: usize,
    mut stop: tokio::sync::oneshot::Receiver<()>,
) -> Bounds {
    use futures::TryStreamExt;
    let mut stream = std::pin::pin!(watcher(pods, watcher::Config::default()));
    let (mut bounds, mut held) = (Bounds::default(), BTreeMap::new());
    loop {
        let event = tokio::select! {
            event = stream.try_next() => event.unwrap().unwrap(),
            _ = &mut stop => return bounds,
        };
        match event {
            watcher::Event::Apply(pod) | watcher::Event::InitApply(pod) => {
                let is_active = pod.metadata.deletion_timestamp.is_none();
                held.insert(pod.uid().unwrap(), (is_active, is_active && is_ready(&pod)));
            }
            watcher::Event::Delete(pod) => {
                held.remove(&pod.uid().unwrap());
            }
            watcher::Event::Init | watcher::Event::InitDone => {}
        }
        let active = held.values().filter(|(is_active, _)| *is_active).count();
        let ready = held.values().filter(|(_, is_ready)| *is_ready).count();
        bounds.most = bounds.most.max(active);
        if bounds.fewest.is_some() || ready >= enough {
            let fewest = bounds.fewest.unwrap_or(ready);
            bounds.fewest = Some(fewest.min(ready));
        }
    }
}

#[test]
fn the_readmes_cluster_goes_as_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("target/bundle");
    fs::create_dir_all(&bundle).unwrap();
    for name in BUNDLE {
        put(&bundle, name, &[]);
    }
    let kubectl = Assets::find().unwrap().kubectl;
    let mut shell = Shell::start(folder.path(), Some(&kubectl), None).unwrap();
    let transcript = played("README.md", "A cluster of plugins")
        .unwrap()
        .concat();
    if let Err(difference) = shell.play("README.md", &transcript) {
        let log = fs::read_to_string(folder.path().join("cluster.log")).unwrap_or_default();
        panic!("{difference:#}\nThe cluster's log:\n{log}");
    }
}

#[tokio::test]
async fn a_controller_is_replaced_in_the_middle_of_a_rollout() {
    let cluster = Local::start(&["deployment", "replicaset"], &["--nodes", "3"]).await;
    assert!(
        cluster.said.contains("has 3 nodes and 2 plugins"),
        "{}",
        cluster.said
    );
    cluster.deploy("web", 8, "web:1").await;
    cluster.rolled_out("web").await;
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let watched = tokio::spawn(watch(cluster.pods(), 8, stopped));
    cluster.change("web", json!({ "spec": { "template": { "spec": { "containers": [{ "name": "web", "image": "web:2" }] } } } })).await;
    let sets: Api<ReplicaSet> = Api::namespaced(cluster.client.clone(), "default");
    let look = async || {
        let sets = sets.list(&ListParams::default()).await?;
        Ok((sets.items.len() == 2).then_some(()))
    };
    eventually(DEADLINE, "the rollout has begun", look)
        .await
        .unwrap();
    // Other builds of both controllers: they have a custom section more.
    for name in ["deployment", "replicaset"] {
        put(
            &cluster.folder.path().join("plugins"),
            name,
            b"\0\x05\x04swap",
        );
    }
    cluster.rolled_out("web").await;
    cluster
        .change("web", json!({ "spec": { "replicas": 5 } }))
        .await;
    cluster.rolled_out("web").await;
    let _ = stop.send(());
    let bounds = watched.await.unwrap();
    // 25 % of 8 more, and 25 % of 8 fewer; then five.
    assert!(bounds.most <= 10, "{bounds:?}");
    assert!(
        bounds.fewest.is_some_and(|fewest| fewest >= 5),
        "{bounds:?}"
    );
    let pods = cluster.pods().list(&ListParams::default()).await.unwrap();
    let nodes: BTreeMap<String, usize> = pods.iter().fold(BTreeMap::new(), |mut nodes, pod| {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        *nodes.entry(node.unwrap()).or_default() += 1;
        nodes
    });
    assert_eq!(nodes.len(), 3, "pods are spread: {nodes:?}");
}

#[tokio::test]
async fn a_node_fails_on_command_and_comes_back() {
    let cluster = Local::start(&["deployment", "replicaset"], &["--nodes", "2"]).await;
    cluster.deploy("web", 4, "web:1").await;
    cluster.rolled_out("web").await;
    let nodes: Api<Node> = Api::all(cluster.client.clone());
    let simulate = async |what: Value| {
        let patch =
            json!({ "metadata": { "annotations": { "nodes.windlass.dev/simulate": what } } });
        let name = "windlass-node-2";
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        nodes.patch(name, &params, &patch).await.unwrap();
    };
    let available = async |wanted: i32| {
        let look = async || {
            let found = cluster.deployments().get("web").await?;
            let available = found.status.and_then(|status| status.available_replicas);
            Ok((available == Some(wanted)).then_some(()))
        };
        let what = format!("{wanted} replicas are available");
        eventually(DEADLINE, &what, look).await.unwrap();
    };
    simulate(json!("down")).await;
    available(2).await;
    // What is deleted comes again on the other node.
    let pods = cluster.pods().list(&ListParams::default()).await.unwrap();
    let gone = DeleteParams::default().grace_period(0);
    for pod in pods.iter().filter(|pod| !is_ready(pod)) {
        cluster.pods().delete(&pod.name_any(), &gone).await.unwrap();
    }
    available(4).await;
    simulate(Value::Null).await;
    let look = async || {
        let node = nodes.get("windlass-node-2").await?;
        let conditions = node.status.and_then(|status| status.conditions);
        let conditions = conditions.into_iter().flatten();
        let mut ready = conditions.filter(|one| one.type_ == "Ready" && one.status == "True");
        Ok(ready.next().map(drop))
    };
    eventually(DEADLINE, "the node is ready", look)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_controller_that_is_left_out_does_nothing() {
    let cluster = Local::start(&["replicaset"], &["--without", "deployment"]).await;
    let made = cluster.deploy("web", 2, "web:1").await;
    let set = json!({
        "metadata": { "name": "alone" },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "app": "alone" } },
            "template": {
                "metadata": { "labels": { "app": "alone" } },
                "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
            },
        },
    });
    let sets: Api<ReplicaSet> = Api::namespaced(cluster.client.clone(), "default");
    let set = serde_json::from_value(set).unwrap();
    sets.create(&PostParams::default(), &set).await.unwrap();
    let look = async || {
        let ready = sets
            .get("alone")
            .await?
            .status
            .and_then(|status| status.ready_replicas);
        Ok((ready == Some(2)).then_some(()))
    };
    eventually(DEADLINE, "the ReplicaSet has its pods", look)
        .await
        .unwrap();
    let found = cluster.deployments().get("web").await.unwrap();
    assert_eq!(found.resource_version(), made.resource_version());
}

#[test]
fn an_unknown_controller_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("plugins")).unwrap();
    let mut child = command(folder.path(), &["--without", "cron"])
        .spawn()
        .unwrap();
    let mut said = String::new();
    child
        .stderr
        .as_mut()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(
        said.contains("--without cron: there is no such controller; there are "),
        "{said}"
    );
    // The kubeconfig goes with the cluster.
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("plugins")).unwrap();
    let mut child = command(folder.path(), &[]).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert!(
        line.starts_with("the cluster at https://127.0.0.1:"),
        "{line}"
    );
    assert!(folder.path().join(".windlass/kubeconfig").exists());
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!folder.path().join(".windlass/kubeconfig").exists());
}
