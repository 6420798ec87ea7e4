//! `windlass why`, of objects that were reconciled and of objects that were not.

use anyhow::{Context, Result, ensure};
use serde_json::json;
use windlass_e2e::variant::{component, put, relay};
use windlass_e2e::{ALL, Cluster, DEADLINE, Host, Plugins, Scene, eventually, windlass_alone};
use windlass_host::why::{Explanation, PluginAnswer};

const PORT: &str = "--admin-bind-address=127.0.0.1:0";

/// Asks a host, and answers what the command prints.
async fn why(host: &Host, namespace: &str, object: &str, output: &str) -> Result<String> {
    let url = format!("--admin-url=http://{}", host.serves("status").await?);
    let arguments = ["why", object, "-n", namespace, "-o", output, &url];
    let said = windlass_alone(&arguments)?;
    let errors = String::from_utf8(said.stderr)?;
    ensure!(said.status.success(), "{errors}");
    Ok(String::from_utf8(said.stdout)?)
}

/// What the one plugin says that reconciles the object.
async fn said(host: &Host, namespace: &str, object: &str) -> Result<PluginAnswer> {
    let text = why(host, namespace, object, "json").await?;
    let answer: Explanation = serde_json::from_str(&text)?;
    let is_why = answer.kind == "Why" && answer.api_version == "windlass.dev/v1alpha1";
    ensure!(is_why && answer.plugins.len() == 1, "{text}");
    answer.plugins.into_iter().next().context("no plugin")
}

/// Asks until the reason is one of `reasons`.
async fn until(
    host: &Host,
    namespace: &str,
    object: &str,
    reasons: &[&str],
) -> Result<PluginAnswer> {
    eventually(DEADLINE, &reasons.join(" or "), async || {
        let said = said(host, namespace, object).await?;
        ensure!(reasons.contains(&&*said.reason), "{said:#?}");
        Ok(Some(said))
    })
    .await
}

#[tokio::test]
async fn of_a_settled_object_it_says_what_the_last_pass_read_and_wrote() -> Result<()> {
    let cluster = Cluster::new("why").await?;
    let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
    let scene = Scene::start_with(cluster, plugins, &[PORT])?;
    let (host, namespace) = (&scene.host, &*scene.cluster.namespace);
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    scene.cluster.until_ready("ada").await?;
    for object in [
        "greeting/ada",
        "greetings/ada",
        "Greeting.examples.windlass.dev/ada",
    ] {
        // The status that it wrote itself is newer than what it saw.
        until(host, namespace, object, &["Settled", "OwnWrite"]).await?;
    }
    let patch = json!({ "data": { "index.html": "x" } });
    scene
        .cluster
        .patch("ConfigMap", "ada-greeting", patch)
        .await?;
    let text = eventually(DEADLINE, "it is put back", async || {
        let text = why(host, namespace, "greeting/ada", "text").await?;
        ensure!(
            text.contains(r#".data['index.html']: "x" -> "Hello, Ada!""#),
            "{text}"
        );
        Ok(Some(text))
    })
    .await?;
    let woken = format!("ConfigMap {namespace}/ada-greeting has changed");
    for line in [
        &*format!("Greeting/{namespace}/ada   generation 1, by greeter 0.1.0 (sha256:"),
        "\nSTATE      all is done",
        &woken,
        "\nRETURNED   rest   ",
    ] {
        ensure!(text.contains(line), "{line:?} is not in\n{text}");
    }
    // Who names no namespace means the object that there is.
    let url = format!("--admin-url=http://{}", host.serves("status").await?);
    let unplaced = windlass_alone(&["why", "greeting/ada", &url])?;
    let unplaced = String::from_utf8(unplaced.stdout)?;
    let placed = format!("Greeting/{namespace}/ada   generation 1");
    ensure!(unplaced.starts_with(&placed), "{unplaced}");
    let graph = why(host, namespace, "greeting/ada", "dot").await?;
    ensure!(
        graph.starts_with("digraph why {") && graph.contains("ada-greeting"),
        "{graph}"
    );
    // Of what no plugin reconciles it says whom to ask.
    let text = why(host, namespace, "configmap/ada-greeting", "text").await?;
    ensure!(
        text.contains("no plugin of this host reconciles configmap"),
        "{text}"
    );
    ensure!(text.contains("windlass why greeting/ada"), "{text}");
    let text = why(host, namespace, "cm/ada-greeting", "text").await?;
    ensure!(
        text.contains("reconciles configmaps") && text.contains("windlass why greeting/ada"),
        "{text}"
    );
    let text = why(host, namespace, "frobnicator/ada", "text").await?;
    ensure!(text.contains("ask for one of Greeting"), "{text}");
    Ok(())
}

#[tokio::test]
async fn of_an_object_that_waits_or_is_not_seen_it_says_why_not() -> Result<()> {
    let cluster = Cluster::new("why-not").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let plugins = plugins.hostile("fails", "panic", &json!({}), &[])?;
    let scene = Scene::start_with(cluster, plugins, &[PORT])?;
    let (host, namespace) = (&scene.host, &*scene.cluster.namespace);
    scene.cluster.greet("ada", json!({ "name": "ada" })).await?;
    let said = until(host, namespace, "greeting/ada", &["Backoff"]).await?;
    ensure!(said.next_in_ms.is_some(), "{said:#?}");
    let last = said.passes.first().context("no pass")?;
    ensure!(last.output.contains("panicked at"), "{said:#?}");
    until(host, namespace, "greeting/nobody", &["NotThere"]).await?;
    until(host, "default", "greeting/ada", &["NamespaceNotGranted"]).await?;
    let second = scene.another_host(&[PORT])?;
    let said = until(&second, namespace, "greeting/ada", &["StandingBy"]).await?;
    let message = &said.message;
    ensure!(message.contains(" runs the plugin, ask there"), "{message}");
    ensure!(
        !message.contains("another one"),
        "it names the holder: {message}"
    );
    Ok(())
}

#[tokio::test]
async fn of_a_plugin_that_is_refused_it_says_so() -> Result<()> {
    let cluster = Cluster::new("why-refused").await?;
    let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
    let scene = Scene::start_with(cluster, plugins, &[PORT])?;
    let (host, namespace) = (&scene.host, &*scene.cluster.namespace);
    // What it would reconcile nobody knows, so it is told of whatever no other plugin reconciles.
    let folder = scene.plugins.folder();
    std::fs::write(folder.join("bad.wasm"), "no component")?;
    let spec = json!({ "source": { "file": "bad.wasm" } });
    let document = json!({ "apiVersion": "windlass.dev/v1alpha1", "kind": "Plugin", "metadata": { "name": "bad" }, "spec": spec });
    std::fs::write(folder.join("bad.yaml"), document.to_string())?;
    eventually(DEADLINE, "it is refused", async || {
        let text = why(host, namespace, "pod/ada", "text").await?;
        let nobody = text.contains("no plugin that runs on this host reconciles pod");
        let unclear =
            text.contains("UNCLEAR    bad: the plugin does not run, because it was refused: ");
        ensure!(
            nobody && unclear && text.contains("the file is not WebAssembly"),
            "{text}"
        );
        Ok(Some(()))
    })
    .await?;
    // Of one that could say what it reconciles it is known.
    let plugins = &scene.plugins;
    put(plugins.folder(), "greedy.wasm", &component(7)?)?;
    let mut document = relay(plugins, "greedy", "v1", "");
    document["spec"]["source"]["file"] = "greedy.wasm".into();
    document["spec"]["grants"] = json!([]);
    put(
        plugins.folder(),
        "greedy.yaml",
        document.to_string().as_bytes(),
    )?;
    eventually(DEADLINE, "it is refused too", async || {
        let text = why(host, namespace, "greeting/ada", "text").await?;
        // For a moment before, it is being checked.
        let refused =
            text.contains("by greedy") && text.contains("it needs access that is not granted");
        ensure!(refused, "{text}");
        Ok(Some(()))
    })
    .await
}

#[tokio::test]
async fn without_a_host_or_with_a_wrong_name_it_is_one_clear_line() -> Result<()> {
    let cases = [
        (
            &["why", "greeting/ada", "--admin-url=http://127.0.0.1:1"][..],
            1,
            "no host answers at http://127.0.0.1:1: is `windlass run`",
        ),
        (
            &["why", "greeting/ada", "--admin-url=https://x"],
            1,
            "--admin-url must be a plain address",
        ),
        (&["why", "ada"], 1, "name one object, as KIND/NAME"),
        (&["why", "/ada"], 1, "name one object, as KIND/NAME"),
        (&["why"], 2, "required"),
    ];
    for (arguments, code, text) in cases {
        let said = windlass_alone(arguments)?;
        let errors = String::from_utf8(said.stderr)?;
        ensure!(said.status.code() == Some(code), "{arguments:?}: {errors}");
        ensure!(errors.contains(text), "{arguments:?}: {errors}");
        ensure!(said.stdout.is_empty(), "{arguments:?}");
    }
    Ok(())
}

#[tokio::test]
async fn of_an_object_that_has_left_the_selector_it_says_what_is_left_on_it() -> Result<()> {
    let cluster = Cluster::new("why-left").await?;
    let plugins = Plugins::new(&cluster.namespace)?.component("selective", "selective.wasm")?;
    let verbs = &["get", "list", "watch", "create", "patch"];
    let document = json!({
        "source": { "file": "selective.wasm" },
        "grants": [
            plugins.grant("examples.windlass.dev", &["greetings", "greetings/status"], verbs),
            plugins.grant("", &["configmaps"], ALL),
        ],
    });
    let plugins = plugins.document("selective", &document)?;
    let scene = Scene::start_with(cluster, plugins, &[PORT])?;
    let (host, cluster) = (&scene.host, &scene.cluster);
    let ada = cluster
        .create(json!({
            "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting",
            "metadata": { "name": "ada", "labels": { "selected": "yes" } },
            "spec": { "name": "Ada" },
        }))
        .await?;
    cluster
        .until("ConfigMap", "ada-marker", "is there", |_| true)
        .await?;
    let owner = json!({
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting", "name": "ada",
        "uid": ada.metadata.uid,
    });
    // What somebody else has made for it is not the plugin's.
    cluster
        .create(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "ada-theirs", "ownerReferences": [owner] },
        }))
        .await?;
    let owned = json!({ "metadata": { "ownerReferences": [owner] } });
    cluster.patch("ConfigMap", "ada-marker", owned).await?;
    let unlabelled = json!({ "metadata": { "labels": null } });
    cluster.patch("Greeting", "ada", unlabelled).await?;
    let namespace = &*cluster.namespace;
    let child = format!("ConfigMap {namespace}/ada-marker");
    eventually(DEADLINE, "it says what is left", async || {
        let said = said(host, namespace, "greeting/ada").await?;
        let names = ["no longer match", "windlass.dev/selective", &*child];
        let says = |name: &&str| said.message.contains(name);
        ensure!(
            said.reason == "NotSelectedByLabels" && names.iter().all(says),
            "{said:#?}"
        );
        ensure!(!said.message.contains("ada-theirs"), "{said:#?}");
        Ok(Some(()))
    })
    .await?;
    // It is found without its namespace, too.
    let url = format!("--admin-url=http://{}", host.serves("status").await?);
    let said = windlass_alone(&["why", "greeting/ada", "-o", "json", &url])?;
    let answer: Explanation = serde_json::from_slice(&said.stdout)?;
    ensure!(
        answer.object.namespace.as_deref() == Some(namespace),
        "{answer:#?}"
    );
    Ok(())
}
