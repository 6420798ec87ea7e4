//! What names may look like: one rule per function, with apimachinery's texts.
//!
//! Each answers what is wrong, in the order of the real server; nothing when the text is fine.

/// How the objects of a kind may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain: most kinds.
    #[default]
    Subdomain,
    /// A DNS label of RFC 1123.
    Label,
    /// Whatever can be part of a path: RBAC's kinds.
    PathSegment,
    /// A DNS subdomain with room for what the controller appends.
    CronJob,
}

/// The kinds whose names are no plain subdomains.
const RULES: [(&str, &str, NameRule); 8] = [
    ("", "namespaces", NameRule::Label),
    ("", "services", NameRule::Label),
    ("apps", "statefulsets", NameRule::Label),
    ("batch", "cronjobs", NameRule::CronJob),
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
            Self::Subdomain | Self::CronJob => dns1123_subdomain(name),
            Self::Label => dns1123_label(name),
            Self::PathSegment => path_segment(name),
        }
    }

    /// What is wrong with the beginning of a name (`generateName`).
    pub fn check_prefix(self, prefix: &str) -> Vec<String> {
        match self {
            Self::PathSegment => path_segment_prefix(prefix),
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

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_TEXT: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and \
                        end with an alphanumeric character";

/// A DNS label of RFC 1123: `my-name`.
pub fn dns1123_label(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63);
    if !is_label(text) {
        wrong.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            explained(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
                 and must start and end with an alphanumeric character",
                LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    wrong
}

/// A DNS subdomain of RFC 1123: `example.com`.
pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 253);
    if !is_subdomain(text) {
        wrong.push(explained(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
             '.', and must start and end with an alphanumeric character",
            SUBDOMAIN,
            &["example.com"],
        ));
    }
    wrong
}

/// A DNS label of RFC 1035: `my-name`, and no digit in front.
pub fn dns1035_label(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63);
    if !is_label(text) || text.starts_with(|c: char| c.is_ascii_digit()) {
        wrong.push(explained(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
             alphabetic character, and end with an alphanumeric character",
            LABEL_1035,
            &["my-name", "abc-123"],
        ));
    }
    wrong
}

/// A label's key, also called a qualified name: `example.com/MyName`.
pub fn label_key(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let examples = &["MyName", "my.name", "123-abc"];
    let name = match parts.as_slice() {
        [name] => *name,
        ["", name] => {
            wrong.push("prefix part must be non-empty".to_owned());
            *name
        }
        [prefix, name] => {
            let of_prefix = dns1123_subdomain(prefix);
            wrong.extend(of_prefix.iter().map(|why| format!("prefix part {why}")));
            *name
        }
        _ => {
            let shape = explained(KEY_TEXT, KEY, examples);
            return vec![format!(
                "a valid label key {shape} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else {
        let long = too_long(name, 63);
        wrong.extend(long.iter().map(|why| format!("name part {why}")));
    }
    if !is_key(name) {
        let shape = explained(KEY_TEXT, KEY, examples);
        wrong.push(format!("name part {shape}"));
    }
    wrong
}

/// A label's value.
pub fn label_value(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63);
    if !text.is_empty() && !is_key(text) {
        wrong.push(explained(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
             '.', and must start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    wrong
}

/// What can be one part of a request's path.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    path_segment_prefix(text)
}

fn path_segment_prefix(text: &str) -> Vec<String> {
    let forbidden = ["/", "%"].into_iter().filter(|part| text.contains(part));
    forbidden
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_key(text: &str) -> bool {
    let edge = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(edge)
        && text.ends_with(edge)
        && text.chars().all(|c| edge(c) || "-_.".contains(c))
}

fn too_long(text: &str, most: usize) -> Vec<String> {
    let long = (text.len() > most).then(|| format!("must be no more than {most} bytes"));
    long.into_iter().collect()
}

/// A rule with its regular expression and examples, in apimachinery's words.
fn explained(rule: &str, regex: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|text| format!("'{text}', ")).collect();
    let examples = examples.join(" or ");
    format!("{rule} (e.g. {examples}regex used for validation is '{regex}')")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Check = fn(&str) -> Vec<String>;

    #[test]
    fn names_are_judged_as_by_apimachinery() {
        let label = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
                     '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or \
                     '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
        let key = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start \
                   and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', \
                   regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
        let long = "a".repeat(64);
        let cases: [(Check, &str, Vec<&str>); 12] = [
            (dns1123_label, "123-abc", vec![]),
            (dns1123_label, "a.b", vec!["must not contain dots"]),
            (dns1123_label, "a_b", vec![label]),
            (dns1123_label, &long, vec!["must be no more than 63 bytes"]),
            (dns1123_subdomain, "a-1.b", vec![]),
            (dns1035_label, "a1", vec![]),
            (label_key, "example.com/Name_1.a", vec![]),
            (label_key, "a b", vec![key]),
            (label_key, "/a", vec!["prefix part must be non-empty"]),
            (label_key, "a/", vec!["name part must be non-empty", key]),
            (label_value, "", vec![]),
            (
                path_segment,
                "a/b%",
                vec!["may not contain '/'", "may not contain '%'"],
            ),
        ];
        for (check, text, want) in cases {
            assert_eq!(check(text), want, "{text}");
        }
        assert_eq!(dns1035_label("1a").len(), 1);
        assert_eq!(dns1123_subdomain("A.b").len(), 1);
        assert_eq!(label_key("a/b/c").len(), 1);
        assert_eq!(label_value("-a").len(), 1);
    }

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
        assert_eq!(NameRule::of("", "services"), NameRule::Label);
        assert_eq!(NameRule::of("apps", "deployments"), NameRule::Subdomain);
    }
}
