//! Finalizers on a real control plane: ours comes and goes, and nobody else's is touched.
#![expect(clippy::indexing_slicing, reason = "JSON that is not there is null")]

use anyhow::{Context, Result};
use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::{Value, json};
use windlass_e2e::{
    ALL, Cluster, DEADLINE, Fault, FaultProxy, Greeter, Plugins, RequestHead, Rule, Scene,
    control_plane, eventually, for_each_greeter, windlass,
};

const OURS: &str = "windlass.dev/greeter";
const THEIRS: &str = "example.com/theirs";

for_each_greeter!(Result<()> =>
    a_foreign_finalizer_is_never_touched,
    both_finalizers_are_there_when_another_client_adds_its_own_at_the_same_moment,
    both_finalizers_go_when_another_client_removes_its_own_at_the_same_moment,
);

async fn a_foreign_finalizer_is_never_touched(greeter: Greeter) -> Result<()> {
    let scene = Scene::greeter(greeter, "foreign").await?;
    let cluster = &scene.cluster;
    greet_with_finalizer(cluster).await?;
    let greeting = cluster.until_ready("ada").await?;
    assert_eq!(finalizers(&greeting), json!([THEIRS, OURS]));
    cluster.delete("Greeting", "ada").await?;
    let theirs_alone = |greeting: &Value| finalizers(greeting) == json!([THEIRS]);
    let what = "waits for them alone";
    cluster.until("Greeting", "ada", what, theirs_alone).await?;
    // Whatever happens to it now, it is none of our business.
    let touch = json!({ "metadata": { "annotations": { "touch": "1" } } });
    cluster.patch("Greeting", "ada", touch).await?;
    let object = scene.greeting("ada");
    scene
        .host
        .logs("the touched object is left alone", |line| {
            line.is_pass(&object, "ignore", "rest")
        })
        .await?;
    let greeting = cluster
        .get("Greeting", "ada")
        .await?
        .context("it is gone")?;
    assert_eq!(greeting.metadata.finalizers, Some(vec![THEIRS.to_owned()]));
    set_finalizers(cluster, json!([])).await?;
    cluster.until_gone("Greeting", "ada").await
}

async fn both_finalizers_are_there_when_another_client_adds_its_own_at_the_same_moment(
    greeter: Greeter,
) -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy(greeter, "both-add").await?;
    let cluster = &scene.cluster;
    hold_finalizer_patches(&proxy);
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    until_held(&proxy).await?;
    set_finalizers(cluster, json!([THEIRS])).await?;
    proxy.release();
    let greeting = cluster.until_ready("ada").await?;
    assert_eq!(finalizers(&greeting), json!([THEIRS, OURS]));
    refused_then_repeated(&proxy, &scene.greeting("ada"), &scene)
}

async fn both_finalizers_go_when_another_client_removes_its_own_at_the_same_moment(
    greeter: Greeter,
) -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy(greeter, "both-remove").await?;
    let cluster = &scene.cluster;
    greet_with_finalizer(cluster).await?;
    let greeting = cluster.until_ready("ada").await?;
    assert_eq!(finalizers(&greeting), json!([THEIRS, OURS]));
    hold_finalizer_patches(&proxy);
    cluster.delete("Greeting", "ada").await?;
    until_held(&proxy).await?;
    // Ours moves to the front, where theirs was.
    set_finalizers(cluster, json!([OURS])).await?;
    proxy.release();
    cluster.until_gone("Greeting", "ada").await?;
    refused_then_repeated(&proxy, &scene.greeting("ada"), &scene)
}

/// Holds the next patch of the finalizers of `ada`.
fn hold_finalizer_patches(proxy: &FaultProxy) {
    let patches =
        |head: &RequestHead| head.method == "PATCH" && head.path.ends_with("/greetings/ada");
    proxy.set_rules([Rule::new("finalizers", patches, Fault::Hold).nth(1)]);
}

async fn until_held(proxy: &FaultProxy) -> Result<()> {
    eventually(DEADLINE, "the host changes the finalizers", async || {
        Ok((proxy.count("finalizers") > 0).then_some(()))
    })
    .await
}

/// That the held patch was refused, and repeated at once within the same pass.
fn refused_then_repeated(proxy: &FaultProxy, object: &str, scene: &Scene) -> Result<()> {
    let log = proxy.log();
    let held = log.iter().find(|record| record.rule.is_some());
    let refused = held.and_then(|held| held.upstream);
    assert_eq!(refused, Some(422), "a test of the JSON patch failed");
    assert_eq!(proxy.count("finalizers"), 2);
    let failed = scene
        .host
        .count(|line| line.field("object") == object && line.field("outcome") == "finalizer");
    assert_eq!(failed, 0, "{:#?}", scene.host.log());
    Ok(())
}

#[tokio::test]
async fn a_child_whose_owner_has_a_wrong_uid_is_collected_by_the_server() -> Result<()> {
    let cluster = Cluster::bare("wrong-uid").await?;
    // Of a kind that the garbage collector knows from the start: it learns of others in 30 s.
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "owner" } });
    cluster.create(map).await?;
    cluster
        .create(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "child",
                "ownerReferences": [{
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "owner",
                    "uid": "deadbeef-dead-4bad-8bad-deadbeefdead",
                }],
            },
        }))
        .await?;
    cluster.until_gone("ConfigMap", "child").await
}

#[tokio::test]
async fn a_child_whose_owner_is_not_the_primary_is_refused_by_the_host() -> Result<()> {
    let cluster = Cluster::new("foreign-owner").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let grants = [plugins.grant("", &["configmaps"], ALL)];
    let plugins = plugins.hostile("hostile", "foreign_owner", &json!({}), &grants)?;
    let (scene, proxy) = Scene::start_behind_proxy(cluster, plugins)?;
    let cluster = &scene.cluster;
    cluster.greet("eve", json!({ "name": "Eve" })).await?;
    let denied = scene.host.says("may not set an owner other than").await?;
    assert_eq!(denied.field("plugin"), "hostile");
    assert_eq!(denied.field("object"), scene.greeting("eve"));
    let told = scene.host.says("pass failed").await?;
    assert!(told.message.contains("answer: denied"), "{told:?}");
    assert_eq!(told.number("requests"), Some(0));
    assert!(
        cluster
            .get("ConfigMap", "eve-foreign-owner")
            .await?
            .is_none()
    );
    let log = proxy.log();
    let written = log
        .iter()
        .filter(|record| record.path.contains("configmaps"));
    assert_eq!(written.filter(|record| record.method != "GET").count(), 0);
    Ok(())
}

#[tokio::test]
async fn an_object_that_has_left_the_selector_is_finalized_when_it_is_deleted() -> Result<()> {
    let scene = selective("left").await?;
    let cluster = &scene.cluster;
    leave_the_selector(cluster).await?;
    cluster.delete("Greeting", "ada").await?;
    cluster.until_gone("Greeting", "ada").await?;
    assert!(cluster.get("ConfigMap", "ada-marker").await?.is_none());
    let object = scene.greeting("ada");
    scene
        .host
        .logs("finalize is in the log", |line| {
            line.is_pass(&object, "finalize", "rest")
        })
        .await?;
    Ok(())
}

#[tokio::test]
async fn an_object_that_has_left_the_selector_and_was_deleted_is_finalized_after_a_restart()
-> Result<()> {
    let scene = selective("restarted").await?;
    let cluster = &scene.cluster;
    leave_the_selector(cluster).await?;
    scene.host.terminate()?;
    scene.host.ended().await?;
    cluster.delete("Greeting", "ada").await?;
    assert!(cluster.get("Greeting", "ada").await?.is_some());
    let _host = scene.another_host(&[])?;
    cluster.until_gone("Greeting", "ada").await?;
    assert!(cluster.get("ConfigMap", "ada-marker").await?.is_none());
    Ok(())
}

#[tokio::test]
async fn an_object_outside_the_selector_that_was_read_is_put_back_when_it_is_deleted() -> Result<()>
{
    let scene = selective("copied").await?;
    let cluster = &scene.cluster;
    let metadata = json!({
        "name": "ada", "labels": { "selected": "yes" }, "annotations": { "copied": "yes" },
    });
    cluster
        .create(json!({
            "apiVersion": "examples.windlass.dev/v1",
            "kind": "Greeting",
            "metadata": metadata,
            "spec": { "name": "Ada" },
        }))
        .await?;
    let is_there = |_: &Value| true;
    let mut copy = cluster
        .until("Greeting", "ada-copy", "is made", is_there)
        .await?;
    // The first time the informer may still be starting.
    for _ in 0..2 {
        cluster.delete("Greeting", "ada-copy").await?;
        let uid = copy["metadata"]["uid"].clone();
        let is_another = |copy: &Value| copy["metadata"]["uid"] != uid;
        copy = cluster
            .until("Greeting", "ada-copy", "is made again", is_another)
            .await?;
    }
    Ok(())
}

/// A host with the guest `selective`.
async fn selective(prefix: &str) -> Result<Scene> {
    let cluster = Cluster::new(prefix).await?;
    let plugins = Plugins::new(&cluster.namespace)?.component("selective", "selective.wasm")?;
    let verbs = &["get", "list", "watch", "create", "patch"];
    let resources = &["greetings", "greetings/status"];
    let document = json!({
        "source": { "file": "selective.wasm" },
        "grants": [
            plugins.grant("examples.windlass.dev", resources, verbs),
            plugins.grant("", &["configmaps"], ALL),
        ],
    });
    Scene::start(cluster, plugins.document("selective", &document)?)
}

/// Makes a Greeting that is selected, and once it has its marker, takes its label away.
async fn leave_the_selector(cluster: &Cluster) -> Result<()> {
    cluster
        .create(json!({
            "apiVersion": "examples.windlass.dev/v1",
            "kind": "Greeting",
            "metadata": { "name": "ada", "labels": { "selected": "yes" } },
            "spec": { "name": "Ada" },
        }))
        .await?;
    let is_there = |_: &Value| true;
    cluster
        .until("ConfigMap", "ada-marker", "is there", is_there)
        .await?;
    let unlabelled = json!({ "metadata": { "labels": null } });
    let greeting = cluster.patch("Greeting", "ada", unlabelled).await?;
    let ours = vec!["windlass.dev/selective".to_owned()];
    assert_eq!(greeting.metadata.finalizers, Some(ours));
    Ok(())
}

#[tokio::test]
async fn release_takes_the_finalizers_off_once_no_host_runs_the_plugin() -> Result<()> {
    // A name of its own: release looks into all namespaces.
    let cluster = Cluster::new("release").await?;
    let plugins = Plugins::new(&cluster.namespace)?.greeter_as("retired")?;
    let retries = [
        "--leader-elect-retry-period=200ms",
        "--identity=the-last-one",
    ];
    let scene = Scene::start_with(cluster, plugins, &retries)?;
    let cluster = &scene.cluster;
    let names = ["ada", "bob"];
    for name in names {
        cluster.greet(name, json!({ "name": name })).await?;
        let greeting = cluster.until_ready(name).await?;
        assert_eq!(finalizers(&greeting), json!(["windlass.dev/retired"]));
    }
    let protected = |greeting: &Value| finalizers(greeting) == json!(["windlass.dev/retired"]);

    let refused = release(cluster, &[]).await?;
    assert!(!refused.ok, "{refused:?}");
    assert!(
        refused.error.contains("the-last-one runs plugin retired"),
        "{refused:?}"
    );
    let what = "keeps its finalizer";
    cluster.until("Greeting", "ada", what, protected).await?;

    scene.host.terminate()?;
    scene.host.ended().await?;
    let shown = release(cluster, &["--dry-run"]).await?;
    assert!(shown.ok, "{shown:?}");
    for name in names {
        let line = format!("{}/{name} would be released", cluster.namespace);
        assert!(shown.text.contains(&line), "{shown:?}");
        cluster.until("Greeting", name, what, protected).await?;
    }

    let released = release(cluster, &[]).await?;
    assert!(released.ok, "{released:?}");
    for name in names {
        let line = format!("{}/{name} released", cluster.namespace);
        assert!(released.text.contains(&line), "{released:?}");
        let options = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        let (code, _) = cluster.delete_with("Greeting", name, &options).await?;
        assert_eq!(code, 200);
        assert!(cluster.get("Greeting", name).await?.is_none());
    }
    let again = release(cluster, &[]).await?;
    assert!(
        again.ok && again.error.contains("no object carries the finalizer"),
        "{again:?}"
    );
    Ok(())
}

/// What `windlass release retired` said.
#[derive(Debug)]
struct Said {
    ok: bool,
    text: String,
    error: String,
}

async fn release(cluster: &Cluster, more: &[&str]) -> Result<Said> {
    let namespace = &*cluster.namespace;
    let fixed = ["release", "retired", "--namespace", namespace];
    let arguments = [&fixed[..], more].concat();
    let output = windlass(&arguments, &control_plane()?.kubeconfig_admin())?;
    Ok(Said {
        ok: output.status.success(),
        text: String::from_utf8(output.stdout)?,
        error: String::from_utf8(output.stderr)?,
    })
}

/// Makes the Greeting `ada`, which has somebody's finalizer from the start.
async fn greet_with_finalizer(cluster: &Cluster) -> Result<()> {
    cluster
        .create(json!({
            "apiVersion": "examples.windlass.dev/v1",
            "kind": "Greeting",
            "metadata": { "name": "ada", "finalizers": [THEIRS] },
            "spec": { "name": "Ada" },
        }))
        .await?;
    Ok(())
}

/// Replaces the finalizers of `ada`, as another client does that has just read them.
async fn set_finalizers(cluster: &Cluster, names: Value) -> Result<()> {
    let patch = json!({ "metadata": { "finalizers": names } });
    cluster.patch("Greeting", "ada", patch).await?;
    Ok(())
}

fn finalizers(greeting: &Value) -> Value {
    greeting["metadata"]["finalizers"].clone()
}
