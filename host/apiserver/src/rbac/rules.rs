//! One rule of a role, and what it allows (kubernetes `pkg/apis/rbac/v1/evaluation_helpers.go`).

use serde::Deserialize;
use serde_json::{Value, json};

use super::attributes::{Asked, Attributes};
use crate::mutants::mutant;

/// A rule: these verbs on these resources, or on these paths.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the words of PolicyRule")]
pub struct Rule {
    #[serde(deserialize_with = "texts")]
    pub verbs: Vec<String>,
    #[serde(deserialize_with = "texts")]
    pub api_groups: Vec<String>,
    #[serde(deserialize_with = "texts")]
    pub resources: Vec<String>,
    #[serde(deserialize_with = "texts")]
    pub resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs", deserialize_with = "texts")]
    pub non_resource_urls: Vec<String>,
}

/// `null` is an empty list.
fn texts<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts: Option<Vec<String>> = Option::deserialize(deserializer)?;
    Ok(texts.unwrap_or_default())
}

/// What stands for everything.
pub const ALL: &str = "*";

pub(super) fn has(texts: &[String], wanted: &str) -> bool {
    texts.iter().any(|text| text == wanted)
}

impl Rule {
    /// The rules of a role; none where it has none.
    pub fn all_of(role: &Value) -> Vec<Self> {
        let rules = role
            .get("rules")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        rules
            .filter_map(|rule| Self::deserialize(rule).ok())
            .collect()
    }

    /// The rule as a role has it.
    pub fn to_value(&self) -> Value {
        let mut rule = json!({ "verbs": self.verbs });
        let parts = [
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ];
        for (name, texts) in parts.into_iter().filter(|(_, texts)| !texts.is_empty()) {
            crate::meta::put(&mut rule, name, json!(texts));
        }
        rule
    }

    /// Whether it allows this.
    pub fn allows(&self, attributes: &Attributes) -> bool {
        if !has(&self.verbs, ALL) && !has(&self.verbs, &attributes.verb) {
            return false;
        }
        match &attributes.asked {
            Asked::Path(path) => self
                .non_resource_urls
                .iter()
                .any(|held| matches_path(held, path)),
            Asked::Resource(resource) => {
                let names = &self.resource_names;
                (has(&self.api_groups, ALL) || has(&self.api_groups, &resource.group))
                    && self.has_resource(&resource.plural, &resource.subresource)
                    && (names.is_empty() || has(names, &resource.name))
            }
        }
    }

    fn has_resource(&self, plural: &str, subresource: &str) -> bool {
        let is_own = subresource.is_empty();
        let combined = if mutant!(SubresourcesNeedNoRightOfTheirOwn, is_own, true) {
            plural.to_owned()
        } else {
            format!("{plural}/{subresource}")
        };
        self.resources.iter().any(|held| {
            let any = held.strip_prefix("*/").filter(|_| !subresource.is_empty());
            held == ALL || *held == combined || any == Some(subresource)
        })
    }
}

/// Whether a rule's path is this one, or begins it where it ends with a star.
pub(super) fn matches_path(held: &str, path: &str) -> bool {
    held == ALL
        || held == path
        || held.ends_with('*') && path.starts_with(held.trim_end_matches('*'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::User;

    fn rule(value: Value) -> Rule {
        Rule::deserialize(value).unwrap()
    }

    /// `verb group plural[/subresource] [name]`, or `verb /path`.
    fn asked(text: &str) -> Attributes {
        let mut parts = text.split(' ');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        let (verb, second) = (next(), next());
        if second.starts_with('/') {
            return Attributes::path(User::default(), &verb, &second);
        }
        let group = if second == "core" {
            String::new()
        } else {
            second
        };
        let plural = next();
        let (plural, subresource) = plural.split_once('/').unwrap_or((&plural, ""));
        Attributes::resource(User::default(), &verb, &group, plural)
            .of_subresource(subresource)
            .named(&next())
    }

    #[test]
    fn rules_allow_what_their_words_say() {
        let pods = json!({ "verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"] });
        let named = json!({
            "verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"],
        });
        let scale = json!({ "verbs": ["update"], "apiGroups": ["*"], "resources": ["*/scale"] });
        let status = json!({ "verbs": ["*"], "apiGroups": [""], "resources": ["pods/status"] });
        let all = json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] });
        let paths = json!({ "verbs": ["get"], "nonResourceURLs": ["/api", "/apis/*", "/version"] });
        let cases = [
            (&pods, "get core pods", true),
            (&pods, "get core pods a", true),
            (&pods, "delete core pods", false),
            (&pods, "get apps pods", false),
            (&pods, "get core pods/status", false),
            (&pods, "get core secrets", false),
            (&pods, "get /api", false),
            (&named, "get core pods a", true),
            (&named, "get core pods b", false),
            (&named, "get core pods", false),
            (&scale, "update apps deployments/scale", true),
            (&scale, "update example.com widgets/scale w", true),
            (&scale, "update apps deployments", false),
            (&scale, "update apps deployments/status", false),
            (&status, "patch core pods/status a", true),
            (&status, "patch core pods a", false),
            (&all, "impersonate core users", true),
            (&all, "get /api", false),
            (&paths, "get /api", true),
            (&paths, "get /api/v1", false),
            (&paths, "get /apis/apps/v1", true),
            (&paths, "get /apis", false),
            (&paths, "post /version", false),
        ];
        for (held, text, want) in cases {
            assert_eq!(
                rule(held.clone()).allows(&asked(text)),
                want,
                "{held} {text}"
            );
        }
    }
}
