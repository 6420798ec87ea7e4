//! Releases of the chart: installed by Helm, with hosts that are what their Deployments say, upgraded and uninstalled.

use std::fs;
use std::process::Output;

use anyhow::{Context, Result, bail, ensure};
use kube::client::Body;
use serde_json::{Value, json};
use windlass_e2e::{
    Cluster, DEADLINE, HOME, Host, Identity, Plugins, Pod, Volume, control_plane, documents,
    eventually, rbac, windlass,
};

use crate::chart::render::THINGS;
use crate::chart::{Chart, kubectl, object, read, text};

/// A release called `windlass` in a namespace.
struct Release {
    chart: Chart,
    namespace: String,
}

impl Release {
    /// Installs the chart.
    fn install(chart: Chart, namespace: &str, values: &Value) -> Result<Self> {
        let words = ["install", "windlass", "--create-namespace", "--namespace"];
        chart.run(&[&words[..], &[namespace]].concat(), values)?;
        let namespace = namespace.to_owned();
        Ok(Self { chart, namespace })
    }

    fn upgrade(&self, values: &Value) -> Result<()> {
        let words = ["upgrade", "windlass", "--namespace", &self.namespace];
        self.chart.run(&words, values)?;
        Ok(())
    }

    fn uninstall(&self) -> Result<()> {
        let words = ["uninstall", "windlass", "--namespace", &self.namespace];
        let output = self.chart.helm(&words)?;
        ensure!(output.status.success(), "{output:?}");
        Ok(())
    }

    /// Makes the ConfigMap of the components, as NOTES.txt says.
    async fn bring(&self, component: &str) -> Result<()> {
        let words = [
            "create",
            "configmap",
            "windlass-plugins",
            "--from-file",
            component,
        ];
        kubectl(&[&words[..], &["-n", &self.namespace]].concat(), "").await?;
        Ok(())
    }

    /// What is in the config folder: the volume has more than one source.
    async fn config(&self) -> Result<Value> {
        let documents = read(&self.namespace, "configmap", "windlass-documents").await?;
        let components = read(&self.namespace, "configmap", "windlass-plugins").await?;
        Ok(json!({ "data": documents["data"], "binaryData": components["binaryData"] }))
    }

    /// Who the hosts are. Returns once the API server allows them `verbs`, each with its resource and namespace.
    async fn identity(&self, verbs: &[(&str, &str, &str)]) -> Result<Identity> {
        let user = format!("system:serviceaccount:{}:windlass", self.namespace);
        for (verb, resource, namespace) in verbs {
            let ask = [
                "auth", "can-i", verb, resource, "--as", &user, "-n", namespace,
            ];
            eventually(DEADLINE, "the API server knows the role", async || {
                kubectl(&ask, "").await.map(Some)
            })
            .await?;
        }
        let account = control_plane()?.service_account(&self.namespace, "windlass");
        account.await
    }

    /// A pod of the Deployment, with what a kubelet gives it. Its plugins work in the namespace `at`.
    async fn pod(&self, volume: &Volume, at: &str) -> Result<Pod> {
        let verbs = [
            ("update", "leases.coordination.k8s.io", &*self.namespace),
            ("watch", "greetings", at),
            ("patch", "events.events.k8s.io", at),
        ];
        let Identity::Token(token) = self.identity(&verbs).await? else {
            bail!("a service account has a token");
        };
        let deployment = read(&self.namespace, "deployment", "windlass").await?;
        let authority = eventually(DEADLINE, "the authority is published", async || {
            Ok(Some(
                read(&self.namespace, "configmap", "kube-root-ca.crt").await?,
            ))
        })
        .await?;
        let spec = &deployment["spec"]["template"]["spec"];
        let authority = authority["data"]["ca.crt"]
            .as_str()
            .context("a certificate")?;
        Pod::new(spec, volume, &self.namespace, &token, authority)
    }
}

/// The greeter for `namespace`, and its spec.
fn greeter(namespace: &str) -> Result<(Plugins, Value)> {
    let plugins = Plugins::new(namespace)?.greeter()?;
    let document = fs::read_to_string(plugins.folder().join("greeter.yaml"))?;
    let spec = documents(&document)?.remove(0)["spec"].clone();
    Ok((plugins, spec))
}

/// The rules of all roles that `windlass rbac` prints.
fn rules(plugins: &Plugins, namespace: &str) -> Result<Value> {
    let output = rbac(plugins.folder(), &["--namespace", namespace])?;
    ensure!(output.status.success(), "{output:?}");
    rules_of(output)
}

fn rules_of(printed: Output) -> Result<Value> {
    let objects = documents(&String::from_utf8(printed.stdout)?)?;
    let rules = objects.iter().filter_map(|role| role["rules"].as_array());
    let rules: Vec<Value> = rules.flatten().cloned().collect();
    ensure!(!rules.is_empty(), "{objects:#?}");
    Ok(rules.into())
}

fn lacks_nothing(host: &Host) {
    let forbidden = host.count(|line| line.message.contains("lacks the right"));
    assert_eq!(forbidden, 0, "{:#?}", host.log());
}

#[tokio::test]
async fn a_release_runs_plugins_follows_upgrades_and_leaves_nothing_that_is_stuck() -> Result<()> {
    let cluster = Cluster::new("life").await?;
    let (plugins, spec) = greeter(&cluster.namespace)?;
    let component = plugins.folder().join("greeter.wasm");
    let values = json!({
        "plugins": { "greeter": spec },
        "rbac": { "rules": rules(&plugins, HOME)? },
    });
    let release = Release::install(Chart::new()?, HOME, &values)?;
    release.bring(text(&component)?).await?;
    let mut volume = Volume::new(&release.config().await?)?;
    let pod = release.pod(&volume, &cluster.namespace).await?;
    let host = pod.run()?;
    host.says("all lists are in").await?;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    cluster.until_ready("ada").await?;

    // What `helm test` runs, with the same folder: the roles that the plugins need, and no more than they have.
    let test = release.chart.render(HOME, &values)?;
    let test = &object(&test, "Pod", "windlass-test")?["spec"]["containers"][0];
    let words = test["args"].as_array().context("arguments")?.iter();
    let words: Vec<&str> = words.filter_map(Value::as_str).collect();
    let output = pod
        .command(&[&["/windlass"], &words[..]].concat())
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    assert_eq!(rules_of(output)?, values["rbac"]["rules"]);

    let mut other = values.clone();
    let image = json!({ "image": "busybox:other" });
    other["plugins"]["greeter"]["config"] = image;
    release.upgrade(&other)?;
    volume.update(&release.config().await?)?;
    let image = "/spec/template/spec/containers/0/image";
    let is_other = |child: &Value| child.pointer(image) == Some(&json!("busybox:other"));
    cluster
        .until(
            "Deployment",
            "ada-greeting",
            "is as the upgrade says",
            is_other,
        )
        .await?;
    host.terminate()?;
    assert_eq!(host.ended().await?.code(), Some(0), "{:#?}", host.log());
    lacks_nothing(&host);

    // docs/install.md: an object that a plugin protects goes when its finalizer is released.
    release.uninstall()?;
    assert!(read(HOME, "deployment", "windlass").await.is_err());
    cluster.delete("Greeting", "ada").await?;
    let stuck = cluster
        .get("Greeting", "ada")
        .await?
        .context("it is protected")?;
    assert!(stuck.metadata.deletion_timestamp.is_some());
    let admin = control_plane()?.kubeconfig_admin();
    let released = windlass(&["release", "greeter", "--namespace", HOME], &admin)?;
    ensure!(released.status.success(), "{released:?}");
    cluster.until_gone("Greeting", "ada").await
}

#[tokio::test]
async fn a_release_for_some_namespaces_runs_plugins_there_without_a_cluster_role() -> Result<()> {
    let cluster = Cluster::new("team").await?;
    // No plugin reaches the namespace of the release.
    let own = &control_plane()?.namespace("team-host").await?;
    let (plugins, spec) = greeter(&cluster.namespace)?;
    let component = plugins.folder().join("greeter.wasm");
    let values = json!({
        "namespaces": [cluster.namespace, "greetings"],
        "plugins": { "greeter": spec },
        "rbac": { "rules": rules(&plugins, own)? },
    });
    let release = Release::install(Chart::new()?, own, &values)?;
    release.bring(text(&component)?).await?;
    let volume = Volume::new(&release.config().await?)?;
    let pod = release.pod(&volume, &cluster.namespace).await?;
    let host = pod.run()?;
    host.says("all lists are in").await?;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    cluster.until_ready("ada").await?;
    cluster.delete("Greeting", "ada").await?;
    cluster.until_gone("Greeting", "ada").await?;
    lacks_nothing(&host);
    let all = [
        "get",
        "clusterroles,clusterrolebindings,flowschemas",
        "-o",
        "name",
    ];
    let found = kubectl(&all, "").await?;
    assert!(!found.contains(own), "{found}");
    release.uninstall()
}

#[tokio::test]
async fn who_administers_the_namespaces_can_install_a_release_for_them() -> Result<()> {
    let (one, two) = (
        control_plane()?.namespace("shop").await?,
        control_plane()?.namespace("office").await?,
    );
    for namespace in [&one, &two] {
        let bind = [
            "create",
            "rolebinding",
            "eve",
            "--clusterrole=admin",
            "--user=eve",
        ];
        kubectl(&[&bind[..], &["-n", namespace]].concat(), "").await?;
    }
    let chart = Chart::new()?;
    let install = |release: &str, values: &Value| {
        let words = ["upgrade", "--install", release, "--kube-as-user", "eve"];
        chart.run(&[&words[..], &["--namespace", &one]].concat(), values)
    };
    eventually(DEADLINE, "the API server knows who eve is", async || {
        install("windlass", &json!({ "namespaces": [one, two] })).map(Some)
    })
    .await?;
    let role = read(&two, "role", "windlass").await?;
    assert_eq!(role["rules"][0]["resources"], json!(["events"]));
    let refused = install("another", &json!({})).err();
    let error = refused.map(|error| error.to_string()).unwrap_or_default();
    assert!(
        error.contains("cannot get resource \"customresourcedefinitions\""),
        "{error}"
    );
    Ok(())
}

#[tokio::test]
async fn each_request_of_a_host_has_the_priority_of_its_kind() -> Result<()> {
    let namespace = control_plane()?.namespace("flow").await?;
    // Another release owns the definitions.
    let others = json!({ "crds": { "enabled": false } });
    let release = Release::install(Chart::new()?, &namespace, &others)?;
    let leases = [("get", "leases.coordination.k8s.io", &*namespace)];
    let identity = release.identity(&leases).await?;
    let kubeconfig = control_plane()?.kubeconfig(&identity)?;
    let client = windlass_controlplane::client(&kubeconfig).await?;
    let schema = format!("windlass-{namespace}-windlass");
    for (path, schema, level) in [
        (
            format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/greeter"),
            format!("{schema}-leases"),
            "leader-election",
        ),
        ("/api/v1/nodes".to_owned(), schema.clone(), "workload-high"),
        ("/version".to_owned(), schema, "workload-high"),
    ] {
        let uid = async |kind: &str, name: &str| -> Result<String> {
            let object = read("default", kind, name).await?;
            let uid = object["metadata"]["uid"].as_str();
            Ok(uid.context("an object has a UID")?.to_owned())
        };
        let expected = (
            uid("flowschema", &schema).await?,
            uid("prioritylevelconfiguration", level).await?,
        );
        eventually(
            DEADLINE,
            &format!("{path} has the flow {schema}"),
            async || {
                let request = http::Request::get(&path).body(Body::empty())?;
                let answer = client.send(request).await?;
                let header = |name: &str| {
                    let value = answer.headers().get(format!("x-kubernetes-pf-{name}-uid"));
                    let value = value.and_then(|value| value.to_str().ok());
                    value.unwrap_or_default().to_owned()
                };
                let found = (header("flowschema"), header("prioritylevel"));
                ensure!(found == expected, "it has {found:?}, not {expected:?}");
                Ok(Some(()))
            },
        )
        .await?;
    }
    release.uninstall()
}

#[tokio::test]
async fn the_definitions_stay_when_the_release_goes() -> Result<()> {
    let namespace = control_plane()?.namespace("kept").await?;
    let chart =
        Chart::with_definition(&THINGS.replace("thing", "gadget").replace("Thing", "Gadget"))?;
    let release = Release::install(chart, &namespace, &json!({}))?;
    release.upgrade(&json!({ "replicaCount": 3 }))?;
    let deployment = read(&namespace, "deployment", "windlass").await?;
    assert_eq!(deployment["spec"]["replicas"], 3);
    release.uninstall()?;
    read("default", "customresourcedefinition", "gadgets.example.com").await?;
    let left = read(&namespace, "deployment", "windlass").await;
    assert!(left.is_err(), "{left:?}");
    Ok(())
}
