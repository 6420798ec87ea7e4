//! The plugins in this program: Kubernetes' own controllers. `make cluster-built` builds it with them.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use windlass_policy::manifest::{Origin, parse};
use windlass_policy::source::Candidate;

/// The documents and the components, by their file names.
#[cfg(feature = "bundle")]
#[derive(rust_embed::RustEmbed)]
#[folder = "../../target/bundle/"]
struct Files;

/// The plugins of this program. None if it was built without them.
///
/// # Errors
/// A document is wrong, or its component is not there.
pub(super) fn plugins() -> anyhow::Result<Vec<Candidate>> {
    let mut plugins = Vec::new();
    for (name, text) in documents() {
        let origin = Origin::File(PathBuf::from(&name));
        for document in parse(&origin, &text)? {
            let file = format!("{}.wasm", document.name);
            let component = component(&file).with_context(|| format!("{name} has no {file}"))?;
            let candidate = Candidate::new(document, text.as_str().into(), component);
            plugins.push(candidate);
        }
    }
    Ok(plugins)
}

#[cfg(feature = "bundle")]
fn documents() -> Vec<(String, String)> {
    let names = Files::iter().filter(|name| name.ends_with(".yaml"));
    let read = names.filter_map(|name| {
        let text = Files::get(&name)?.data.into_owned();
        Some((name.into_owned(), String::from_utf8(text).ok()?))
    });
    read.collect()
}

#[cfg(feature = "bundle")]
fn component(file: &str) -> Option<Arc<[u8]>> {
    Files::get(file).map(|found| found.data.into())
}

#[cfg(not(feature = "bundle"))]
fn documents() -> Vec<(String, String)> {
    Vec::new()
}

#[cfg(not(feature = "bundle"))]
fn component(_: &str) -> Option<Arc<[u8]>> {
    None
}
