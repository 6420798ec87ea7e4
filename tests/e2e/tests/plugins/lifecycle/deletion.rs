//! A deleted Greeting is finalized, whatever becomes of its children.

use anyhow::Result;
use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::{Value, json};
use windlass_e2e::{
    Cluster, DEADLINE, Fault, FaultProxy, Greeter, Line, RequestHead, Rule, Scene, eventually,
    for_each_greeter,
};

use crate::lifecycle::{OURS, read, uid};

for_each_greeter!(Result<()> =>
    deleted_in_the_background_it_is_finalized_and_its_children_are_collected,
    deleted_in_the_foreground_it_outlives_its_children_and_is_finalized,
    deleted_as_an_orphan_maker_it_is_finalized_and_its_children_stay,
    children_that_are_orphaned_before_the_deletion_is_seen_are_not_taken_back,
);

async fn deleted_in_the_background_it_is_finalized_and_its_children_are_collected(
    greeter: Greeter,
) -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy(greeter, "background").await?;
    let deletion = Deletion::begin(&scene, &proxy, PropagationPolicy::Background).await?;
    assert_eq!(deletion.finalizers, json!([OURS]));
    assert!(deletion.children_remain().await?);
    let cluster = deletion.end().await?;
    cluster.until_gone("ConfigMap", "ada-greeting").await?;
    cluster.until_gone("Deployment", "ada-greeting").await
}

async fn deleted_in_the_foreground_it_outlives_its_children_and_is_finalized(
    greeter: Greeter,
) -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy(greeter, "foreground").await?;
    let deletion = Deletion::begin(&scene, &proxy, PropagationPolicy::Foreground).await?;
    assert_eq!(deletion.finalizers, json!([OURS, "foregroundDeletion"]));
    // The garbage collector does its part while ours is still open.
    let cluster = &scene.cluster;
    cluster.until_gone("ConfigMap", "ada-greeting").await?;
    cluster.until_gone("Deployment", "ada-greeting").await?;
    cluster
        .until("Greeting", "ada", "waits for us alone", |greeting| {
            greeting["metadata"]["finalizers"] == json!([OURS])
        })
        .await?;
    deletion.end().await?;
    Ok(())
}

async fn deleted_as_an_orphan_maker_it_is_finalized_and_its_children_stay(
    greeter: Greeter,
) -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy(greeter, "orphan").await?;
    let deletion = Deletion::begin(&scene, &proxy, PropagationPolicy::Orphan).await?;
    assert_eq!(deletion.finalizers, json!([OURS, "orphan"]));
    let cluster = deletion.end().await?;
    for kind in ["ConfigMap", "Deployment"] {
        cluster
            .until(kind, "ada-greeting", "is an orphan", |child| {
                child["metadata"].get("ownerReferences").is_none()
            })
            .await?;
    }
    Ok(())
}

/// The watches of owner and children are two: what a deletion did to the children may be seen first.
async fn children_that_are_orphaned_before_the_deletion_is_seen_are_not_taken_back(
    greeter: Greeter,
) -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy(greeter, "unseen").await?;
    let cluster = &scene.cluster;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    cluster.until_ready("ada").await?;
    scene.host.terminate()?;
    scene.host.ended().await?;
    // The next host has the first list, and hears nothing of Greetings after that.
    let primaries = |head: &RequestHead| head.is_watch() && head.path.ends_with("/greetings");
    proxy.set_rules([Rule::new("primaries", primaries, Fault::HoldWatch(0))]);
    let host = scene.another_host(&[])?;
    let greeting = scene.greeting("ada");
    let passes = async |least: usize| {
        eventually(DEADLINE, "there is a pass", async || {
            Ok((host.passes(&greeting).len() >= least).then_some(()))
        })
        .await
    };
    passes(1).await?;
    let before = host.passes(&greeting).len();
    let orphans = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    cluster.delete_with("Greeting", "ada", &orphans).await?;
    passes(before + 1).await?;
    proxy.release();
    cluster.until_gone("Greeting", "ada").await?;
    for kind in ["ConfigMap", "Deployment"] {
        let orphan = |child: &Value| child["metadata"].get("ownerReferences").is_none();
        cluster
            .until(kind, "ada-greeting", "is an orphan", orphan)
            .await?;
    }
    Ok(())
}

/// A deletion that is held in the middle of `finalize`: the entry is about to go.
struct Deletion<'a> {
    scene: &'a Scene,
    proxy: &'a FaultProxy,
    uid: String,
    /// What the API server answered that the object waits for.
    finalizers: Value,
}

impl<'a> Deletion<'a> {
    /// Makes a Greeting, and deletes it up to the moment at which its entry would go.
    async fn begin(
        scene: &'a Scene,
        proxy: &'a FaultProxy,
        propagation: PropagationPolicy,
    ) -> Result<Self> {
        let cluster = &scene.cluster;
        cluster.greet("ada", json!({ "name": "Ada" })).await?;
        let greeting = cluster.until_ready("ada").await?;
        let takes_entry_off = |head: &RequestHead| {
            head.method == "DELETE" && head.path.contains("/namespaces/greetings/configmaps/")
        };
        proxy.set_rules([Rule::new("entry", takes_entry_off, Fault::Hold)]);
        let options = DeleteParams {
            propagation_policy: Some(propagation),
            ..DeleteParams::default()
        };
        let (code, answer) = cluster.delete_with("Greeting", "ada", &options).await?;
        // Not 202: the API server answers that only to the old field `orphanDependents: false`.
        assert_eq!(code, 200);
        let finalizers = answer["metadata"]["finalizers"].clone();
        eventually(DEADLINE, "finalize runs", async || {
            Ok((proxy.count("entry") > 0).then_some(()))
        })
        .await?;
        let deleted = read(cluster, "Greeting", "ada").await?;
        assert!(deleted["metadata"]["deletionTimestamp"].is_string());
        let uid = uid(&greeting)?.to_owned();
        assert!(cluster.entry(&uid).await?.is_some());
        let waits_for = deleted["metadata"]["finalizers"].as_array();
        assert!(waits_for.is_some_and(|names| names.contains(&json!(OURS))));
        Ok(Self {
            scene,
            proxy,
            uid,
            finalizers,
        })
    }

    async fn children_remain(&self) -> Result<bool> {
        let cluster = &self.scene.cluster;
        Ok(cluster.get("ConfigMap", "ada-greeting").await?.is_some()
            && cluster.get("Deployment", "ada-greeting").await?.is_some())
    }

    /// Lets `finalize` go on; entry and object go.
    async fn end(self) -> Result<&'a Cluster> {
        self.proxy.clear();
        let cluster = &self.scene.cluster;
        cluster.until_gone("Greeting", "ada").await?;
        assert!(cluster.entry(&self.uid).await?.is_none(), "the entry stays");
        let object = self.scene.greeting("ada");
        let finalized = |line: &Line| line.is_pass(&object, "finalize", "rest");
        self.scene
            .host
            .logs("finalize is in the log", finalized)
            .await?;
        Ok(cluster)
    }
}
