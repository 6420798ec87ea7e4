//! New versions of a plugin: compared before they run, rolled back if they fail, and held back or chosen by annotations.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use windlass_e2e::{DEADLINE, Objects, Scrape, control_plane, eventually, windlass};

use crate::plugin_objects::scene::says;

/// So many passes of a version begin before they are judged.
const FIRST_PASSES: f64 = 10.0;

const ROLLBACK_TO: &str = "windlass.dev/rollback-to";

/// The greeter, which runs, in a ConfigMap.
async fn running(prefix: &str, more: &[String]) -> Result<Objects> {
    let objects = Objects::start(prefix, more).await?;
    let source = objects.code(&objects.component()?).await?;
    objects.create(&source).await?;
    objects.until("Ready", "True", "Running").await?;
    Ok(objects)
}

/// The greeter's component with a section that nobody reads: another digest.
fn variant(objects: &Objects, number: u8) -> Result<Vec<u8>> {
    let mut bytes = objects.component()?;
    bytes.extend([0, 3, 1, b'v', number]);
    Ok(bytes)
}

/// The sum of a metric's series.
async fn metric(objects: &Objects, series: &str) -> Result<f64> {
    let scrape = Scrape::of(&objects.host).await?;
    scrape
        .sum(series)?
        .with_context(|| format!("there is no {series}"))
}

/// Waits until the host has published an Event with this reason about the Plugin.
async fn until_told(objects: &Objects, reason: &str) -> Result<()> {
    eventually(DEADLINE, &format!("an Event {reason}"), async || {
        let events = objects.events().await?;
        if events.iter().any(|it| it == reason) {
            return Ok(Some(()));
        }
        bail!("there are {events:?}")
    })
    .await
}

/// Waits until the component with this digest runs.
async fn until_runs(objects: &Objects, digest: &str) -> Result<Value> {
    eventually(DEADLINE, &format!("{digest} runs"), async || {
        let object = serde_json::to_value(objects.api().get(objects.name()).await?)?;
        if says(&object, "digest") == digest {
            return Ok(Some(object));
        }
        bail!("it is {object:#}\n{:#?}", objects.host.log())
    })
    .await
}

async fn annotate(objects: &Objects, name: &str, value: &Value) -> Result<()> {
    let patch = json!({ "metadata": { "annotations": { name: value } } });
    objects.patch(&patch).await
}

fn message(object: &Value, kind: &str) -> Result<String> {
    let conditions = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    let condition = conditions.find(|it| it["type"] == kind);
    let message = condition.and_then(|it| it["message"].as_str());
    message.map(str::to_owned).context("no such condition")
}

#[tokio::test]
async fn a_version_that_always_fails_is_rolled_back_after_its_first_passes() -> Result<()> {
    let metrics = "--metrics-bind-address=127.0.0.1:0".to_owned();
    let state = tempfile::tempdir()?;
    let state = format!("--state-dir={}", state.path().join("state").display());
    let objects = running("rollback", &[metrics, state]).await?;
    let names: Vec<String> = (0..15).map(|number| format!("g{number}")).collect();
    for name in &names {
        objects.cluster.greet(name, json!({ "name": name })).await?;
    }
    for name in &names {
        objects.cluster.until_ready(name).await?;
    }
    let errors = r"controller_runtime_reconcile_errors_total\{.*";
    let before = metric(&objects, errors).await?;

    // The API server takes no Deployment without an image; what is not sent it does not judge.
    objects
        .patch(&json!({ "spec": { "config": { "image": "" } } }))
        .await?;
    let object = objects.until("Ready", "False", "RolledBack").await?;
    let told = message(&object, "Ready")?;
    ensure!(told.contains("it failed for 10 of 10 objects"), "{told}");
    ensure!(
        told.contains("its document is to blame") && told.contains("runs on"),
        "{told}"
    );
    let failed = metric(&objects, errors).await? - before;
    ensure!(failed <= FIRST_PASSES, "{failed} passes failed");
    let rollbacks = metric(&objects, r"windlass_rollbacks_total\{.*").await?;
    ensure!((rollbacks - 1.0).abs() < f64::EPSILON, "{rollbacks}");
    until_told(&objects, "PluginRolledBack").await?;

    // No change is lost: those of before, and those of now.
    objects.greets("new").await?;
    for name in &names {
        let spec = json!({ "spec": { "name": format!("{name} again") } });
        objects.cluster.patch("Greeting", name, spec).await?;
        objects.cluster.until_ready(name).await?;
    }
    let failed = metric(&objects, errors).await? - before;
    ensure!(failed <= FIRST_PASSES, "{failed} passes failed");

    // A version that needs a controller of its own: another grant.
    let patch = json!([
        { "op": "add", "path": "/spec/grants/-", "value": {
            "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "namespaces": ["other"],
        } },
    ]);
    let params = kube::api::PatchParams::default();
    let patch = kube::api::Patch::<()>::Json(serde_json::from_value(patch)?);
    objects.api().patch(objects.name(), &params, &patch).await?;
    let what = "it is rolled back again";
    eventually(DEADLINE, what, async || {
        let rollbacks = metric(&objects, r"windlass_rollbacks_total\{.*").await?;
        if rollbacks > 1.5 {
            return Ok(Some(()));
        }
        bail!("{rollbacks}: {:#?}", objects.host.log())
    })
    .await?;
    let failed = metric(&objects, errors).await? - before;
    ensure!(failed <= 2.0 * FIRST_PASSES, "{failed} passes failed");
    objects.greets("newer").await?;

    // A host that starts with its state does not try it again.
    objects.host.terminate()?;
    objects.host.ended().await?;
    let second = objects.another()?;
    second.says("the last good version runs on").await?;
    objects.greets("newest").await?;
    let rollbacks = Scrape::of(&second).await?;
    let rollbacks = rollbacks.sum(r"windlass_rollbacks_total\{.*")?;
    ensure!(rollbacks == Some(0.0), "{rollbacks:?}");
    let failed = Scrape::of(&second).await?.sum(errors)?;
    ensure!(failed == Some(0.0), "{failed:?} passes failed");

    // What is corrected runs.
    objects
        .patch(&json!({ "spec": { "config": null } }))
        .await?;
    objects.until("Ready", "True", "Running").await?;
    objects.greets("corrected").await?;
    Ok(())
}

#[tokio::test]
async fn what_a_new_version_would_do_differently_is_told() -> Result<()> {
    let objects = running("differs", &[]).await?;
    for name in ["ada", "bea"] {
        objects.greets(name).await?;
    }
    objects.replace(&variant(&objects, 1)?).await?;
    let tested = async |differing: u64| {
        eventually(DEADLINE, "a smoke test is told", async || {
            let object = serde_json::to_value(objects.api().get(objects.name()).await?)?;
            let tested = object
                .pointer("/status/smokeTest")
                .cloned()
                .unwrap_or_default();
            if tested["differing"] == differing && tested["objects"] == 2 {
                return Ok(Some(tested));
            }
            bail!("{object:#} {:#?}", objects.host.log())
        })
        .await
    };
    let same = tested(0).await?;
    ensure!(
        same["differences"] == json!([]) && same["leftOut"] == 0,
        "{same:#}"
    );
    until_told(&objects, "SmokeTestPassed").await?;

    let image = "docker.io/library/busybox:1.36";
    objects
        .patch(&json!({ "spec": { "config": { "image": image } } }))
        .await?;
    let other = tested(2).await?;
    let lines = other["differences"].to_string();
    let field = "spec.template.spec.containers[0].image";
    for part in [
        "Greeting ",
        "/ada: Deployment ",
        field,
        "busybox:1.37",
        "busybox:1.36",
    ] {
        ensure!(lines.contains(part), "{part}: {lines}");
    }
    until_told(&objects, "SmokeTestDiffers").await?;
    // It refuses nothing.
    objects.host.says("swapped: every key runs again").await?;
    objects.until("Ready", "True", "Running").await?;
    Ok(())
}

#[tokio::test]
async fn annotations_choose_a_component_and_hold_the_rollout() -> Result<()> {
    let state = tempfile::tempdir()?;
    let flag = format!("--state-dir={}", state.path().display());
    let objects = running("chosen", &[flag]).await?;
    objects.greets("ada").await?;
    let object = objects.until("Ready", "True", "Running").await?;
    let first = says(&object, "digest");

    objects.replace(&variant(&objects, 1)?).await?;
    let digest_of = |bytes: &[u8]| format!("sha256:{}", windlass_base::digest::digest(bytes).hex());
    let second = digest_of(&variant(&objects, 1)?);
    let object = until_runs(&objects, &second).await?;
    ensure!(
        says(&object, "lastGoodDigest") == first,
        "it is on trial: {object:#}"
    );

    // What is kept runs again, with the rest of the document.
    annotate(&objects, ROLLBACK_TO, &json!(first)).await?;
    let object = until_runs(&objects, &first).await?;
    ensure!(says(&object, "lastGoodDigest") == first, "{object:#}");
    objects.greets("bea").await?;

    // What nobody has does not, and what runs, runs on.
    let unknown = digest_of(b"nowhere");
    annotate(&objects, ROLLBACK_TO, &json!(unknown)).await?;
    let object = objects
        .until("Fetched", "False", "RollbackNotFound")
        .await?;
    let told = message(&object, "Fetched")?;
    ensure!(told.contains(&unknown) && told.contains(&first), "{told}");
    ensure!(says(&object, "digest") == first, "{object:#}");
    objects.greets("cyd").await?;
    annotate(&objects, ROLLBACK_TO, &json!("v1")).await?;
    objects.until("Stalled", "True", "DocumentInvalid").await?;
    annotate(&objects, ROLLBACK_TO, &Value::Null).await?;
    until_runs(&objects, &second).await?;

    // A pause holds what is new, and nothing else.
    let name = format!("plugin/{}", objects.name());
    let paused = windlass(&["pause", &name], &control_plane()?.kubeconfig_admin())?;
    ensure!(
        paused.status.success(),
        "{}",
        String::from_utf8_lossy(&paused.stderr)
    );
    objects.until("Reconciling", "True", "Paused").await?;
    objects
        .host
        .says("its rollout is paused: what runs, runs on")
        .await?;
    objects.replace(&variant(&objects, 2)?).await?;
    objects
        .patch(&json!({ "spec": { "config": { "image": "x" } } }))
        .await?;
    let object = objects.until("Ready", "True", "Paused").await?;
    ensure!(says(&object, "digest") == second, "{object:#}");
    objects.greets("dan").await?;
    // Also after a restart of the host.
    objects.host.terminate()?;
    objects.host.ended().await?;
    let another = objects.another()?;
    another.says("all lists are in: reconciling").await?;
    objects.greets("eve").await?;
    let object = objects.until("Ready", "True", "Paused").await?;
    let third = digest_of(&variant(&objects, 2)?);
    ensure!(says(&object, "digest") != third, "{object:#}");

    annotate(&objects, "windlass.dev/paused", &Value::Null).await?;
    until_runs(&objects, &third).await?;
    Ok(())
}
