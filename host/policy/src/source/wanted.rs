//! What is asked for, by all sources together: pure.
//!
//! - A name or a finalizer that two plugins want goes to the one of the config folder, and among objects to the older
//!   one. Two documents in files that want the same are both refused: nobody can say which is meant.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::candidate::Candidate;
use crate::manifest::Origin;

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, together or alone.
    pub origins: Vec<Origin>,
    /// The plugin, where its name is known.
    pub plugin: Option<String>,
    /// The text of the document, if it is one of an object.
    pub document: Option<Arc<str>>,
    pub(super) text: String,
}

/// A sentence that names the origin, and says what to do.
impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// The plugins that can be started, by name.
    pub plugins: Vec<Candidate>,
    /// What is wrong with the others.
    pub problems: Vec<Problem>,
    /// Plugins whose components are being written, and were not there before.
    pub coming: Vec<String>,
    /// Whether the Plugin objects are not known: nobody has listed them yet, or they are not served.
    pub objects_unknown: bool,
}

impl Wanted {
    /// What both ask for: files, and objects, the oldest first.
    pub fn together(files: Self, objects: Self) -> Self {
        let mut all = Self {
            objects_unknown: files.objects_unknown || objects.objects_unknown,
            ..files
        };
        let named = all.problems.iter().filter_map(|it| it.plugin.clone());
        let listed = all.plugins.iter().map(|it| it.document.name.clone());
        let taken: BTreeSet<String> = named
            .chain(listed)
            .chain(all.coming.iter().cloned())
            .collect();
        all.problems.extend(objects.problems);
        for candidate in objects.plugins {
            let document = &candidate.document;
            if taken.contains(&document.name) {
                let why = "the config folder has a plugin of this name, which is the one that counts: rename one of them";
                all.problems.push(Problem::of(&candidate, why));
            } else {
                all.plugins.push(candidate);
            }
        }
        all.refuse_shared_finalizers();
        all
    }

    /// Whether a file cannot be read that may hold any plugin.
    pub fn has_unreadable_files(&self) -> bool {
        self.problems.iter().any(|it| it.plugin.is_none())
    }

    /// Refuses plugins that name the finalizer of another: each would take off what the other waits for.
    pub(super) fn refuse_shared_finalizers(&mut self) {
        let mut users: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
        for Candidate { document, .. } in &self.plugins {
            if let Some(finalizer) = &document.finalizer {
                let is_file = document.origin.file().is_some();
                let users = users.entry(finalizer.clone()).or_default();
                users.push((document.name.clone(), is_file));
            }
        }
        let mut problems = Vec::new();
        self.plugins.retain(|candidate| {
            let document = &candidate.document;
            let shared = document.finalizer.as_ref().and_then(|finalizer| {
                let users = users.get(finalizer).filter(|users| users.len() > 1)?;
                Some((finalizer, users))
            });
            let Some((finalizer, users)) = shared else {
                return true;
            };
            let files = users.iter().filter(|(_, is_file)| *is_file).count();
            let first = users.first().map_or("", |(name, _)| name.as_str());
            if files < 2 && first == document.name {
                return true;
            }
            let text = if files > 1 {
                let names: Vec<&str> = users.iter().map(|(name, _)| name.as_str()).collect();
                format!(
                    "spec.finalizer: the plugins {} name {finalizer}: none of them is taken, since each would remove it for the others; let one of them name it",
                    names.join(" and ")
                )
            } else {
                format!(
                    "spec.finalizer: the plugin {first} names {finalizer} already: each would remove it for the other; let one of them name it"
                )
            };
            problems.push(Problem::of(candidate, &text));
            false
        });
        self.problems.extend(problems);
    }
}

impl Problem {
    /// Something is wrong with `candidate`.
    pub(super) fn of(candidate: &Candidate, why: &str) -> Self {
        let document = &candidate.document;
        Self {
            plugin: Some(document.name.clone()),
            document: Some(candidate.text.clone()),
            origins: vec![document.origin.clone()],
            text: format!("{}: {why}", document.origin),
        }
    }
}
