//! Ten plugins on one host, each with an account of its own. One of them is hostile: its document grants more than its
//! account may do.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use serde_json::{Value, json};
use windlass_controlplane::AuditObject;
use windlass_e2e::{Account, Acknowledge, Cluster, Host, Plugins, rbac};

use crate::accounts::audit::{acts_as, has_succeeded, is_hosts_own, is_write, requests_of, told};

const NINE: usize = 9;

/// What greeters are granted in their own namespace, but for reads.
const OWN: [(&str, &str); 4] = [
    ("examples.windlass.dev", "greetings"),
    ("", "configmaps"),
    ("apps", "deployments"),
    ("examples.windlass.dev", "greetings/finalizers"),
];

/// Whether a greeter of `namespace` may do this.
fn is_in_roles(object: &AuditObject, namespace: &str) -> bool {
    let in_register = object.namespace == "greetings" && object.resource == "configmaps";
    let is_own = OWN.contains(&(&*object.api_group, &*object.resource));
    in_register || is_own && object.namespace == namespace
}

#[tokio::test]
async fn no_plugin_does_more_than_its_account_may_and_the_host_writes_nothing_for_it() -> Result<()>
{
    let clusters = try_join_all((0..NINE).map(|_| Cluster::new("of-many"))).await?;
    let evil = Cluster::new("of-many-evil").await?;
    let home = clusters.first().context("there are nine")?;
    let mut plugins = Plugins::new(&home.namespace)?;
    for (number, cluster) in clusters.iter().enumerate() {
        let name = format!("greeter{number}");
        plugins = plugins.greeter_in(&name, &cluster.namespace)?;
        plugins = plugins.acting_as(&name, &cluster.namespace, &name)?;
    }
    let secrets = json!({
        "apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch", "create", "patch"],
        "namespaces": [evil.namespace],
    });
    let grants = [
        json!({
            "apiGroups": ["examples.windlass.dev"], "resources": ["greetings"], "verbs": ["get", "list", "watch"],
            "namespaces": [evil.namespace],
        }),
        json!({
            "apiGroups": [""], "resources": ["configmaps"],
            "verbs": ["get", "list", "watch", "create", "patch", "delete"], "namespaces": [evil.namespace],
        }),
        secrets.acknowledged(),
    ];
    plugins = plugins.component("hostile", "hostile.wasm")?.document(
        "evil",
        &json!({
            "source": { "file": "hostile.wasm" }, "config": { "attack": "write_secret" }, "grants": grants,
            "serviceAccount": { "namespace": evil.namespace, "name": "evil" },
        }),
    )?;
    let account = Account::without_plugins(&home.namespace)?;
    // The host may act as them in what they do, and in nothing else.
    let constrained = "--impersonation=constrained";
    let output = rbac(
        plugins.folder(),
        &["--namespace", &home.namespace, "-o", "json", constrained],
    )?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{said}");
    let mut list: Value = serde_json::from_slice(&output.stdout)?;
    let roles = list["items"].as_array_mut().context("a List has items")?;
    // Its account gets no right to Secrets, whatever its document says.
    let of_evil = format!("{}:evil:evil", evil.namespace);
    for role in roles
        .iter_mut()
        .filter(|role| role["metadata"]["name"] == *of_evil)
    {
        if let Some(rules) = role.get_mut("rules").and_then(Value::as_array_mut) {
            rules.retain(|rule| rule["resources"] != json!(["secrets"]));
        }
    }
    account.grant(roles)?;
    let kubeconfig = account.kubeconfig()?;
    let host = Host::run(plugins.folder(), &kubeconfig, &home.namespace, &[])?;
    try_join_all(
        clusters
            .iter()
            .map(|it| it.greet("ada", json!({ "name": "Ada" }))),
    )
    .await?;
    evil.greet("eve", json!({ "name": "Eve" })).await?;
    for cluster in &clusters {
        cluster.until_ready("ada").await?;
    }
    host.says(&format!(
        "User \"system:serviceaccount:{}:evil\" cannot patch resource \"secrets\"",
        evil.namespace
    ))
    .await?;
    ensure!(evil.get("Secret", "eve-stolen").await?.is_none());
    let mut writers = BTreeSet::new();
    for event in requests_of(&account.user(), home).await? {
        let object = event.object_ref.clone().unwrap_or_default();
        let Some(user) = acts_as(&event) else {
            ensure!(
                !is_write(&event) || is_hosts_own(&event),
                "{}",
                told(&event)
            );
            continue;
        };
        if !has_succeeded(&event) {
            continue;
        }
        let namespaces = clusters.iter().map(|it| &*it.namespace);
        let of_user = namespaces
            .enumerate()
            .find(|(number, it)| user == format!("system:serviceaccount:{it}:greeter{number}"));
        let allowed = match of_user {
            Some((_, namespace)) => is_in_roles(&object, namespace),
            None => {
                user == format!("system:serviceaccount:{}:evil", evil.namespace)
                    && object.namespace == evil.namespace
                    && ["greetings", "configmaps", "events"].contains(&&*object.resource)
            }
        };
        ensure!(allowed, "{user}: {}", told(&event));
        if is_write(&event) && object.resource != "events" {
            writers.insert(user.to_owned());
        }
    }
    ensure!(writers.len() == NINE, "{writers:#?}");
    ensure!(host.is_running());
    Ok(())
}
