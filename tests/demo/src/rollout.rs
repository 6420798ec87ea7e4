//! Kubernetes' Deployment controller as a plugin, which is replaced in the middle of a rollout.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use windlass_e2e::{DEADLINE, eventually, host_binary, workspace};

use crate::Demo;
use crate::author::{KUBECONFIG, Session};

const REPLICAS: i32 = 12;

/// All of it.
pub(crate) async fn show(demo: &mut Demo) -> Result<()> {
    let windlass = host_binary()?;
    let home = tempfile::tempdir()?;
    let plugins = home.path().join("plugins");
    fs::create_dir(&plugins)?;
    for name in ["deployment", "replicaset"] {
        for ending in ["yaml", "wasm"] {
            let file = format!("{name}.{ending}");
            let built = workspace().join("target/bundle").join(&file);
            fs::copy(&built, plugins.join(&file))
                .with_context(|| format!("there is no {}: `make bundle`", built.display()))?;
        }
    }
    println!("\n$ windlass cluster --nodes 3 --plugins plugins");
    let arguments = ["cluster", "--nodes", "3", "--plugins", "plugins"];
    let session = Session::start(&windlass, home.path(), &arguments)?;
    session.until("the cluster at ")?;
    demo.done("a cluster of plugins runs");

    let client = windlass_controlplane::client(&home.path().join(KUBECONFIG)).await?;
    let deployments: Api<Deployment> = Api::namespaced(client, "default");
    println!("\n$ kubectl create deployment web --image=web:1 --replicas={REPLICAS}");
    deployments
        .create(&PostParams::default(), &deployment()?)
        .await?;
    until(&deployments, "all pods run", |status| {
        status.available_replicas == Some(REPLICAS)
    })
    .await?;
    let before = build(&windlass, home.path())?;
    println!("{REPLICAS} pods run; the Deployment controller is {before}");
    demo.done("rolled out by the plugin");

    println!("\n$ kubectl set image deployment/web web=web:2");
    let image = json!([{ "name": "web", "image": "web:2" }]);
    let patch = json!({ "spec": { "template": { "spec": { "containers": image } } } });
    let params = PatchParams::default();
    deployments
        .patch("web", &params, &Patch::Merge(patch))
        .await?;
    until(&deployments, "the rollout has begun", |status| {
        status.updated_replicas.is_some_and(|count| count > 0)
            && status.observed_generation == Some(2)
    })
    .await?;
    println!(
        "$ printf '\\0\\5\\4swap' >> plugins/deployment.wasm  # another build of the controller"
    );
    let mut component = fs::read(plugins.join("deployment.wasm"))?;
    component.write_all(b"\0\x05\x04swap")?;
    fs::write(plugins.join("draft"), component)?;
    fs::rename(plugins.join("draft"), plugins.join("deployment.wasm"))?;
    let replaced = async || {
        let now = build(&windlass, home.path())?;
        Ok((now != before).then_some(now))
    };
    let after = eventually(DEADLINE, "the new build works", replaced).await?;
    let status = deployments.get("web").await?.status.unwrap_or_default();
    let updated = status.updated_replicas.unwrap_or(0);
    println!("{updated} of {REPLICAS} pods are new; the Deployment controller is {after}");
    ensure!(updated < REPLICAS, "the rollout was over too early");
    demo.done("controller replaced in the middle of a rollout");

    until(&deployments, "the rollout is complete", |status| {
        let counts = [
            status.updated_replicas,
            status.available_replicas,
            status.replicas,
        ];
        counts == [Some(REPLICAS); 3]
    })
    .await?;
    println!("{REPLICAS} of {REPLICAS} pods are new");
    demo.done("the new build has completed the rollout");
    session.end()
}

/// One pod at a time, so that there is time to replace the controller.
fn deployment() -> Result<Deployment> {
    Ok(serde_json::from_value(json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": REPLICAS,
            "selector": { "matchLabels": { "app": "web" } },
            "strategy": { "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
            },
        },
    }))?)
}

/// Waits for a status of the Deployment.
async fn until(
    deployments: &Api<Deployment>,
    what: &str,
    is_so: impl Fn(&DeploymentStatus) -> bool,
) -> Result<()> {
    eventually(DEADLINE, what, async || {
        let status = deployments.get("web").await?.status.unwrap_or_default();
        Ok(is_so(&status).then_some(()))
    })
    .await
}

/// Which build of the controller works on the Deployment, as `windlass why` says it.
fn build(windlass: &Path, folder: &Path) -> Result<String> {
    let mut why = Command::new(windlass);
    why.args(["why", "deployment/web"]).current_dir(folder);
    let output = why.env("KUBECONFIG", KUBECONFIG).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let by = said
        .lines()
        .next()
        .and_then(|line| line.split_once(", by "));
    let (_, by) = by.with_context(|| format!("`windlass why` does not name the plugin: {said}"))?;
    Ok(by.to_owned())
}
