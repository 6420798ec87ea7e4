//! Where the plugins of a test come from: its config folder, or Plugin objects that mirror the folder.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use crate::mirror::Mirror;

/// Chooses the origin for all tests: `files`, which is what is taken if nothing is said, or `objects`.
const CHOICE: &str = "WINDLASS_TEST_ORIGIN";

/// Where plugins come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The config folder of the host.
    Files,
    /// Plugin objects, one for each document in the config folder of the test. The host gets an empty folder.
    Objects,
}

impl Origin {
    /// The one that the environment chooses.
    ///
    /// # Errors
    /// There is no such origin.
    pub(crate) fn chosen() -> Result<Self> {
        let word = std::env::var(CHOICE).unwrap_or_default();
        match word.as_str() {
            "" | "files" => Ok(Self::Files),
            "objects" => Ok(Self::Objects),
            other => bail!("{CHOICE} is {other:?}: it must be files or objects"),
        }
    }
}

/// The arguments of `host`, and the mirror of its config folder if there is one. A host that takes Plugin objects by
/// itself gets what it asks for.
///
/// # Errors
/// The cluster does not take the objects, or what stands in the command line is no host with a folder.
pub(crate) fn arguments(host: &Command) -> Result<(Vec<OsString>, Option<Arc<Mirror>>)> {
    let mut arguments: Vec<OsString> = host.get_args().map(OsStr::to_owned).collect();
    let takes_objects = arguments.iter().any(|it| it == "--plugin-objects");
    if Origin::chosen()? == Origin::Files || takes_objects {
        return Ok((arguments, None));
    }
    let after = |flag: &str| arguments.iter().position(|it| it == flag).map(|it| it + 1);
    let (config, namespace) = (after("--config"), after("--namespace"));
    let text = |place: Option<usize>| arguments.get(place?)?.to_str();
    let folder = text(config).context("a host has --config FOLDER")?;
    let namespace = text(namespace).context("a host has --namespace NAME")?;
    let mirror = Mirror::of(Path::new(folder), namespace)?;
    if let Some(argument) = config.and_then(|place| arguments.get_mut(place)) {
        *argument = mirror.empty().into();
    }
    arguments.push("--plugin-objects".into());
    arguments.push(format!("--plugin-selector={}", mirror.selector()).into());
    Ok((arguments, Some(mirror)))
}
