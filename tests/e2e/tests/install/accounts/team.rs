//! The example `plugins/team` gives rights away: by the verb `bind`, which its account has on named roles, and its host has
//! not.

use std::fs;

use anyhow::{Result, ensure};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use windlass_e2e::{
    Account, Cluster, DEADLINE, Host, Plugins, apply, control_plane, eventually, workspace,
};

/// The example's document, without what builds it.
fn document() -> Result<String> {
    let text = fs::read_to_string(workspace().join("plugins/team/plugin.yaml"))?;
    let document = text.split("\n  # For `windlass build`").next();
    Ok(document.unwrap_or_default().to_owned())
}

/// Whether `user` may do `verb` to a resource of RBAC.
async fn may(user: &str, verb: &str, resource: &str, name: Option<&str>) -> Result<bool> {
    let attributes = ResourceAttributes {
        group: Some("rbac.authorization.k8s.io".to_owned()),
        resource: Some(resource.to_owned()),
        verb: Some(verb.to_owned()),
        name: name.map(str::to_owned),
        ..ResourceAttributes::default()
    };
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.to_owned()),
            resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(control_plane()?.client().await?);
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

#[tokio::test]
async fn a_plugin_binds_the_roles_that_its_grant_names_and_its_host_cannot() -> Result<()> {
    let cluster = Cluster::bare("teams").await?;
    let home = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "windlass-plugins" } });
    control_plane()?.apply(&[home]).await?;
    apply("plugins/team/team.crd.yaml").await?;
    let plugins = Plugins::new(&cluster.namespace)?
        .component("team", "team.wasm")?
        .file("team.yaml", document()?)?;
    let account = Account::new(&cluster.namespace, plugins.folder())?;
    let kubeconfig = account.kubeconfig()?;
    let host = Host::run(plugins.folder(), &kubeconfig, &cluster.namespace, &[])?;
    let kind = GroupVersionKind::gvk("examples.windlass.dev", "v1", "Team");
    let teams: Api<DynamicObject> = Api::all_with(cluster.client(), &ApiResource::from_gvk(&kind));
    let name = &cluster.namespace;
    let team: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "examples.windlass.dev/v1", "kind": "Team", "metadata": { "name": name },
        "spec": { "members": [{ "name": "ada@example.com" }] },
    }))?;
    eventually(DEADLINE, "the Team is made", async || {
        match teams.create(&PostParams::default(), &team).await {
            // The kind may not be served yet.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            made => Ok(Some(made?)),
        }
    })
    .await?;
    let bindings: Api<RoleBinding> = Api::namespaced(cluster.client(), &format!("team-{name}"));
    let binding = eventually(DEADLINE, "the members have their role", async || {
        let found = bindings.get_opt("team-edit").await?;
        found.map_or_else(
            || anyhow::bail!("{:#?}", host.log()),
            |found| Ok(Some(found)),
        )
    })
    .await?;
    ensure!(binding.role_ref.name == "edit", "{binding:?}");
    let plugin = "system:serviceaccount:windlass-plugins:team";
    let host = account.user();
    // (user, verb, resource, name; whether it may)
    let rows: [(&str, &str, &str, Option<&str>, bool); 6] = [
        (plugin, "create", "rolebindings", None, true),
        (plugin, "bind", "clusterroles", Some("edit"), true),
        (plugin, "bind", "clusterroles", Some("cluster-admin"), false),
        (&host, "bind", "clusterroles", Some("edit"), false),
        (&host, "create", "rolebindings", None, false),
        (&host, "list", "rolebindings", None, true),
    ];
    for (user, verb, resource, name, want) in rows {
        let may = may(user, verb, resource, name).await?;
        ensure!(may == want, "{user} {verb} {resource} {name:?}");
    }
    teams.delete(name, &DeleteParams::background()).await?;
    Ok(())
}
