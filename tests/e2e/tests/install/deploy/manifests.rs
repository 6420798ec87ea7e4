//! What `deploy/base` says, as the API server takes it.

use anyhow::{Context, Result, ensure};
use kube::api::ListParams;
use serde_json::{Value, json};
use windlass_e2e::{Cluster, DEADLINE, HOME, eventually};

use crate::deploy::{base, install, kubectl, read};

/// How admission names what a pod has too much of.
const REFUSED: &str = "violates PodSecurity \"restricted:latest\"";

#[tokio::test]
async fn the_manifests_pass_a_dry_run_in_a_namespace_that_enforces_pod_security_restricted()
-> Result<()> {
    let warnings = install().await?;
    assert!(!warnings.contains("Warning"), "{warnings}");
    let namespace = read("namespace", HOME).await?;
    let label = "pod-security.kubernetes.io/enforce";
    assert_eq!(namespace["metadata"]["labels"][label], "restricted");
    let (said, warnings) = kubectl(&["apply", "--dry-run=server", "-k", &base()], "").await?;
    assert!(!warnings.contains("Warning"), "{warnings}");
    for object in [
        "serviceaccount/windlass",
        "deployment.apps/windlass",
        "poddisruptionbudget.policy/windlass",
        "validatingadmissionpolicy.admissionregistration.k8s.io/windlass-plugins",
        "validatingadmissionpolicybinding.admissionregistration.k8s.io/windlass-plugins",
    ] {
        assert!(said.contains(object), "{said}");
    }
    Ok(())
}

#[tokio::test]
async fn its_pods_are_admitted_and_its_budget_counts_them() -> Result<()> {
    install().await?;
    let home = Cluster::existing(HOME).await?;
    let pods = home.api("Pod", HOME)?;
    let of_host = ListParams::default().labels("app.kubernetes.io/component=host");
    eventually(DEADLINE, "two pods are there", async || {
        let pods = pods.list(&of_host).await?.items;
        ensure!(pods.len() == 2, "{} are", pods.len());
        Ok(Some(()))
    })
    .await?;
    eventually(DEADLINE, "the budget counts them", async || {
        let budget = read("poddisruptionbudget", "windlass").await?;
        let expected = &budget["status"]["expectedPods"];
        ensure!(*expected == 2, "it counts {expected}");
        Ok(Some(()))
    })
    .await
}

#[tokio::test]
async fn a_pod_with_more_rights_than_restricted_allows_is_refused() -> Result<()> {
    install().await?;
    let pod = pod().await?;
    let good = dry_run(&pod).await;
    assert!(good.is_ok(), "{good:?}");
    let container = "/spec/containers/0/securityContext";
    let cases = [
        ("/spec/securityContext/runAsNonRoot".into(), json!(false)),
        ("/spec/securityContext/runAsUser".into(), json!(0)),
        (
            "/spec/securityContext/seccompProfile".into(),
            json!({ "type": "Unconfined" }),
        ),
        (format!("{container}/allowPrivilegeEscalation"), json!(true)),
        (format!("{container}/capabilities/drop"), json!(["CHOWN"])),
    ];
    for (path, value) in cases {
        let mut bad = pod.clone();
        let field = bad.pointer_mut(&path);
        *field.with_context(|| format!("{path} is set"))? = value;
        let refused = dry_run(&bad).await;
        let error = refused.err().map(|error| error.to_string());
        assert!(
            error.as_ref().is_some_and(|error| error.contains(REFUSED)),
            "{path}: {error:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn image_and_labels_say_which_version_it_is() -> Result<()> {
    install().await?;
    let deployment = read("deployment", "windlass").await?;
    let version = env!("CARGO_PKG_VERSION");
    let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(*image, format!("windlass:{version}"));
    for (kind, name) in [
        ("namespace", HOME),
        ("serviceaccount", "windlass"),
        ("role", "windlass-leases"),
        ("deployment", "windlass"),
        ("poddisruptionbudget", "windlass"),
    ] {
        let object = read(kind, name).await?;
        let labels = &object["metadata"]["labels"];
        let label = |name: &str| &labels[format!("app.kubernetes.io/{name}")];
        for (name, value) in [
            ("name", "windlass"),
            ("instance", "windlass"),
            ("part-of", "windlass"),
            ("managed-by", "kustomize"),
            ("version", version),
        ] {
            assert_eq!(*label(name), value, "{kind}");
        }
    }
    Ok(())
}

/// The pod that the Deployment makes.
async fn pod() -> Result<Value> {
    let deployment = read("deployment", "windlass").await?;
    let spec = &deployment["spec"]["template"]["spec"];
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "trial", "namespace": HOME },
        "spec": spec,
    }))
}

async fn dry_run(object: &Value) -> Result<()> {
    let arguments = ["create", "--dry-run=server", "-f", "-"];
    kubectl(&arguments, &object.to_string()).await?;
    Ok(())
}
