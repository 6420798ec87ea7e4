//! `make demo`: an author's first minutes with `windlass dev`, and a controller that is replaced in the middle of a rollout. `make demo-cluster`: a Greeting's whole life on a real
//! control plane as an operator would see it, and its plugin changed meanwhile: in a folder, and as a Plugin object.
//!
//! Exits with 0 only if all of it happened.

mod author;
mod kubectl;
mod object;
mod reload;
mod rollout;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::{StreamExt, pin_mut};
use kube::api::{WatchEvent, WatchParams};
use serde_json::Value;
use windlass_e2e::{Account, Cluster, Host, Plugins, TestServer, control_plane, host_binary};

use kubectl::{Do, Kubectl};
use reload::Running;

/// The steps that are done, with the time that each took.
struct Demo {
    done: Vec<(&'static str, Duration)>,
    since: Instant,
}

impl Demo {
    fn done(&mut self, step: &'static str) {
        self.done.push((step, self.since.elapsed()));
        self.since = Instant::now();
    }
}

const KIND: &str = "greetings.examples.windlass.dev";

#[tokio::main]
async fn main() -> Result<()> {
    let mut demo = Demo {
        done: Vec::new(),
        since: Instant::now(),
    };
    match TestServer::chosen()? {
        TestServer::Embedded => {
            author::show(&mut demo).await?;
            rollout::show(&mut demo).await?;
        }
        TestServer::Real => life(&mut demo).await?,
    }
    println!("\n# all of it happened");
    for (step, took) in &demo.done {
        println!("{:>9.2} s  {step}", took.as_secs_f64());
    }
    Ok(())
}

/// A Greeting's whole life on a real control plane.
async fn life(demo: &mut Demo) -> Result<()> {
    println!("# etcd, kube-apiserver and kube-controller-manager, from source");
    control_plane()?;
    demo.done("control plane up");
    let kubectl = Kubectl::find()?;
    let plugins = Plugins::new("default")?
        .component("greeter", "greeter.wasm")?
        .file(
            "plugin.yaml",
            include_str!("../../../plugins/greeter/plugin.yaml"),
        )?;
    demo.done("plugin built");
    host_binary()?;
    demo.done("host built");

    kubectl.show(Do::Install)?;
    kubectl.show(Do::WaitForKind(KIND))?;
    demo.done("kind installed");

    println!("\n$ windlass rbac --config config --namespace default | kubectl apply -f -");
    let account = Account::new("default", plugins.folder())?;
    demo.done("roles given to the host");

    println!("\n$ windlass run --config config");
    let host = Host::run(plugins.folder(), &account.kubeconfig()?, "default", &[])?;
    let ready = host.says("all lists are in").await?;
    println!("{}", ready.message);
    demo.done("host ready");

    let cluster = Cluster::existing("default").await?;
    let example = "plugins/greeter/example.yaml";
    kubectl.show(Do::Apply(example))?;
    cluster.until_ready("ada").await?;
    demo.done("Greeting ready");
    let all = ["greetings", "configmaps", "deployments"];
    kubectl.show(Do::List(&all, "default"))?;
    kubectl.show(Do::List(&["configmaps"], "greetings"))?;
    let rename = r#"{"spec":{"name":"Grace"}}"#;
    kubectl.show(Do::Patch("greeting", "ada", rename))?;
    cluster
        .until("ConfigMap", "ada-greeting", "greets Grace", |map| {
            text(map).contains("Grace")
        })
        .await?;
    cluster.until_ready("ada").await?;
    kubectl.show(Do::List(&["greetings"], "default"))?;
    demo.done("changed, children follow");

    let before = uid(&cluster).await?;
    let by_hand = Do::Delete("configmap", "ada-greeting", true);
    kubectl.show(by_hand)?;
    cluster
        .until("ConfigMap", "ada-greeting", "is back", |map| {
            map.pointer("/metadata/uid") != Some(&before)
        })
        .await?;
    kubectl.show(Do::Get("configmap", "ada-greeting"))?;
    demo.done("child deleted by hand, restored");

    let running = Running {
        plugins: &plugins,
        host: &host,
        cluster: &cluster,
        kubectl: &kubectl,
    };
    running.hot_reload(demo).await?;
    running.refused_update(demo).await?;

    end_of_life(&kubectl, &cluster).await?;
    let finalized = host
        .logs("the host finalized", |line| {
            line.field("step") == "finalize"
        })
        .await?;
    println!(
        "host: {} {} {}",
        finalized.message,
        finalized.field("step"),
        finalized.field("object")
    );
    demo.done("deleted, finalizer seen working");

    println!(
        "\n# the children are the garbage collector's, which may take half a minute to learn a new kind"
    );
    for (kind, name) in [
        ("Greeting", "ada"),
        ("ConfigMap", "ada-greeting"),
        ("Deployment", "ada-greeting"),
    ] {
        cluster.until_gone(kind, name).await?;
    }
    let left = cluster.entries().await?;
    if !left.is_empty() {
        bail!("the register still holds {left:?}");
    }
    demo.done("all gone");

    host.terminate()?;
    let status = host.ended().await?;
    if !status.success() {
        bail!("the host ended with {status}");
    }
    demo.done("host stopped");
    object::show(demo, &kubectl, &account).await
}

/// Deletes the Greeting, and shows each state that a watch sees until it is gone.
async fn end_of_life(kubectl: &Kubectl, cluster: &Cluster) -> Result<()> {
    let greetings = cluster.api("Greeting", "default")?;
    let only = WatchParams::default()
        .fields("metadata.name=ada")
        .timeout(60);
    let version = greetings
        .get("ada")
        .await?
        .metadata
        .resource_version
        .context("it has a version")?;
    let events = greetings.watch(&only, &version).await?;
    kubectl.show(Do::Delete("greeting", "ada", false))?;
    pin_mut!(events);
    let mut seen = Vec::new();
    while let Some(event) = events.next().await.transpose()? {
        match event {
            WatchEvent::Modified(object) => {
                let deleting = object.metadata.deletion_timestamp.is_some();
                let finalizers = object.metadata.finalizers.unwrap_or_default();
                println!("watch: MODIFIED deletionTimestamp={deleting} finalizers={finalizers:?}");
                let waits =
                    deleting && finalizers.iter().any(|name| name == "windlass.dev/greeter");
                seen.push(if waits { "waiting" } else { "modified" });
            }
            WatchEvent::Deleted(_) => {
                println!("watch: DELETED");
                seen.push("gone");
                break;
            }
            WatchEvent::Added(_) | WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(error) => bail!("the watch failed: {error}"),
        }
    }
    // Before that the watch may still show a status.
    if seen.contains(&"waiting") && seen.last() == Some(&"gone") {
        return Ok(());
    }
    bail!("the finalizer was not seen at work: {seen:?}")
}

async fn uid(cluster: &Cluster) -> Result<Value> {
    let map = cluster
        .get("ConfigMap", "ada-greeting")
        .await?
        .context("the child is there")?;
    Ok(map.metadata.uid.unwrap_or_default().into())
}

fn text(map: &Value) -> String {
    map.pointer("/data")
        .map(Value::to_string)
        .unwrap_or_default()
}
