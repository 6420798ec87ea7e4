//! How the objects of a kind may be called: one row for each kind that is not called like most.

use crate::{addresses, names};

/// How the objects of a kind may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain: most kinds.
    #[default]
    Subdomain,
    /// A DNS label of RFC 1123.
    Label,
    /// Whatever can be part of a path: RBAC's kinds, APIServices, disruption budgets, requests for certificates,
    /// and Events of the core group.
    PathSegment,
    /// An IP address in its canonical form.
    Address,
    /// A DNS subdomain with room for what the controller appends.
    CronJob,
}

/// The kinds whose names are no plain subdomains.
const RULES: [(&str, &str, NameRule); 13] = [
    ("", "events", NameRule::PathSegment),
    ("", "namespaces", NameRule::Label),
    ("", "services", NameRule::Label),
    ("apps", "statefulsets", NameRule::Label),
    ("batch", "cronjobs", NameRule::CronJob),
    (
        "apiregistration.k8s.io",
        "apiservices",
        NameRule::PathSegment,
    ),
    (
        "certificates.k8s.io",
        "certificatesigningrequests",
        NameRule::PathSegment,
    ),
    ("networking.k8s.io", "ipaddresses", NameRule::Address),
    ("policy", "poddisruptionbudgets", NameRule::PathSegment),
    ("rbac.authorization.k8s.io", "roles", NameRule::PathSegment),
    (
        "rbac.authorization.k8s.io",
        "rolebindings",
        NameRule::PathSegment,
    ),
    (
        "rbac.authorization.k8s.io",
        "clusterroles",
        NameRule::PathSegment,
    ),
    (
        "rbac.authorization.k8s.io",
        "clusterrolebindings",
        NameRule::PathSegment,
    ),
];

impl NameRule {
    /// The rule for a resource.
    pub fn of(group: &str, plural: &str) -> Self {
        let found = RULES
            .iter()
            .find(|(of, resource, _)| *of == group && *resource == plural);
        found.map_or(Self::Subdomain, |(_, _, rule)| *rule)
    }

    /// What is wrong with a name.
    pub fn check(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain | Self::CronJob => names::subdomain(name),
            Self::Label => names::label(name),
            Self::PathSegment => names::path_segment(name),
            Self::Address => addresses::canonical_ip(name),
        }
    }

    /// What is wrong with the beginning of a name (`generateName`).
    pub fn check_prefix(self, prefix: &str) -> Vec<String> {
        match self {
            Self::PathSegment => names::path_segment_prefix(prefix),
            Self::Address => self.check(prefix),
            Self::Subdomain | Self::CronJob | Self::Label => self.check(&without_dash(prefix)),
        }
    }
}

/// A trailing dash is fine in a prefix.
fn without_dash(prefix: &str) -> String {
    match prefix.char_indices().rev().nth(1) {
        Some((at, _)) if prefix.ends_with('-') => {
            format!("{}a", prefix.get(..at).unwrap_or_default())
        }
        _ => prefix.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_may_end_with_a_dash() {
        for (rule, prefix, fine) in [
            (NameRule::Subdomain, "web-", true),
            (NameRule::Subdomain, "web.", false),
            (NameRule::Label, "a-", true),
            (NameRule::Label, "-", false),
            (NameRule::PathSegment, "system:a-", true),
            (NameRule::PathSegment, "..", true),
        ] {
            assert_eq!(rule.check_prefix(prefix).is_empty(), fine, "{prefix}");
        }
        for (name, fine) in [
            ("192.0.2.1", true),
            ("fe80::42:1dff:fe84:f9e2", true),
            ("010.1.1.1", false),
            ("2001:db8:0:0::1", false),
            ("abc", false),
        ] {
            assert_eq!(NameRule::Address.check(name).is_empty(), fine, "{name}");
        }
        assert_eq!(NameRule::of("", "services"), NameRule::Label);
        assert_eq!(NameRule::of("", "events"), NameRule::PathSegment);
        assert_eq!(NameRule::of("events.k8s.io", "events"), NameRule::Subdomain);
        assert_eq!(NameRule::of("apps", "deployments"), NameRule::Subdomain);
    }
}
