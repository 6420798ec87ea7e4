//! What a grant acknowledges, word by word: pure.
//!
//! - A word is one thing that the grant gives: `secrets/get`, `deployments.apps/create`, `configmaps/adopt`. Where
//!   objects are named, it names one of them: `secrets/get/password`.
//! - Where a powerful grant holds beyond the primary's namespace, a word says so: `in all namespaces`.
//! - A grant that is widened needs a word that it does not have. One that is narrowed has a word too many, which is an
//!   error too: it would say yes to a later grant that nobody has looked at.

use serde::{Deserialize, Deserializer};

use super::used::spelled;
use super::yaml::words;
use super::{Grant, GrantError, Namespaces, PowerReason, split_subresource};
use windlass_base::text::nearest;
use windlass_kube::api::is_cluster_scoped;

impl Grant {
    /// The words that acknowledge what is powerful in it; none if it is plain.
    pub fn acknowledgements(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for word in self.powers().into_iter().flat_map(|reason| reason.words) {
            if !all.contains(&word) {
                all.push(word);
            }
        }
        if !all.is_empty() {
            all.extend(self.places());
        }
        all
    }

    /// The same grant, with all that is powerful in it acknowledged.
    #[must_use]
    pub fn acknowledged(self) -> Self {
        Self {
            acknowledge: self.acknowledgements(),
            ..self
        }
    }

    /// The words for where it holds beyond the primary's namespace.
    fn places(&self) -> Vec<String> {
        let is_everywhere = || {
            let mut pairs = self.each_pair();
            pairs.all(|(group, resource)| is_cluster_scoped(group, split_subresource(resource).0))
        };
        match &self.namespaces {
            Namespaces::SameAsPrimary => Vec::new(),
            Namespaces::All if is_everywhere() => Vec::new(),
            // It may select any of them.
            Namespaces::All | Namespaces::Selected { .. } => vec!["in all namespaces".to_owned()],
            Namespaces::Only(names) => {
                let names = names.iter().map(|name| format!("in namespace {name}"));
                names.collect()
            }
        }
    }

    /// Each of its resources with each of its groups.
    pub(super) fn each_pair(&self) -> impl Iterator<Item = (&str, &str)> {
        self.api_groups.iter().flat_map(|group| {
            let resources = self.resources.iter();
            resources.map(move |resource| (group.as_str(), resource.as_str()))
        })
    }

    /// The words for `what` may be done to a resource: a verb, or another power.
    pub(super) fn words_for(&self, group: &str, resource: &str, what: &str) -> Vec<String> {
        let word = format!("{}/{what}", spelled(group, resource));
        if self.resource_names.is_empty() {
            return vec![word];
        }
        let names = self.resource_names.iter();
        names.map(|name| format!("{word}/{name}")).collect()
    }

    /// What it acknowledges too little or too much.
    pub(super) fn acknowledge_problem(&self, reasons: &[PowerReason]) -> Option<GrantError> {
        let needed = self.acknowledgements();
        let lacks = |word: &String| !self.acknowledge.contains(word);
        let missing: Vec<&String> = needed.iter().filter(|word| lacks(word)).collect();
        if !missing.is_empty() {
            let about = |reason: &&PowerReason| reason.words.iter().any(lacks);
            let unsaid: Vec<&PowerReason> = reasons.iter().filter(about).collect();
            let field = if self.acknowledge.is_empty() {
                ""
            } else {
                "acknowledge"
            };
            return Some(GrantError::new(
                field,
                format!(
                    "{}: {}",
                    unacknowledged(&unsaid, &missing),
                    to_write(&needed)
                ),
            ));
        }
        let is_stale = |word: &&String| !needed.contains(word);
        let stale = self.acknowledge.iter().position(|word| is_stale(&word))?;
        let word = self.acknowledge.get(stale)?;
        let meant = nearest(word, needed.iter().map(String::as_str));
        let meant = meant.map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)"));
        let remedy = if needed.is_empty() {
            "the grant is not powerful: remove `acknowledge`, so that a wider grant needs a new one"
                .to_owned()
        } else {
            to_write(&needed)
        };
        Some(GrantError::new(
            &format!("acknowledge[{stale}]"),
            format!("`{word}` is not something powerful that this grant gives{meant}: {remedy}"),
        ))
    }
}

/// `secrets is powerful: it holds passwords, keys and tokens; jobs: ...`.
fn unacknowledged(reasons: &[&PowerReason], missing: &[&String]) -> String {
    let Some((PowerReason { what, why, .. }, more)) = reasons.split_first() else {
        // Its powers are acknowledged, but not that they hold there.
        let missing: Vec<String> = missing.iter().map(|word| format!("`{word}`")).collect();
        return format!(
            "it holds in more namespaces than it acknowledges ({})",
            missing.join(", ")
        );
    };
    let is = if what.contains(", ") { "are" } else { "is" };
    let mut text = format!("{what} {is} powerful: {why}");
    for reason in more {
        text.push_str(&format!("; {reason}"));
    }
    text
}

fn to_write(needed: &[String]) -> String {
    format!(
        "if you want that, write `acknowledge: {}` in this grant",
        words(needed)
    )
}

/// Reads a list of words; `true` is a word that acknowledges nothing, so that anyone who writes it learns the right ones.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    struct Visitor;
    impl<'de> serde::de::Visitor<'de> for Visitor {
        type Value = Vec<String>;
        fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str(
                "acknowledge: a list of what is powerful in the grant, such as [secrets/get]",
            )
        }
        fn visit_bool<E>(self, value: bool) -> Result<Vec<String>, E> {
            Ok(value.then(|| "true".to_owned()).into_iter().collect())
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<Vec<String>, A::Error> {
            Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(list))
        }
    }
    from.deserialize_any(Visitor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(text: &str) -> Grant {
        serde_saphyr::from_str(text).unwrap()
    }

    /// What a grant is told; nothing if it is right.
    fn told(text: &str) -> String {
        let told = super::super::Grants::new(vec![grant(text)]).err();
        told.map_or(String::new(), |told| told.to_string())
    }

    #[test]
    fn each_power_has_a_word() {
        let cases = [
            (
                "apiGroups: [''], resources: [configmaps], verbs: ['get', patch], namespaces: all",
                "",
            ),
            (
                "apiGroups: [''], resources: [secrets], verbs: [get, list]",
                "secrets/get secrets/list",
            ),
            (
                "apiGroups: [''], resources: [secrets], verbs: ['*']",
                "secrets/*",
            ),
            (
                "apiGroups: [''], resources: [secrets], resourceNames: [a, b], verbs: [get]",
                "secrets/get/a secrets/get/b",
            ),
            (
                "apiGroups: [apps], resources: [deployments, deployments/scale], verbs: [get, patch]",
                "deployments.apps/patch deployments.apps/scale/patch",
            ),
            // Where the powerful one is beside a plain one.
            (
                "apiGroups: ['', apps], resources: [configmaps, secrets, deployments], verbs: [get, create]",
                "secrets/get secrets/create deployments.apps/create",
            ),
            (
                "apiGroups: [''], resources: [namespaces], verbs: [get, create], namespaces: all",
                "namespaces/create",
            ),
            (
                "apiGroups: [''], resources: [pods/exec], verbs: [create]",
                "pods/exec/create",
            ),
            (
                "apiGroups: [''], resources: [secrets], verbs: [get], namespaces: all",
                "secrets/get|in all namespaces",
            ),
            (
                "apiGroups: [''], resources: [secrets], verbs: [get], namespaces: [a, b]",
                "secrets/get|in namespace a|in namespace b",
            ),
            // Wildcards.
            (
                "apiGroups: [x.dev], resources: ['*'], verbs: [get]",
                "*.x.dev/get",
            ),
            (
                "apiGroups: ['*'], resources: [things], verbs: [get]",
                "things.*/get",
            ),
            ("apiGroups: ['*'], resources: ['*'], verbs: ['*']", "*.*/*"),
            (
                "apiGroups: [x.dev], resources: [things], verbs: ['*', get]",
                "things.x.dev/*",
            ),
            // Beside verbs.
            (
                "apiGroups: [''], resources: [configmaps], verbs: [patch], adopt: true",
                "configmaps/adopt",
            ),
            (
                "apiGroups: [''], resources: [configmaps], verbs: [patch], owners: any",
                "configmaps/owners",
            ),
            (
                "apiGroups: [''], resources: [configmaps], verbs: [patch], finalizers: [a.b/c, '*']",
                "configmaps/finalizers/a.b/c configmaps/finalizers/*",
            ),
        ];
        for (text, want) in cases {
            let held = grant(&format!("{{ {text} }}"));
            let separator = if want.contains('|') { '|' } else { ' ' };
            let want: Vec<&str> = want
                .split(separator)
                .filter(|word| !word.is_empty())
                .collect();
            assert_eq!(held.acknowledgements(), want, "{text}");
        }
    }

    #[test]
    fn a_grant_that_is_widened_needs_another_word() {
        let base = "apiGroups: [''], resources: [secrets], resourceNames: [a], verbs: [get], acknowledge: [secrets/get/a]";
        assert_eq!(told(&format!("{{ {base} }}")), "");
        let wider = [
            ("verbs: [get]", "verbs: [get, patch]"),
            ("resourceNames: [a]", "resourceNames: [a, b]"),
            ("resourceNames: [a]", "resourceNames: []"),
            ("resources: [secrets]", "resources: [secrets, pods/exec]"),
            ("apiGroups: ['']", "apiGroups: ['', '*']"),
            ("verbs: [get]", "verbs: [get], namespaces: all"),
            ("verbs: [get]", "verbs: [get], namespaces: [b]"),
            ("verbs: [get]", "verbs: [get], adopt: true"),
            ("verbs: [get]", "verbs: [get], owners: any"),
            ("verbs: [get]", "verbs: [get], finalizers: [a.b/c]"),
        ];
        for (from, to) in wider {
            let text = format!("{{ {} }}", base.replace(from, to));
            let told = told(&text);
            assert!(!told.is_empty(), "{to}");
            // With what it says, it is right; a wildcard in apiGroups never covers Secrets.
            let said = told
                .split('`')
                .find_map(|part| part.strip_prefix("acknowledge: "));
            let Some(said) = said else {
                assert!(told.contains("never given"), "{to}: {told}");
                continue;
            };
            let text = text.replace("[secrets/get/a]", said);
            assert_eq!(super::tests::told(&text), "", "{to}");
        }
    }

    #[test]
    fn what_is_missing_or_too_much_is_told_with_the_line_to_write() {
        let secrets = "apiGroups: [''], resources: [secrets], verbs: [get]";
        let line = "if you want that, write `acknowledge: [secrets/get]` in this grant";
        let maps = "apiGroups: [''], resources: [configmaps], verbs: [get]";
        let why = "it holds passwords, keys and tokens";
        let cases = [
            (secrets.to_owned(), format!("[0]: secrets is powerful: {why}: {line}")),
            (
                format!("{secrets}, acknowledge: true"),
                format!("[0].acknowledge: secrets is powerful: {why}: {line}"),
            ),
            (
                format!("{secrets}, acknowledge: false"),
                format!("[0]: secrets is powerful: {why}: {line}"),
            ),
            (
                format!("{secrets}, acknowledge: [secrets/get, secrets/gat]"),
                format!("[0].acknowledge[1]: `secrets/gat` is not something powerful that this grant gives (did you mean `secrets/get`?): {line}"),
            ),
            (
                format!("{maps}, acknowledge: [secrets/get]"),
                "[0].acknowledge[0]: `secrets/get` is not something powerful that this grant gives: the grant is not powerful: remove `acknowledge`, so that a wider grant needs a new one".to_owned(),
            ),
            (
                format!("{secrets}, namespaces: all, acknowledge: [secrets/get]"),
                "[0].acknowledge: it holds in more namespaces than it acknowledges (`in all namespaces`): if you want that, write `acknowledge: [secrets/get, in all namespaces]` in this grant".to_owned(),
            ),
        ];
        for (text, want) in cases {
            assert_eq!(told(&format!("{{ {text} }}")), want, "{text}");
        }
        let wrong =
            serde_saphyr::from_str::<Grant>(&format!("{{ {secrets}, acknowledge: yes-please }}"));
        let wrong = wrong.unwrap_err().to_string();
        assert!(
            wrong.contains("a list of what is powerful in the grant"),
            "{wrong}"
        );
    }
}
