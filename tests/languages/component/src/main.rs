//! `component IN OUT`: makes a component of a core module for WASI preview 1, as `wasm-tools component new` would.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

fn main() -> Result<()> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [module, component] = files.as_slice() else {
        bail!("usage: component IN OUT");
    };
    let bytes = fs::read(module).with_context(|| module.display().to_string())?;
    let encoded = encoded(bytes).with_context(|| module.display().to_string())?;
    fs::write(component, encoded).with_context(|| component.display().to_string())
}

fn encoded(mut module: Vec<u8>) -> Result<Vec<u8>> {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../wit");
    let (package, _) = resolve.push_path(wit)?;
    let world = resolve.select_world(&[package], Some("plugin"))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    let adapter = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    ComponentEncoder::default()
        .module(&module)?
        .adapter("wasi_snapshot_preview1", adapter)?
        .encode()
}
