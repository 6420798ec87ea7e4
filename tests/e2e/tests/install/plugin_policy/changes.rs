//! Attempts to change a Plugin that is there.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_e2e::control_plane;

use crate::plugin_policy::attempt::{Attempt, Outcome, ways};
use crate::plugin_policy::scene::Scene;
use crate::plugin_policy::users::DEPLOYER;

/// What decides what a plugin does, and another value of each; null takes it away.
fn fields() -> [(&'static str, Value); 19] {
    [
        (
            "/spec/source",
            json!({ "oci": "registry.example.com/plugins/other:1" }),
        ),
        ("/spec/source/interval", json!("5m")),
        (
            "/spec/grants",
            json!([{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }]),
        ),
        (
            "/spec/http",
            json!({ "allow": [{ "origin": "https://example.com" }] }),
        ),
        ("/spec/config", json!({ "a": 2 })),
        ("/spec/limits", json!({ "memory": "1Gi" })),
        ("/spec/deletionPolicy", json!("Orphan")),
        ("/spec/finalizer", json!("example.com/theirs")),
        ("/spec/crds", json!("Install")),
        ("/spec/replaces", json!(["kubectl"])),
        ("/spec/reportingController", json!("kubectl")),
        ("/metadata/labels/windlass.dev~1new", json!("yes")),
        // They decide which host runs it, and what deletes it.
        ("/metadata/labels/team", json!("a")),
        (
            "/metadata/ownerReferences",
            json!([{ "apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "0" }]),
        ),
        ("/metadata/labels/windlass.dev~1kept", json!("no")),
        ("/metadata/annotations/windlass.dev~1paused", json!("true")),
        ("/metadata/annotations/windlass.dev~1kept", json!("no")),
        ("/metadata/labels/windlass.dev~1kept", Value::Null),
        ("/metadata/annotations/windlass.dev~1kept", Value::Null),
    ]
}

#[tokio::test]
async fn a_change_of_what_runs_needs_the_right_to_act_as_the_plugin() -> Result<()> {
    let scene = Scene::new("changes").await?;
    let plugin = scene.read().await?;
    let mut attempts = Vec::new();
    for (field, value) in fields() {
        let refused = scene.refuses("writer", DEPLOYER);
        attempts.extend(ways("writer", &plugin, field, &value, &refused));
        let forbidden =
            |verb: &str| scene.forbids("reader", &format!("{verb} resource \"plugins\""));
        let by_reader = ways("reader", &plugin, field, &value, &Outcome::Code(403));
        attempts.extend(by_reader.into_iter().map(|attempt| {
            let verb = if attempt.method == "PUT" {
                "update"
            } else {
                "patch"
            };
            let outcome = forbidden(verb);
            Attempt { outcome, ..attempt }
        }));
        // The same requests are fine for others, so that nothing else refuses them.
        for who in ["keeper", "broad", "chief"] {
            let allowed = ways(who, &plugin, field, &value, &Outcome::Code(200));
            attempts.extend(allowed.into_iter().map(Attempt::dry));
        }
    }
    let count = scene.check_all(&attempts).await?;
    ensure!(count > 250, "{count}");
    // What is refused is refused without effect too.
    let dry = ways(
        "writer",
        &plugin,
        "/spec/config",
        &json!({ "a": 2 }),
        &scene.refuses("writer", DEPLOYER),
    );
    for attempt in dry {
        scene.check(&attempt.dry()).await?;
    }
    // And what is allowed has an effect.
    let config = json!({ "spec": { "config": { "a": 3 } } });
    let path = format!("/{}", scene.name());
    scene
        .check(&Attempt::merge("keeper", &path, config, Outcome::Code(200)))
        .await?;
    ensure!(scene.read().await?["spec"]["config"]["a"] == 3);
    Ok(())
}

#[tokio::test]
async fn another_account_needs_the_right_to_act_as_that_one() -> Result<()> {
    let scene = Scene::new("accounts").await?;
    let plugin = scene.read().await?;
    let place = "/spec/serviceAccount";
    let (mine, away) = (
        scene.account("other"),
        json!({ "namespace": "default", "name": "default" }),
    );
    let mut attempts = Vec::new();
    for (account, namespace, name) in [
        (&mine, scene.name(), "other"),
        (&away, "default", "default"),
    ] {
        for who in ["writer", "keeper"] {
            let refused = scene.refuses_in(who, namespace, name);
            attempts.extend(ways(who, &plugin, place, account, &refused));
        }
        for who in ["broad", "chief"] {
            let allowed = ways(who, &plugin, place, account, &Outcome::Code(200));
            attempts.extend(allowed.into_iter().map(Attempt::dry));
        }
    }
    for who in ["writer", "keeper", "broad"] {
        attempts.extend(ways(who, &plugin, place, &Value::Null, &scene.misses(who)));
    }
    let chief = ways("chief", &plugin, place, &Value::Null, &Outcome::Code(200));
    attempts.extend(chief.into_iter().map(Attempt::dry));
    // The right to escalate another Plugin is not enough.
    attempts.extend(ways(
        "mayor",
        &plugin,
        place,
        &Value::Null,
        &scene.misses("mayor"),
    ));
    scene.check_all(&attempts).await?;
    Ok(())
}

#[tokio::test]
async fn a_change_that_leaves_the_plugin_as_it_is_needs_rbac_only() -> Result<()> {
    let scene = Scene::new("harmless").await?;
    let plugin = scene.read().await?;
    let mut attempts = Vec::new();
    for (field, value) in [
        ("/metadata/annotations/note", json!("some")),
        ("/metadata/annotations/note", Value::Null),
        ("/metadata/finalizers", json!(["example.com/theirs"])),
    ] {
        let allowed = ways("writer", &plugin, field, &value, &Outcome::Code(200));
        attempts.extend(allowed.into_iter().map(Attempt::dry));
    }
    scene.check_all(&attempts).await?;
    Ok(())
}

#[tokio::test]
async fn the_status_changes_no_spec_and_other_subresources_are_not_there() -> Result<()> {
    let scene = Scene::new("below").await?;
    let plugin = scene.read().await?;
    let path = format!("/{}", scene.name());
    let status = format!("{path}/status");
    let mut whole = plugin.clone();
    whole["spec"]["config"]["a"] = json!(2);
    whole["metadata"]["labels"]["windlass.dev/new"] = json!("yes");
    whole["status"] = json!({ "version": "1" });
    let step = json!([{ "op": "replace", "path": "/spec/config", "value": { "a": 2 } }]);
    let part = json!({ "spec": { "serviceAccount": null }, "status": { "version": "2" } });
    let attempts = [
        Attempt::new("writer", "PUT", &status, whole.clone(), Outcome::Code(200)),
        Attempt::json_patch("writer", &status, step.clone(), Outcome::Code(200)),
        Attempt::merge("writer", &status, part, Outcome::Code(200)),
    ];
    for attempt in &attempts {
        let after = scene.check(attempt).await?;
        let same = |field: &str| after.pointer(field) == plugin.pointer(field);
        ensure!(same("/spec") && same("/metadata/labels"), "{after:#}");
    }
    let scale = format!("{path}/scale");
    let body = json!({ "spec": { "replicas": 2 } });
    let named = |what: &str| scene.forbids("reader", what);
    let strategic = "application/strategic-merge-patch+json";
    let attempts = [
        Attempt::new(
            "reader",
            "PUT",
            &status,
            whole.clone(),
            named("update resource \"plugins/status\""),
        ),
        Attempt::merge(
            "reader",
            &scale,
            body.clone(),
            named("patch resource \"plugins/scale\""),
        ),
        Attempt::merge("writer", &scale, body, Outcome::Code(404)),
        Attempt::new(
            "writer",
            "PUT",
            &format!("{path}/finalizers"),
            whole.clone(),
            Outcome::Code(404),
        ),
        Attempt::json_patch("writer", &format!("{path}/spec"), step, Outcome::Code(404)),
        Attempt::new("writer", "PATCH", &path, whole, Outcome::Code(415)).sent_as(strategic),
    ];
    scene.check_all(&attempts).await?;
    Ok(())
}

#[tokio::test]
async fn kubectl_shows_what_the_policy_says() -> Result<()> {
    let scene = Scene::new("kubectl").await?;
    let mut plugin = scene.read().await?;
    plugin["spec"]["grants"] = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
    let kubeconfig = scene.users.kubeconfig("writer")?;
    let Outcome::Policy(words) = scene.refuses("writer", DEPLOYER) else {
        unreachable!("it is what the policy says")
    };
    for arguments in [
        &["replace", "-f", "-"][..],
        &["apply", "-f", "-"],
        &["apply", "--server-side", "--force-conflicts", "-f", "-"],
        &["replace", "--force", "-f", "-"],
    ] {
        if arguments.contains(&"--server-side") {
            plugin["metadata"] = json!({ "name": scene.name() });
        }
        let text = plugin.to_string();
        let output = control_plane()?.kubectl_with(kubeconfig, arguments, &text);
        let output = output.await?;
        let said = String::from_utf8(output.stderr)?;
        ensure!(
            !output.status.success() && said.contains(&words),
            "{arguments:?}: {said}"
        );
    }
    Ok(())
}
