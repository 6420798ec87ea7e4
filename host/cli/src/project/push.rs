//! `windlass push`: puts a component into a registry, as an OCI artifact.
//!
//! - The same component gives the same digest: no clock is read.
//! - What it is and what it asks for is said in annotations, so that it can be judged before it is pulled.

use std::path::Path;

use anyhow::{anyhow, bail};
use jiff::Timestamp;
use serde_json::json;

use super::Project;
use super::artifact::reference;
use super::component::read;
use super::flags::PushFlags;
use super::make::described;
use windlass_base::error::Chain;
use windlass_base::screen::{Tone, print, print_json, print_status};
use windlass_base::seams::{Seams, environment};
use windlass_kube::flags::OutputFormat;
use windlass_policy::manifest::Limits;
use windlass_registry::{Artifact, Client};
use windlass_sandbox::{Describe, Description, interfaces};

/// Longer annotations are left out: a manifest has at most 4 MiB.
const LONGEST: usize = 64 << 10;

/// Pushes a component, and prints its digest.
///
/// # Errors
/// There is no component, no host would load it, or the registry does not take it.
pub async fn push(flags: PushFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let reference = reference(&flags.reference)?;
    if reference.digest().is_some() {
        bail!("{reference}: the digest follows from the component: name a tag");
    }
    let (bytes, description) = component(&flags, threads, &seams).await?;
    let (imports, exports) = interfaces(&bytes);
    let artifact = Artifact {
        annotations: annotations(&description).into_iter().collect(),
        component: bytes.into(),
        created: created()?,
        imports,
        exports,
    };
    let client = Client::new(flags.registries.settings(&seams)?);
    let digest = client.push(&reference, &artifact).await?;
    let pinned = reference.at(digest);
    match flags.output {
        OutputFormat::Text => {
            let Description { name, version, .. } = &description;
            print_status(Tone::Good, "Pushed", &format!("{name} {version}"))?;
            print(&pinned.to_string())?;
        }
        OutputFormat::Json => {
            let pushed = json!({
                "reference": pinned.to_string(),
                "digest": digest.to_string(),
                "name": description.name,
                "version": description.version,
            });
            print_json(&format!("{pushed:#}\n"))?;
        }
    }
    Ok(())
}

/// The component, and what it says of itself.
async fn component(
    flags: &PushFlags,
    threads: usize,
    seams: &Seams,
) -> anyhow::Result<(Vec<u8>, Description)> {
    let path: &Path = &flags.path;
    if path.is_dir() {
        let project = Project::open(path)?;
        let cache = flags.code_cache.clone();
        let (made, plugin) = described(&project, cache, threads, seams).await?;
        return Ok((made.bytes.to_vec(), plugin.description));
    }
    let bytes = read(path)?;
    let describe = Describe::new(flags.code_cache.clone(), threads, seams)?;
    let loading = describe.load("pushed", &bytes, "{}", Limits::default());
    let plugin = loading
        .await
        .map_err(|error| anyhow!("{}: {}", path.display(), Chain(&error)))?;
    Ok((bytes, plugin.description))
}

/// When it was made: what `SOURCE_DATE_EPOCH` says, or the beginning of time.
fn created() -> anyhow::Result<Timestamp> {
    let Some(text) = environment::variable("SOURCE_DATE_EPOCH") else {
        return Ok(Timestamp::UNIX_EPOCH);
    };
    let seconds = text.parse().ok().map(Timestamp::from_second);
    match seconds {
        Some(Ok(created)) => Ok(created),
        Some(Err(_)) | None => {
            bail!("SOURCE_DATE_EPOCH is {text:?}, and must be seconds since 1970")
        }
    }
}

fn annotations(description: &Description) -> Vec<(String, String)> {
    let kinds = description.primaries.iter();
    let kinds = kinds.map(|it| json!({ "apiVersion": it.api_version, "kind": it.kind }));
    let needs = description.needs.iter().map(|need| {
        let mut rule = json!({
            "apiGroups": [need.group], "resources": [need.resource], "verbs": need.verbs,
        });
        if let (false, Some(rule)) = (need.names.is_empty(), rule.as_object_mut()) {
            rule.insert("resourceNames".to_owned(), need.names.clone().into());
        }
        rule
    });
    let (kinds, needs) = (kinds.collect::<Vec<_>>(), needs.collect::<Vec<_>>());
    let all = [
        ("org.opencontainers.image.title", description.name.clone()),
        (
            "org.opencontainers.image.version",
            description.version.clone(),
        ),
        ("dev.windlass.plugin", description.name.clone()),
        ("dev.windlass.kinds", json!(kinds).to_string()),
        ("dev.windlass.needs", json!(needs).to_string()),
    ];
    let short = all.into_iter().filter(|(_, text)| text.len() <= LONGEST);
    short.map(|(name, text)| (name.to_owned(), text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_say_what_a_component_is_and_asks_for() {
        let mut description = Description::asking("", "secrets", &["get"]);
        description.needs[0].names = vec!["one".to_owned()];
        let said: std::collections::BTreeMap<_, _> =
            annotations(&description).into_iter().collect();
        assert_eq!(
            said["dev.windlass.needs"],
            r#"[{"apiGroups":[""],"resourceNames":["one"],"resources":["secrets"],"verbs":["get"]}]"#
        );
        assert_eq!(said["dev.windlass.plugin"], description.name);
        assert!(said["dev.windlass.kinds"].contains(r#""kind":"#));
    }
}
