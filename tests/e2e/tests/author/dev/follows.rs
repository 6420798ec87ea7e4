//! Files change, and what runs follows: the bugs of other tools' watch loops among them.

use std::fs;

use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use windlass_e2e::{Cluster, DEADLINE, Dev, control_plane, eventually};

use super::{COMPILER, document, project, source};

#[tokio::test]
async fn a_saved_file_is_swapped_in_and_a_saved_object_applied() -> Result<()> {
    let home = project(COMPILER)?;
    let folder = home.path();
    let dev = Dev::start(folder, &[])?;
    dev.writes("b0001 v0 Ada").await?;
    dev.tells("it is ready", |event| event["event"] == "ready")
        .await?;
    source(folder, 2)?;
    dev.writes("b0002 v0 Ada").await?;
    let swapped = |event: &Value| event["event"] == "running" && event["before"].is_string();
    dev.tells("it is swapped", swapped).await?;
    let ada = fs::read_to_string(folder.join("ada.yaml"))?;
    fs::write(
        folder.join("ada.yaml"),
        ada.replace("name: Ada", "name: Grace"),
    )?;
    dev.writes("b0002 v0 Grace").await?;
    // The document's own part: the configuration.
    let configured = document(COMPILER).replace("spec:\n", "spec:\n  config: { version: v9 }\n");
    fs::write(folder.join("plugin.yaml"), &configured)?;
    dev.writes("end v9 Grace").await?;
    // A version that fails is what the author works on: it is not rolled back.
    let failing = configured.replace("version: v9", "version: v10, fault: fail");
    fs::write(folder.join("plugin.yaml"), failing)?;
    eventually(
        DEADLINE,
        "it fails more often than in a trial",
        async || {
            let events = dev.events();
            let failed = |event: &&Value| {
                event["event"] == "pass" && event.to_string().contains("made to fail")
            };
            Ok((events.iter().filter(failed).count() > 10).then_some(()))
        },
    )
    .await?;
    dev.interrupt()?;
    assert!(dev.ended().await?.success());
    assert!(!folder.join(".windlass/kubeconfig").exists());
    Ok(())
}

#[tokio::test]
async fn a_broken_build_is_told_in_the_compilers_words_and_the_last_good_version_runs_on()
-> Result<()> {
    let home = project(COMPILER)?;
    let folder = home.path();
    let dev = Dev::start(folder, &[])?;
    dev.writes("b0001 v0 Ada").await?;
    fs::write(
        folder.join("src/broken"),
        "src/relay: \u{1b}[31merror\u{1b}[0m: no relay\n",
    )?;
    let failed = dev
        .tells("the build fails", |event| event["event"] == "buildFailed")
        .await?;
    assert_eq!(failed["runsOn"], true, "{failed}");
    assert!(
        failed["message"].as_str().unwrap().contains("exit code 3"),
        "{failed}"
    );
    let errors = dev.errors();
    assert!(
        errors.contains("\u{1b}[31merror\u{1b}[0m: no relay"),
        "{errors}"
    );
    let ada = fs::read_to_string(folder.join("ada.yaml"))?;
    fs::write(
        folder.join("ada.yaml"),
        ada.replace("name: Ada", "name: Grace"),
    )?;
    dev.writes("b0001 v0 Grace").await?;
    // A component that no host would load is no better.
    fs::remove_file(folder.join("src/broken"))?;
    fs::write(folder.join("src/relay.wasm"), "not a component")?;
    dev.tells("the component is refused", |event| {
        event["event"] == "buildFailed" && event["message"].as_str().unwrap().contains("made.wasm")
    })
    .await?;
    source(folder, 3)?;
    dev.writes("b0003 v0 Grace").await?;
    Ok(())
}

#[tokio::test]
async fn a_build_that_writes_its_own_sources_comes_to_rest() -> Result<()> {
    let home = project("cp src/relay.wasm made.wasm; echo x >> src/generated")?;
    let folder = home.path();
    let dev = Dev::start(folder, &[])?;
    let left_out = dev
        .tells("a file is left out", |event| event["event"] == "unwatched")
        .await?;
    assert!(
        left_out["file"]
            .as_str()
            .unwrap()
            .ends_with("src/generated"),
        "{left_out}"
    );
    let builds = dev.count("building");
    source(folder, 2)?;
    dev.writes("b0002 v0 Ada").await?;
    assert_eq!(dev.count("building"), builds + 1, "{:#?}", dev.events());
    Ok(())
}

#[tokio::test]
async fn a_file_that_is_made_or_ignored_or_touched_builds_nothing() -> Result<()> {
    let home = project("cp src/relay.wasm made.wasm; date +%N > src/out.log")?;
    let folder = home.path();
    fs::write(folder.join(".gitignore"), "*.log\n")?;
    let dev = Dev::start(folder, &[])?;
    dev.writes("b0001 v0 Ada").await?;
    source(folder, 1)?;
    fs::write(folder.join("notes.md"), "not watched")?;
    source(folder, 2)?;
    dev.writes("b0002 v0 Ada").await?;
    assert_eq!(dev.count("building"), 2, "{:#?}", dev.events());
    Ok(())
}

#[tokio::test]
async fn a_document_that_is_broken_meanwhile_holds_nothing_back() -> Result<()> {
    let home = project(COMPILER)?;
    let folder = home.path();
    let dev = Dev::start(folder, &[])?;
    dev.writes("b0001 v0 Ada").await?;
    let document = fs::read_to_string(folder.join("plugin.yaml"))?;
    fs::write(
        folder.join("plugin.yaml"),
        document.replace("grants:", "grunts:"),
    )?;
    let failed = dev
        .tells("the document is refused", |event| {
            event["event"] == "buildFailed"
        })
        .await?;
    assert!(
        failed["message"]
            .as_str()
            .unwrap()
            .contains("did you mean `grants`?"),
        "{failed}"
    );
    source(folder, 2)?;
    dev.writes("b0002 v0 Ada").await?;
    assert_eq!(dev.count("notApplied"), 0, "{:#?}", dev.events());
    Ok(())
}

#[tokio::test]
async fn a_definition_that_changes_is_compared_with_the_examples() -> Result<()> {
    let home = project(COMPILER)?;
    let folder = home.path();
    let dev = Dev::start(folder, &[])?;
    dev.writes("b0001 v0 Ada").await?;
    let kind = fs::read_to_string(folder.join("kind.yaml"))?;
    let shorter = kind.replace("maxLength: 63", "maxLength: 2");
    assert_ne!(shorter, kind);
    fs::write(folder.join("kind.yaml"), &shorter)?;
    let refused = dev
        .tells("Ada does not conform", |event| {
            event["event"] == "notApplied"
        })
        .await?;
    assert_eq!(refused["file"], "ada.yaml");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("no longer conforms: Greeting/ada") && message.contains("spec.name"),
        "{message}"
    );
    // What no file holds any more is named.
    fs::write(folder.join("kind.yaml"), kind.replace("greeting", "salute"))?;
    fs::remove_file(folder.join("ada.yaml"))?;
    for (kind, name) in [
        (
            "CustomResourceDefinition",
            "greetings.examples.windlass.dev",
        ),
        ("Greeting", "ada"),
    ] {
        let left = |event: &Value| {
            let object = &event["object"];
            event["event"] == "left" && object["kind"] == kind && object["name"] == name
        };
        let told = dev.tells("it is left behind", left).await?;
        // The server is the program's own: kubectl alone would delete it elsewhere.
        let command = told["command"].as_str().unwrap_or_default();
        let kind = kind.to_lowercase();
        let want = format!("kubectl --kubeconfig .windlass/kubeconfig delete {kind} {name}");
        assert!(command.starts_with(&want), "{command}");
    }
    Ok(())
}

#[tokio::test]
async fn a_named_pipe_beside_the_objects_is_said_to_be_no_file() -> Result<()> {
    let home = project(COMPILER)?;
    let pipe = home.path().join("pipe.yaml");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0)?;
    let dev = Dev::start(home.path(), &["--once"])?;
    let refused = dev
        .tells("it is no file", |event| event["event"] == "notApplied")
        .await?;
    assert_eq!(refused["message"], "cannot be read: it is not a file");
    assert_eq!(dev.ended().await?.code(), Some(1), "{}", dev.errors());
    Ok(())
}

/// What `kubectl get -o yaml` prints of a Greeting and a Pod.
pub(super) const SHOWN: &str = "apiVersion: v1
kind: List
metadata: { resourceVersion: '' }
items:
- apiVersion: examples.windlass.dev/v1
  kind: Greeting
  metadata:
    creationTimestamp: '2026-11-21T09:30:00Z'
    generation: 1
    managedFields: []
    name: eve
    namespace: shop
    resourceVersion: '7'
    uid: 6f1c2b5e-0000-4000-8000-00000000ada0
  spec: { name: Eve }
- apiVersion: v1
  kind: Pod
  metadata:
    generateName: eve-
    name: eve-x7kq2
    namespace: shop
    uid: 6f1c2b5e-0000-4000-8000-00000000ada1
  spec: { containers: [{ name: a, image: a }] }
";

#[tokio::test]
async fn what_kubectl_shows_of_a_cluster_is_applied() -> Result<()> {
    let home = project(COMPILER)?;
    fs::write(home.path().join("ada.yaml"), SHOWN)?;
    let dev = Dev::start(home.path(), &["--once"])?;
    assert!(dev.ended().await?.success(), "{}", dev.errors());
    assert_eq!(dev.count("notApplied"), 0, "{:#?}", dev.events());
    dev.writes("end v0 Eve").await?;
    Ok(())
}

/// The same of a ConfigMap and a Pod that belonged to others: a Greeting, which is shown too, and a ReplicaSet.
const OWNED: &str = "apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: of-eve
    ownerReferences:
    - { apiVersion: examples.windlass.dev/v1, kind: Greeting, name: eve, uid: 6f1c2b5e-0000-4000-8000-00000000ada0 }
- apiVersion: v1
  kind: Pod
  metadata:
    name: of-nobody
    ownerReferences:
    - { apiVersion: apps/v1, kind: ReplicaSet, name: gone, uid: 6f1c2b5e-0000-4000-8000-00000000ada1, controller: true }
  spec: { containers: [{ name: a, image: a }] }
- apiVersion: examples.windlass.dev/v1
  kind: Greeting
  metadata: { name: eve, uid: 6f1c2b5e-0000-4000-8000-00000000ada0 }
  spec: { name: Eve }
";

#[tokio::test]
async fn what_is_shown_with_its_owners_is_not_garbage() -> Result<()> {
    let home = project(COMPILER)?;
    fs::write(home.path().join("ada.yaml"), OWNED)?;
    let dev = Dev::start(home.path(), &[])?;
    dev.tells("it is ready", |event| event["event"] == "ready")
        .await?;
    assert_eq!(dev.count("notApplied"), 0, "{:#?}", dev.events());
    let kubeconfig = Kubeconfig::read_from(home.path().join(".windlass/kubeconfig"))?;
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    let client = kube::Client::try_from(config)?;
    let metadata = async |path: &str| {
        let request = http::Request::get(path).body(Vec::new())?;
        let object: Value = client.request(request).await?;
        anyhow::Ok(object["metadata"].clone())
    };
    let eve = metadata("/apis/examples.windlass.dev/v1/namespaces/default/greetings/eve").await?;
    let map = metadata("/api/v1/namespaces/default/configmaps/of-eve").await?;
    let owners = json!([{
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting", "name": "eve", "uid": eve["uid"],
    }]);
    assert_eq!(map["ownerReferences"], owners, "{map}");
    let pod = metadata("/api/v1/namespaces/default/pods/of-nobody").await?;
    assert_eq!(pod["ownerReferences"], Value::Null, "{pod}");
    Ok(())
}

#[tokio::test]
async fn a_cluster_that_is_named_is_used() -> Result<()> {
    let home = project(COMPILER)?;
    let kubeconfig = control_plane()?.kubeconfig_admin();
    let kubeconfig = kubeconfig.to_str().context("a path is text")?;
    let dev = Dev::start(home.path(), &["--once", "--kubeconfig", kubeconfig])?;
    assert!(dev.ended().await?.success(), "{}", dev.errors());
    assert_eq!(dev.count("serving"), 0);
    let cluster = Cluster::existing("default").await?;
    let ada = cluster
        .get("Greeting", "ada")
        .await?
        .context("the example is there")?;
    assert_eq!(ada.data["status"]["text"], "end v0 Ada");
    Ok(())
}
