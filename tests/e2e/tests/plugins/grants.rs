//! What a plugin may not do: it is told so, the log says so by name, and nothing reaches the cluster.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use windlass_controlplane::AuditObject;
use windlass_e2e::{
    ALL, Account, Acknowledge, Cluster, DEADLINE, Greeter, Host, Line, Plugins, control_plane,
    eventually, for_each_greeter,
};

/// Starts a host that may do what its plugins are granted.
fn run(cluster: &Cluster, plugins: &Plugins) -> Host {
    let account = Account::new(&cluster.namespace, plugins.folder()).unwrap();
    run_as(&account, cluster, plugins)
}

fn run_as(account: &Account, cluster: &Cluster, plugins: &Plugins) -> Host {
    let kubeconfig = account.kubeconfig().unwrap();
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
    assert!(failed.message.ends_with("answer: denied"), "{failed:?}");
    let sentence =
        format!("plugin thief may not create secrets in namespace {namespace}: add it to grants");
    let named = |line: &Line| line.message == sentence && line.field("level") == "WARN";
    assert!(host.count(named) > 0, "{:#?}", host.log());
    assert!(cluster.get("Secret", "ada-stolen").await.unwrap().is_none());
    let asked = requests(&cluster).await;
    assert!(asked.contains(&format!("watch greetings in {namespace}")));
    // Other tests' hosts ask in their own namespaces.
    let elsewhere = |request: &&String| {
        let place = request.rsplit(' ').next();
        place.is_some_and(|place| !place.is_empty() && place != namespace)
    };
    let mut own = asked.iter().filter(|request| !elsewhere(request));
    assert!(
        !own.any(|request| request.contains("secrets")),
        "{asked:#?}"
    );
    // The neighbour and the host never noticed.
    cluster.until_ready("ada").await.unwrap();
    assert!(host.is_running());
}

#[tokio::test]
async fn no_grant_reaches_a_config_map_in_the_namespace_of_the_host() {
    let cluster = Cluster::new("of-host").await.unwrap();
    let namespace = &cluster.namespace;
    let plugins = Plugins::new(namespace).unwrap();
    let maps = json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ALL, "namespaces": "all" });
    let plugins = plugins
        .hostile("stranger", "other_namespace", &json!({}), &[maps])
        .unwrap();
    let account = Account::new(namespace, plugins.folder()).unwrap();
    let kubeconfig = account.kubeconfig().unwrap();
    let protect = ["--protect-namespace=kube-system"];
    let host = Host::run(plugins.folder(), &kubeconfig, namespace, &protect).unwrap();
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    failed_pass(&host, &cluster, "stranger", "terminal").await;
    let sentence = "plugin stranger may not create configmaps in namespace kube-system: that is the namespace of the host, where no plugin reaches it; use another namespace, or see --protect-namespace";
    let said = host.count(|line| line.message == sentence);
    assert_eq!(said, 1, "{:#?}", host.log());
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
                "plugin squatter may not set the finalizer somebody.else/finalizer on configmaps \
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
        let is_denied = |words: &str| failed.message.contains(words);
        assert!(
            is_denied("answer: denied") || is_denied("Error::Denied(Refusal { code: 403"),
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

for_each_greeter!(() =>
    a_plugin_without_a_grant_that_it_needs_is_not_started_and_others_are,
);

async fn a_plugin_without_a_grant_that_it_needs_is_not_started_and_others_are(greeter: Greeter) {
    let cluster = Cluster::new("needs").await.unwrap();
    let namespace = &cluster.namespace;
    let plugins = Plugins::new(namespace).unwrap().written_in(greeter);
    let plugins = plugins.greeter().unwrap();
    let maps = plugins.grant("", &["configmaps"], ALL);
    let plugins = plugins
        .hostile("writer", "healthy_write", &json!({}), &[maps])
        .unwrap();
    // What is not started is given nothing.
    let account = Account::new(namespace, plugins.folder()).unwrap();
    let read_only = plugins.grant("", &["configmaps"], &["get", "list", "watch"]);
    let primary = plugins.grant(
        "examples.windlass.dev",
        &["greetings", "greetings/status"],
        &["get", "list", "watch", "patch"],
    );
    let poor = json!({ "source": { "file": "greeter.wasm" }, "grants": [read_only, primary] });
    let plugins = plugins.document("poor", &poor).unwrap();
    let host = run_as(&account, &cluster, &plugins);
    let refused = host.says("plugin poor is not started").await.unwrap();
    assert!(refused.message.contains("poor.yaml"), "{refused:?}");
    let missing = "needs access that is not granted: create patch delete configmaps; \
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
    // It was read and refused; no step of loading follows.
    let of_it = host.log();
    let of_it = of_it.iter().filter(|line| line.field("plugin") == "poor");
    let steps: Vec<&str> = of_it.map(|line| line.field("reached")).collect();
    assert_eq!(steps, ["read", ""], "{refused:?}");
    assert!(host.is_running());
}

/// A host whose document grants its plugin more than the roles printed from another one, with `grant`
/// in its place: the host's own check lets through what the API server does not.
struct Wider {
    cluster: Cluster,
    host: Host,
    account: Account,
    /// With the document that the host has.
    wide: Plugins,
}

impl Wider {
    async fn new(prefix: &str, attack: &str, narrow: Value, wide: Value) -> Self {
        let cluster = Cluster::new(prefix).await.unwrap();
        let plugins = |grant: Value| {
            let plugins = Plugins::new(&cluster.namespace).unwrap();
            plugins.hostile("writer", attack, &json!({}), &[grant])
        };
        let narrow = plugins(narrow).unwrap();
        let wide = plugins(wide).unwrap();
        let account = Account::new(&cluster.namespace, narrow.folder()).unwrap();
        let host = run_as(&account, &cluster, &wide);
        cluster
            .greet("ada", json!({ "name": "Ada" }))
            .await
            .unwrap();
        Self {
            cluster,
            host,
            account,
            wide,
        }
    }

    /// That the write was refused by the API server, and that the log says who lacks the right.
    async fn is_refused(&self, what: &str, outcome: &str) {
        let Self {
            cluster,
            host,
            account,
            ..
        } = self;
        let failed = failed_pass(host, cluster, "writer", outcome).await;
        let is_denied = |words: &str| failed.message.contains(words);
        assert!(
            is_denied("answer: denied") || is_denied("Error::Denied(Refusal { code: 403"),
            "{failed:?}"
        );
        let said = host
            .says("the API server forbids plugin writer to apply an object")
            .await
            .unwrap();
        let words = [&*account.user(), "403", what];
        for word in words {
            assert!(said.message.contains(word), "it lacks {word:?}: {said:?}");
        }
        assert!(
            said.message.ends_with("`windlass` itself lacks the right"),
            "{said:?}"
        );
        assert!(host.is_running());
    }
}

#[tokio::test]
async fn what_is_granted_but_forbidden_by_the_api_server_is_denied_and_the_log_says_who_lacks_it() {
    let maps =
        |verbs: &[&str]| json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs });
    let wider = Wider::new("rbac", "healthy_write", maps(&["get"]), maps(ALL)).await;
    wider.is_refused("configmaps", "transient").await;
    let is_there = wider.cluster.get("ConfigMap", "ada-ok").await.unwrap();
    assert!(is_there.is_none());
    // What the line asks for helps, and the host need not be started again for it.
    wider.account.allow(wider.wide.folder()).unwrap();
    wider
        .cluster
        .until("ConfigMap", "ada-ok", "is written", |_| true)
        .await
        .unwrap();
    assert!(wider.host.is_running());
}

#[tokio::test]
async fn what_the_hosts_own_check_would_let_through_the_api_server_refuses() {
    let maps = json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ALL });
    let secrets = json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ALL });
    let wider = Wider::new("wider", "write_secret", maps, secrets.acknowledged()).await;
    wider.is_refused("secrets", "terminal").await;
    let stolen = wider.cluster.get("Secret", "ada-stolen").await.unwrap();
    assert!(stolen.is_none());
    // The request was sent, and refused.
    let asked = requests(&wider.cluster).await;
    let namespace = &wider.cluster.namespace;
    assert!(asked.contains(&format!("patch secrets in {namespace}")));
}

#[tokio::test]
async fn a_name_in_a_grant_restricts_what_the_api_server_allows() {
    let cluster = Cluster::new("named").await.unwrap();
    let named = |name: &str| {
        let verbs = ["get", "create", "patch", "delete"];
        json!({ "apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name], "verbs": verbs })
    };
    let plugins = Plugins::new(&cluster.namespace)
        .unwrap()
        .hostile("writer", "healthy_write", &json!({}), &[named("ada-ok")])
        .unwrap();
    let host = run(&cluster, &plugins);
    for name in ["ada", "bob"] {
        cluster.greet(name, json!({ "name": name })).await.unwrap();
    }
    cluster
        .until("ConfigMap", "ada-ok", "is written", |_| true)
        .await
        .unwrap();
    let sentence = format!(
        "plugin writer may not create configmaps in namespace {}: add it to grants",
        cluster.namespace
    );
    host.says(&sentence).await.unwrap();
    assert!(cluster.get("ConfigMap", "bob-ok").await.unwrap().is_none());
}
