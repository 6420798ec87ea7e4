//! An object that a user made has the name of a child: it stays as it is, whatever the set does.

use anyhow::{Result, ensure};
use kube::api::{DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};
use windlass_e2e::{
    ALL, Acknowledge, Cluster, DEADLINE, Host, Plugins, Scene, apply, eventually, windlass_alone,
};

use crate::lifecycle::read;

const PORT: &str = "--admin-bind-address=127.0.0.1:0";

/// The steward, whose Bookcase says which children there are, in a namespace of its own.
async fn steward(prefix: &str, adopt: bool) -> Result<(Cluster, Plugins)> {
    let cluster = Cluster::bare(prefix).await?;
    apply("tests/steward/bookcase.crd.yaml").await?;
    eventually(DEADLINE, "bookcases are served", async || {
        let bookcases = cluster.api("Bookcase", &cluster.namespace)?;
        Ok(bookcases.list(&ListParams::default()).await.ok())
    })
    .await?;
    let plugins = Plugins::new(&cluster.namespace)?.component("steward", "steward.wasm")?;
    let mut maps = plugins.grant("", &["configmaps"], ALL);
    maps["adopt"] = json!(adopt);
    let maps = maps.acknowledged();
    let primary = ["bookcases", "bookcases/status"];
    let document = json!({
        "source": { "file": "steward.wasm" },
        "grants": [
            plugins.grant("tests.windlass.dev", &primary, &["get", "list", "watch", "patch"]),
            maps,
        ],
    });
    let plugins = plugins.document("steward", &document)?;
    Ok((cluster, plugins))
}

/// Makes the ConfigMap `ada-a` as `kubectl create` does.
async fn create_by_hand(cluster: &Cluster) -> Result<Value> {
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "ada-a" },
        "data": { "word": "theirs", "title": "theirs" },
    }))?;
    let by_hand = PostParams {
        field_manager: Some("kubectl-create".to_owned()),
        ..PostParams::default()
    };
    let maps = cluster.api("ConfigMap", &cluster.namespace)?;
    Ok(serde_json::to_value(maps.create(&by_hand, &object).await?)?)
}

async fn bookcase(cluster: &Cluster, books: &[&str]) -> Result<()> {
    let bookcase = json!({
        "apiVersion": "tests.windlass.dev/v1", "kind": "Bookcase",
        "metadata": { "name": "ada" }, "spec": { "books": books },
    });
    cluster.create(bookcase).await?;
    Ok(())
}

/// Changes what the Bookcase is to be.
async fn change(cluster: &Cluster, spec: Value) -> Result<()> {
    let patch = json!({ "spec": spec });
    cluster.patch("Bookcase", "ada", patch).await?;
    Ok(())
}

async fn tells_the_conflict(host: &Host, cluster: &Cluster) -> Result<()> {
    let text = format!(
        "ConfigMap {}/ada-a was not made by steward",
        cluster.namespace
    );
    host.says(&format!("conflict in the set: {text}")).await?;
    eventually(DEADLINE, "an Event tells it", async || {
        let events = cluster.api("Event", &cluster.namespace)?;
        let events = events.list(&ListParams::default()).await?;
        let told = events.items.iter().any(|event| {
            event.data["reason"] == "ChildConflict"
                && event.data["message"]
                    .as_str()
                    .is_some_and(|message| message.starts_with(&text))
        });
        Ok(told.then_some(()))
    })
    .await?;
    let url = format!("--admin-url=http://{}", host.serves("status").await?);
    // While a pass runs, its conflicts are not known yet.
    eventually(DEADLINE, "`windlass why` tells it", async || {
        let said = windlass_alone(&["why", "bookcase/ada", "-n", &cluster.namespace, &url])?;
        let said = String::from_utf8(said.stdout)?;
        Ok(said.contains(&format!("CONFLICT   {text}")).then_some(()))
    })
    .await
}

#[tokio::test]
async fn an_object_made_by_hand_stays_as_it_is_through_all_that_happens_to_the_set() -> Result<()> {
    let (cluster, plugins) = steward("by-hand", false).await?;
    let theirs = create_by_hand(&cluster).await?;
    let scene = Scene::start_with(cluster, plugins, &[PORT])?;
    let cluster = &scene.cluster;
    let is_untouched = async |when: &str| -> Result<()> {
        let now = read(cluster, "ConfigMap", "ada-a").await?;
        ensure!(now == theirs, "{when}: {now:#}");
        Ok(())
    };
    bookcase(cluster, &["a", "b"]).await?;
    cluster
        .until("ConfigMap", "ada-b", "is made", |_| true)
        .await?;
    tells_the_conflict(&scene.host, cluster).await?;
    is_untouched("created").await?;

    change(cluster, json!({ "mood": "calm" })).await?;
    let calm = |map: &Value| map["data"]["mood"] == "calm";
    cluster.until("ConfigMap", "ada-b", "is calm", calm).await?;
    is_untouched("updated").await?;

    scene.host.terminate()?;
    scene.host.ended().await?;
    let host = scene.another_host(&[PORT])?;
    tells_the_conflict(&host, cluster).await?;
    is_untouched("restarted").await?;

    change(cluster, json!({ "books": ["b"] })).await?;
    let settled = |bookcase: &Value| {
        let seen = &bookcase["status"]["observedGeneration"];
        *seen == bookcase["metadata"]["generation"]
    };
    cluster
        .until("Bookcase", "ada", "is settled", settled)
        .await?;
    is_untouched("out of the set").await?;

    change(cluster, json!({ "books": ["a"] })).await?;
    let object = format!("Bookcase/{}/ada", cluster.namespace);
    let fails = |passes: &[windlass_e2e::Line]| {
        passes
            .last()
            .map(|pass| pass.field("outcome") == "transient")
    };
    eventually(DEADLINE, "the conflict is back", async || {
        Ok((fails(&host.passes(&object)) == Some(true)).then_some(()))
    })
    .await?;
    cluster.delete("Bookcase", "ada").await?;
    cluster.until_gone("Bookcase", "ada").await?;
    cluster.until_gone("ConfigMap", "ada-b").await?;
    is_untouched("primary deleted").await?;
    Ok(())
}

#[tokio::test]
async fn when_the_object_made_by_hand_goes_the_child_comes() -> Result<()> {
    let (cluster, plugins) = steward("makes-way", false).await?;
    create_by_hand(&cluster).await?;
    let scene = Scene::start_with(cluster, plugins, &[PORT])?;
    let cluster = &scene.cluster;
    bookcase(cluster, &["a"]).await?;
    tells_the_conflict(&scene.host, cluster).await?;
    cluster.delete("ConfigMap", "ada-a").await?;
    let owned = |map: &Value| map["metadata"]["ownerReferences"][0]["name"] == "ada";
    cluster
        .until("ConfigMap", "ada-a", "is owned", owned)
        .await?;
    Ok(())
}

#[tokio::test]
async fn with_adopt_an_object_made_by_hand_is_taken_over_and_given_back() -> Result<()> {
    let (cluster, plugins) = steward("adopted", true).await?;
    create_by_hand(&cluster).await?;
    let scene = Scene::start(cluster, plugins)?;
    let cluster = &scene.cluster;
    bookcase(cluster, &["a", "b"]).await?;
    let title = |map: &Value| map["data"]["title"] == "of ada";
    let taken = cluster
        .until("ConfigMap", "ada-a", "is taken over", title)
        .await?;
    assert_eq!(taken["metadata"]["ownerReferences"][0]["name"], "ada");
    assert_eq!(taken["metadata"]["labels"]["windlass.dev/adopted"], "true");
    change(cluster, json!({ "books": [] })).await?;
    cluster.until_gone("ConfigMap", "ada-b").await?;
    let released = cluster
        .until("ConfigMap", "ada-a", "is given back", |map| {
            map["metadata"]["ownerReferences"].is_null()
        })
        .await?;
    assert_eq!(
        released["data"],
        json!({ "word": "theirs", "title": "of ada" })
    );
    assert!(released["metadata"]["labels"]["windlass.dev/set"].is_null());
    Ok(())
}
