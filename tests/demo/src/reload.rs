//! The plugin's code changes while the host runs it, once for the better and once for the worse.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail, ensure};
use serde_json::Value;
use windlass_e2e::{Cluster, Host, Line, Plugins, workspace};
use windlass_harness::guests::target;

use crate::Demo;
use crate::kubectl::{Do, Kubectl};

/// What the steps are about.
pub(crate) struct Running<'a> {
    pub(crate) plugins: &'a Plugins,
    pub(crate) host: &'a Host,
    pub(crate) cluster: &'a Cluster,
    pub(crate) kubectl: &'a Kubectl,
}

impl Running<'_> {
    /// Changes the plugin's code, and puts the new component into the folder of the running host.
    pub(crate) async fn hot_reload(&self, demo: &mut Demo) -> Result<()> {
        println!("\n# hot reload: the plugin's code is changed while the host runs it");
        let again = build(&AGAIN)?;
        demo.done("new code built");
        put(self.plugins, &again)?;
        tell(self.plugins, &self.host.says("swapped").await?);
        self.until_text("Hello, Grace, again!").await?;
        demo.done("new code swapped in, children follow");
        Ok(())
    }

    /// Puts half a component into that folder, sees the last good version work on, and fixes it.
    pub(crate) async fn refused_update(&self, demo: &mut Demo) -> Result<()> {
        println!("\n# a bad update: the component is cut off");
        println!("\n$ truncate --size=100K config/greeter.wasm");
        let component = self.plugins.folder().join("greeter.wasm");
        let component = fs::File::options().write(true).open(component)?;
        component.set_len(100 << 10)?;
        let refused = self.host.says("the last good version runs on").await?;
        tell(self.plugins, &refused);
        demo.done("bad update refused");
        let rename = r#"{"spec":{"name":"Linus"}}"#;
        let patch = Do::Patch("greeting", "ada", rename);
        self.kubectl.show(patch)?;
        self.until_text("Hello, Linus, again!").await?;
        demo.done("last good version answers a change");
        let first = target().join("wasm32-wasip2/guest/greeter.wasm");
        put(self.plugins, &first)?;
        self.until_text("Hello, Linus!").await?;
        demo.done("fixed by the first version");
        Ok(())
    }

    /// Waits for the text in the ConfigMap, and shows it.
    async fn until_text(&self, wanted: &str) -> Result<()> {
        let exact = |map: &Value| map.pointer("/data/index.html") == Some(&wanted.into());
        let map = self
            .cluster
            .until("ConfigMap", "ada-greeting", wanted, exact);
        map.await?;
        self.kubectl.show(Do::Text("ada-greeting"))
    }
}

/// A change of the greeter's code.
pub(crate) struct Edit {
    /// The name of the component.
    pub(crate) name: &'static str,
    from: &'static str,
    to: &'static str,
}

/// It says one word more.
pub(crate) const AGAIN: Edit = Edit {
    name: "greeter_again",
    from: "{name}!",
    to: "{name}, again!",
};

/// It panics.
pub(crate) const PANICS: Edit = Edit {
    name: "greeter_panics",
    from: "let text = ",
    to: "assert!(name.is_empty()); let text = ",
};

/// Builds the greeter with one line changed, in a copy of the workspace. Its file has another name: the
/// dependencies are those that are built already, and the greeter's own component is left alone.
pub(crate) fn build(edit: &Edit) -> Result<PathBuf> {
    let copy = workspace().join("target/demo");
    let greeter = copy.join("plugins/greeter");
    fs::create_dir_all(greeter.join("src"))?;
    for file in ["Cargo.toml", "Cargo.lock"] {
        write(
            &copy.join(file),
            &fs::read_to_string(workspace().join(file))?,
        )?;
    }
    let mut linked = ["host", "guest-sdk", "tests", "wit"]
        .map(PathBuf::from)
        .to_vec();
    for plugin in fs::read_dir(workspace().join("plugins"))? {
        let name = plugin?.file_name();
        if name != "greeter" {
            linked.push(Path::new("plugins").join(name));
        }
    }
    for folder in linked {
        match symlink(workspace().join(&folder), copy.join(&folder)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made?,
        }
    }
    let Edit { name, from, to } = edit;
    for (file, from, to) in [
        ("Cargo.toml", "[lib]", &*format!("[lib]\nname = \"{name}\"")),
        ("src/lib.rs", from, to),
        ("src/manifests.rs", "", ""),
    ] {
        let text = fs::read_to_string(workspace().join("plugins/greeter").join(file))?;
        ensure!(text.contains(from), "{file} does not contain {from}");
        write(&greeter.join(file), &text.replace(from, to))?;
    }
    println!("\n$ sed -i 's/{from}/{to}/' plugins/greeter/src/lib.rs");
    let arguments = "build -p greeter --profile guest --target wasm32-wasip2 --target-dir";
    println!("\n$ cargo {arguments} target/guests   # in a copy, as {name}.wasm");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(arguments.split(' '))
        .arg(target())
        .arg("--quiet");
    if !cargo.current_dir(&copy).status()?.success() {
        bail!("the changed greeter does not build");
    }
    Ok(target().join(format!("wasm32-wasip2/guest/{name}.wasm")))
}

/// Writes a file that says something else so far: what is as it was need not be built again.
fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|held| held == text) {
        return Ok(());
    }
    Ok(fs::write(path, text)?)
}

/// Copies a component over the one in the folder.
fn put(plugins: &Plugins, from: &Path) -> Result<()> {
    let name = from.strip_prefix(workspace())?;
    println!("\n$ cp {} config/greeter.wasm", name.display());
    fs::copy(from, plugins.folder().join("greeter.wasm"))?;
    Ok(())
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
