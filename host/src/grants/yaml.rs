//! A grant as a line of YAML, to be pasted below `grants:` of a document.

use std::fmt;

use super::{Grant, Namespaces};

/// `{ apiGroups: [apps], resources: [deployments], verbs: [get], namespaces: all }`.
impl fmt::Display for Grant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (groups, resources) = (list(&self.api_groups), list(&self.resources));
        write!(out, "{{ apiGroups: {groups}, resources: {resources}")?;
        if !self.resource_names.is_empty() {
            write!(out, ", resourceNames: {}", list(&self.resource_names))?;
        }
        write!(out, ", verbs: {}", list(&self.verbs))?;
        match &self.namespaces {
            Namespaces::All => out.write_str(", namespaces: all")?,
            Namespaces::Only(names) => write!(out, ", namespaces: {}", list(names))?,
            // The default.
            Namespaces::SameAsPrimary => {}
        }
        if self.adopt {
            out.write_str(", adopt: true")?;
        }
        if self.acknowledge {
            out.write_str(", acknowledge: true")?;
        }
        out.write_str(" }")
    }
}

/// Grants as entries of `grants:`, in one line.
pub fn entries<'a>(grants: impl IntoIterator<Item = &'a Grant>) -> String {
    let entries = grants.into_iter().map(|grant| format!("- {grant}"));
    entries.collect::<Vec<_>>().join(", ")
}

fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| scalar(word)).collect();
    format!("[{}]", words.join(", "))
}

/// A word as YAML reads it back; in quotes, as JSON has them, if it could be something else.
fn scalar(word: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-./".contains(c);
    let is_plain = word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(plain)
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&word);
    match is_plain {
        true => word.to_owned(),
        false => serde_json::Value::from(word).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same_grant() {
        let words =
            |words: &[&str]| -> Vec<String> { words.iter().map(|&word| word.to_owned()).collect() };
        let odd = [
            "", "*", "on", "n", "null", "1", "a: b", "a, b", "é", "\"", "x#y", "-", "[a]",
        ];
        let grants = [
            Grant {
                api_groups: words(&["", "apps"]),
                resources: words(&["deployments", "deployments/status"]),
                resource_names: Vec::new(),
                verbs: words(&["get", "*"]),
                namespaces: Namespaces::SameAsPrimary,
                adopt: true,
                acknowledge: true,
            },
            Grant {
                api_groups: words(&["examples.windlass.dev"]),
                resources: words(&odd),
                resource_names: words(&odd),
                verbs: words(&["get"]),
                namespaces: Namespaces::Only(words(&odd)),
                adopt: false,
                acknowledge: false,
            },
            Grant {
                api_groups: words(&[""]),
                resources: words(&["configmaps"]),
                resource_names: Vec::new(),
                verbs: words(&["create", "patch"]),
                namespaces: Namespaces::All,
                adopt: false,
                acknowledge: false,
            },
        ];
        assert_eq!(
            grants[2].to_string(),
            r#"{ apiGroups: [""], resources: [configmaps], verbs: [create, patch], namespaces: all }"#
        );
        for grant in grants {
            let text = format!("- {grant}\n");
            let read: Vec<Grant> = serde_saphyr::from_str(&text).unwrap();
            assert_eq!(read, [grant], "{text}");
        }
    }
}
