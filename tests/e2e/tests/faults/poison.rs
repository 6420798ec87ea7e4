//! A host that dies while a plugin is called, again and again: the plugin is quarantined, and its neighbours run on.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_e2e::{Account, Cluster, DEADLINE, Host, Plugins, eventually};

/// A host on what is in the folder, with this state folder.
fn run(cluster: &Cluster, plugins: &Plugins, account: &Account, state: &TempDir) -> Host {
    let flags = [
        &format!("--state-dir={}", state.path().display()),
        "--leader-elect-lease-duration=3s",
        "--leader-elect-renew-deadline=2s",
        "--leader-elect-retry-period=500ms",
    ];
    let kubeconfig = account.kubeconfig().unwrap();
    Host::run(plugins.folder(), &kubeconfig, &cluster.namespace, &flags).unwrap()
}

/// Waits until the component `digest` is called, and no other one is at work.
async fn alone_is_called(state: &Path, digest: &str) {
    let digest = digest.trim_start_matches("sha256:");
    let file = state.join("crashes/in-flight");
    let called = eventually(DEADLINE, "one component is called", async || {
        let text = fs::read_to_string(&file)?;
        let slots = text.lines().skip(1);
        let slots: Vec<&str> = slots.map(|slot| slot.trim_matches(['\0', ' '])).collect();
        let at_work: Vec<_> = slots.into_iter().filter(|slot| !slot.is_empty()).collect();
        match at_work[..] {
            [one] => Ok(one
                .strip_prefix("calling ")
                .filter(|called| called.starts_with(digest))
                .map(drop)),
            _ => Ok(None),
        }
    });
    called.await.unwrap()
}

#[tokio::test]
async fn a_plugin_at_work_in_two_crashes_is_quarantined_and_its_neighbour_runs_on() {
    let cluster = Cluster::new("poison").await.unwrap();
    let state = tempfile::tempdir().unwrap();
    let limits = json!({ "cpu": "60s", "deadline": "10m" });
    let plugins = Plugins::new(&cluster.namespace)
        .unwrap()
        .greeter()
        .unwrap()
        .hostile("poison", "spin", &limits, &[])
        .unwrap();
    let account = Account::new(&cluster.namespace, plugins.folder()).unwrap();
    cluster.greet("g0", json!({ "name": "Ada" })).await.unwrap();
    for _ in 0..2 {
        let host = run(&cluster, &plugins, &account, &state);
        host.logs("the neighbour is at rest", |line| {
            line.field("plugin") == "greeter" && line.field("outcome") == "rest"
        })
        .await
        .unwrap();
        let runs = host.logs("the poison runs", |line| {
            line.field("plugin") == "poison" && line.message == "running"
        });
        alone_is_called(state.path(), runs.await.unwrap().field("digest")).await;
        host.kill();
    }

    let host = run(&cluster, &plugins, &account, &state);
    let line = host
        .says("is quarantined: it was at work in two crashes")
        .await
        .unwrap();
    assert_eq!(line.field("plugin"), "poison");
    cluster.greet("g1", json!({ "name": "Bob" })).await.unwrap();
    cluster.until_ready("g1").await.unwrap();
    let poisoned =
        |line: &windlass_e2e::Line| line.field("plugin") == "poison" && line.is_any_pass();
    assert_eq!(host.count(poisoned), 0);
    // Other hosts are told.
    let lease = cluster.get("Lease", "windlass-poison").await.unwrap();
    let lease = serde_json::to_value(lease).unwrap();
    let told = lease.pointer("/metadata/annotations/windlass.dev~1crashes");
    let told = told.and_then(Value::as_str).unwrap_or_default();
    assert_eq!(told.matches("\"run\"").count(), 2, "{lease:#}");
    let neighbour = cluster.get("Lease", "windlass-greeter").await.unwrap();
    let neighbour = serde_json::to_value(neighbour).unwrap();
    let told = neighbour.pointer("/metadata/annotations/windlass.dev~1crashes");
    assert_eq!(told, None);

    // A version with another digest runs at once: it has a custom section more, and behaves.
    let mut component = fs::read(plugins.folder().join("hostile.wasm")).unwrap();
    component.extend([0, 2, 1, b'x']);
    // The limits first: with the old ones the new version is called for a minute.
    let plugins = plugins.limits("poison", &json!({ "cpu": "50ms" })).unwrap();
    let plugins = plugins.file("hostile.wasm", component).unwrap();
    host.logs("the new version is called", |line| {
        line.field("plugin") == "poison" && line.field("outcome") == "cpu_exceeded"
    })
    .await
    .unwrap();
    drop(plugins);
    host.terminate().unwrap();
    assert!(host.ended().await.unwrap().success());
}
