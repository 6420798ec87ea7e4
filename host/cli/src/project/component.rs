//! A component without a project: its file, and its name.

use std::path::Path;

use anyhow::{Context, anyhow, bail};

use windlass_base::text::is_dns_label;
use windlass_policy::source::read_file;
use windlass_sandbox::Description;

/// Reads a component.
///
/// # Errors
/// Why it cannot be read, with the file.
pub(crate) fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let shown = file.display();
    let about = std::fs::metadata(file).with_context(|| format!("cannot read {shown}"))?;
    if about.is_dir() {
        bail!("{shown} is a folder: name the component in it, a .wasm file");
    }
    read_file(file).map_err(|why| anyhow!("{shown}: {why}"))
}

/// What a component calls itself: its finalizer and its field manager follow it.
///
/// # Errors
/// No plugin can have that name; `remedy` says what to do.
pub(crate) fn own_name(description: &Description, remedy: &str) -> anyhow::Result<String> {
    if !is_dns_label(&description.name) {
        bail!(
            "the component's name {:?} is not a DNS label: {remedy}",
            description.name
        );
    }
    Ok(description.name.clone())
}
