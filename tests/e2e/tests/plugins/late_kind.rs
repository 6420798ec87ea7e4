//! A host that is there before its plugin's kind, and after it: a control plane of its own, without the kind.
//!
//! `WINDLASS_KIND_ROUNDS` says how often the kind goes and comes again.

use anyhow::{Result, ensure};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind};
use serde_json::json;
use windlass_e2e::{Cluster, DEADLINE, Plugins, Scene, Scrape, eventually};

const NAME: &str = "greetings.examples.windlass.dev";

#[tokio::test]
async fn a_host_waits_for_its_plugins_kind_says_so_and_goes_on_when_it_appears() -> Result<()> {
    let cluster = Cluster::bare("late").await?;
    cluster.register().await?;
    let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
    let metrics = "--metrics-bind-address=127.0.0.1:0";
    let scene = Scene::start_with(cluster, plugins, &[metrics])?;
    let waiting =
        "waiting: the cluster does not serve Greeting of examples.windlass.dev/v1; install its";
    scene.host.says(waiting).await?;
    scene.cluster.install().await?;
    scene.host.says("reconciling").await?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    scene.cluster.until_ready("ada").await?;
    let said = scene.host.count(|line| line.message.contains(waiting));
    assert_eq!(said, 1, "{:#?}", scene.host.log());
    let rounds = std::env::var("WINDLASS_KIND_ROUNDS");
    let rounds: usize = rounds.map_or(Ok(6), |rounds| rounds.parse())?;
    goes_and_comes(&scene, rounds).await
}

/// The kind is deleted with its objects, which are finalized, and installed again.
async fn goes_and_comes(scene: &Scene, rounds: usize) -> Result<()> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> =
        Api::all_with(scene.cluster.client(), &ApiResource::from_gvk(&kind));
    let informers = async || {
        let scrape = Scrape::of(&scene.host).await?;
        scrape.sum(r"windlass_informers\{.*")
    };
    let before = informers().await?;
    for round in 0..rounds {
        definitions.delete(NAME, &DeleteParams::default()).await?;
        let gone = async || Ok(definitions.get_opt(NAME).await?.is_none().then_some(()));
        eventually(DEADLINE, "the definition is gone", gone).await?;
        let left = scene.cluster.entries().await?;
        ensure!(left.is_empty(), "the register still holds {left:?}");
        scene.cluster.install().await?;
        let name = format!("g-{round}");
        scene.cluster.greet(&name, json!({ "name": name })).await?;
        scene.cluster.until_ready(&name).await?;
    }
    ensure!(scene.host.is_running(), "{:#?}", scene.host.log());
    eventually(DEADLINE, "no informer is left over", async || {
        let after = informers().await?;
        ensure!(after == before, "{before:?} were there, then {after:?}");
        Ok(Some(()))
    })
    .await
}
