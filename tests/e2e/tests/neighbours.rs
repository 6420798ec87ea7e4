//! Plugins on one host beside broken plugins, and before an API server that has a bad day.
//!
//! - What one plugin does costs another nothing.
//! - What the API server does costs time, and no object.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kube::Api;
use serde_json::{Value, json};
use windlass_e2e::{
    Account, Cluster, DEADLINE, Fault, FaultProxy, Greeter, Host, Line, Plugins, RequestHead, Rule,
    control_plane, eventually, for_each_greeter,
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

/// The greeter in a language.
fn greeter_in(cluster: &Cluster, greeter: Greeter) -> Plugins {
    let plugins = Plugins::new(&cluster.namespace).unwrap();
    plugins.written_in(greeter).greeter().unwrap()
}

/// A host that reaches the cluster through a proxy.
fn run_through_proxy(cluster: &Cluster, plugins: &Plugins) -> (FaultProxy, Host) {
    let account = Account::new(&cluster.namespace, plugins.folder()).unwrap();
    let proxy = FaultProxy::start(control_plane().unwrap(), account.identity()).unwrap();
    let host = Host::run(
        plugins.folder(),
        proxy.kubeconfig(),
        &cluster.namespace,
        &[],
    )
    .unwrap();
    (proxy, host)
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
    let hot = host.says("hot loop: stormy made and deleted 40 objects of kind ConfigMap");
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

for_each_greeter!(() =>
    a_call_that_the_api_server_keeps_waiting_ends_at_its_deadline,
    whatever_the_api_server_answers_to_writes_nothing_is_lost,
    what_happens_while_watches_are_cut_is_seen,
    a_child_that_somebody_changes_while_watches_are_cut_is_put_back,
);

async fn a_call_that_the_api_server_keeps_waiting_ends_at_its_deadline(greeter: Greeter) {
    let cluster = Cluster::new("held").await.unwrap();
    let limits = json!({ "deadline": "3s" });
    let plugins = greeter_in(&cluster, greeter);
    let plugins = plugins.limits("greeter", &limits).unwrap();
    let (proxy, host) = run_through_proxy(&cluster, &plugins);
    let is_child = |request: &RequestHead| {
        request.is_write() && request.path.ends_with("/configmaps/ada-greeting")
    };
    proxy.set_rules([Rule::new("child", is_child, Fault::Hold).nth(1)]);
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    eventually(DEADLINE, "the write is held", async || {
        Ok((proxy.count("child") > 0).then_some(()))
    })
    .await
    .unwrap();
    // Nobody else waits for it.
    cluster
        .greet("bob", json!({ "name": "Bob" }))
        .await
        .unwrap();
    assert_greeted(&cluster, "bob", "Bob").await;
    let object = format!("Greeting/{}/ada", cluster.namespace);
    let late = |line: &Line| line.is_pass(&object, "reconcile", "deadline_exceeded");
    let late = host.logs("the deadline passes", late).await.unwrap();
    assert!(
        late.message.contains("raise spec.limits.deadline"),
        "{late:?}"
    );
    assert_greeted(&cluster, "ada", "Ada").await;
    proxy.clear();
    assert!(host.is_running());
}

async fn whatever_the_api_server_answers_to_writes_nothing_is_lost(greeter: Greeter) {
    let cluster = Cluster::new("answers").await.unwrap();
    let plugins = greeter_in(&cluster, greeter);
    let (proxy, host) = run_through_proxy(&cluster, &plugins);
    // What the plugin is about; not the host's leases and Events.
    let is_write = |request: &RequestHead| {
        let about = ["/greetings/", "/configmaps/", "/deployments/"];
        request.is_write() && about.iter().any(|part| request.path.contains(part))
    };
    let busy = Fault::Status {
        code: 429,
        retry_after: Some(1),
    };
    let cases = [
        ("busy", busy, 3),
        (
            "busy-once",
            Fault::Status {
                code: 429,
                retry_after: None,
            },
            1,
        ),
        (
            "broken",
            Fault::Status {
                code: 500,
                retry_after: None,
            },
            3,
        ),
        ("balancer", Fault::Html(502), 3),
        ("portal", Fault::Html(200), 3),
        ("cut", Fault::CutBody(20), 3),
        ("unheard", Fault::LoseAnswer, 3),
        ("gone", Fault::Disconnect, 3),
        ("endless", Fault::EndlessBody, 1),
    ];
    for (name, fault, times) in cases {
        proxy.set_rules([Rule::new("writes", is_write, fault).times(times)]);
        cluster.greet(name, json!({ "name": "Ada" })).await.unwrap();
        assert_greeted(&cluster, name, "Ada").await;
        assert!(proxy.count("writes") > times, "{name}");
    }
    assert!(host.is_running());
}

async fn what_happens_while_watches_are_cut_is_seen(greeter: Greeter) {
    let cluster = Cluster::new("cut").await.unwrap();
    let plugins = greeter_in(&cluster, greeter);
    let (proxy, host) = run_through_proxy(&cluster, &plugins);
    for code in [500, 410] {
        let [old, going, new] = ["old", "going", "new"].map(|name| format!("{name}-{code}"));
        for name in [&old, &going] {
            cluster.greet(name, json!({ "name": "Ada" })).await.unwrap();
            cluster.until_ready(name).await.unwrap();
        }
        proxy.set_rules([Rule::new(
            "watch",
            RequestHead::is_watch,
            Fault::Status {
                code,
                retry_after: None,
            },
        )]);
        proxy.cut_watches();
        let refused = async || Ok((proxy.count("watch") > 0).then_some(()));
        eventually(DEADLINE, "a watch is tried again", refused)
            .await
            .unwrap();
        cluster.greet(&new, json!({ "name": "Bob" })).await.unwrap();
        cluster
            .patch("Greeting", &old, json!({ "spec": { "name": "Bob" } }))
            .await
            .unwrap();
        cluster.delete("Greeting", &going).await.unwrap();
        proxy.clear();
        assert_greeted(&cluster, &new, "Bob").await;
        assert_greeted(&cluster, &old, "Bob").await;
        cluster.until_gone("Greeting", &going).await.unwrap();
    }
    assert!(host.is_running());
}

async fn a_child_that_somebody_changes_while_watches_are_cut_is_put_back(greeter: Greeter) {
    let cluster = Cluster::new("drift").await.unwrap();
    let plugins = greeter_in(&cluster, greeter);
    let (proxy, _host) = run_through_proxy(&cluster, &plugins);
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    assert_greeted(&cluster, "ada", "Ada").await;
    proxy.partition();
    cluster
        .patch(
            "ConfigMap",
            "ada-greeting",
            json!({ "data": { "index.html": "Boo!" } }),
        )
        .await
        .unwrap();
    cluster.delete("Deployment", "ada-greeting").await.unwrap();
    proxy.heal();
    let put_back = |map: &Value| map.pointer("/data/index.html") == Some(&json!("Hello, Ada!"));
    cluster
        .until("ConfigMap", "ada-greeting", "is put back", put_back)
        .await
        .unwrap();
    cluster
        .until("Deployment", "ada-greeting", "is put back", |it| {
            it.pointer("/metadata/deletionTimestamp").is_none()
        })
        .await
        .unwrap();
}
