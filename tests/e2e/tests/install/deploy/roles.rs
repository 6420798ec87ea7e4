//! What `windlass rbac` prints, and what a service account that has it may do.

use std::process::Output;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_e2e::{
    Account, Acknowledge, Cluster, HOME, Plugins, Scene, control_plane, documents, rbac, workspace,
};

use crate::deploy::kubectl;

#[tokio::test]
async fn the_examples_roles_are_what_its_document_grants_and_nothing_more() -> Result<()> {
    let document = workspace().join("plugins/greeter/plugin.yaml");
    let plugins = Plugins::new(HOME)?
        .component("greeter", "greeter.wasm")?
        .file("plugin.yaml", std::fs::read_to_string(document)?)?;
    let printed = printed(&rbac(plugins.folder(), &[])?)?;
    let children = ["get", "list", "watch", "create", "patch", "delete"];
    let of = |group: &str, resources: &[&str], verbs: &[&str]| json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
    // The register's namespace is among all namespaces.
    let rules = json!([
        of(
            "examples.windlass.dev",
            &["greetings", "greetings/status"],
            &["get", "list", "watch", "patch"]
        ),
        of("", &["configmaps"], &children),
        of("apps", &["deployments"], &children),
        of(
            "examples.windlass.dev",
            &["greetings/finalizers"],
            &["update"]
        ),
        of("events.k8s.io", &["events"], &["create", "patch"]),
        of("", &["events"], &["patch"]),
    ]);
    let [role, binding] = &documents(&printed)?[..] else {
        panic!("one role and one binding: {printed}");
    };
    assert_eq!(
        (&role["kind"], &role["rules"]),
        (&json!("ClusterRole"), &rules)
    );
    let account = json!([{ "kind": "ServiceAccount", "name": "windlass", "namespace": HOME }]);
    assert_eq!(binding["kind"], "ClusterRoleBinding");
    assert_eq!(binding["subjects"], account);
    let file = plugins.folder().join("plugin.yaml").display().to_string();
    assert!(
        printed.contains(&format!("# What plugin greeter of {file} is granted")),
        "{printed}"
    );
    // kubectl takes it, in both forms; and it is the same again the next time.
    let (said, _) = kubectl(&["apply", "--dry-run=server", "-f", "-"], &printed).await?;
    assert!(
        said.contains("clusterrole.rbac.authorization.k8s.io/windlass-system:windlass:greeter")
    );
    assert_eq!(printed, self::printed(&rbac(plugins.folder(), &[])?)?);
    let list = self::printed(&rbac(plugins.folder(), &["-o", "json"])?)?;
    kubectl(&["apply", "--dry-run=server", "-f", "-"], &list).await?;
    let list: Value = serde_json::from_str(&list)?;
    assert_eq!(list["items"], json!(documents(&printed)?));
    Ok(())
}

/// What was printed by a run in which nothing was wrong.
fn printed(output: &Output) -> Result<String> {
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout.clone())?)
}

#[tokio::test]
async fn an_account_may_do_what_its_plugins_are_granted_where_they_are_and_nothing_else()
-> Result<()> {
    let cluster = Cluster::new("roles").await?;
    let namespace = &*cluster.namespace;
    let plugins = Plugins::new(namespace)?.greeter()?;
    let named = json!({
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["one"],
        "verbs": ["get", "delete"],
    });
    let grants = [
        named.acknowledged(),
        plugins.grant("batch", &["jobs"], &["get"]),
    ];
    let plugins = plugins.hostile("second", "none", &json!({}), &grants)?;
    let account = Account::new(namespace, plugins.folder())?;
    let may = [
        ("patch", "greetings.examples.windlass.dev", namespace),
        ("patch", "greetings.examples.windlass.dev/status", namespace),
        (
            "update",
            "greetings.examples.windlass.dev/finalizers",
            namespace,
        ),
        ("watch", "deployments.apps", namespace),
        ("create", "configmaps", "greetings"),
        ("create", "events.events.k8s.io", namespace),
        ("create", "events.events.k8s.io", "greetings"),
        ("update", "leases.coordination.k8s.io", namespace),
        ("list", "leases.coordination.k8s.io", namespace),
        ("delete", "leases.coordination.k8s.io", namespace),
        ("delete", "secrets/one", namespace),
        ("get", "jobs.batch", namespace),
    ];
    for (verb, resource, place) in may {
        assert!(
            can(&account, verb, resource, place).await?,
            "{verb} {resource} in {place}"
        );
    }
    let may_not = [
        ("list", "greetings.examples.windlass.dev", "default"),
        ("update", "greetings.examples.windlass.dev", namespace),
        ("delete", "greetings.examples.windlass.dev", namespace),
        ("get", "greetings.examples.windlass.dev", "greetings"),
        ("watch", "configmaps", "greetings"),
        ("get", "deployments.apps", "greetings"),
        ("deletecollection", "configmaps", namespace),
        ("get", "secrets", namespace),
        ("get", "secrets/two", namespace),
        ("list", "secrets", namespace),
        ("create", "pods", namespace),
        ("list", "jobs.batch", namespace),
        ("create", "events", namespace),
        ("delete", "events.events.k8s.io", namespace),
        ("create", "events.events.k8s.io", "default"),
        ("deletecollection", "leases.coordination.k8s.io", namespace),
        ("watch", "leases.coordination.k8s.io", namespace),
        ("get", "leases.coordination.k8s.io", "default"),
        ("get", "roles.rbac.authorization.k8s.io", namespace),
        ("create", "serviceaccounts/token", namespace),
        ("get", "nodes", namespace),
    ];
    for (verb, resource, place) in may_not {
        assert!(
            !can(&account, verb, resource, place).await?,
            "{verb} {resource} in {place}"
        );
    }
    Ok(())
}

/// What `kubectl auth can-i` says to the account itself.
async fn can(account: &Account, verb: &str, resource: &str, namespace: &str) -> Result<bool> {
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, sub @ ("status" | "finalizers" | "token"))) => (resource, Some(sub)),
        _ => (resource, None),
    };
    let mut arguments = vec!["auth", "can-i", verb, resource, "-n", namespace];
    let subresource = subresource.map(|name| format!("--subresource={name}"));
    arguments.extend(subresource.as_deref());
    let kubeconfig = account.kubeconfig()?;
    let output = control_plane()?
        .kubectl_with(&kubeconfig, &arguments, "")
        .await?;
    let said = String::from_utf8(output.stdout)?;
    let error = String::from_utf8(output.stderr)?;
    ensure!(
        matches!(said.trim(), "yes" | "no"),
        "{arguments:?}: {said} {error}"
    );
    Ok(said.trim() == "yes")
}

#[tokio::test]
async fn what_run_would_not_start_gives_no_roles_and_is_named() -> Result<()> {
    let plugins = Plugins::new("default")?.greeter()?;
    let all_fine = rbac(plugins.folder(), &[])?;
    assert!(all_fine.status.success(), "{all_fine:?}");
    let bare = json!({ "source": { "file": "greeter.wasm" } });
    let gone = json!({ "source": { "file": "gone.wasm" } });
    let plugins = plugins
        .document("bare", &bare)?
        .document("gone", &gone)?
        .file("broken.yaml", "kind: [")?;
    let output = rbac(plugins.folder(), &[])?;
    assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]));
    let said = String::from_utf8(output.stderr)?;
    for words in [
        "broken.yaml:1:7",
        "gone.yaml: spec.source.file",
        "bare.yaml: plugin bare needs access that is not granted",
        "error: 3 of the documents in",
    ] {
        assert!(said.contains(words), "it lacks {words:?}: {said}");
    }
    let empty = Plugins::new("default")?;
    let output = rbac(empty.folder(), &[])?;
    assert_eq!(output.status.code(), Some(1));
    Ok(())
}

#[tokio::test]
async fn a_plugin_never_gets_the_leases_of_its_host() -> Result<()> {
    let scene = Scene::empty("leases").await?;
    let namespace = &*scene.cluster.namespace;
    let leases = json!({
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "update"],
        "namespaces": [namespace],
    });
    let grants = [leases.acknowledged()];
    let plugins = Plugins::new(namespace)?.hostile("locks", "none", &json!({}), &grants)?;
    let refusal = format!("spec.grants[1]: leases in {namespace}, the namespace of the host");
    let refused = rbac(plugins.folder(), &["--namespace", namespace])?;
    let said = String::from_utf8(refused.stderr)?;
    ensure!(
        !refused.status.success() && said.contains(&refusal),
        "{said}"
    );
    let elsewhere = rbac(plugins.folder(), &["--namespace", "another"])?;
    ensure!(elsewhere.status.success(), "{elsewhere:?}");
    for file in ["hostile.wasm", "locks.yaml"] {
        let from = plugins.folder().join(file);
        std::fs::copy(from, scene.plugins.folder().join(file))?;
    }
    scene.host.says(&refusal).await?;
    Ok(())
}
