//! What happens to the folder happens to the plugins, and no more.

use std::fs;
use std::os::unix::fs::symlink;

use anyhow::Result;
use serde_json::json;
use windlass_e2e::variant::relay;
use windlass_e2e::{Account, Cluster, Greeter, Host, Plugins, Scene};

use crate::reload::relay::{component, document, put, scene, text, until_said, until_says};

#[tokio::test]
async fn a_document_that_comes_starts_a_plugin_and_one_that_goes_stops_it() -> Result<()> {
    let scene = Scene::empty("reload-drop").await?;
    scene.host.says("there is no plugin yet").await?;
    let soon = Plugins::new(&scene.cluster.namespace)?;
    put(soon.folder(), "relay.wasm", &component(1)?)?;
    document(&soon, "v1", "")?;
    scene.account.allow(soon.folder())?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    put(scene.plugins.folder(), "relay.wasm", &component(1)?)?;
    document(&scene.plugins, "v1", "")?;
    until_says(&scene.cluster, "ada", "end v1 Ada").await?;
    fs::remove_file(scene.plugins.folder().join("relay.yaml"))?;
    scene.host.says("its document is gone: stopping").await?;
    let lease = scene
        .cluster
        .until("Lease", "windlass-relay", "is released", |lease| {
            lease
                .pointer("/spec/holderIdentity")
                .is_none_or(|holder| holder == "")
        });
    lease.await?;
    document(&scene.plugins, "v2", "")?;
    until_says(&scene.cluster, "ada", "end v2 Ada").await?;
    assert!(scene.host.is_running());
    Ok(())
}

#[tokio::test]
async fn a_plugin_that_goes_leaves_its_finalizers_and_says_how_they_go() -> Result<()> {
    let scene = Scene::greeter(Greeter::Rust, "reload-gone").await?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    scene.cluster.until_ready("ada").await?;
    fs::remove_file(scene.plugins.folder().join("greeter.yaml"))?;
    scene
        .host
        .says("the finalizer windlass.dev/greeter stays on 1 object until")
        .await?;
    let ada = scene.cluster.get("Greeting", "ada").await?;
    let finalizers = ada.and_then(|ada| ada.metadata.finalizers);
    assert_eq!(finalizers, Some(vec!["windlass.dev/greeter".to_owned()]));
    Ok(())
}

#[tokio::test]
async fn a_new_component_and_a_new_document_take_over_between_two_passes() -> Result<()> {
    let scene = scene("reload-swap", &[]).await?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    until_says(&scene.cluster, "ada", "end v1 Ada").await?;
    document(&scene.plugins, "v2", "")?;
    until_says(&scene.cluster, "ada", "end v2 Ada").await?;
    put(scene.plugins.folder(), "relay.wasm", &component(2)?)?;
    until_said(&scene.host, 2, "swapped: every key runs again").await?;
    // Touched, and the same: no news.
    put(scene.plugins.folder(), "relay.wasm", &component(2)?)?;
    document(&scene.plugins, "v3", "")?;
    until_says(&scene.cluster, "ada", "end v3 Ada").await?;
    let swaps = scene.host.count(|line| line.message.contains("swapped:"));
    assert_eq!(swaps, 3, "{:#?}", scene.host.log());
    Ok(())
}

#[tokio::test]
async fn a_version_that_may_touch_more_gets_its_informers_before_it_takes_over() -> Result<()> {
    let scene = scene("reload-shape", &[]).await?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    until_says(&scene.cluster, "ada", "end v1 Ada").await?;
    let mut wider = text(&scene.plugins, "v2", "");
    let limits = wider.pointer_mut("/spec/limits");
    if let Some(limits) = limits {
        *limits = json!({ "concurrency": 3 });
    }
    put(
        scene.plugins.folder(),
        "relay.yaml",
        wider.to_string().as_bytes(),
    )?;
    until_says(&scene.cluster, "ada", "end v2 Ada").await?;
    until_said(&scene.host, 2, "all lists are in: reconciling").await?;
    scene
        .cluster
        .patch("Greeting", "ada", json!({ "spec": { "name": "Bea" } }))
        .await?;
    until_says(&scene.cluster, "ada", "end v2 Bea").await
}

#[tokio::test]
async fn a_folder_that_is_removed_costs_nothing_and_counts_again_when_it_is_back() -> Result<()> {
    let scene = scene("reload-folder", &[]).await?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    until_says(&scene.cluster, "ada", "end v1 Ada").await?;
    let folder = scene.plugins.folder();
    let aside = folder.with_extension("aside");
    fs::rename(folder, &aside)?;
    scene.host.says("cannot read the config folder").await?;
    scene
        .cluster
        .patch("Greeting", "ada", json!({ "spec": { "name": "Bea" } }))
        .await?;
    until_says(&scene.cluster, "ada", "end v1 Bea").await?;
    fs::create_dir(folder)?;
    put(folder, "relay.wasm", &component(2)?)?;
    document(&scene.plugins, "v2", "")?;
    until_says(&scene.cluster, "ada", "end v2 Bea").await?;
    document(&scene.plugins, "v3", "")?;
    until_says(&scene.cluster, "ada", "end v3 Bea").await?;
    fs::remove_dir_all(aside)?;
    Ok(())
}

#[tokio::test]
async fn a_mounted_config_map_is_followed_through_its_links() -> Result<()> {
    let cluster = Cluster::new("reload-links").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let folder = plugins.folder().to_owned();
    // As the kubelet does it: the data in a folder of its own, a link to it, links into that link.
    let publish = |data: &str, version: &str| -> Result<()> {
        fs::create_dir(folder.join(data))?;
        let document = text(&plugins, version, "").to_string();
        fs::write(folder.join(data).join("relay.yaml"), document)?;
        fs::write(folder.join(data).join("relay.wasm"), component(1)?)?;
        symlink(data, folder.join("..data_tmp"))?;
        fs::rename(folder.join("..data_tmp"), folder.join("..data"))?;
        Ok(())
    };
    publish("..one", "v1")?;
    for file in ["relay.yaml", "relay.wasm"] {
        symlink(format!("..data/{file}"), folder.join(file))?;
    }
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    let kubeconfig = Account::new(&cluster.namespace, &folder)?.kubeconfig()?;
    let host = Host::run(&folder, &kubeconfig, &cluster.namespace, &[])?;
    until_says(&cluster, "ada", "end v1 Ada").await?;
    publish("..two", "v2")?;
    fs::remove_dir_all(folder.join("..one"))?;
    until_says(&cluster, "ada", "end v2 Ada").await?;
    until_said(&host, 1, "swapped").await?;
    assert_eq!(host.count(|line| line.message.contains("stopping")), 0);
    Ok(())
}

#[tokio::test]
async fn twenty_plugins_that_come_at_once_all_start() -> Result<()> {
    let scene = Scene::empty("reload-twenty").await?;
    let soon = Plugins::new(&scene.cluster.namespace)?;
    for number in 0..20 {
        let name = format!("relay-{number}");
        let document = relay(&soon, &name, "v1", "");
        fs::write(
            soon.folder().join(format!("{name}.wasm")),
            component(number)?,
        )?;
        fs::write(
            soon.folder().join(format!("{name}.yaml")),
            document.to_string(),
        )?;
    }
    scene.account.allow(soon.folder())?;
    let mut files: Vec<_> = fs::read_dir(soon.folder())?.collect::<Result<_, _>>()?;
    // A document that is there before its component is an error for that while, and rightly.
    files.sort_by_key(|file| file.path().extension().map(|kind| kind != "wasm"));
    for file in files {
        fs::copy(file.path(), scene.plugins.folder().join(file.file_name()))?;
    }
    until_said(&scene.host, 20, "all lists are in: reconciling").await?;
    assert_eq!(
        scene
            .host
            .count(|line| line.fields.get("level") == Some(&json!("ERROR"))),
        0
    );
    Ok(())
}
