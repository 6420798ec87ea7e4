//! `make demo`: a Greeting's whole life on a real control plane, as an operator would see it, and its
//! plugin changed meanwhile.
//!
//! Exits with 0 only if all of it happened.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::{StreamExt, pin_mut};
use kube::api::{WatchEvent, WatchParams};
use serde_json::Value;
use windlass_controlplane::ControlPlane;
use windlass_e2e::{Account, Cluster, Host, Line, Plugins, control_plane, host_binary, workspace};
use windlass_sandbox_tests::guests::target;

/// The steps that are done, with the time that each took.
struct Demo {
    done: Vec<(&'static str, Duration)>,
    since: Instant,
}

impl Demo {
    fn done(&mut self, step: &'static str) {
        self.done.push((step, self.since.elapsed()));
        self.since = Instant::now();
    }
}

/// How kubectl prints the text of a Greeting's ConfigMap.
const TEXT: &str = r#"jsonpath={.data.index\.html}{"\n"}"#;

#[tokio::main]
async fn main() -> Result<()> {
    let mut demo = Demo {
        done: Vec::new(),
        since: Instant::now(),
    };
    println!("# etcd, kube-apiserver and kube-controller-manager, from source");
    let control_plane = control_plane()?;
    demo.done("control plane up");
    let plugins = Plugins::new("default")?
        .component("greeter", "greeter.wasm")?
        .file(
            "plugin.yaml",
            include_str!("../../../../plugins/greeter/plugin.yaml"),
        )?;
    demo.done("plugin built");
    host_binary()?;
    demo.done("host built");

    let greeter = workspace().join("plugins/greeter");
    let kind = greeter.display().to_string();
    show(control_plane, &["apply", "-k", &kind]).await?;
    show(
        control_plane,
        &[
            "wait",
            "--for=condition=Established",
            "crd/greetings.examples.windlass.dev",
        ],
    )
    .await?;
    demo.done("kind installed");

    println!("\n$ windlass rbac --config config --namespace default | kubectl apply -f -");
    let account = Account::new("default", plugins.folder())?;
    demo.done("roles given to the host");

    println!("\n$ windlass run --config config");
    let host = Host::run(plugins.folder(), &account.kubeconfig()?, "default", &[])?;
    let ready = host.says("all lists are in").await?;
    println!("{}", ready.message);
    demo.done("host ready");

    let cluster = Cluster::existing("default").await?;
    show(
        control_plane,
        &[
            "apply",
            "-f",
            &greeter.join("example.yaml").display().to_string(),
        ],
    )
    .await?;
    cluster.until_ready("ada").await?;
    demo.done("Greeting ready");
    show(
        control_plane,
        &[
            "get",
            "greetings,configmaps,deployments",
            "--field-selector=metadata.name!=kube-root-ca.crt",
        ],
    )
    .await?;
    show(
        control_plane,
        &[
            "get",
            "configmaps",
            "-n",
            "greetings",
            "--field-selector=metadata.name!=kube-root-ca.crt",
        ],
    )
    .await?;

    show(
        control_plane,
        &[
            "patch",
            "greeting",
            "ada",
            "--type=merge",
            "-p",
            r#"{"spec":{"name":"Grace"}}"#,
        ],
    )
    .await?;
    cluster
        .until("ConfigMap", "ada-greeting", "greets Grace", |map| {
            text(map).contains("Grace")
        })
        .await?;
    cluster.until_ready("ada").await?;
    show(control_plane, &["get", "greetings"]).await?;
    demo.done("changed, children follow");

    let before = uid(&cluster).await?;
    show(control_plane, &["delete", "configmap", "ada-greeting"]).await?;
    cluster
        .until("ConfigMap", "ada-greeting", "is back", |map| {
            map.pointer("/metadata/uid") != Some(&before)
        })
        .await?;
    show(control_plane, &["get", "configmap", "ada-greeting"]).await?;
    demo.done("child deleted by hand, restored");

    hot_reload(&mut demo, &plugins, &host, &cluster).await?;
    refused_update(&mut demo, &plugins, &host, &cluster).await?;

    end_of_life(control_plane, &cluster).await?;
    let finalized = host
        .logs("the host finalized", |line| {
            line.field("step") == "finalize"
        })
        .await?;
    println!(
        "host: {} {} {}",
        finalized.message,
        finalized.field("step"),
        finalized.field("object")
    );
    demo.done("deleted, finalizer seen working");

    println!(
        "\n# the children are the garbage collector's, which may take half a minute to learn a new kind"
    );
    for (kind, name) in [
        ("Greeting", "ada"),
        ("ConfigMap", "ada-greeting"),
        ("Deployment", "ada-greeting"),
    ] {
        cluster.until_gone(kind, name).await?;
    }
    let left = cluster.entries().await?;
    if !left.is_empty() {
        bail!("the register still holds {left:?}");
    }
    demo.done("all gone");

    host.terminate()?;
    let status = host.ended().await?;
    if !status.success() {
        bail!("the host ended with {status}");
    }
    demo.done("host stopped");
    println!("\n# all of it happened");
    for (step, took) in &demo.done {
        println!("{:>9.2} s  {step}", took.as_secs_f64());
    }
    Ok(())
}

/// Runs the real kubectl, and shows the command and its output.
async fn show(control_plane: &ControlPlane, arguments: &[&str]) -> Result<()> {
    let folder = workspace().display().to_string();
    let words: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
    let command = words.join(" ").replace(&format!("{folder}/"), "");
    println!("\n$ kubectl {command}");
    let output = control_plane.kubectl(arguments).await?;
    print!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if !output.status.success() {
        bail!("kubectl {command} failed");
    }
    Ok(())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_./=!,:%".contains(it);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Changes the plugin's code, and puts the new component into the folder of the running host.
async fn hot_reload(
    demo: &mut Demo,
    plugins: &Plugins,
    host: &Host,
    cluster: &Cluster,
) -> Result<()> {
    println!("\n# hot reload: the plugin's code is changed while the host runs it");
    let again = build_again()?;
    demo.done("new code built");
    put(plugins, &again)?;
    tell(plugins, &host.says("swapped").await?);
    until_text(cluster, "Hello, Grace, again!").await?;
    demo.done("new code swapped in, children follow");
    Ok(())
}

/// Puts half a component into that folder, sees the last good version work on, and mends it.
async fn refused_update(
    demo: &mut Demo,
    plugins: &Plugins,
    host: &Host,
    cluster: &Cluster,
) -> Result<()> {
    println!("\n# a bad update: the component is cut off");
    println!("\n$ truncate --size=100K config/greeter.wasm");
    let component = plugins.folder().join("greeter.wasm");
    fs::File::options()
        .write(true)
        .open(component)?
        .set_len(100 << 10)?;
    tell(plugins, &host.says("the last good version runs on").await?);
    demo.done("bad update refused");
    let rename = r#"{"spec":{"name":"Linus"}}"#;
    let patch = ["patch", "greeting", "ada", "--type=merge", "-p", rename];
    show(control_plane()?, &patch).await?;
    until_text(cluster, "Hello, Linus, again!").await?;
    demo.done("last good version answers a change");
    let first = target().join("wasm32-wasip2/guest/greeter.wasm");
    put(plugins, &first)?;
    until_text(cluster, "Hello, Linus!").await?;
    demo.done("mended by the first version");
    Ok(())
}

/// Builds the greeter with one line changed, in a copy of the workspace. Its file has another name: the
/// dependencies are those that are built already, and the greeter's own component is left alone.
fn build_again() -> Result<PathBuf> {
    let copy = workspace().join("target/demo");
    let greeter = copy.join("plugins/greeter");
    let _ = fs::remove_dir_all(&copy);
    fs::create_dir_all(greeter.join("src"))?;
    for file in ["Cargo.toml", "Cargo.lock"] {
        fs::copy(workspace().join(file), copy.join(file))?;
    }
    for folder in ["host", "guest-sdk", "tests", "wit"] {
        symlink(workspace().join(folder), copy.join(folder))?;
    }
    for (file, from, to) in [
        ("Cargo.toml", "[lib]", "[lib]\nname = \"greeter_again\""),
        ("src/lib.rs", "{name}!", "{name}, again!"),
        ("src/manifests.rs", "", ""),
    ] {
        let text = fs::read_to_string(workspace().join("plugins/greeter").join(file))?;
        fs::write(greeter.join(file), text.replace(from, to))?;
    }
    println!("\n$ sed -i 's/{{name}}!/{{name}}, again!/' plugins/greeter/src/lib.rs");
    let arguments = "build -p greeter --profile guest --target wasm32-wasip2 --target-dir";
    println!("\n$ cargo {arguments} target/guests   # in a copy, as greeter_again.wasm");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(arguments.split(' '))
        .arg(target())
        .arg("--quiet");
    if !cargo.current_dir(&copy).status()?.success() {
        bail!("the changed greeter does not build");
    }
    Ok(target().join("wasm32-wasip2/guest/greeter_again.wasm"))
}

/// Copies a component over the one in the folder.
fn put(plugins: &Plugins, from: &Path) -> Result<()> {
    let name = from.strip_prefix(workspace())?;
    println!("\n$ cp {} config/greeter.wasm", name.display());
    fs::copy(from, plugins.folder().join("greeter.wasm"))?;
    Ok(())
}

/// Waits for the text in the ConfigMap, and shows it.
async fn until_text(cluster: &Cluster, wanted: &str) -> Result<()> {
    let exact = |map: &Value| map.pointer("/data/index.html") == Some(&wanted.into());
    cluster
        .until("ConfigMap", "ada-greeting", wanted, exact)
        .await?;
    let get = ["get", "configmap", "ada-greeting", "-o", TEXT];
    show(control_plane()?, &get).await
}

/// Shows a line of the host's log, with the folder's name as in the commands.
fn tell(plugins: &Plugins, line: &Line) {
    let folder = plugins.folder().display().to_string();
    let message = line.message.replace(&folder, "config");
    let fields = ["digest", "old"].map(|name| (name, line.field(name)));
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    let fields: Vec<String> = fields
        .map(|(name, value)| format!(" {name}={value}"))
        .collect();
    println!("host: {message}{}", fields.concat());
}

/// Deletes the Greeting, and shows each state that a watch sees until it is gone.
async fn end_of_life(control_plane: &ControlPlane, cluster: &Cluster) -> Result<()> {
    let greetings = cluster.api("Greeting", "default")?;
    let only = WatchParams::default()
        .fields("metadata.name=ada")
        .timeout(60);
    let version = greetings
        .get("ada")
        .await?
        .metadata
        .resource_version
        .context("it has a version")?;
    let events = greetings.watch(&only, &version).await?;
    show(
        control_plane,
        &["delete", "greeting", "ada", "--wait=false"],
    )
    .await?;
    pin_mut!(events);
    let mut seen = Vec::new();
    while let Some(event) = events.next().await.transpose()? {
        match event {
            WatchEvent::Modified(object) => {
                let deleting = object.metadata.deletion_timestamp.is_some();
                let finalizers = object.metadata.finalizers.unwrap_or_default();
                println!("watch: MODIFIED deletionTimestamp={deleting} finalizers={finalizers:?}");
                let waits =
                    deleting && finalizers.iter().any(|name| name == "windlass.dev/greeter");
                seen.push(if waits { "waiting" } else { "modified" });
            }
            WatchEvent::Deleted(_) => {
                println!("watch: DELETED");
                seen.push("gone");
                break;
            }
            WatchEvent::Added(_) | WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(error) => bail!("the watch failed: {error}"),
        }
    }
    match (seen.first(), seen.last()) {
        (Some(&"waiting"), Some(&"gone")) => Ok(()),
        _ => bail!("the finalizer was not seen at work: {seen:?}"),
    }
}

async fn uid(cluster: &Cluster) -> Result<Value> {
    let map = cluster
        .get("ConfigMap", "ada-greeting")
        .await?
        .context("the child is there")?;
    Ok(map.metadata.uid.unwrap_or_default().into())
}

fn text(map: &Value) -> String {
    map.pointer("/data")
        .map(Value::to_string)
        .unwrap_or_default()
}
