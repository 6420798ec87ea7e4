//! What a plugin needs, in short form.

use std::ops::Add;

use crate::bindings::windlass::plugin::types as wit;

/// A list of needs. Add lists: `manage("v1", "ConfigMap") + read("v1", "Node")`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    needs: Vec<Need>,
}

/// A rule, and the kind that it was written for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Need {
    kind: Option<String>,
    rule: Rule,
}

/// One need, in the form of an RBAC rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// `apps`, or `""` for the core group.
    pub api_groups: Vec<String>,
    /// Plural and lower case, subresources after a slash.
    pub resources: Vec<String>,
    /// Empty means any name.
    pub resource_names: Vec<String>,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verbs: Vec<String>,
    /// The parts that the plugin reads, as simple JSONPaths. Empty means all.
    pub fields: Vec<String>,
}

/// Reads, applies and deletes objects of a kind.
pub fn manage(api_version: &str, kind: &str) -> Needs {
    need(
        api_version,
        kind,
        &["get", "list", "watch", "create", "patch", "delete"],
    )
}

/// Reads objects of a kind.
pub fn read(api_version: &str, kind: &str) -> Needs {
    need(api_version, kind, &["get", "list", "watch"])
}

/// Access to objects of a kind by `verbs`. For a plugin that watches `("*", "*")`, `need("*", "*", &["delete"])` is for each
/// kind that this stands for.
pub fn need(api_version: &str, kind: &str, verbs: &[&str]) -> Needs {
    let rule = Rule {
        api_groups: vec![group(api_version).to_owned()],
        resources: vec![plural(kind)],
        verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
        ..Rule::default()
    };
    Needs {
        needs: vec![Need {
            kind: Some(kind.to_owned()),
            rule,
        }],
    }
}

impl Needs {
    /// No needs.
    pub fn none() -> Self {
        Self::default()
    }

    /// The resource's plural, if it does not follow Kubernetes' rule: `gateways`.
    #[must_use]
    pub fn plural(mut self, resource: &str) -> Self {
        for need in &mut self.needs {
            need.rule.resources = vec![resource.to_owned()];
        }
        self
    }

    /// Only objects with these names.
    #[must_use]
    pub fn named<const N: usize>(mut self, names: [&str; N]) -> Self {
        for need in &mut self.needs {
            need.rule.resource_names = names.map(str::to_owned).to_vec();
        }
        self
    }

    /// Reads only these parts: `.data`, `.spec.replicas`. This takes less memory and leads to fewer calls.
    #[must_use]
    pub fn fields<const N: usize>(mut self, paths: [&str; N]) -> Self {
        for need in &mut self.needs {
            need.rule.fields = paths.map(str::to_owned).to_vec();
        }
        self
    }

    /// As [`Needs::fields`], for paths that are not written out in the code.
    pub(crate) fn set_fields(&mut self, paths: &[String]) {
        for need in &mut self.needs {
            need.rule.fields = paths.to_vec();
        }
    }

    /// The rules, in the order in which they were added.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.needs.iter().map(|need| &need.rule)
    }

    /// As [`Needs::rules`], for a caller that keeps them.
    pub(crate) fn into_rules(self) -> impl Iterator<Item = Rule> {
        self.needs.into_iter().map(|need| need.rule)
    }
}

impl From<Rule> for Needs {
    fn from(rule: Rule) -> Self {
        Self {
            needs: vec![Need { kind: None, rule }],
        }
    }
}

impl Add for Needs {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self.needs.extend(other.needs);
        self
    }
}

impl From<Rule> for wit::Rule {
    fn from(rule: Rule) -> Self {
        let Rule {
            api_groups,
            resources,
            resource_names,
            verbs,
            fields,
        } = rule;
        Self {
            api_groups,
            resources,
            resource_names,
            verbs,
            fields,
        }
    }
}

/// What stands for every group and version, and for every kind.
const EVERY: &str = "*";

/// The API version and the kind that stand for every kind that a grant names.
pub(crate) const EVERY_KIND: (&str, &str) = (EVERY, EVERY);

/// The group of `apps/v1`; empty for the core group.
pub(crate) fn group(api_version: &str) -> &str {
    if api_version == EVERY {
        return EVERY;
    }
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The resource of a kind by Kubernetes' rule (`meta.UnsafeGuessKindToResource`). It is wrong for
/// a few kinds (`Gateway`): the host warns with the nearest name that the cluster knows.
pub fn plural(kind: &str) -> String {
    let singular = kind.to_ascii_lowercase();
    if singular.is_empty() || singular == EVERY || singular.ends_with("endpoints") {
        return singular;
    }
    if singular.ends_with('s') {
        return singular + "es";
    }
    match singular.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => singular + "s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_follow_kubernetes_rule() {
        let cases = [
            ("ConfigMap", "configmaps"),
            ("*", "*"),
            ("Endpoints", "endpoints"),
            ("EndpointSlice", "endpointslices"),
            ("Ingress", "ingresses"),
            ("NetworkPolicy", "networkpolicies"),
            ("StorageClass", "storageclasses"),
            ("Greeting", "greetings"),
            // What the rule makes of these is not what they are called: `plural` says it.
            ("Gateway", "gatewaies"),
            ("Prometheus", "prometheuses"),
            ("", ""),
        ];
        for (kind, want) in cases {
            assert_eq!(plural(kind), want, "{kind}");
        }
    }

    #[test]
    fn needs_add_up_and_narrow() {
        let needs = manage("v1", "ConfigMap").named(["a", "b"])
            + read("gateway.networking.k8s.io/v1", "Gateway")
                .plural("gateways")
                .fields([".spec"]);
        let rules: Vec<_> = needs
            .rules()
            .map(|rule| {
                (
                    rule.api_groups.join(","),
                    rule.resources.join(","),
                    rule.verbs.len(),
                )
            })
            .collect();
        assert_eq!(
            rules,
            [
                (String::new(), "configmaps".to_owned(), 6),
                (
                    "gateway.networking.k8s.io".to_owned(),
                    "gateways".to_owned(),
                    3
                ),
            ],
        );
        let rules: Vec<_> = needs.rules().collect();
        assert_eq!(rules[0].resource_names, ["a", "b"]);
        assert_eq!(rules[1].fields, [".spec"]);
    }
}
