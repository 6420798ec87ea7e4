//! Label selectors as objects have them: `matchLabels` and `matchExpressions`.
//!
//! - Both must hold. An empty one selects all, as in Kubernetes.
//! - Keys and values are checked before they become text: a comma in a value would begin another condition.
//!
//! Fields, operators and errors: apimachinery `LabelSelector` and `ValidateLabelSelector`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::words::{wrong_key, wrong_value};
use super::{BadSelector, LabelSelector};
use windlass_base::text::nearest;

/// The operators, in the order in which they are told.
const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];

/// A label selector as objects have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SelectorMapping {
    /// Labels that must have these values.
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
    /// Conditions that must hold.
    #[serde(default)]
    pub match_expressions: Vec<Requirement>,
}

/// A condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// The label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// Values for `In` and `NotIn`; the others have none.
    #[serde(default)]
    pub values: Vec<String>,
}

/// What is wrong with a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct BadMapping {
    /// Which field: `matchExpressions[0].operator`.
    pub field: String,
    /// What is wrong with it.
    pub why: String,
}

impl SelectorMapping {
    /// The same in the notation of a request: `team=shop,env in (a,b)`. Empty if it selects all.
    ///
    /// # Errors
    /// A key, operator or value that the API server refuses, or a selector that is too long.
    pub fn text(&self) -> Result<String, BadMapping> {
        let labels = self.match_labels.iter().map(|(key, value)| {
            let wrong = wrong_key(key).or_else(|| wrong_value(value));
            match wrong {
                Some(why) => Err(bad("matchLabels", why)),
                None => Ok(format!("{key}={value}")),
            }
        });
        let expressions = self.match_expressions.iter().enumerate();
        let expressions = expressions.map(|(at, requirement)| {
            let text = requirement.text();
            text.map_err(|BadMapping { field, why }| {
                bad(&format!("matchExpressions[{at}].{field}"), why)
            })
        });
        let terms: Vec<String> = labels.chain(expressions).collect::<Result<_, _>>()?;
        let text = terms.join(",");
        match LabelSelector::parse(&text) {
            Ok(_) => Ok(text),
            Err(BadSelector { why, .. }) => Err(bad("matchExpressions", why)),
        }
    }
}

impl Requirement {
    fn text(&self) -> Result<String, BadMapping> {
        let Self {
            key,
            operator,
            values,
        } = self;
        if let Some(why) = wrong_key(key) {
            return Err(bad("key", why));
        }
        let wrong = values.iter().enumerate();
        let mut wrong = wrong.filter_map(|(at, value)| Some((at, wrong_value(value)?)));
        if let Some((at, why)) = wrong.next() {
            return Err(bad(&format!("values[{at}]"), why));
        }
        let set = || match values.is_empty() {
            true => Err(bad(
                "values",
                format!("must be set for operator {operator}"),
            )),
            false => Ok(values.join(",")),
        };
        let alone = |text: String| match values.is_empty() {
            true => Ok(text),
            false => {
                let why = format!("must not be set for operator {operator}");
                Err(bad("values", why))
            }
        };
        match operator.as_str() {
            "In" => Ok(format!("{key} in ({})", set()?)),
            "NotIn" => Ok(format!("{key} notin ({})", set()?)),
            "Exists" => alone(key.clone()),
            "DoesNotExist" => alone(format!("!{key}")),
            _ => {
                let meant = nearest(operator, OPERATORS.iter().copied());
                let meant = meant.map_or(String::new(), |it| format!(" (did you mean `{it}`?)"));
                let known = OPERATORS.join(", ");
                let why = format!("{operator:?} is not one of {known}{meant}");
                Err(bad("operator", why))
            }
        }
    }
}

fn bad(field: &str, why: String) -> BadMapping {
    BadMapping {
        field: field.to_owned(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> SelectorMapping {
        serde_saphyr::from_str(text).unwrap()
    }

    #[test]
    fn it_says_the_same_as_text() {
        let cases = [
            ("{}", ""),
            ("{ matchLabels: {}, matchExpressions: [] }", ""),
            ("{ matchLabels: { team: shop, env: a } }", "env=a,team=shop"),
            ("{ matchLabels: { team: '' } }", "team="),
            (
                "{ matchExpressions: [{ key: env, operator: In, values: [a, b] }] }",
                "env in (a,b)",
            ),
            (
                "{ matchExpressions: [{ key: x.dev/env, operator: NotIn, values: [a] }] }",
                "x.dev/env notin (a)",
            ),
            (
                "{ matchLabels: { team: shop }, matchExpressions: [{ key: a, operator: Exists }, { key: b, operator: DoesNotExist }] }",
                "team=shop,a,!b",
            ),
        ];
        for (mapping, want) in cases {
            assert_eq!(read(mapping).text().as_deref(), Ok(want), "{mapping}");
        }
    }

    #[test]
    fn an_empty_one_selects_all() {
        let all = LabelSelector::parse(&read("{}").text().unwrap()).unwrap();
        assert!(all.selects(&BTreeMap::new()));
        assert!(all.selects(&BTreeMap::from([("team".into(), "shop".into())])));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_field() {
        let cases = [
            (
                "{ matchExpressions: [{ key: a, operator: Exists }, { key: a, operator: in, values: [b] }] }",
                "matchExpressions[1].operator: \"in\" is not one of In, NotIn, Exists, DoesNotExist",
            ),
            (
                "{ matchExpressions: [{ key: a, operator: In }] }",
                "matchExpressions[0].values: must be set for operator In",
            ),
            (
                "{ matchExpressions: [{ key: a, operator: Exists, values: [b] }] }",
                "matchExpressions[0].values: must not be set for operator Exists",
            ),
            (
                "{ matchExpressions: [{ key: -a, operator: Exists }] }",
                "matchExpressions[0].key: the key \"-a\" must consist of",
            ),
            (
                "{ matchExpressions: [{ key: a, operator: In, values: [b, 'c)'] }] }",
                "matchExpressions[0].values[1]: the value \"c)\" must consist of",
            ),
            // It would be two conditions.
            (
                "{ matchLabels: { team: 'shop,env=a' } }",
                "matchLabels: the value \"shop,env=a\" must consist of",
            ),
            (
                "{ matchLabels: { 'a,b': c } }",
                "matchLabels: the key \"a,b\" must consist of",
            ),
        ];
        for (mapping, want) in cases {
            let told = read(mapping).text().unwrap_err().to_string();
            assert!(told.starts_with(want), "{mapping}: {told}");
        }
    }

    #[test]
    fn one_that_is_too_long_is_refused() {
        let values: Vec<String> = (0..2_000).map(|number| format!("v{number}")).collect();
        let long = SelectorMapping {
            match_expressions: vec![Requirement {
                key: "a".to_owned(),
                operator: "In".to_owned(),
                values,
            }],
            ..SelectorMapping::default()
        };
        let told = long.text().unwrap_err().to_string();
        assert!(told.contains("more than 4096 bytes"), "{told}");
    }

    #[test]
    fn unknown_fields_are_refused() {
        for text in [
            "{ matchLabel: { a: b } }",
            "{ matchExpressions: [{ key: a, operator: Exists, value: b }] }",
        ] {
            let read = serde_saphyr::from_str::<SelectorMapping>(text);
            assert!(read.is_err(), "{text}");
        }
    }
}
