//! `deploy/` on a real control plane: the manifests, the pod that they describe, and the roles that
//! `windlass rbac` prints.
#![expect(clippy::indexing_slicing, reason = "JSON that is not there is null")]

mod components;
mod manifests;
mod pod;
mod roles;

use anyhow::{Result, ensure};
use serde_json::Value;
use tokio::sync::OnceCell;
use windlass_e2e::{HOME, control_plane, workspace};

/// `kubectl apply -k deploy/base`, once for all tests. Answers what it printed as warnings.
async fn install() -> Result<&'static str> {
    static INSTALLED: OnceCell<String> = OnceCell::const_new();
    let install = async || {
        let (_, warnings) = kubectl(&["apply", "-k", &base()], "").await?;
        anyhow::Ok(warnings)
    };
    Ok(INSTALLED.get_or_try_init(install).await?)
}

fn base() -> String {
    workspace().join("deploy/base").display().to_string()
}

/// Runs kubectl as administrator, and answers what it wrote to standard output and error.
async fn kubectl(arguments: &[&str], input: &str) -> Result<(String, String)> {
    let admin = control_plane()?.kubeconfig_admin();
    let output = control_plane()?
        .kubectl_with(&admin, arguments, input)
        .await?;
    let text = |bytes| String::from_utf8(bytes);
    let (said, error) = (text(output.stdout)?, text(output.stderr)?);
    ensure!(output.status.success(), "kubectl {arguments:?}: {error}");
    Ok((said, error))
}

/// An object of the host's own namespace.
async fn read(kind: &str, name: &str) -> Result<Value> {
    let (text, _) = kubectl(&["get", kind, name, "-n", HOME, "-o", "json"], "").await?;
    Ok(serde_json::from_str(&text)?)
}
