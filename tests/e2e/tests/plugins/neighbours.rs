//! Plugins on one host beside broken plugins, and before an API server that has a bad day.
//!
//! - What one plugin does costs another nothing.
//! - What the API server does costs time, and no object.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod apiserver;

use std::time::Duration;

use apiserver::run_through_proxy;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use serde_json::{Value, json};
use windlass_e2e::{
    Account, Cluster, DEADLINE, Fault, Host, Line, Plugins, RequestHead, Rule, control_plane,
    eventually,
};

/// A neighbour that nobody wants.
struct Broken {
    plugin: &'static str,
    attack: &'static str,
    /// How each of its passes ends.
    outcome: &'static str,
    /// What the line of such a pass says.
    says: &'static str,
    /// What the Event is called.
    reason: &'static str,
}

const BROKEN: [Broken; 4] = [
    Broken {
        plugin: "trapper",
        attack: "trap",
        outcome: "trapped",
        says: "unreachable",
        reason: "PluginTrapped",
    },
    Broken {
        plugin: "spinner",
        attack: "spin",
        outcome: "cpu_exceeded",
        says: "raise spec.limits.cpu if that is right",
        reason: "CPUExceeded",
    },
    Broken {
        plugin: "hoarder",
        attack: "hoard",
        outcome: "trapped",
        says: "refused memory beyond its limit of 16 MiB",
        reason: "PluginTrapped",
    },
    Broken {
        plugin: "liar",
        attack: "garbage",
        outcome: "terminal",
        says: "31mowned",
        reason: "TerminalError",
    },
];

fn is_failure_of(line: &Line, plugin: &str) -> bool {
    line.field("plugin") == plugin && line.message.starts_with("pass failed")
}

/// A host, as its service account.
fn run(cluster: &Cluster, plugins: &Plugins) -> Host {
    let account = Account::new(&cluster.namespace, plugins.folder()).unwrap();
    let kubeconfig = account.kubeconfig().unwrap();
    Host::run(plugins.folder(), &kubeconfig, &cluster.namespace, &[]).unwrap()
}

/// That the Greeting of `name` has its child and its entry in the register, as the greeter writes them.
async fn assert_greeted(cluster: &Cluster, name: &str, who: &str) {
    let greeting = cluster.until_ready(name).await.unwrap();
    let uid = greeting
        .pointer("/metadata/uid")
        .and_then(Value::as_str)
        .unwrap();
    let entry = cluster
        .get_in("greetings", "ConfigMap", &format!("greeting-{uid}"))
        .await
        .unwrap();
    let child = cluster
        .get("ConfigMap", &format!("{name}-greeting"))
        .await
        .unwrap();
    let text = Some(json!(format!("Hello, {who}!")));
    assert_eq!(
        entry.unwrap().data.pointer("/data/text").cloned(),
        text,
        "{name}"
    );
    assert_eq!(
        child.unwrap().data.pointer("/data/index.html").cloned(),
        text,
        "{name}"
    );
}

#[tokio::test]
async fn four_broken_plugins_cost_their_healthy_neighbour_nothing() {
    let cluster = Cluster::new("neighbours").await.unwrap();
    let namespace = &cluster.namespace;
    let mut plugins = Plugins::new(namespace).unwrap().greeter().unwrap();
    for Broken { plugin, attack, .. } in BROKEN {
        let limits = json!({ "cpu": "50ms", "memory": "16Mi" });
        plugins = plugins.hostile(plugin, attack, &limits, &[]).unwrap();
    }
    let host = run(&cluster, &plugins);

    // The others come when every broken plugin is at its work.
    cluster.greet("g0", json!({ "name": "Ada" })).await.unwrap();
    let first = format!("Greeting/{namespace}/g0");
    for Broken {
        plugin,
        outcome,
        says,
        ..
    } in BROKEN
    {
        let failed =
            |line: &Line| line.is_pass(&first, "reconcile", outcome) && is_failure_of(line, plugin);
        let failed = host.logs(&format!("{plugin} fails"), failed).await.unwrap();
        assert!(failed.message.contains(says), "{plugin}: {failed:?}");
    }
    for number in 1..50 {
        cluster
            .greet(&format!("g{number}"), json!({ "name": "Ada" }))
            .await
            .unwrap();
    }
    for number in 0..50 {
        assert_greeted(&cluster, &format!("g{number}"), "Ada").await;
    }
    assert!(host.is_running());
    assert_eq!(host.count(|line| is_failure_of(line, "greeter")), 0);

    // Who answers with failures comes to the later objects too; who traps or is stopped in most calls is slowed down. All
    // of them say so where the owner of an object looks.
    let last = format!("Greeting/{namespace}/g49");
    let events: Api<Event> =
        Api::namespaced(control_plane().unwrap().client().await.unwrap(), namespace);
    for Broken {
        plugin,
        outcome,
        reason,
        ..
    } in BROKEN
    {
        let told = |line: &Line| match outcome {
            "terminal" => line.is_pass(&last, "reconcile", outcome) && is_failure_of(line, plugin),
            _ => line.field("plugin") == plugin && line.message.starts_with("slowed down"),
        };
        host.logs(&format!("{plugin} goes on, or is slowed down"), told)
            .await
            .unwrap();
        eventually(
            DEADLINE,
            &format!("{plugin}'s Event {reason}"),
            async || {
                let events = events.list(&Default::default()).await?;
                let wanted = |event: &Event| {
                    let about = event
                        .regarding
                        .as_ref()
                        .and_then(|about| about.name.as_deref());
                    event.reporting_controller == Some(format!("windlass.dev/{plugin}"))
                        && event.reason.as_deref() == Some(reason)
                        && about == Some("g0")
                };
                Ok(events.items.into_iter().find(wanted))
            },
        )
        .await
        .unwrap();
    }
    host.terminate().unwrap();
    assert!(host.ended().await.unwrap().success());
}

#[tokio::test]
async fn what_a_call_waits_for_is_not_charged_to_it() {
    let cluster = Cluster::new("waits").await.unwrap();
    let limits = json!({ "cpu": "200ms", "deadline": "2m" });
    let plugins = Plugins::new(&cluster.namespace)
        .unwrap()
        .hostile("waiter", "wait_api", &limits, &[])
        .unwrap();
    let (proxy, host) = run_through_proxy(&cluster, &plugins);
    let is_read = |request: &RequestHead| request.path.ends_with("/greetings/ada");
    proxy.set_rules([Rule::new(
        "reads",
        is_read,
        Fault::Delay(Duration::from_millis(50)),
    )]);
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    let object = format!("Greeting/{}/ada", cluster.namespace);
    let pass = host.logs("the pass ends", |line| {
        line.field("object") == object && !line.field("outcome").is_empty()
    });
    let pass = pass.await.unwrap();
    assert!(pass.is_pass(&object, "reconcile", "rest"), "{pass:?}");
    assert_eq!(pass.fields.get("requests"), Some(&json!(100)));
    assert_eq!(proxy.count("reads"), 100);
}

#[tokio::test]
async fn a_plugin_that_rewrites_a_field_with_each_pass_is_named_and_slowed_down() {
    let cluster = Cluster::new("hurries").await.unwrap();
    let plugins = Plugins::new(&cluster.namespace).unwrap();
    let maps = plugins.grant("", &["configmaps"], &["get", "create", "patch"]);
    let plugins = plugins
        .hostile("hasty", "hurry", &json!({}), &[maps])
        .unwrap();
    let host = run(&cluster, &plugins);
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    let hot = host.says("hot loop: hasty wrote ConfigMap ").await;
    let hot = hot.unwrap();
    let map = format!("{}/ada-clock 40 times", cluster.namespace);
    assert!(hot.message.contains(&map), "{hot:?}");
    let events: Api<Event> = Api::namespaced(cluster.client(), &cluster.namespace);
    let told = eventually(DEADLINE, "an Event about it", async || {
        let mut all = events.list(&Default::default()).await?.items.into_iter();
        Ok(all.find(|event| event.reason.as_deref() == Some("HotLoop")))
    });
    let note = told.await.unwrap().note.unwrap_or_default();
    assert!(note.contains("look for another writer"), "{note}");
    // It has asked for each pass at once, and was told once what it gets.
    let told = |line: &Line| line.message.contains("gets it after 100");
    assert_eq!(host.count(told), 1);
}

/// A pass comes at the very time that the plugin asks for, and not before.
#[tokio::test]
async fn a_plugin_is_called_at_the_time_that_it_asks_for() {
    let cluster = Cluster::new("alarms").await.unwrap();
    let plugins = Plugins::new(&cluster.namespace).unwrap();
    let at = jiff::Timestamp::now() + Duration::from_secs(20);
    let at = format!("{}.000Z", at.strftime("%FT%T"));
    let grants = [plugins.grant(
        "examples.windlass.dev",
        &["greetings"],
        &["get", "list", "watch"],
    )];
    let document = json!({
        "source": { "file": "hostile.wasm" },
        "config": { "attack": "alarm", "at": at },
        "grants": grants,
    });
    let plugins = plugins.component("hostile", "hostile.wasm").unwrap();
    let plugins = plugins.document("alarm", &document).unwrap();
    let host = run(&cluster, &plugins);
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    host.says("alarm rings").await.unwrap();
    assert_eq!(host.count(|line: &Line| line.message == "alarm waits"), 1);
}

#[tokio::test]
async fn a_plugin_that_makes_and_deletes_an_object_with_each_pass_is_named_and_slowed_down() {
    let cluster = Cluster::new("storms").await.unwrap();
    let plugins = Plugins::new(&cluster.namespace).unwrap();
    let maps = plugins.grant("", &["configmaps"], &["get", "create", "patch", "delete"]);
    let plugins = plugins
        .hostile("stormy", "storm", &json!({}), &[maps])
        .unwrap();
    let host = run(&cluster, &plugins);
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    let hot = host.says("hot loop: stormy made and deleted 300 objects of kind ConfigMap");
    let hot = hot.await.unwrap();
    assert!(hot.message.contains("its key is slowed down"), "{hot:?}");
    assert!(host.is_running());
}

#[tokio::test]
async fn a_guest_that_spins_between_log_lines_is_stopped() {
    let cluster = Cluster::new("spins").await.unwrap();
    let limits = json!({ "cpu": "100ms" });
    let plugins = Plugins::new(&cluster.namespace)
        .unwrap()
        .hostile("spinner", "spin_log", &limits, &[])
        .unwrap();
    let host = run(&cluster, &plugins);
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    let object = format!("Greeting/{}/ada", cluster.namespace);
    let stopped = |line: &Line| line.is_pass(&object, "reconcile", "cpu_exceeded");
    host.logs("the guest is stopped", stopped).await.unwrap();
    assert!(host.count(|line| line.message == "still spinning") > 0);
    assert!(host.is_running());
}
