//! An author's first ten minutes: a new project, `windlass dev`, and what may go wrong in them.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod always;
mod bad;
mod carried;
mod chaos;
mod chaos_outside;
mod endless;
mod failing_writes;
mod fixtures;
mod follows;
mod grants;
mod http;
mod keys;
mod new;
mod operators;
mod pages;
mod render;
mod replay;

use std::fs;
use std::path::Path;

use anyhow::Result;
use tempfile::TempDir;
use windlass_e2e::variant::{patched, put};
use windlass_e2e::workspace;
use windlass_harness::guest;

/// The command line of a toolchain that takes a moment, and says what compilers say.
const COMPILER: &str = "cat src/broken >&2 && exit 3; cp src/relay.wasm made.wasm";

/// A project whose source is a component: the relay, number 1.
fn project(command: &str) -> Result<TempDir> {
    let home = tempfile::Builder::new().prefix("a b ü").tempdir()?;
    let folder = home.path();
    fs::create_dir(folder.join("src"))?;
    source(folder, 1)?;
    for (from, to) in [
        ("greeting.crd.yaml", "kind.yaml"),
        ("example.yaml", "ada.yaml"),
    ] {
        fs::copy(
            workspace().join("plugins/greeter").join(from),
            folder.join(to),
        )?;
    }
    fs::write(folder.join("plugin.yaml"), document(command))?;
    Ok(home)
}

/// The relay, number `number`, as the project's source.
fn source(folder: &Path, number: u32) -> Result<()> {
    put(&folder.join("src"), "relay.wasm", &patched(number)?)
}

fn document(command: &str) -> String {
    format!(
        "apiVersion: windlass.dev/v1alpha1
kind: Plugin
metadata: {{ name: relay }}
spec:
  source: {{ file: relay.wasm }}
  grants:
    - {{ apiGroups: [examples.windlass.dev], resources: [greetings, greetings/status], verbs: [get, list, watch, patch], namespaces: all }}
  build: {{ command: {command:?}, output: made.wasm, watch: [src/**] }}
"
    )
}

/// A project of the puppet, which does what its configuration says, in `does`.
fn puppet(does: &str) -> Result<TempDir> {
    let home = tempfile::Builder::new().prefix("a b ü").tempdir()?;
    let folder = home.path();
    for (from, to) in [
        ("greeting.crd.yaml", "kind.yaml"),
        ("example.yaml", "ada.yaml"),
    ] {
        fs::copy(
            workspace().join("plugins/greeter").join(from),
            folder.join(to),
        )?;
    }
    fs::copy(guest("puppet")?, folder.join("puppet.wasm"))?;
    let document = format!(
        "apiVersion: windlass.dev/v1alpha1
kind: Plugin
metadata: {{ name: puppet }}
spec:
  source: {{ file: puppet.wasm }}
  config: {{ does: {does} }}
  grants:
    - {{ apiGroups: [examples.windlass.dev], resources: [greetings, greetings/status], verbs: [get, list, watch, patch], namespaces: all }}
    - {{ apiGroups: [\"\"], resources: [configmaps, services], verbs: [get, list, watch, create, patch, delete], acknowledge: [services/create, services/patch] }}
    - {{ apiGroups: [\"\"], resources: [pods], verbs: [get, list, watch, create, patch, delete], acknowledge: [pods/create, pods/patch, pods/delete] }}
"
    );
    fs::write(folder.join("plugin.yaml"), document)?;
    Ok(home)
}
