//! The words of the template, and those of a project in their place.

use std::path::{Path, PathBuf};

use aho_corasick::{AhoCorasick, MatchKind};
use anyhow::Context;
use windlass_kube::api::{ApiResource, GroupVersionKind};

/// What is replaced, the longer word before the one that it begins with. `%fields%` stands for the fields of an object.
const WORDS: [&str; 9] = [
    "greeter.example.dev/v1",
    "greeter.example.dev",
    "-greeting",
    "greeting.crd",
    "Greeting",
    "greetings",
    "greeting",
    "greeter",
    "%fields%",
];

/// Words that mean something else in the sources of a project: those of Rust and of JavaScript, and its own variables.
const TAKEN: &str = "abstract as async await become box break case catch child class cluster const continue controller \
    crate data debugger default delete do dyn else enum eval export extends extern false final finally fn for function \
    gen if impl implements import in innamespace instanceof interface let loop macro manage map match mod move mut name \
    new null object override package plugin priv private protected pub public ref return self static struct super \
    switch text this throw trait true try type typeof undefined unsafe unsized use value var virtual void where while \
    with yield arguments json";

/// The kind that a project reconciles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) cluster_scoped: bool,
}

impl Kind {
    /// A kind of the project's own, with the names that Kubernetes' clients would guess.
    pub(super) fn own(kind: &str, group: &str, cluster_scoped: bool) -> Self {
        let guess = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        Self {
            group: group.to_owned(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
            plural: guess.plural,
            singular: kind.to_ascii_lowercase(),
            cluster_scoped,
        }
    }

    /// `example.dev/v1`, or `v1` for the core group.
    fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether its plural is not the one that an SDK would guess: `meta.UnsafeGuessKindToResource`.
    pub(super) fn has_own_plural(&self) -> bool {
        let singular = self.kind.to_ascii_lowercase();
        let guess = if singular.ends_with("endpoints") {
            singular
        } else if singular.ends_with('s') {
            singular + "es"
        } else {
            match singular.strip_suffix('y') {
                Some(stem) => format!("{stem}ies"),
                None => singular + "s",
            }
        };
        guess != self.plural
    }

    /// What the sources call an object of the kind.
    fn variable(&self) -> &str {
        let singular = &*self.singular;
        let is_word = singular.chars().all(|c| c.is_ascii_lowercase());
        if is_word && !TAKEN.split_whitespace().any(|taken| taken == singular) {
            singular
        } else {
            "resource"
        }
    }

    /// The file of its definition.
    pub(super) fn definition_file(&self) -> String {
        format!("{}.crd.yaml", self.singular)
    }
}

/// Writes the words of a project in the place of the template's.
pub(super) struct Words<'a> {
    find: AhoCorasick,
    plugin: &'a str,
    kind: &'a Kind,
    fields: &'a str,
}

impl<'a> Words<'a> {
    /// Those of a plugin called `plugin`; `fields` are those of an object of a kind that is there already, as YAML.
    pub(super) fn new(plugin: &'a str, kind: &'a Kind, fields: &'a str) -> anyhow::Result<Self> {
        let find = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(WORDS)
            .context("cannot search for the template's words")?;
        Ok(Self {
            find,
            plugin,
            kind,
            fields,
        })
    }

    /// A file of the template, as it is in the project.
    pub(super) fn file(&self, path: &Path, text: &str) -> (PathBuf, String) {
        let is_source = path
            .extension()
            .is_some_and(|end| end == "rs" || end == "js");
        let named = self.replaced(&path.to_string_lossy(), false, "");
        let indent = if path.starts_with("tests") {
            "      "
        } else {
            ""
        };
        (named.into(), self.replaced(text, is_source, indent))
    }

    fn replaced(&self, text: &str, is_source: bool, indent: &str) -> String {
        let Kind {
            group,
            kind,
            plural,
            singular,
            ..
        } = self.kind;
        let object = if is_source {
            self.kind.variable()
        } else {
            singular
        };
        let fields = self.fields.lines();
        let fields: String = fields.map(|line| format!("{indent}{line}\n")).collect();
        let words = [
            self.kind.api_version(),
            group.clone(),
            format!("-{singular}"),
            format!("{singular}.crd"),
            kind.clone(),
            plural.clone(),
            object.to_owned(),
            self.plugin.to_owned(),
            fields,
        ];
        self.find.replace_all(text, &words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_the_projects_own() {
        let kind = Kind::own("Gateway", "net.example.com", false);
        let words = Words::new("edge", &kind, "").unwrap();
        let text = "greeter.example.dev/v1 Greeting greetings.greeter.example.dev GreetingList ada-greeting greeting.crd.yaml greeter greeting.spec";
        let (path, text) = words.file(Path::new("greeting.crd.yaml"), text);
        assert_eq!(path, Path::new("gateway.crd.yaml"));
        assert_eq!(
            text,
            "net.example.com/v1 Gateway gateways.net.example.com GatewayList ada-gateway gateway.crd.yaml edge gateway.spec"
        );
        // A word that was put in is not looked at again.
        let kind = Kind::own("Greeter", "greeting.dev", false);
        let words = Words::new("greetings", &kind, "").unwrap();
        let (_, text) = words.file(Path::new("a.yaml"), "greeter Greeting greeter.example.dev");
        assert_eq!(text, "greetings Greeter greeting.dev");
    }

    #[test]
    fn a_variable_is_no_word_that_means_something_else() {
        for (kind, variable) in [
            ("Database", "database"),
            ("Cluster", "resource"),
            ("Type", "resource"),
            ("Function", "resource"),
            ("Object", "resource"),
            ("V2Thing", "resource"),
        ] {
            let kind = Kind::own(kind, "x.dev", false);
            assert_eq!(kind.variable(), variable);
        }
    }

    #[test]
    fn a_plural_is_said_where_an_sdk_would_guess_another() {
        for (kind, plural, own) in [
            ("Greeting", "greetings", false),
            ("Policy", "policies", false),
            ("Class", "classes", false),
            ("Gateway", "gateways", true),
        ] {
            let kind = Kind::own(kind, "x.dev", false);
            assert_eq!((&*kind.plural, kind.has_own_plural()), (plural, own));
        }
    }
}
