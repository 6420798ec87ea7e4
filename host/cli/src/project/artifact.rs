//! A component in a registry, or in a file.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use windlass_base::seams::Seams;
use windlass_policy::registries::RegistryFlags;
use windlass_registry::{Client, Reference};

use super::component::read;

/// A component, and where it was.
pub(super) struct Found {
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
    /// Where it was.
    pub(super) place: Place,
}

/// Where a component is.
pub(super) enum Place {
    /// In a file.
    File(PathBuf),
    /// In a registry, with its digest.
    Registry(Reference),
}

/// Reads the component in a file, or pulls it from a registry.
///
/// # Errors
/// Why there is none.
pub(super) async fn find(
    what: &str,
    registries: &RegistryFlags,
    seams: &Seams,
) -> anyhow::Result<Found> {
    let file = Path::new(what);
    if is_file(file) {
        return Ok(Found {
            bytes: read(file)?,
            place: Place::File(file.to_owned()),
        });
    }
    let reference = reference(what)?;
    let client = Client::new(registries.settings(seams)?);
    let pulled = client.pull(&reference).await?;
    for passed in &pulled.passed {
        tracing::warn!("{passed}");
    }
    Ok(Found {
        bytes: pulled.component,
        place: Place::Registry(reference.at(pulled.digest)),
    })
}

/// Whether `file` names a component in a file, whether it is there or not.
fn is_file(file: &Path) -> bool {
    let name = file.to_string_lossy();
    file.exists() || name.ends_with(".wasm") || name.ends_with(".wasm.gz")
}

/// Reads a reference to a registry.
///
/// # Errors
/// What is wrong with it.
pub(super) fn reference(text: &str) -> anyhow::Result<Reference> {
    let read = Reference::parse(text).map_err(|error| anyhow!("{error}"));
    read.with_context(|| format!("{text} is neither a file nor an artifact in a registry"))
}
