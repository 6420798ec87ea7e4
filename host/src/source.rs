//! Plugins as files: the config folder, its documents and the components beside them.
//!
//! - A document that is wrong, or a name that is there twice, costs that plugin alone.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::manifest::{self, Plugin};
use crate::plugin::admission::LARGEST_FILE;

/// What a config folder holds.
#[derive(Debug, Default)]
pub struct Folder {
    /// The plugins that can be started, by name.
    pub plugins: Vec<Plugin>,
    /// What is wrong with the others, each a sentence that names the file.
    pub problems: Vec<String>,
}

/// Reads every `*.yaml` and `*.yml` file in `folder`.
///
/// # Errors
/// The folder cannot be read.
pub fn read_folder(folder: &Path) -> io::Result<Folder> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // A mounted ConfigMap has hidden folders beside its files.
        let hidden = path
            .file_name()
            .is_none_or(|name| name.to_string_lossy().starts_with('.'));
        let yaml = path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml");
        // A link that leads nowhere is an error, not nothing.
        if yaml && !hidden && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    let mut problems = Vec::new();
    let mut by_name: BTreeMap<String, Vec<Plugin>> = BTreeMap::new();
    for file in files {
        let parsed = match fs::read_to_string(&file) {
            Ok(text) => manifest::parse(&file, &text).map_err(|error| error.to_string()),
            Err(error) => Err(format!("{}: cannot be read: {error}", file.display())),
        };
        match parsed {
            Ok(plugins) => plugins
                .into_iter()
                .for_each(|plugin| by_name.entry(plugin.name.clone()).or_default().push(plugin)),
            Err(problem) => problems.push(problem),
        }
    }
    let mut plugins = Vec::new();
    for (name, same) in by_name {
        if same.len() == 1 {
            plugins.extend(same);
            continue;
        }
        let places = same.iter().map(|plugin| plugin.file.display().to_string());
        let places = places.collect::<Vec<_>>().join(", ");
        problems.push(format!(
            "plugin {name} is declared more than once ({places}): none of them is run; rename or remove all but one"
        ));
    }
    Ok(Folder { plugins, problems })
}

/// Reads the component of `plugin`.
///
/// # Errors
/// Why it cannot be read, naming document and file.
pub fn read_component(plugin: &Plugin) -> Result<Vec<u8>, String> {
    let fail = |why: String| {
        let (document, file) = (plugin.file.display(), plugin.component.display());
        Err(format!("{document}: spec.source.file: {file}: {why}"))
    };
    match fs::metadata(&plugin.component) {
        Ok(metadata) if !metadata.is_file() => return fail("is not a file".into()),
        // Asked before it is read: the host's memory is for its plugins.
        Ok(metadata) if metadata.len() > LARGEST_FILE as u64 => {
            return fail(format!(
                "has {} bytes; at most 32 MiB are taken",
                metadata.len()
            ));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return fail("there is no such file: build the component, or correct the name".into());
        }
        Err(error) => return fail(format!("cannot be read: {error}")),
    }
    fs::read(&plugin.component).or_else(|error| fail(format!("cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(name: &str) -> String {
        format!(
            "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: {{ name: {name} }}\nspec: {{ source: {{ file: {name}.wasm }} }}\n"
        )
    }

    #[test]
    fn what_is_wrong_costs_that_plugin_alone() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("good.yaml", &document("good"));
        write(
            "twice.yml",
            &format!("{}---\n{}", document("twice"), document("other")),
        );
        write("again.yaml", &document("twice"));
        write("broken.yaml", "kind: [");
        write("notes.txt", "not a document");
        write(".hidden.yaml", "kind: [");
        std::os::unix::fs::symlink("nowhere", folder.path().join("link.yaml")).unwrap();
        let read = read_folder(folder.path()).unwrap();
        let names: Vec<_> = read
            .plugins
            .iter()
            .map(|plugin| plugin.name.as_str())
            .collect();
        assert_eq!(names, ["good", "other"]);
        assert_eq!(read.problems.len(), 3, "{:?}", read.problems);
        assert!(
            read.problems
                .iter()
                .any(|problem| problem.contains("broken.yaml:1"))
        );
        let places =
            ["again.yaml", "twice.yml"].map(|file| folder.path().join(file).display().to_string());
        let twice = format!(
            "plugin twice is declared more than once ({})",
            places.join(", ")
        );
        assert!(
            read.problems.iter().any(|problem| problem.contains(&twice)),
            "{:?}",
            read.problems
        );
    }

    #[test]
    fn a_missing_component_is_named_with_its_document() {
        let plugin = manifest::parse(Path::new("x/good.yaml"), &document("good"))
            .unwrap()
            .remove(0);
        let error = read_component(&plugin).unwrap_err();
        assert_eq!(
            error,
            "x/good.yaml: spec.source.file: x/good.wasm: there is no such file: build the component, or correct the name"
        );
    }
}
