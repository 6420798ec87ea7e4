//! `windlass build`: runs the project's own toolchain, whose words are passed on as they are, and looks
//! at what it made.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};

use super::definitions::Definitions;
use super::flags::BuildFlags;
use super::missing::{missing, plural, readiness};
use super::sdk::Sdk;
use super::toolchain::{check, wants_packages};
use super::{DOCUMENT, Project};
use windlass_base::digest::{Digest, digest};
use windlass_base::error::Chain;
use windlass_base::screen::{Tone, print_status};
use windlass_base::seams::{ChildExit, Rng, Seams};
use windlass_base::text::format_duration;
use windlass_host::rbac::is_watched;
use windlass_policy::manifest::line_of_grant;
use windlass_policy::source::{is_packed_name, packed, read_file};
use windlass_sandbox::{Describe, Description, Plugin};

/// What installs the packages of a project in JavaScript.
const PACKAGES: &str = "npm install --no-audit --no-fund --no-progress";

/// A component that was made, or was there.
#[derive(Clone, Debug)]
pub struct Made {
    /// The component.
    pub bytes: Arc<[u8]>,
    /// Its digest.
    pub digest: Digest,
    /// How long it took.
    pub took: Duration,
}

/// Why there is no component.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The toolchain said why.
    #[error("`{0}` failed: {1}")]
    Command(String, String),
    /// Something is missing, or in the way.
    #[error("{}", Chain(&**.0))]
    Other(#[from] anyhow::Error),
}

/// The one that runs toolchains.
#[derive(Clone)]
pub struct Maker {
    /// Time, randomness and processes.
    pub seams: Seams,
}

impl Maker {
    /// Makes the component of `project`; `begins` is told of each command before it runs. A project that
    /// is not built from source has its component already.
    ///
    /// # Errors
    /// A tool is missing, the command fails, or there is no component after it.
    pub async fn make(&self, project: &Project, begins: impl Fn(&str)) -> Result<Made, Failed> {
        let began = self.seams.clock.now();
        if let Some(build) = project.how() {
            if let Some((sdk, home)) = Sdk::of(&project.folder) {
                sdk.put(&home, &self.seams.rng)?;
            }
            check(&build.command, &project.folder, &self.seams.spawn).await?;
            if wants_packages(&build.command, &project.folder) {
                self.run(PACKAGES, &project.folder, &begins).await?;
            }
            self.run(&build.command, &project.folder, &begins).await?;
        }
        let output = project.output();
        let bytes = read_file(&output);
        let bytes = bytes.map_err(|why| anyhow::anyhow!("{}: {why}", output.display()));
        let bytes = bytes.with_context(|| match project.how() {
            Some(build) => format!(
                "`{}` succeeded, but there is no component {}: does spec.build.output of {DOCUMENT} name it?",
                build.command,
                output.display()
            ),
            None => format!("cannot read the component {}", output.display()),
        })?;
        Ok(Made {
            digest: digest(&bytes),
            bytes: bytes.into(),
            took: self.seams.clock.now() - began,
        })
    }

    async fn run(
        &self,
        command: &str,
        folder: &Path,
        begins: &impl Fn(&str),
    ) -> Result<(), Failed> {
        begins(command);
        let ended = self.seams.spawn.shell(command, folder).await;
        let ended = ended.with_context(|| format!("cannot start `{command}`"))?;
        let how = match ended {
            ChildExit::Code(0) => return Ok(()),
            ChildExit::Code(code) => format!("exit code {code}"),
            ChildExit::Signal(signal) => format!("signal {signal}"),
            ChildExit::Late => "it took too long".to_owned(),
        };
        Err(Failed::Command(command.to_owned(), how))
    }
}

/// Builds the project in a folder, and puts its component beside its document.
///
/// # Errors
/// It cannot be built, or a host would not load it.
pub async fn build(flags: BuildFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let project = Project::open(&flags.folder)?;
    if project.how().is_none() {
        bail!(
            "{}: spec.build is missing: it says how the component is built, with command, output and watch",
            project.document.origin
        );
    }
    let (made, plugin) = described(&project, flags.code_cache, threads, &seams).await?;
    let document = &project.document;
    let packed = match put(&project, &made, &seams.rng)? {
        Some(bytes) => format!("  {} KiB", bytes.div_ceil(1024)),
        None => String::new(),
    };
    let text = format!(
        "{} {}  {} KiB  {}  {}\n{}{packed}",
        plugin.description.name,
        plugin.description.version,
        made.bytes.len().div_ceil(1024),
        made.digest,
        format_duration(made.took),
        document.source,
    );
    print_status(Tone::Good, "Built", &text)?;
    check_grants(&project, &plugin.description)
}

/// Builds a project, and asks its component what it is.
///
/// # Errors
/// As [`Maker::make`]; also that a host would not load the component.
pub(super) async fn described(
    project: &Project,
    code_cache: Option<PathBuf>,
    threads: usize,
    seams: &Seams,
) -> anyhow::Result<(Made, Plugin)> {
    let maker = Maker {
        seams: seams.clone(),
    };
    let made = maker.make(project, |command| {
        let _ = print_status(Tone::Good, "Building", command);
    });
    let made = made.await?;
    let describe = Describe::new(code_cache, threads, seams)?;
    let document = &project.document;
    let loading = describe.load(
        &document.name,
        &made.bytes,
        &document.config,
        document.limits,
    );
    let plugin = loading
        .await
        .map_err(|error| anyhow::anyhow!("{}: {}", project.output().display(), Chain(&error)))?;
    Ok((made, plugin))
}

/// Says what cannot work in the grants, as far as it is known without a cluster.
///
/// # Errors
/// No host would start the plugin with them.
fn check_grants(project: &Project, description: &Description) -> anyhow::Result<()> {
    let file = &project.document.origin;
    let own = Definitions::of(&project.folder)?;
    let readiness = readiness(&project.document.grants, description, &own);
    let missing = missing(project, &readiness);
    let mut refused: Vec<String> = missing.into_iter().collect();
    let (mut problems, mut notes) = (Vec::new(), Vec::new());
    for primary in &description.primaries {
        match plural(&project.document.grants, description, primary, &own) {
            Ok(_) => {}
            // Which of several kinds it is, a cluster knows.
            Err(problem) if is_watched(primary, &project.document.grants) => notes.push(problem),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() && notes.is_empty() {
        let name = &project.document.name;
        (problems, notes) =
            readiness.problems_told(|index| line_of_grant(&project.text, name, index));
    }
    for note in notes {
        print_status(Tone::Warning, "Grants", &format!("{file}: {note}"))?;
    }
    let problems = problems.into_iter();
    refused.extend(problems.map(|problem| format!("{file}: {problem}")));
    if refused.is_empty() {
        return Ok(());
    }
    bail!("{}", refused.join("\n"))
}

/// Puts the component where the document says; a reader sees the old one or the new one. With a name that
/// ends in `.gz` it is packed: then the answer is how many bytes the file has.
fn put(project: &Project, made: &Made, rng: &Rng) -> anyhow::Result<Option<usize>> {
    let Some(component) = project.document.source.file() else {
        return Ok(None);
    };
    let is_packed = is_packed_name(component);
    if *component == project.output() && !is_packed {
        return Ok(None);
    }
    let draft = component.with_extension(format!("{:016x}", rng.number()));
    let bytes = if is_packed {
        packed(&made.bytes).map(Cow::Owned)
    } else {
        Ok(Cow::Borrowed(&*made.bytes))
    };
    let written = bytes.and_then(|bytes| {
        fs::write(&draft, &bytes)?;
        fs::rename(&draft, component)?;
        Ok(is_packed.then_some(bytes.len()))
    });
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.with_context(|| format!("cannot write the component {}", component.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_packed_if_its_name_says_so() {
        let component = vec![7; 10_000];
        let made = Made {
            digest: digest(&component),
            bytes: component.clone().into(),
            took: Duration::ZERO,
        };
        for (name, is_packed) in [("a.wasm", false), ("a.wasm.gz", true)] {
            let folder = tempfile::tempdir().unwrap();
            let document = format!(
                "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: {{ name: a }}\nspec:\n  source: {{ file: {name} }}\n  build: {{ command: make, output: out.wasm, watch: [] }}\n"
            );
            fs::write(folder.path().join(DOCUMENT), document).unwrap();
            let project = Project::open(folder.path()).unwrap();
            let said = put(&project, &made, &Rng::seeded(1)).unwrap();
            let file = folder.path().join(name);
            let size = fs::read(&file).unwrap().len();
            assert_eq!(size < component.len(), is_packed, "{name}: {size} bytes");
            assert_eq!(said, is_packed.then_some(size));
            assert_eq!(read_file(&file).unwrap(), component, "{name}");
            let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
            assert_eq!(left.len(), 2, "{left:?}");
        }
    }
}
