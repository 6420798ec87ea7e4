//! What a plugin may not do: it is told so, the log says so by name, and nothing reaches the cluster.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;
use windlass_controlplane::AuditObject;
use windlass_e2e::{ALL, Cluster, DEADLINE, Host, Line, Plugins, control_plane, eventually};

/// Starts a host as administrator.
fn run(cluster: &Cluster, plugins: &Plugins) -> Host {
    let kubeconfig = control_plane().unwrap().kubeconfig_admin();
    Host::run(plugins.folder(), &kubeconfig, &cluster.namespace, &[]).unwrap()
}

/// Waits for the pass of `plugin` over the Greeting `ada` that failed as `outcome`.
async fn failed_pass(host: &Host, cluster: &Cluster, plugin: &str, outcome: &str) -> Line {
    let object = format!("Greeting/{}/ada", cluster.namespace);
    let failed =
        |line: &Line| line.field("plugin") == plugin && line.is_pass(&object, "reconcile", outcome);
    host.logs(&format!("a pass of {plugin} ends as {outcome}"), failed)
        .await
        .unwrap()
}

/// What the hosts of this test binary asked for so far, as `list greetings in <namespace>`.
async fn requests(cluster: &Cluster) -> Vec<String> {
    // The log is written behind the answers: what comes after all of them marks the end.
    let marker =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "marker" } });
    cluster.create(marker).await.unwrap();
    let is_marker = |it: &AuditObject| it.name == "marker" && it.namespace == cluster.namespace;
    let audit = eventually(DEADLINE, "the marker is in the audit log", async || {
        let audit = control_plane()?.audit()?;
        let mut about = audit.iter().filter_map(|event| event.object_ref.as_ref());
        Ok(about.any(is_marker).then_some(audit))
    });
    let of_hosts = audit.await.unwrap().into_iter().filter(|event| {
        let agent = event.user_agent.as_deref();
        agent.is_some_and(|agent| agent.starts_with("windlass/"))
    });
    let about = of_hosts.filter_map(|event| Some((event.verb, event.object_ref?)));
    about
        .map(|(verb, it)| format!("{verb} {} in {}", it.resource, it.namespace))
        .collect()
}

#[tokio::test]
async fn a_write_without_a_grant_is_refused_and_named_and_the_host_lives_on() {
    let cluster = Cluster::new("no-grant").await.unwrap();
    let namespace = &cluster.namespace;
    let plugins = Plugins::new(namespace).unwrap().greeter().unwrap();
    let maps = plugins.grant("", &["configmaps"], ALL);
    let plugins = plugins
        .hostile("thief", "write_secret", &json!({}), &[maps])
        .unwrap();
    let host = run(&cluster, &plugins);
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    let failed = failed_pass(&host, &cluster, "thief", "terminal").await;
    assert!(
        failed.message.ends_with("answer: Error::Denied"),
        "{failed:?}"
    );
    let sentence =
        format!("plugin thief may not create secrets in namespace {namespace}: add it to grants");
    let named = |line: &Line| line.message == sentence && line.field("level") == "WARN";
    assert!(host.count(named) > 0, "{:#?}", host.log());
    assert!(cluster.get("Secret", "ada-stolen").await.unwrap().is_none());
    let asked = requests(&cluster).await;
    assert!(asked.contains(&format!("watch greetings in {namespace}")));
    assert!(
        !asked.iter().any(|request| request.contains("secrets")),
        "{asked:#?}"
    );
    // The neighbour and the host never noticed.
    cluster.until_ready("ada").await.unwrap();
    assert!(host.is_running());
}

#[tokio::test]
async fn a_grant_covers_its_namespaces_and_no_metadata_that_binds_others() {
    let cluster = Cluster::new("trespass").await.unwrap();
    let namespace = &cluster.namespace;
    let cases = [
        (
            "stranger",
            "other_namespace",
            "plugin stranger may not create configmaps in namespace kube-system: add it to grants"
                .to_owned(),
        ),
        (
            "squatter",
            "foreign_finalizer",
            format!(
                "plugin squatter may not set finalizers other than windlass.dev/squatter on configmaps \
                 {namespace}/ada-foreign-finalizer"
            ),
        ),
        (
            "usurper",
            "foreign_owner",
            "plugin usurper may not set an owner other than Greeting/".to_owned(),
        ),
    ];
    let mut plugins = Plugins::new(namespace).unwrap();
    for (plugin, attack, _) in &cases {
        let maps = plugins.grant("", &["configmaps"], ALL);
        plugins = plugins
            .hostile(plugin, attack, &json!({}), &[maps])
            .unwrap();
    }
    let host = run(&cluster, &plugins);
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    for (plugin, _, sentence) in &cases {
        let failed = failed_pass(&host, &cluster, plugin, "terminal").await;
        assert!(
            failed.message.ends_with("answer: Error::Denied"),
            "{failed:?}"
        );
        let said = host
            .count(|line| line.message.starts_with(sentence) && line.field("plugin") == *plugin);
        assert_eq!(said, 1, "{sentence}: {:#?}", host.log());
    }
    let asked = requests(&cluster).await;
    assert!(asked.contains(&format!("watch greetings in {namespace}")));
    for place in [namespace, "kube-system"] {
        let there = format!("configmaps in {place}");
        let tried = asked.iter().any(|request| request.ends_with(&there));
        assert!(!tried, "{asked:#?}");
    }
    assert!(host.is_running());
}

#[tokio::test]
async fn a_plugin_without_a_grant_that_it_needs_is_not_started_and_others_are() {
    let cluster = Cluster::new("needs").await.unwrap();
    let namespace = &cluster.namespace;
    let plugins = Plugins::new(namespace).unwrap().greeter().unwrap();
    let maps = plugins.grant("", &["configmaps"], ALL);
    let plugins = plugins
        .hostile("writer", "healthy_write", &json!({}), &[maps])
        .unwrap();
    let read_only = plugins.grant("", &["configmaps"], &["get", "list", "watch"]);
    let primary = plugins.grant(
        "examples.windlass.dev",
        &["greetings", "greetings/status"],
        &["get", "list", "watch", "patch"],
    );
    let poor = json!({ "source": { "file": "greeter.wasm" }, "grants": [read_only, primary] });
    let plugins = plugins.document("poor", &poor).unwrap();
    let host = run(&cluster, &plugins);
    let refused = host.says("plugin poor is not started").await.unwrap();
    assert!(refused.message.contains("poor.yaml"), "{refused:?}");
    let missing = "needs what is not granted: create patch delete configmaps; \
                   get list watch create patch delete deployments.apps; add it to grants";
    assert!(refused.message.contains(missing), "{refused:?}");
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    cluster.until_ready("ada").await.unwrap();
    cluster
        .until("ConfigMap", "ada-ok", "is written", |_| true)
        .await
        .unwrap();
    assert_eq!(host.count(|line| line.field("plugin") == "poor"), 1);
    assert!(host.is_running());
}

/// A ServiceAccount `windlass` in `namespace`, and what it may do.
fn service_account(namespace: &str, configmaps: &[&str]) -> String {
    let name = format!("windlass-{namespace}");
    let rules = json!([
        { "apiGroups": ["examples.windlass.dev"], "resources": ["greetings"], "verbs": ["get", "list", "watch"] },
        { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update", "patch"] },
        { "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"] },
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": configmaps },
    ]);
    let objects = [
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": "windlass", "namespace": namespace },
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": name }, "rules": rules,
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": "windlass", "namespace": namespace }],
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        }),
    ];
    objects.map(|object| format!("---\n{object}\n")).concat()
}

#[tokio::test]
async fn what_is_granted_but_forbidden_by_the_api_server_is_denied_and_the_log_says_who_lacks_it() {
    let cluster = Cluster::new("rbac").await.unwrap();
    let namespace = &cluster.namespace;
    let control_plane = control_plane().unwrap();
    control_plane
        .apply(&service_account(namespace, &["get"]))
        .await
        .unwrap();
    let plugins = Plugins::new(namespace).unwrap();
    let maps = plugins.grant("", &["configmaps"], ALL);
    let plugins = plugins
        .hostile("writer", "healthy_write", &json!({}), &[maps])
        .unwrap();
    let kubeconfig = control_plane
        .kubeconfig_service_account(namespace, "windlass")
        .await
        .unwrap();
    let host = Host::run(plugins.folder(), &kubeconfig, namespace, &[]).unwrap();
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    let failed = failed_pass(&host, &cluster, "writer", "transient").await;
    assert!(
        failed.message.ends_with("cannot apply: Error::Denied"),
        "{failed:?}"
    );
    let said = host
        .says("the API server forbids plugin writer to apply an object")
        .await
        .unwrap();
    let account = format!("system:serviceaccount:{namespace}:windlass");
    assert!(said.message.contains(&account), "{said:?}");
    assert!(
        said.message.ends_with("`windlass` itself lacks the right"),
        "{said:?}"
    );
    // What the line asks for helps, and the host need not be started anew for it.
    control_plane
        .apply(&service_account(namespace, &["get", "create", "patch"]))
        .await
        .unwrap();
    cluster
        .until("ConfigMap", "ada-ok", "is written", |_| true)
        .await
        .unwrap();
    assert!(host.is_running());
}
