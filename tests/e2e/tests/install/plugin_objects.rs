//! Plugins as objects: installed, replaced, refused and removed with the API, from ConfigMaps and from a registry.

mod rollout;
mod scene;

use std::fs;

use anyhow::{Context, Result, ensure};
use kube::api::{DeleteParams, PostParams};
use serde_json::json;
use windlass_base::digest::digest;
use windlass_controlplane::Registry;
use windlass_e2e::{DEADLINE, Objects, eventually, windlass_alone};

use crate::plugin_objects::scene::says;

#[tokio::test]
async fn a_plugin_object_is_installed_replaced_refused_and_removed() -> Result<()> {
    let objects = Objects::start("object", &[]).await?;
    let namespace = objects.cluster.namespace.clone();
    let code = objects.component()?;
    // Two halves, and another byte string that is a component too.
    let (first, second) = code.split_at(code.len() / 2);
    objects.config_map("code-1", first).await?;
    objects.config_map("code-2", second).await?;
    let source = json!({ "configMap": {
        "namespace": namespace, "name": "code-1", "key": "greeter.wasm", "parts": ["code-2"],
        "digest": format!("sha256:{}", digest(&code).hex()),
    } });
    objects.create(&source).await?;
    let object = objects.until("Ready", "True", "Running").await?;
    ensure!(says(&object, "kind") == "Greeting", "{object:#}");
    ensure!(
        says(&object, "digest").len() == "sha256:".len() + 64,
        "{object:#}"
    );
    ensure!(!says(&object, "holder").is_empty(), "{object:#}");
    objects.greets("ada").await?;

    // Another component than the one that the Plugin names is refused, and so is something else than a component. The
    // last good version continues to run.
    objects.config_map("code-2", b"something else").await?;
    objects.until("Fetched", "False", "SourceRefused").await?;
    objects.greets("ben").await?;
    objects.replace(b"something else").await?;
    let object = objects
        .until("Compiled", "False", "ComponentRefused")
        .await?;
    ensure!(!says(&object, "version").is_empty(), "{object:#}");
    objects.greets("bea").await?;
    objects.config_map("code-2", second).await?;
    objects
        .patch(&json!({ "spec": { "source": source } }))
        .await?;
    objects.until("Ready", "True", "Running").await?;

    // A document that is wrong is said, and costs nothing.
    objects
        .patch(&json!({ "spec": { "limits": { "memory": "1Ki" } } }))
        .await?;
    objects.until("Stalled", "True", "DocumentInvalid").await?;
    objects.greets("cyd").await?;
    objects
        .patch(&json!({ "spec": { "limits": { "memory": null } } }))
        .await?;
    objects.until("Ready", "True", "Running").await?;

    let events = objects.events().await?;
    for reason in ["PluginLoaded", "PluginRejected"] {
        ensure!(events.iter().any(|it| it == reason), "{reason}: {events:?}");
    }

    // Nobody writes a status that has not changed.
    let before = objects.api().get(objects.name()).await?;
    objects.greets("dan").await?;
    let after = objects.api().get(objects.name()).await?;
    ensure!(before.metadata.resource_version == after.metadata.resource_version);

    Ok(())
}

#[tokio::test]
async fn a_deleted_plugin_runs_until_nothing_waits_for_it_or_is_released() -> Result<()> {
    let objects = Objects::start("removed", &[]).await?;
    let source = objects.code(&objects.component()?).await?;
    objects.create(&source).await?;
    objects.until("Ready", "True", "Running").await?;
    for name in ["ada", "bea"] {
        objects.greets(name).await?;
    }
    let protected = async || {
        let object = objects.api().get(objects.name()).await?;
        let finalizers = object.metadata.finalizers.unwrap_or_default();
        Ok((finalizers == ["plugins.windlass.dev/host"]).then_some(()))
    };
    eventually(DEADLINE, "the host protects the Plugin", protected).await?;
    let delete = DeleteParams::default();
    objects.api().delete(objects.name(), &delete).await?;
    let object = objects.until("Reconciling", "True", "Deleting").await?;
    let told = object["status"]["conditions"].to_string();
    ensure!(told.contains("2 objects carry the finalizer"), "{told}");
    // Another host knows from the status which objects these are.
    objects.host.terminate()?;
    objects.host.ended().await?;
    let second = objects.another()?;
    second.says("all lists are in: reconciling").await?;
    objects.until("Reconciling", "True", "Deleting").await?;
    // Until then it finalizes.
    objects.cluster.delete("Greeting", "ada").await?;
    objects.cluster.until_gone("Greeting", "ada").await?;

    objects
        .patch(&json!({ "spec": { "deletionPolicy": "Release" } }))
        .await?;
    let gone = async || {
        let object = objects.api().get_opt(objects.name()).await?;
        Ok(object.is_none().then_some(()))
    };
    eventually(DEADLINE, "the Plugin is gone", gone).await?;
    let bea = objects.cluster.get("Greeting", "bea").await?;
    let bea = bea.context("it is not deleted")?;
    ensure!(bea.metadata.finalizers.unwrap_or_default().is_empty());
    second.says("its document is gone: stopping").await?;
    Ok(())
}

#[tokio::test]
async fn a_plugin_object_that_observes_says_so_and_tells_once_that_it_would_write() -> Result<()> {
    let objects = Objects::start("observing", &[]).await?;
    let source = objects.code(&objects.component()?).await?;
    let mut object = objects.object(&source)?;
    object["spec"]["mode"] = "Observe".into();
    let object = serde_json::from_value(object)?;
    objects
        .api()
        .create(&PostParams::default(), &object)
        .await?;
    for name in ["ada", "bea"] {
        let spec = json!({ "name": name });
        objects.cluster.greet(name, spec).await?;
    }
    objects.until("Ready", "True", "Observing").await?;
    eventually(DEADLINE, "it tells that it would write", async || {
        let events = objects.events().await?;
        let told = events.iter().filter(|reason| **reason == "WouldWrite");
        Ok((told.count() == 1).then_some(()))
    })
    .await?;
    let child = objects.cluster.get("ConfigMap", "ada-greeting").await?;
    ensure!(child.is_none(), "it has written {child:?}");
    let run = json!({ "spec": { "mode": "Run" } });
    objects.patch(&run).await?;
    objects.until("Ready", "True", "Running").await?;
    for name in ["ada", "bea"] {
        objects.cluster.until_ready(name).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_plugin_of_the_folder_goes_before_an_object_of_its_name() -> Result<()> {
    let objects = Objects::start("taken", &[]).await?;
    let (name, home) = (objects.name(), objects.folder.path());
    let component = objects.component()?;
    fs::write(home.join("greeter.wasm"), &component)?;
    let mut document = objects.object(&json!({ "file": "greeter.wasm" }))?;
    document["metadata"] = json!({ "name": name });
    let file = home.join("greeter.yaml");
    fs::write(&file, document.to_string())?;
    objects.host.says("all lists are in: reconciling").await?;
    objects.greets("ada").await?;
    let source = objects.code(&component).await?;
    objects.create(&source).await?;
    let object = objects.until("Stalled", "True", "DocumentInvalid").await?;
    ensure!(says(&object, "holder").is_empty(), "{object:#}");
    // A file that cannot be read now is not one that is gone.
    fs::write(&file, "kind: [")?;
    objects.host.says("greeter.yaml").await?;
    objects.greets("bea").await?;
    ensure!(
        !says(
            &serde_json::to_value(objects.api().get(name).await?)?,
            "version"
        )
        .contains('.')
    );
    // The object goes, and nothing of it concerns the plugin.
    let delete = DeleteParams::default();
    objects.api().delete(name, &delete).await?;
    let gone = async || Ok(objects.api().get_opt(name).await?.is_none().then_some(()));
    eventually(DEADLINE, "the Plugin is gone", gone).await?;
    let ada = objects.cluster.get("Greeting", "ada").await?;
    let ada = ada.context("it is there")?;
    ensure!(!ada.metadata.finalizers.unwrap_or_default().is_empty());
    Ok(())
}

#[tokio::test]
async fn what_the_api_server_knows_to_be_wrong_it_refuses() -> Result<()> {
    let objects = Objects::start("wrong", &[]).await?;
    let map =
        json!({ "namespace": "x", "name": "x", "key": "x", "digest": format!("sha256:{:064}", 0) });
    let rows = [
        (json!({}), "exactly one of oci and configMap"),
        (
            json!({ "oci": "x/y", "configMap": map }),
            "exactly one of oci and configMap",
        ),
        (
            json!({ "configMap": map, "interval": "1m" }),
            "only for oci",
        ),
        (json!({ "configMap": { "name": "x" } }), "Required value"),
        (
            json!({ "configMap": { "namespace": "x", "name": "x", "key": "x" } }),
            "configMap.digest: Required value",
        ),
    ];
    for (source, want) in rows {
        let refused = objects.create(&source).await;
        let told = format!("{:#}", refused.err().context("it is taken")?);
        ensure!(told.contains(want), "{source}: {told}");
    }
    Ok(())
}

#[tokio::test]
async fn a_plugin_comes_from_a_private_registry_and_outlives_it() -> Result<()> {
    let registry = Registry::secure_with_user()?;
    let (host, home) = (registry.host().to_owned(), tempfile::tempdir()?);
    let registries = home.path().join("registries.yaml");
    let ca = home.path().join("ca.crt");
    fs::copy(registry.folder().join("tls.crt"), &ca)?;
    fs::write(
        &registries,
        json!({ "registries": { &*host: { "ca": ca, "allowLocal": true } } }).to_string(),
    )?;
    let auth = json!({ "auths": { &*host: { "username": "ada", "password": "s3cret" } } });
    let config = home.path().join("config.json");
    fs::write(&config, auth.to_string())?;
    let empty = home.path().join("empty.json");
    fs::write(&empty, "{}")?;
    let flag = |name: &str, file: &std::path::Path| format!("--{name}={}", file.display());
    let state = flag("state-dir", &home.path().join("state"));
    let of_registry = flag("registries", &registries);
    let flags = [of_registry.clone(), flag("registry-config", &empty), state];
    let objects = Objects::start("registry", &flags).await?;

    // The same component gives the same digest.
    let tag = format!("{host}/plugins/greeter:v1");
    let wasm = objects.plugins.folder().join("greeter.wasm");
    let wasm = wasm.to_str().context("a path is text")?;
    let push = || {
        let config = flag("registry-config", &config);
        let pushed = windlass_alone(&["push", &tag, wasm, &of_registry, &config])?;
        ensure!(
            pushed.status.success(),
            "{}",
            String::from_utf8_lossy(&pushed.stderr)
        );
        Ok(String::from_utf8(pushed.stdout)?.trim().to_owned())
    };
    let pinned = push()?;
    ensure!(
        push()? == pinned && pinned.starts_with(&format!("{tag}@sha256:")),
        "{pinned}"
    );
    let printed = windlass_alone(&[
        "manifest",
        &tag,
        &of_registry,
        &flag("registry-config", &config),
    ])?;
    let printed = String::from_utf8(printed.stdout)?;
    ensure!(printed.contains(&format!("oci: \"{pinned}\"")), "{printed}");

    // Without credentials there is nothing, and the status says why.
    objects
        .create(&json!({ "oci": tag, "interval": "10s" }))
        .await?;
    objects
        .until("Fetched", "False", "SourceUnauthorized")
        .await?;
    objects.pull_secret("pull", &auth).await?;
    objects
        .patch(&json!({ "spec": { "source": { "pullSecret": "pull" } } }))
        .await?;
    objects.until("Ready", "True", "Running").await?;
    objects.greets("ada").await?;

    // The registry goes, and so does the host: the last good version runs again, and the status says what is wrong.
    drop(registry);
    objects.host.terminate()?;
    objects.host.ended().await?;
    let second = objects.another()?;
    second.says("all lists are in: reconciling").await?;
    objects.greets("bea").await?;
    objects
        .until("Fetched", "False", "SourceUnavailable")
        .await?;
    Ok(())
}
