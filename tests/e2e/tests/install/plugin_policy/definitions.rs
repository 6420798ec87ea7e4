//! The policy fits a definition of Plugins with `spec.serviceAccount`, and one without. Each is under a group of its own.

use anyhow::{Context, Result, bail, ensure};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};
use windlass_e2e::{DEADLINE, control_plane, documents, eventually, workspace};

use crate::plugin_policy::attempt::{Attempt, Outcome};
use crate::plugin_policy::scene::definition;

/// The definition and the policy under another group and name. The type checker passes over wildcards, so the policy
/// names the version.
fn under(group: &str, with_account: bool) -> Result<(Value, Vec<Value>)> {
    let definition = definition(with_account)?
        .to_string()
        .replace("windlass.dev", group);
    let file = workspace().join("deploy/base/plugin-policy.yaml");
    let policy = std::fs::read_to_string(file)?
        .replace("windlass.dev", group)
        .replace("windlass-plugins", group)
        .replace("apiVersions: [\"*\"]", "apiVersions: [v1alpha1]");
    ensure!(
        policy.contains("v1alpha1"),
        "the policy is for all versions"
    );
    Ok((serde_json::from_str(&definition)?, documents(&policy)?))
}

/// What the type checker says of a policy.
async fn warnings(policy: &Value) -> Result<Vec<Value>> {
    let policies = policies().await?;
    let name = policy["metadata"]["name"]
        .as_str()
        .context("a policy has a name")?;
    eventually(DEADLINE, &format!("{name} is checked"), async || {
        let held = serde_json::to_value(policies.get(name).await?)?;
        match &held["status"]["typeChecking"] {
            Value::Null => bail!("{:#}", held["status"]),
            checked => {
                let warnings = checked["expressionWarnings"].as_array();
                Ok(Some(warnings.cloned().unwrap_or_default()))
            }
        }
    })
    .await
}

async fn policies() -> Result<Api<DynamicObject>> {
    let group = "admissionregistration.k8s.io";
    let kind = GroupVersionKind::gvk(group, "v1", "ValidatingAdmissionPolicy");
    let client = control_plane()?.client().await?;
    Ok(Api::all_with(client, &ApiResource::from_gvk(&kind)))
}

/// Waits until the type checker knows the definition: it warns of a field that is not there.
async fn until_known(group: &str) -> Result<()> {
    let policies = policies().await?;
    let wrong = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": format!("wrong.{group}") },
        "spec": {
            "matchConstraints": { "resourceRules": [{ "apiGroups": [group], "apiVersions": ["v1alpha1"],
                "operations": ["CREATE"], "resources": ["plugins"] }] },
            "validations": [{ "expression": "object.spec.unknown == 1" }],
        },
    });
    let object: DynamicObject = serde_json::from_value(wrong.clone())?;
    eventually(
        DEADLINE,
        "the type checker knows the definition",
        async || {
            policies.create(&PostParams::default(), &object).await?;
            let warnings = warnings(&wrong).await?;
            let name = format!("wrong.{group}");
            policies.delete(&name, &DeleteParams::default()).await?;
            ensure!(!warnings.is_empty(), "it says nothing");
            Ok(Some(()))
        },
    )
    .await
}

#[tokio::test]
async fn the_type_checker_warns_of_nothing() -> Result<()> {
    for (group, with_account) in [("with.example.com", true), ("without.example.com", false)] {
        let (definition, policy) = under(group, with_account)?;
        control_plane()?.apply(&[definition]).await?;
        until_known(group).await?;
        control_plane()?.apply(&policy).await?;
        let warnings = warnings(&policy[0]).await?;
        ensure!(warnings.is_empty(), "{group}: {warnings:#?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_account_that_the_definition_does_not_know_is_no_account() -> Result<()> {
    let group = "pruned.example.com";
    let (definition, policy) = under(group, false)?;
    let version = "rbac.authorization.k8s.io/v1";
    let rule = json!({ "apiGroups": ["", group], "resources": ["plugins", "serviceaccounts"],
        "verbs": ["create", "impersonate"] });
    let role = json!({ "apiVersion": version, "kind": "ClusterRole", "metadata": { "name": group }, "rules": [rule] });
    let binding = json!({
        "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": { "name": group },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": group },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann" }],
    });
    control_plane()?.apply(&[definition, role, binding]).await?;
    control_plane()?.apply(&policy).await?;
    let plugin = json!({
        "apiVersion": format!("{group}/v1alpha1"), "kind": "Plugin", "metadata": { "name": "a" },
        "spec": {
            "source": { "oci": "registry.example.com/plugins/greeter:1" },
            "serviceAccount": { "namespace": "default", "name": "default" },
        },
    });
    let client = control_plane()?.client().await?;
    let mut create = Attempt::post("ann", &plugin, Outcome::Code(403)).dry();
    create.path = create.path.replace("windlass.dev", group);
    let by_admin = create.clone();
    create.acts_as = Some("ann".to_owned());
    eventually(DEADLINE, "the policy refuses it", async || {
        let (code, answer) = create.send(&client).await?;
        let said = answer["message"].as_str().unwrap_or_default();
        ensure!(
            code == 403 && said.contains("denied request: set spec.serviceAccount"),
            "{code} {answer:#}"
        );
        Ok(Some(()))
    })
    .await?;
    let (code, answer) = by_admin.send(&client).await?;
    ensure!(code == 201, "{code} {answer:#}");
    Ok(())
}
