//! A grant as YAML, to be pasted below `grants:` of a document.

use std::fmt;

use windlass_yaml::scalar;

use super::{Grant, Namespaces, Owners};
use windlass_kube::selector::SelectorMapping;

/// `{ apiGroups: [apps], resources: [deployments], verbs: [get], namespaces: all }`.
impl fmt::Display for Grant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self
            .fields()
            .into_iter()
            .map(|(field, value)| format!("{field}: {value}"));
        write!(out, "{{ {} }}", fields.collect::<Vec<_>>().join(", "))
    }
}

impl Grant {
    /// Its fields as a document has them; none that has its default.
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![
            ("apiGroups", words(&self.api_groups)),
            ("resources", words(&self.resources)),
        ];
        if !self.resource_names.is_empty() {
            fields.push(("resourceNames", words(&self.resource_names)));
        }
        fields.push(("verbs", words(&self.verbs)));
        match &self.namespaces {
            Namespaces::All => fields.push(("namespaces", "all".to_owned())),
            Namespaces::Only(names) => fields.push(("namespaces", words(names))),
            Namespaces::Selected { selector, .. } => {
                fields.push(("namespaceSelector", mapping(selector)));
            }
            Namespaces::SameAsPrimary => {}
        }
        if self.adopt {
            fields.push(("adopt", "true".to_owned()));
        }
        if !self.finalizers.is_empty() {
            fields.push(("finalizers", words(&self.finalizers)));
        }
        if self.owners == Owners::Any {
            fields.push(("owners", "any".to_owned()));
        }
        if !self.acknowledge.is_empty() {
            fields.push(("acknowledge", words(&self.acknowledge)));
        }
        fields
    }
}

/// Grants as entries of `grants:`, a field on each line, `indent` spaces from the left. A comment says why one is
/// powerful. It holds no word of the grant: somebody may have chosen the words so that a reader takes them for YAML.
pub fn block<'a>(grants: impl IntoIterator<Item = &'a Grant>, indent: usize) -> String {
    let mut out = String::new();
    for grant in grants {
        for reason in grant.powers() {
            out.push_str(&format!("{:indent$}# Powerful: {}.\n", "", reason.why));
        }
        for (number, (field, value)) in grant.fields().into_iter().enumerate() {
            let mark = if number == 0 { "- " } else { "  " };
            out.push_str(&format!("{:indent$}{mark}{field}: {value}\n", ""));
        }
    }
    out
}

/// As [`block`], but nothing powerful is acknowledged: that is left to the person who reviews it.
pub fn block_to_review<'a>(grants: impl IntoIterator<Item = &'a Grant>, indent: usize) -> String {
    let open = grants.into_iter().map(|grant| Grant {
        acknowledge: Vec::new(),
        ..grant.clone()
    });
    block(&open.collect::<Vec<_>>(), indent)
}

/// The field that acknowledges the powers of a grant: `acknowledge: [secrets/get]`. A plain grant has none.
pub fn acknowledge_field(grant: &Grant) -> Option<String> {
    let acknowledge = grant.acknowledgements();
    (!acknowledge.is_empty()).then(|| format!("acknowledge: {}", words(&acknowledge)))
}

/// Grants as entries of `grants:`, in one line.
pub fn entries<'a>(grants: impl IntoIterator<Item = &'a Grant>) -> String {
    let entries = grants.into_iter().map(|grant| format!("- {grant}"));
    entries.collect::<Vec<_>>().join(", ")
}

/// `{ matchLabels: { team: shop } }`.
fn mapping(selector: &SelectorMapping) -> String {
    let labels = selector.match_labels.iter();
    let labels: Vec<String> = labels
        .map(|(key, value)| format!("{}: {}", scalar(key), scalar(value)))
        .collect();
    let expressions = selector.match_expressions.iter().map(|it| {
        let (key, operator) = (scalar(&it.key), scalar(&it.operator));
        let values = match it.values.is_empty() {
            true => String::new(),
            false => format!(", values: {}", words(&it.values)),
        };
        format!("{{ key: {key}, operator: {operator}{values} }}")
    });
    let expressions: Vec<String> = expressions.collect();
    let mut fields = Vec::new();
    if !labels.is_empty() {
        fields.push(format!("matchLabels: {{ {} }}", labels.join(", ")));
    }
    if !expressions.is_empty() {
        fields.push(format!("matchExpressions: [{}]", expressions.join(", ")));
    }
    match fields.is_empty() {
        true => "{}".to_owned(),
        false => format!("{{ {} }}", fields.join(", ")),
    }
}

/// `[get, list]`.
pub(crate) fn words(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| scalar(word)).collect();
    format!("[{}]", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same_grant() {
        let words =
            |words: &[&str]| -> Vec<String> { words.iter().map(|&word| word.to_owned()).collect() };
        let odd = [
            "",
            "*",
            "on",
            "n",
            "null",
            "1",
            "a: b",
            "a, b",
            "é",
            "\"",
            "x#y",
            "-",
            "[a]",
            "a\nb",
            "a\u{2028}b: c",
        ];
        let grants = [
            Grant {
                api_groups: words(&["", "apps"]),
                resources: words(&["deployments", "deployments/status"]),
                resource_names: Vec::new(),
                verbs: words(&["get", "*"]),
                namespaces: Namespaces::SameAsPrimary,
                adopt: true,
                finalizers: Vec::new(),
                owners: Owners::Primary,
                acknowledge: words(&["deployments.apps/*", "in all namespaces"]),
            },
            Grant {
                api_groups: words(&["examples.windlass.dev"]),
                resources: words(&odd),
                resource_names: words(&odd),
                verbs: words(&["get"]),
                namespaces: Namespaces::Only(words(&odd)),
                adopt: false,
                finalizers: Vec::new(),
                owners: Owners::Primary,
                acknowledge: Vec::new(),
            },
            Grant {
                api_groups: words(&[""]),
                resources: words(&["configmaps"]),
                resource_names: Vec::new(),
                verbs: words(&["create", "patch"]),
                namespaces: Namespaces::All,
                adopt: false,
                finalizers: Vec::new(),
                owners: Owners::Primary,
                acknowledge: Vec::new(),
            },
        ];
        let selected = |selector: &str| {
            let selector = serde_saphyr::from_str(selector).unwrap();
            let names = Vec::new();
            let namespaces = Namespaces::Selected { selector, names };
            Grant::suggested("", &["configmaps"], &["get"], namespaces)
        };
        let selectors = [
            "{}",
            "{ matchLabels: { x.dev/team: Shop, env: '1', empty: '' } }",
            "{ matchLabels: { a: b }, matchExpressions: [{ key: on, operator: In, values: ['null', b] }, { key: c, operator: Exists }] }",
        ];
        let grants: Vec<Grant> = grants.into_iter().chain(selectors.map(selected)).collect();
        assert_eq!(
            grants[4].to_string(),
            r#"{ apiGroups: [""], resources: [configmaps], verbs: [get], namespaceSelector: { matchLabels: { empty: "", env: "1", x.dev/team: "Shop" } } }"#
        );
        assert_eq!(
            grants[2].to_string(),
            r#"{ apiGroups: [""], resources: [configmaps], verbs: [create, patch], namespaces: all }"#
        );
        for grant in grants {
            let text = format!("- {grant}\n");
            let read: Vec<Grant> = serde_saphyr::from_str(&text).unwrap();
            assert_eq!(read, std::slice::from_ref(&grant), "{text}");
            let text = block([&grant], 2);
            let read: Vec<Grant> = serde_saphyr::from_str(&text).unwrap();
            assert_eq!(read, [grant], "{text}");
        }
    }

    #[test]
    fn a_block_has_a_field_on_each_line_and_says_what_is_powerful() {
        let grant = Grant::suggested("", &["configmaps", "services"], &["get"], Namespaces::All);
        let secrets = Grant::suggested("", &["secrets"], &["get"], Namespaces::SameAsPrimary);
        let text = block([&grant, &secrets], 4);
        let want = r#"    - apiGroups: [""]
      resources: [configmaps, services]
      verbs: [get]
      namespaces: all
    # Powerful: it holds passwords, keys and tokens."#;
        assert!(text.starts_with(want), "{text}");
        let want = r#"
    - apiGroups: [""]
      resources: [secrets]
      verbs: [get]
      acknowledge: [secrets/get]
"#;
        assert!(text.ends_with(want), "{text}");
    }
}
