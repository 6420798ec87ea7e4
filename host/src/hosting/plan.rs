//! Which plugins are to run, now that the folder holds what it holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::source::{Candidate, Folder};

/// What is to be done about each plugin.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// Run these, in these versions.
    pub(super) ask: Vec<Candidate>,
    /// Stop these: their documents are gone.
    pub(super) stop: Vec<String>,
}

/// What is to be done, while the plugins `running` have documents in these files. What cannot be
/// read says nothing of the plugins that it held: they run on.
pub(super) fn plan(running: &BTreeMap<String, PathBuf>, folder: &Folder) -> Plan {
    let asked: BTreeSet<&String> = folder
        .plugins
        .iter()
        .map(|candidate| &candidate.document.name)
        .collect();
    let unclear = |name: &String, file: &PathBuf| {
        folder.coming.contains(name)
            || folder.problems.iter().any(|problem| {
                problem.plugin.as_ref() == Some(name) || problem.files.contains(file)
            })
    };
    let gone = running
        .iter()
        .filter(|(name, file)| !asked.contains(name) && !unclear(name, file));
    Plan {
        stop: gone.map(|(name, _)| name.clone()).collect(),
        ask: folder.plugins.clone(),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test hands in its own time")]
mod tests {
    use super::*;
    use crate::source::read_folder;
    use std::fs;
    use tokio::time::Instant;

    fn document(name: &str) -> String {
        format!(
            "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: {{ name: {name} }}\nspec: {{ source: {{ file: {name}.wasm }} }}\n"
        )
    }

    #[test]
    fn a_plugin_stops_only_when_its_document_is_surely_gone() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(format!("{name}.yaml")), text).unwrap();
        };
        write("a", &document("a"));
        write("b", "kind: [");
        write("d1", &document("d"));
        write("d2", &document("d"));
        write("f", &document("another"));
        let running: BTreeMap<String, PathBuf> = ["a", "b", "c", "d", "e", "f"]
            .map(|name| (name.to_owned(), folder.path().join(format!("{name}.yaml"))))
            .into();
        let mut held = read_folder(folder.path(), Instant::now()).unwrap();
        held.coming.push("e".to_owned());
        let plan = plan(&running, &held);
        let asked: Vec<&str> = plan
            .ask
            .iter()
            .map(|candidate| candidate.document.name.as_str())
            .collect();
        assert_eq!(asked, ["a", "another"]);
        assert_eq!(
            plan.stop,
            ["c", "f"],
            "b's file cannot be read, d is there twice, e's component is being written"
        );
    }
}
