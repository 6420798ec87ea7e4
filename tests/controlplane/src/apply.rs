//! Applies objects as `kubectl apply --server-side` does, without a kubectl.

use anyhow::Context;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::discovery::Scope;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

/// Applies one object, whatever its kind; into `default` if it names no namespace and needs one.
///
/// # Errors
/// Its kind is not served, or the API server refuses it.
pub async fn apply(client: &Client, object: &Value) -> anyhow::Result<()> {
    let object: DynamicObject = serde_json::from_value(object.clone())?;
    let types = object.types.clone().context("an object has no kind")?;
    let what = format!("{} {}", types.kind, object.name_any());
    let kind = (&types).try_into()?;
    let found = kube::discovery::pinned_kind(client, &kind).await;
    let (resource, capabilities) = found.with_context(|| format!("cannot apply {what}"))?;
    let namespace = object.namespace();
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => {
            let namespace = namespace.as_deref().unwrap_or("default");
            Api::namespaced_with(client.clone(), namespace, &resource)
        }
    };
    let (name, parameters) = (object.name_any(), PatchParams::apply("kubectl").force());
    let applied = api.patch(&name, &parameters, &Patch::Apply(&object)).await;
    applied.with_context(|| format!("cannot apply {what}"))?;
    Ok(())
}
