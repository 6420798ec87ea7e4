//! A host that is there before its plugin's kind: a control plane of its own, without the kind.

use anyhow::Result;
use serde_json::json;
use windlass_e2e::{Cluster, Plugins, Scene};

#[tokio::test]
async fn a_host_waits_for_its_plugins_kind_says_so_and_goes_on_when_it_appears() -> Result<()> {
    let cluster = Cluster::bare("late").await?;
    cluster.register().await?;
    let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
    let scene = Scene::start(cluster, plugins)?;
    let waiting =
        "waiting: the cluster does not serve Greeting of examples.windlass.dev/v1; install its";
    scene.host.says(waiting).await?;
    scene.cluster.install().await?;
    scene.host.says("reconciling").await?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    scene.cluster.until_ready("ada").await?;
    let said = scene.host.count(|line| line.message.contains(waiting));
    assert_eq!(said, 1, "{:#?}", scene.host.log());
    Ok(())
}
