//! `spec.configFrom`: configuration in a ConfigMap or a Secret.

use std::fmt;

use serde::Deserialize;

use super::FieldError;
use windlass_base::text::is_dns_subdomain;

/// Configuration that is in an object of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSource {
    /// Whether it is in a Secret; otherwise it is in a ConfigMap.
    pub is_secret: bool,
    /// The name of the object, in the namespace of the host.
    pub name: String,
    /// The key that has it.
    pub key: String,
}

/// `ConfigMap greeter, key config.yaml`
impl fmt::Display for ConfigSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_secret {
            "Secret"
        } else {
            "ConfigMap"
        };
        write!(out, "{kind} {}, key {}", self.name, self.key)
    }
}

/// Configuration of the plugin in a ConfigMap or in a Secret, in the namespace of the host.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = super::crd::config_source_rules())))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Raw {
    config_map: Option<KeyOf>,
    secret: Option<KeyOf>,
}

/// A key of an object, which holds a mapping in YAML or JSON.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct KeyOf {
    /// The name of the object.
    name: String,
    /// The key.
    key: String,
}

/// So many objects at most.
const MOST: usize = 16;

/// Checks all of them. `is_file`: the document is in a file.
pub(super) fn check(all: Vec<Raw>, is_file: bool) -> Result<Vec<ConfigSource>, FieldError> {
    if is_file && !all.is_empty() {
        let only = "is only for Plugin objects: in a file, write spec.config";
        return Err(FieldError::new("spec.configFrom", only));
    }
    if all.len() > MOST {
        let many = format!("has {} entries: {MOST} are the most", all.len());
        return Err(FieldError::new("spec.configFrom", many));
    }
    let numbered = all.into_iter().enumerate();
    numbered.map(|(at, raw)| raw.check(at)).collect()
}

impl Raw {
    fn check(self, at: usize) -> Result<ConfigSource, FieldError> {
        let (field, is_secret, of) = match (self.config_map, self.secret) {
            (Some(of), None) => ("configMap", false, of),
            (None, Some(of)) => ("secret", true, of),
            (None, None) | (Some(_), Some(_)) => {
                let must = "must name exactly one of configMap and secret";
                return Err(FieldError::new(format!("spec.configFrom[{at}]"), must));
            }
        };
        let path = |name: &str| format!("spec.configFrom[{at}].{field}.{name}");
        if !is_dns_subdomain(&of.name) {
            let must = "must be the name of an object: a DNS subdomain";
            return Err(FieldError::new(path("name"), must));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if of.key.is_empty() || of.key.len() > 253 || !of.key.chars().all(is_plain) {
            let must = "must have 1 to 253 of a-z, A-Z, 0-9, `-`, `_` and `.`";
            return Err(FieldError::new(path("key"), must));
        }
        Ok(ConfigSource {
            is_secret,
            name: of.name,
            key: of.key,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str, is_file: bool) -> Result<Vec<String>, String> {
        let all: Vec<Raw> = windlass_yaml::document(text).unwrap();
        let checked = check(all, is_file).map_err(|error| error.to_string())?;
        Ok(checked.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn each_entry_names_one_key_of_one_object() {
        let good = "[{configMap: {name: a, key: c.yaml}}, {secret: {name: b.c, key: K}}]";
        let want = ["ConfigMap a, key c.yaml", "Secret b.c, key K"];
        assert_eq!(checked(good, false).unwrap(), want);
        assert_eq!(checked("[]", true), Ok(Vec::new()));
        let rows = [
            (good, true, "spec.configFrom: is only for Plugin objects"),
            ("[{}]", false, "spec.configFrom[0]: must name exactly one"),
            (
                "[{configMap: {name: a, key: b}, secret: {name: a, key: b}}]",
                false,
                "spec.configFrom[0]: must name exactly one",
            ),
            (
                "[{configMap: {name: a, key: b}}, {secret: {name: A/b, key: b}}]",
                false,
                "spec.configFrom[1].secret.name: must be",
            ),
            (
                "[{secret: {name: a, key: 'b/c'}}]",
                false,
                "spec.configFrom[0].secret.key: must have",
            ),
        ];
        for (text, is_file, want) in rows {
            let told = checked(text, is_file).unwrap_err();
            assert!(told.starts_with(want), "{text}: {told}");
        }
    }
}
