//! Label selectors, in the notation of apimachinery's `labels.Parse`, with its messages.

mod parse;

use std::collections::BTreeSet;

use serde_json::Value;

use super::BadSelector;
use crate::json::{list, texts};
use crate::mutants::mutant;
use crate::store::Labels;
use parse::Parser;

/// A selector over labels. The default one selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: RequirementOperator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RequirementOperator {
    Exists,
    Absent,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Reads a selector; empty text selects all.
    ///
    /// # Errors
    /// Text that is not a selector.
    pub fn parse(text: &str) -> Result<Self, BadSelector> {
        Parser::new(text).selector().map(Self)
    }

    /// The selector of an object's field, with `matchLabels` and `matchExpressions`; nothing if it is none.
    pub fn of(field: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let labels = field.get("matchLabels").and_then(Value::as_object);
        let mut requirements = Vec::new();
        for (key, value) in labels.into_iter().flatten() {
            // As Go reads it.
            let value = match value {
                Value::Null => String::new(),
                value => text(value)?,
            };
            requirements.push(Requirement {
                key: key.clone(),
                operator: RequirementOperator::In(BTreeSet::from([value])),
            });
        }
        for expression in list(field, "matchExpressions") {
            let values = || texts(expression, "values").map(str::to_owned).collect();
            requirements.push(Requirement {
                key: text(expression.get("key")?)?,
                operator: match expression.get("operator")?.as_str()? {
                    "In" => RequirementOperator::In(values()),
                    "NotIn" => RequirementOperator::NotIn(values()),
                    "Exists" => RequirementOperator::Exists,
                    "DoesNotExist" => RequirementOperator::Absent,
                    _ => return None,
                },
            });
        }
        Some(Self(requirements))
    }

    /// Whether it selects all.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub fn selects(&self, labels: Option<&Labels>) -> bool {
        let value = |key: &str| labels.and_then(|labels| labels.get(key));
        self.0.iter().all(|requirement| {
            let held = value(&requirement.key);
            let number = || held.and_then(|held| held.parse::<i64>().ok());
            match &requirement.operator {
                RequirementOperator::Exists => held.is_some(),
                RequirementOperator::Absent => held.is_none(),
                RequirementOperator::In(values) => held.is_some_and(|held| values.contains(held)),
                RequirementOperator::NotIn(values) => match held {
                    Some(held) => !values.contains(held),
                    None => mutant!(NotinWantsTheLabel, true, false),
                },
                RequirementOperator::Above(than) => number().is_some_and(|held| held > *than),
                RequirementOperator::Below(than) => number().is_some_and(|held| held < *than),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let labels: Labels = labels.collect();
        LabelSelector::parse(selector)
            .unwrap()
            .selects(Some(&labels))
    }

    #[test]
    fn every_operator_selects_as_kubernetes_does() {
        let labels = [("app", "web"), ("tier", "2"), ("empty", "")];
        let cases = [
            ("", true),
            ("app", true),
            ("!app", false),
            ("!other", true),
            ("app=web", true),
            ("app==web", true),
            ("app != web", false),
            ("other!=web", true),
            ("app in (db, web)", true),
            ("app notin (db,web)", false),
            ("empty in ()", true),
            ("empty=", true),
            ("tier>1,tier<3", true),
            ("tier>2", false),
            ("app=web,!other, tier in (1,2)", true),
            ("in=in", false),
            ("notin notin (x)", true),
        ];
        for (selector, want) in cases {
            assert_eq!(selects(selector, &labels), want, "{selector:?}");
        }
        assert!(LabelSelector::parse("a!=b").unwrap().selects(None));
    }

    #[test]
    fn a_field_selects_as_its_text_would() {
        let field = serde_json::json!({
            "matchLabels": { "app": "web" },
            "matchExpressions": [
                { "key": "tier", "operator": "NotIn", "values": ["db"] },
                { "key": "old", "operator": "DoesNotExist" },
                { "key": "zone", "operator": "Exists" },
                { "key": "env", "operator": "In", "values": ["a", "b"] },
            ],
        });
        let text = "app=web,tier notin (db),!old,zone,env in (a,b)";
        assert_eq!(LabelSelector::of(&field), LabelSelector::parse(text).ok());
        assert_eq!(
            LabelSelector::of(&serde_json::json!({})),
            Some(LabelSelector::default())
        );
        let bad = serde_json::json!({ "matchExpressions": [{ "key": "a", "operator": "Near" }] });
        assert_eq!(LabelSelector::of(&bad), None);
    }

    #[test]
    fn it_selects_as_the_sdks_do() {
        let shared = include_str!("../../../../guest-sdk/testdata/label-selectors.json");
        let shared: Value = serde_json::from_str(shared).unwrap();
        let list = |name: &str| shared[name].as_array().unwrap().clone();
        let labels: Labels = serde_json::from_value(shared["labels"].clone()).unwrap();
        for case in [list("cases"), list("ofTheServer")].concat() {
            let selector = LabelSelector::parse(case[0].as_str().unwrap()).unwrap();
            assert_eq!(selector.selects(Some(&labels)), case[1], "{case}");
        }
        let is_refused = |text: &Value| LabelSelector::parse(text.as_str().unwrap()).is_err();
        assert!(list("refused").iter().all(is_refused));
        assert!(list("refusedByTheServer").iter().all(is_refused));
        for case in list("fields") {
            let text = LabelSelector::parse(case[1].as_str().unwrap());
            assert_eq!(LabelSelector::of(&case[0]), text.ok(), "{case}");
        }
    }

    #[test]
    fn what_is_no_selector_says_what_was_found() {
        let cases = [
            ("app=web,", "found '', expected: identifier after ','"),
            (
                "app in web",
                "unable to parse requirement: found 'web' expected: '('",
            ),
            (
                "a(b)",
                "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (
                "=",
                "found '=', expected: !, identifier, or 'end of string'",
            ),
            (
                "a>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' \
                 operators, the value must be an integer",
            ),
        ];
        for (selector, want) in cases {
            let BadSelector(why) = LabelSelector::parse(selector).unwrap_err();
            assert_eq!(why, want, "{selector:?}");
        }
    }
}
