//! The components of kustomize, on `deploy/base`.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windlass_e2e::{DEADLINE, HOME, apply, eventually, workspace};

use crate::deploy::{install, kubectl};

#[tokio::test]
async fn the_api_server_takes_every_field_of_the_components_and_they_select_the_host() -> Result<()>
{
    install().await?;
    apply("tests/e2e/tests/install/chart/monitoring.crd.yaml").await?;
    // Roots of kustomize are relative.
    let target = workspace().join("target");
    let folder = tempfile::tempdir_in(&target)?;
    let components = fs::read_dir(workspace().join("deploy/components"))?;
    let components: Vec<String> = components
        .map(|entry| {
            Ok(format!(
                "../../deploy/components/{}",
                entry?.file_name().display()
            ))
        })
        .collect::<Result<_>>()?;
    ensure!(components.len() == 4, "{components:?}");
    let kustomization = json!({ "resources": ["../../deploy/base"], "components": components });
    fs::write(
        folder.path().join("kustomization.yaml"),
        kustomization.to_string(),
    )?;
    let folder = folder.path().to_str().context("a path is text")?;
    let strict = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--validate=strict",
        "-k",
        folder,
    ];
    let said = eventually(DEADLINE, "the kinds are served", async || {
        Ok(Some(kubectl(&strict, "").await?.0))
    })
    .await?;
    for object in [
        "networkpolicy.networking.k8s.io/windlass",
        "flowschema.flowcontrol.apiserver.k8s.io/windlass-leases",
        "prometheusrule.monitoring.coreos.com/windlass",
        "servicemonitor.monitoring.coreos.com/windlass",
        "configmap/windlass-dashboard",
    ] {
        assert!(said.contains(object), "{said}");
    }
    // What the policy and the monitor select is there.
    let all = [
        "get",
        "deploy,service,networkpolicy,servicemonitor",
        "-n",
        HOME,
        "-o",
        "json",
    ];
    let list: Value = serde_json::from_str(&kubectl(&all, "").await?.0)?;
    let of = |kind: &str| {
        let items = list["items"].as_array().into_iter().flatten();
        let found = items.clone().find(|item| item["kind"] == kind);
        found.cloned().with_context(|| format!("there is a {kind}"))
    };
    for (selector, labels) in [
        (
            of("NetworkPolicy")?["spec"]["podSelector"].clone(),
            of("Deployment")?["spec"]["template"]["metadata"]["labels"].clone(),
        ),
        (
            of("ServiceMonitor")?["spec"]["selector"].clone(),
            of("Service")?["metadata"]["labels"].clone(),
        ),
    ] {
        let wanted = selector["matchLabels"].as_object().context("labels")?;
        for (name, value) in wanted {
            assert_eq!(labels[name], *value, "{name}");
        }
    }
    Ok(())
}
