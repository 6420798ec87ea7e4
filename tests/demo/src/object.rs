//! The same plugin as a Plugin object whose component is in a registry: installed, upgraded by digest, and a bad version
//! refused.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windlass_controlplane::Registry;
use windlass_e2e::{Account, Cluster, Host, documents, windlass_alone, workspace};
use windlass_harness::guests::target;

use crate::Demo;
use crate::kubectl::{Do, Kubectl};
use crate::reload::{AGAIN, PANICS, build};

/// Where the object is written, in the workspace.
const FILE: &str = "target/demo/plugin-object.yaml";

/// A registry with plain HTTP, and the host's settings for it.
struct Shop {
    registry: Registry,
    settings: String,
    _home: tempfile::TempDir,
}

impl Shop {
    fn open() -> Result<Self> {
        let registry = Registry::plain()?;
        let home = tempfile::tempdir()?;
        let file = home.path().join("registries.yaml");
        let of_registry = json!({ "plainHTTP": true, "allowLocal": true });
        let settings = json!({ "registries": { registry.host(): of_registry } });
        fs::write(&file, settings.to_string())?;
        Ok(Self {
            registry,
            settings: format!("--registries={}", file.display()),
            _home: home,
        })
    }

    /// Pushes a component; answers its reference by digest.
    fn push(&self, version: &str, component: &Path) -> Result<String> {
        let reference = format!("{}/plugins/greeter:{version}", self.registry.host());
        let file = component.strip_prefix(workspace())?.display();
        println!("\n$ windlass push {reference} {file}");
        let component = component.to_str().context("a path is text")?;
        let output = windlass_alone(&["push", &reference, component, &self.settings])?;
        let (said, failed) = (output.stdout, output.stderr);
        ensure!(
            output.status.success(),
            "windlass push failed: {}",
            String::from_utf8_lossy(&failed)
        );
        let pinned = String::from_utf8(said)?.trim().to_owned();
        println!("{pinned}");
        Ok(pinned)
    }
}

/// All of it, with an `account` that may do what the greeter needs.
pub(crate) async fn show(demo: &mut Demo, kubectl: &Kubectl, account: &Account) -> Result<()> {
    println!("\n# the same plugin as an object, with its component in a registry");
    let shop = Shop::open()?;
    let built = |name: &str| target().join(format!("wasm32-wasip2/guest/{name}.wasm"));
    let first = shop.push("v1", &built("greeter"))?;
    let second = shop.push("v2", &built(AGAIN.name))?;
    let bad = shop.push("v3", &build(&PANICS)?)?;
    demo.done("three versions pushed");

    kubectl.show(Do::Apply("deploy/crds/plugins.windlass.dev.yaml"))?;
    kubectl.show(Do::WaitForKind("plugins.windlass.dev"))?;
    let rights = fs::read_to_string(workspace().join("deploy/base/plugin-objects.yaml"))?;
    account.grant(&documents(&rights.replace("windlass-system", "default"))?)?;
    println!("\n$ windlass run --plugin-objects");
    let folder = tempfile::tempdir()?;
    let flags = ["--plugin-objects", &*shop.settings];
    let host = Host::run(folder.path(), &account.kubeconfig()?, "default", &flags)?;
    fs::write(workspace().join(FILE), object(&first)?)?;
    kubectl.show(Do::Apply(FILE))?;
    kubectl.show(Do::WaitForReady("plugin/greeter", "True"))?;
    kubectl.show(Do::List(&["plugins"], "default"))?;
    demo.done("plugin installed by kubectl");

    let cluster = Cluster::existing("default").await?;
    kubectl.show(Do::Apply("plugins/greeter/example.yaml"))?;
    let says = async |wanted: &str| {
        let exact = |map: &Value| map.pointer("/data/index.html") == Some(&wanted.into());
        let map = cluster.until("ConfigMap", "ada-greeting", wanted, exact);
        map.await?;
        kubectl.show(Do::Text("ada-greeting"))
    };
    says("Hello, Ada!").await?;
    kubectl.show(Do::Patch("plugin", "greeter", &source(&second)))?;
    says("Hello, Ada, again!").await?;
    demo.done("upgraded by digest, children follow");

    println!("\n# a bad version: it panics");
    kubectl.show(Do::Patch("plugin", "greeter", &source(&bad)))?;
    kubectl.show(Do::WaitForReady("plugin/greeter", "False"))?;
    kubectl.show(Do::Why("greeter"))?;
    let rename = r#"{"spec":{"name":"Linus"}}"#;
    kubectl.show(Do::Patch("greeting", "ada", rename))?;
    says("Hello, Linus, again!").await?;
    demo.done("bad version refused, last good version answers a change");
    kubectl.show(Do::Patch("plugin", "greeter", &source(&second)))?;
    kubectl.show(Do::WaitForReady("plugin/greeter", "True"))?;

    kubectl.show(Do::Delete("greeting", "ada", true))?;
    kubectl.show(Do::Delete("plugin", "greeter", true))?;
    host.says("its document is gone: stopping").await?;
    host.terminate()?;
    let status = host.ended().await?;
    ensure!(status.success(), "the host ended with {status}");
    demo.done("removed by kubectl");
    Ok(())
}

/// The greeter's document, with its component in a registry.
fn object(reference: &str) -> Result<String> {
    let text = include_str!("../../../plugins/greeter/plugin.yaml");
    let file = "file: greeter.wasm";
    ensure!(text.contains(file), "the document names no file");
    Ok(text.replace(file, &format!("oci: \"{reference}\"")))
}

/// A patch that names another component.
fn source(reference: &str) -> String {
    json!({ "spec": { "source": { "oci": reference } } }).to_string()
}
