//! Label selectors, with the same result as in the API server and the host.
//!
//! Grammar and meaning: apimachinery's `labels.Parse` and `metav1.LabelSelector`.

mod parse;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use crate::answer::Failure;

/// A selector over labels. The default one selects all.
///
/// It is read from Kubernetes' own selector text (`app=web,tier notin (db)`), or from the fields of an object, such as
/// `spec.selector` of a Deployment. Its `Display` is the text, for [`ListQuery::labelled`](crate::ListQuery::labelled).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Fields")]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

/// What is not a label selector, and why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSelector(String);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    demand: Demand,
}

/// What is wanted of the label with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Demand {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Reads a selector's text; empty text selects all.
    ///
    /// # Errors
    /// Text that is not a selector; as a [`Failure`], that is terminal.
    pub fn parse(text: &str) -> Result<Self, BadSelector> {
        match parse::requirements(text) {
            Ok(requirements) => Ok(Self { requirements }),
            Err(why) => {
                let shown: String = text.chars().take(200).collect();
                Err(BadSelector(format!(
                    "{shown:?} is not a label selector: {why}"
                )))
            }
        }
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selects(|key| labels.get(key).map(String::as_str))
    }

    /// As [`LabelSelector::matches`], for labels that `value_of` finds.
    pub(crate) fn selects<'a>(&self, value_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|Requirement { key, demand }| {
            let held = value_of(key);
            let is_one = |values: &[String]| {
                held.is_some_and(|held| values.iter().any(|value| value == held))
            };
            let number = || held.and_then(|held| held.parse::<i64>().ok());
            match demand {
                Demand::Exists => held.is_some(),
                Demand::Absent => held.is_none(),
                Demand::In(values) => is_one(values),
                Demand::NotIn(values) => !is_one(values),
                Demand::Above(than) => number().is_some_and(|held| held > *than),
                Demand::Below(than) => number().is_some_and(|held| held < *than),
            }
        })
    }
}

impl FromStr for LabelSelector {
    type Err = BadSelector;

    fn from_str(text: &str) -> Result<Self, BadSelector> {
        Self::parse(text)
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Requirement { key, demand }) in self.requirements.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            match demand {
                Demand::Exists => f.write_str(key),
                Demand::Absent => write!(f, "!{key}"),
                Demand::In(values) => match values.as_slice() {
                    [value] => write!(f, "{key}={value}"),
                    values => write!(f, "{key} in ({})", values.join(",")),
                },
                Demand::NotIn(values) => match values.as_slice() {
                    [value] => write!(f, "{key}!={value}"),
                    values => write!(f, "{key} notin ({})", values.join(",")),
                },
                Demand::Above(than) => write!(f, "{key}>{than}"),
                Demand::Below(than) => write!(f, "{key}<{than}"),
            }?;
        }
        Ok(())
    }
}

impl fmt::Display for BadSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadSelector {}

/// It stays until somebody writes another selector.
impl From<BadSelector> for Failure {
    fn from(error: BadSelector) -> Self {
        Self::Terminal(error.0)
    }
}

/// `metav1.LabelSelector`. As in Go, null is what is absent, and an empty text in a map.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Fields {
    match_labels: Option<BTreeMap<String, Option<String>>>,
    match_expressions: Option<Vec<Expression>>,
}

#[derive(Deserialize)]
struct Expression {
    key: String,
    operator: String,
    values: Option<Vec<String>>,
}

impl TryFrom<Fields> for LabelSelector {
    type Error = BadSelector;

    fn try_from(fields: Fields) -> Result<Self, BadSelector> {
        let labels = fields
            .match_labels
            .unwrap_or_default()
            .into_iter()
            .map(|(key, value)| {
                let demand = Demand::In(vec![value.unwrap_or_default()]);
                Ok(Requirement { key, demand })
            });
        let expressions = fields
            .match_expressions
            .unwrap_or_default()
            .into_iter()
            .map(requirement);
        let requirements = labels.chain(expressions).map(|requirement| {
            let requirement = requirement?;
            parse::check(&requirement)?;
            Ok(requirement)
        });
        let requirements = requirements.collect::<Result<_, String>>();
        let requirements = requirements
            .map_err(|why| BadSelector(format!("it is not a label selector: {why}")))?;
        Ok(Self { requirements })
    }
}

fn requirement(expression: Expression) -> Result<Requirement, String> {
    let Expression {
        key,
        operator,
        values,
    } = expression;
    let values = values.unwrap_or_default();
    let demand = match (operator.as_str(), values.is_empty()) {
        ("In", false) => Demand::In(values),
        ("NotIn", false) => Demand::NotIn(values),
        ("Exists", true) => Demand::Exists,
        ("DoesNotExist", true) => Demand::Absent,
        ("In" | "NotIn", true) => return Err(format!("{operator} of {key} needs values")),
        ("Exists" | "DoesNotExist", false) => {
            return Err(format!("{operator} of {key} takes no values"));
        }
        _ => {
            return Err(format!(
                "{operator:?} is not In, NotIn, Exists or DoesNotExist"
            ));
        }
    };
    Ok(Requirement { key, demand })
}

#[cfg(test)]
mod tests;
