//! `windlass new`: a project that works, to be changed into somebody's own.
//!
//! ```text
//! template ─> edits (shape) ─> words ─> a folder; the SDK beside it, or in its workspace
//! ```

mod builtin;
mod definition;
mod names;
mod shape;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rust_embed::{EmbeddedFile, RustEmbed};

use self::definition::Crd;
pub use self::names::{group_name, kind_name, plugin_name};
use self::shape::{KindOrigin, edits};
use self::words::{Kind, Words};
use super::flags::{Language, NewFlags};
use super::sdk::{Sdk, all};
use super::workspace::Workspace;
use windlass_base::screen::{Tone, go_on, print_status};
use windlass_base::seams::{Rng, Seams};
use windlass_base::text::counted;
use windlass_policy::manifest::{Origin, parse};

#[derive(RustEmbed)]
#[folder = "../../guest-sdk/template/any"]
struct Any;

#[derive(RustEmbed)]
#[folder = "../../guest-sdk/template/rust"]
struct RustTemplate;

#[derive(RustEmbed)]
#[folder = "../../guest-sdk/template/js"]
struct JavaScriptTemplate;

#[derive(RustEmbed)]
#[folder = "../../guest-sdk/template/from/rust"]
struct FromRust;

#[derive(RustEmbed)]
#[folder = "../../guest-sdk/template/from/js"]
struct FromJavaScript;

/// Makes a project in a new folder below this one.
///
/// # Errors
/// The name is none, the folder is there, or cannot be made; or the definition of the kind cannot be read.
pub fn new(flags: &NewFlags, seams: &Seams) -> anyhow::Result<()> {
    let folder = Path::new(&flags.name);
    let draft = Draft::of(flags, &std::path::absolute(folder)?)?;
    draft.make(folder, &seams.rng)?;
    let (language, source, manifest) = match flags.lang {
        Language::Rust => ("Rust", "src/lib.rs", "Cargo.toml"),
        Language::Js => ("JavaScript", "src/plugin.js", "package.json"),
    };
    let name = &flags.name;
    let number = draft.files()?.len();
    print_status(
        Tone::Good,
        "Created",
        &format!("{name}/ ({language}, {})", counted(number, "file")),
    )?;
    let definition = draft.kind.definition_file();
    let width = definition.len().max(19);
    let kind = (draft.origin != KindOrigin::BuiltIn)
        .then_some((&*definition, "the kind that it reconciles"));
    let source = [(source, "your controller")];
    for (file, what) in source.into_iter().chain(kind).chain([
        ("example.yaml", "one object to try"),
        ("tests/ada.yaml", "the expected results"),
        ("plugin.yaml", "name, grants, how it is built"),
        (manifest, "name, version, dependencies"),
    ]) {
        go_on(&format!("{file:<width$} {what}"))?;
    }
    if let Some(workspace) = &draft.workspace {
        let root = workspace.root.join(manifest);
        go_on(&format!("a member of the workspace in {}", root.display()))?;
    }
    if draft.origin == KindOrigin::Own
        && let Some(written) = builtin::written(&draft.kind.kind)
    {
        let kind = &draft.kind.kind;
        go_on(&format!(
            "{kind} is a kind of your own; that of Kubernetes is --kind {written}"
        ))?;
    }
    print_status(Tone::Good, "Next", &format!("cd {name} && windlass dev"))?;
    Ok(())
}

/// A project that is to be made.
struct Draft<'a> {
    name: &'a str,
    language: Language,
    kind: Kind,
    origin: KindOrigin,
    /// Where the kind is defined already.
    definition: Option<Crd>,
    workspace: Option<Workspace>,
}

impl<'a> Draft<'a> {
    /// What is asked for, in `folder`.
    fn of(flags: &'a NewFlags, folder: &Path) -> anyhow::Result<Self> {
        let name = &*flags.name;
        let definition = match &flags.from {
            Some(file) => Some(Crd::read(file, flags.kind.as_deref())?),
            None => None,
        };
        let named = flags.kind.as_deref().filter(|kind| builtin::is_meant(kind));
        if let Some(kind) = named
            && (flags.group.is_some() || flags.cluster_scoped || definition.is_some())
        {
            bail!("{kind} is a kind of Kubernetes: leave out --group, --cluster-scoped and --from");
        }
        let origin = match (&definition, named) {
            (Some(_), _) => KindOrigin::Given,
            (None, Some(_)) => KindOrigin::BuiltIn,
            (None, None) => KindOrigin::Own,
        };
        let kind = match (&definition, named) {
            (Some(definition), _) => definition.kind.clone(),
            (None, Some(kind)) => builtin::kind(kind).map_err(anyhow::Error::msg)?,
            (None, None) => {
                let group = flags.group.clone();
                let group = group.unwrap_or_else(|| format!("{name}.example.dev"));
                let kind = flags.kind.as_deref().unwrap_or("Greeting");
                Kind::own(kind, &group, flags.cluster_scoped)
            }
        };
        let draft = Self {
            workspace: Workspace::around(folder, sdk_of(flags.lang)),
            language: flags.lang,
            definition,
            kind,
            origin,
            name,
        };
        draft.check_grants()?;
        Ok(draft)
    }

    /// Some kinds of Kubernetes are never given to a plugin in all namespaces.
    fn check_grants(&self) -> anyhow::Result<()> {
        let files = self.files()?;
        let document = files
            .iter()
            .find(|(path, _)| path == Path::new("plugin.yaml"));
        let document = document.map_or("", |(_, text)| text);
        let parsed = parse(&Origin::File("plugin.yaml".into()), document);
        parsed.with_context(|| format!("no plugin for all objects of kind {}", self.kind.kind))?;
        Ok(())
    }

    /// Writes the project beside its place, and moves it there whole.
    fn make(&self, folder: &Path, rng: &Rng) -> anyhow::Result<()> {
        let shown = folder.display();
        if folder.symlink_metadata().is_ok() {
            bail!("{shown} exists already: choose another name, or remove it");
        }
        let draft = folder.with_file_name(format!(".{}.{:016x}", self.name, rng.number()));
        let made = self
            .write(&draft, rng)
            .and_then(|()| Ok(fs::rename(&draft, folder)?));
        if made.is_err() {
            let _ = fs::remove_dir_all(&draft);
        }
        made.with_context(|| format!("cannot make the folder {shown}"))
    }

    fn write(&self, draft: &Path, rng: &Rng) -> anyhow::Result<()> {
        for (path, text) in self.files()? {
            let path = draft.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, text)?;
        }
        let home = self.workspace.as_ref();
        let home = home.map_or(draft, |workspace| workspace.root.as_path());
        sdk_of(self.language).put(home, rng)
    }

    /// The template's files, with this project's words and edits.
    fn files(&self) -> anyhow::Result<Vec<(PathBuf, String)>> {
        let given = self.definition.as_ref();
        let fields = match given {
            Some(given) => given.fields(),
            None if self.origin == KindOrigin::BuiltIn => builtin::fields(&self.kind.kind),
            None => "",
        };
        let words = Words::new(self.name, &self.kind, fields)?;
        let up = self.workspace.as_ref().map(|workspace| &*workspace.up);
        let edits = edits(&self.kind, self.origin, up, &self.name.replace('-', "_"));
        let mut files = template(self.language, self.origin != KindOrigin::Own);
        if self.origin == KindOrigin::BuiltIn {
            files.retain(|(path, _)| path != Path::new("greeting.crd.yaml"));
        }
        let files = files.into_iter().map(|(path, text)| {
            let edits = edits.iter().filter(|edit| path == Path::new(edit.file));
            let text = edits.fold(text, |text, edit| edit.of(&text));
            words.file(&path, &text)
        });
        let definition = PathBuf::from(self.kind.definition_file());
        let given = given.map(|given| (definition.clone(), given.text.clone()));
        let files = files.map(|file| match &given {
            Some(given) if file.0 == definition => given.clone(),
            _ => file,
        });
        Ok(files.collect())
    }
}

fn sdk_of(language: Language) -> Sdk {
    match language {
        Language::Rust => Sdk::Rust,
        Language::Js => Sdk::JavaScript,
    }
}

/// The files of the template; for a kind that is `given`, with a controller that knows nothing of its fields.
fn template(language: Language, given: bool) -> Vec<(PathBuf, String)> {
    let mut files = all::<Any>();
    files.extend(match language {
        Language::Rust => all::<RustTemplate>(),
        Language::Js => all::<JavaScriptTemplate>(),
    });
    if given {
        let others = match language {
            Language::Rust => all::<FromRust>(),
            Language::Js => all::<FromJavaScript>(),
        };
        files.retain(|(path, _)| others.iter().all(|(other, _)| other != path));
        files.extend(others);
    }
    let text = |file: &EmbeddedFile| String::from_utf8_lossy(&file.data).into_owned();
    let files = files.iter();
    files
        .map(|(path, file)| (path.clone(), text(file)))
        .collect()
}

#[cfg(test)]
mod tests;
