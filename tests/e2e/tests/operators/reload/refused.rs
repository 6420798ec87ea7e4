//! A bad version is refused and says why; the good one makes every pass meanwhile.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;

use anyhow::Result;
use serde_json::json;
use windlass_e2e::{Greeter, Scene};
use windlass_sandbox_tests::handmade::Handmade;

use crate::reload::relay::{component, document, put, scene, text, until_said, until_says};

/// A relay that runs and has an object.
async fn settled(prefix: &str, more: &[&str]) -> Result<Scene> {
    let scene = scene(prefix, more).await?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    until_says(&scene.cluster, "ada", "end v1 Ada").await?;
    Ok(scene)
}

/// Changes the object, and waits until the version `v1` has seen it.
async fn v1_answers(scene: &Scene, name: &str) -> Result<()> {
    let spec = json!({ "spec": { "name": name } });
    scene.cluster.patch("Greeting", "ada", spec).await?;
    until_says(&scene.cluster, "ada", &format!("end v1 {name}")).await
}

#[tokio::test]
async fn a_version_that_traps_or_does_not_end_is_refused_by_its_smoke_test() -> Result<()> {
    let scene = settled("refused-smoke", &[]).await?;
    document(&scene.plugins, "v2", "trap")?;
    let line = scene.host.says("fails its smoke test").await?;
    assert!(line.message.contains("plugin trapped"), "{line:?}");
    assert!(
        line.message.contains("the last good version runs on"),
        "{line:?}"
    );
    v1_answers(&scene, "Bea").await?;
    document(&scene.plugins, "v3", "slow")?;
    scene.host.says("used up its CPU time").await?;
    v1_answers(&scene, "Cleo").await?;
    document(&scene.plugins, "v4", "")?;
    until_says(&scene.cluster, "ada", "end v4 Cleo").await?;
    let passes = scene.host.passes(&scene.greeting("ada"));
    assert!(
        passes.iter().all(|pass| pass.field("outcome") == "rest"),
        "{passes:#?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_document_that_is_edited_to_be_invalid_changes_nothing() -> Result<()> {
    let scene = settled("refused-document", &[]).await?;
    let folder = scene.plugins.folder();
    put(folder, "relay.yaml", b"kind: [")?;
    scene.host.says("relay.yaml:1:7").await?;
    v1_answers(&scene, "Bea").await?;
    let mut fewer = text(&scene.plugins, "v2", "");
    if let Some(grants) = fewer.pointer_mut("/spec/grants") {
        *grants = json!([scene.plugins.grant(
            "examples.windlass.dev",
            &["greetings"],
            &["get", "list", "watch"]
        )]);
    }
    put(folder, "relay.yaml", fewer.to_string().as_bytes())?;
    let line = scene.host.says("needs access that is not granted").await?;
    assert!(
        line.message.contains("get list watch configmaps"),
        "{line:?}"
    );
    v1_answers(&scene, "Cleo").await?;
    let named = text(&scene.plugins, "v2", "").to_string();
    put(
        folder,
        "relay.yaml",
        named.replace("\"relay\"", "\"Relay_2\"").as_bytes(),
    )?;
    scene
        .host
        .says("metadata.name: must be a DNS label")
        .await?;
    v1_answers(&scene, "Dora").await?;
    document(&scene.plugins, "v2", "")?;
    until_says(&scene.cluster, "ada", "end v2 Dora").await?;
    assert_eq!(
        scene.host.count(|line| line.message.contains("stopping")),
        0
    );
    Ok(())
}

#[tokio::test]
async fn a_component_that_is_written_in_two_halves_is_never_loaded_half() -> Result<()> {
    let scene = settled("refused-half", &[]).await?;
    let path = scene.plugins.folder().join("relay.wasm");
    let whole = component(2)?;
    let (one, two) = whole.split_at(whole.len() / 2);
    // The writer closes its file after the first half: it looks finished, and is judged.
    fs::write(&path, one)?;
    let line = scene.host.says("damaged or cut off").await?;
    assert!(
        line.message.contains("the last good version runs on"),
        "{line:?}"
    );
    v1_answers(&scene, "Bea").await?;
    OpenOptions::new()
        .append(true)
        .open(&path)?
        .write_all(two)?;
    until_said(&scene.host, 1, "swapped").await?;
    // A writer that keeps its file open says nothing: nobody looks before it has ended.
    let whole = component(3)?;
    let (one, two) = whole.split_at(whole.len() / 2);
    let mut file = fs::File::create(&path)?;
    file.write_all(one)?;
    file.sync_all()?;
    v1_answers(&scene, "Cleo").await?;
    file.write_all(two)?;
    drop(file);
    until_said(&scene.host, 2, "swapped").await?;
    v1_answers(&scene, "Dora").await
}

#[tokio::test]
async fn a_document_that_names_a_component_on_its_way_waits_for_it() -> Result<()> {
    let scene = settled("refused-coming", &[]).await?;
    let folder = scene.plugins.folder();
    let whole = component(2)?;
    let (one, two) = whole.split_at(whole.len() / 2);
    let mut file = fs::File::create(folder.join("new.wasm"))?;
    file.write_all(one)?;
    let mut renamed = text(&scene.plugins, "v2", "");
    if let Some(source) = renamed.pointer_mut("/spec/source") {
        *source = json!({ "file": "new.wasm" });
    }
    put(folder, "relay.yaml", renamed.to_string().as_bytes())?;
    v1_answers(&scene, "Bea").await?;
    file.write_all(two)?;
    drop(file);
    until_says(&scene.cluster, "ada", "end v2 Bea").await?;
    assert_eq!(
        scene.host.count(|line| line.message.contains("stopping")),
        0
    );
    Ok(())
}

#[tokio::test]
async fn links_in_a_circle_and_files_that_lead_nowhere_cost_nobody_else_anything() -> Result<()> {
    let scene = settled("refused-links", &[]).await?;
    let folder = scene.plugins.folder();
    symlink("loop.yaml", folder.join("loop.yaml"))?;
    let line = scene.host.says("loop.yaml: cannot be read").await?;
    assert!(line.message.contains("symbolic links"), "{line:?}");
    symlink("nowhere.yaml", folder.join("lost.yaml"))?;
    scene.host.says("lost.yaml: cannot be read").await?;
    v1_answers(&scene, "Bea").await?;
    fs::remove_file(folder.join("relay.wasm"))?;
    scene.host.says("relay.wasm: there is no such file").await?;
    v1_answers(&scene, "Cleo").await
}

#[tokio::test]
async fn another_primary_kind_is_refused_while_objects_carry_the_plugins_finalizer() -> Result<()> {
    let scene = Scene::greeter(Greeter::Rust, "refused-kind").await?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    scene.cluster.until_ready("ada").await?;
    let other = Handmade::default().of_kind("v1", "ConfigMap").build()?;
    put(scene.plugins.folder(), "greeter.wasm", &other)?;
    let line = scene
        .host
        .says("does not reconcile Greeting any more")
        .await?;
    assert!(
        line.message.contains("run `windlass release greeter`"),
        "{line:?}"
    );
    scene.cluster.delete("Greeting", "ada").await?;
    scene.cluster.until_gone("Greeting", "ada").await
}
