//! An author's project: a folder with a plugin's source, its kind, an example and its document.
//!
//! ```text
//! scaffold ─> folder ─> sdk (put there) ─> toolchain (is it there?) ─> make ─> component
//! ```
//! - Nothing in a project is generated and then edited, so there is nothing to upgrade: the SDK is put
//!   beside it, as new as this program.

mod artifact;
pub(crate) mod component;
mod definitions;
mod doctor;
mod flags;
mod make;
mod manifest;
mod missing;
pub(crate) mod objects;
pub(crate) mod owners;
mod push;
mod scaffold;
mod sdk;
mod toolchain;
mod workspace;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use windlass_policy::manifest::{Build, Origin, PluginDocument};
use windlass_policy::source::text_of;

pub use doctor::doctor;
pub use flags::{
    BuildFlags, DoctorFlags, GrantsFlags, Language, ManifestFlags, NewFlags, PushFlags,
};
pub use make::{Failed, Made, Maker, build};
pub use manifest::manifest;
pub use missing::{grants, grants_command};
pub use push::push;
pub use scaffold::{group_name, kind_name, new, plugin_name};

/// The document of a project.
pub const DOCUMENT: &str = "plugin.yaml";

/// A folder with a plugin's document.
#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    /// The folder.
    pub folder: PathBuf,
    /// The document.
    pub document: PluginDocument,
    /// Its text.
    pub text: String,
    output: PathBuf,
}

impl Project {
    /// Reads the document in `folder`.
    ///
    /// # Errors
    /// There is none, or it is wrong.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let path = within(folder, Path::new(DOCUMENT));
        let text = match text_of(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => bail!(
                "there is no {DOCUMENT} in {}: name a project's folder, or make a project with `windlass new NAME`",
                folder.display()
            ),
            Err(error) if error.kind() == ErrorKind::NotADirectory => bail!(
                "{} is a file, and a project is a folder with a {DOCUMENT}: name the folder. What a component asks for is shown by `windlass inspect` and `windlass manifest`",
                folder.display()
            ),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let mut documents =
            windlass_policy::manifest::parse(&Origin::File(path.clone()), &text)?.into_iter();
        let (Some(document), None) = (documents.next(), documents.next()) else {
            bail!("{}: a project has exactly one Plugin", path.display());
        };
        let output = document.build.as_ref().and_then(|it| it.output.as_ref());
        let output = output.map(|output| within(folder, output));
        let component = document.source.file().map(Path::to_owned);
        let Some(output) = output.or(component) else {
            bail!(
                "{}: {}: a project's component is a file: name one with spec.source.file, or with spec.build.output",
                path.display(),
                document.source.field()
            );
        };
        Ok(Self {
            folder: folder.to_owned(),
            document,
            text,
            output,
        })
    }

    /// How its component is made, if it is.
    pub fn how(&self) -> Option<&Build> {
        self.document.build.as_ref()
    }

    /// Where its component is once it is made.
    pub fn output(&self) -> PathBuf {
        self.output.clone()
    }

    /// The file of its document.
    pub fn file(&self) -> PathBuf {
        within(&self.folder, Path::new(DOCUMENT))
    }
}

/// `path` in `folder`, as people write it: without a dot for this one.
pub fn within(folder: &Path, path: &Path) -> PathBuf {
    if folder == Path::new(".") {
        path.to_owned()
    } else {
        folder.join(path)
    }
}

/// The folder in `folder` for what belongs to it, and is nobody's to keep.
///
/// # Errors
/// It cannot be made.
pub fn own_folder(folder: &Path) -> anyhow::Result<PathBuf> {
    let folder = within(folder, Path::new(".windlass"));
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(".gitignore"), "*\n"))
        .with_context(|| {
            format!(
                "cannot make the folder {}: name a file for the kubeconfig with --kubeconfig-out",
                folder.display()
            )
        })?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_without_one_plugin_is_no_project() {
        let folder = tempfile::tempdir().unwrap();
        let wrong = || Project::open(folder.path()).unwrap_err().to_string();
        assert!(wrong().contains("windlass new NAME"), "{}", wrong());
        let plugin = "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: { name: a }\nspec: { source: { file: a.wasm } }\n";
        let path = folder.path().join(DOCUMENT);
        fs::write(&path, format!("{plugin}---\n{plugin}")).unwrap();
        assert!(wrong().contains("one Plugin"), "{}", wrong());
        fs::write(&path, plugin).unwrap();
        let project = Project::open(folder.path()).unwrap();
        assert_eq!(project.output(), folder.path().join("a.wasm"));
        let file = Project::open(&path).unwrap_err().to_string();
        assert!(
            file.contains("is a file") && file.contains("`windlass inspect`"),
            "{file}"
        );
    }
}
