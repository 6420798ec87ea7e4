//! An API server that has a bad day costs time, and no object.

use serde_json::{Value, json};
use windlass_e2e::{
    Account, Cluster, DEADLINE, Fault, FaultProxy, Greeter, Host, Line, Plugins, RequestHead, Rule,
    control_plane, eventually, for_each_greeter,
};

use super::assert_greeted;

/// The greeter in a language.
fn greeter_in(cluster: &Cluster, greeter: Greeter) -> Plugins {
    let plugins = Plugins::new(&cluster.namespace).unwrap();
    plugins.written_in(greeter).greeter().unwrap()
}

/// A host that reaches the cluster through a proxy.
pub(super) fn run_through_proxy(cluster: &Cluster, plugins: &Plugins) -> (FaultProxy, Host) {
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
