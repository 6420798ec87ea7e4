//! Label selectors, in the notation of apimachinery's `labels.Parse`, with its messages.

use std::collections::BTreeSet;

use serde_json::Value;

use super::BadSelector;
use super::lexer::{Token, Word, words};
use crate::mutants::mutant;
use crate::store::Labels;

/// A selector over labels. The default one selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    demand: Demand,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Demand {
    Exists,
    Absent,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Above(i64),
    Below(i64),
}

const OPERATORS: &str = "in, notin, =, ==, !=, gt, lt";

impl LabelSelector {
    /// Reads a selector; empty text selects all.
    ///
    /// # Errors
    /// Text that is not a selector.
    pub fn parse(text: &str) -> Result<Self, BadSelector> {
        Parser {
            words: words(text),
            at: 0,
        }
        .selector()
        .map(Self)
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
                demand: Demand::In(BTreeSet::from([value])),
            });
        }
        let expressions = field.get("matchExpressions").and_then(Value::as_array);
        for expression in expressions.into_iter().flatten() {
            let values = expression.get("values").and_then(Value::as_array);
            let values = || values.into_iter().flatten().filter_map(text).collect();
            requirements.push(Requirement {
                key: text(expression.get("key")?)?,
                demand: match expression.get("operator")?.as_str()? {
                    "In" => Demand::In(values()),
                    "NotIn" => Demand::NotIn(values()),
                    "Exists" => Demand::Exists,
                    "DoesNotExist" => Demand::Absent,
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
            match &requirement.demand {
                Demand::Exists => held.is_some(),
                Demand::Absent => held.is_none(),
                Demand::In(values) => held.is_some_and(|held| values.contains(held)),
                Demand::NotIn(values) => match held {
                    Some(held) => !values.contains(held),
                    None => mutant!(NotinWantsTheLabel, true, false),
                },
                Demand::Above(than) => number().is_some_and(|held| held > *than),
                Demand::Below(than) => number().is_some_and(|held| held < *than),
            }
        })
    }
}

struct Parser {
    words: Vec<Word>,
    at: usize,
}

fn bad<T>(message: String) -> Result<T, BadSelector> {
    Err(BadSelector(message))
}

fn found<T>(word: &Word, expected: &str) -> Result<T, BadSelector> {
    bad(format!("found '{}', expected: {expected}", word.text))
}

impl Parser {
    /// The next word; where values are expected, operators that are words count as names.
    fn peek(&self, values: bool) -> Word {
        let end = Word {
            token: Token::End,
            text: String::new(),
        };
        let mut word = self.words.get(self.at).cloned().unwrap_or(end);
        if values && matches!(word.token, Token::In | Token::NotIn) {
            word.token = Token::Name;
        }
        word
    }

    fn take(&mut self, values: bool) -> Word {
        let word = self.peek(values);
        self.at += 1;
        word
    }

    fn selector(mut self) -> Result<Vec<Requirement>, BadSelector> {
        let mut requirements = Vec::new();
        loop {
            let word = self.peek(true);
            match word.token {
                Token::Name | Token::Not => {
                    let requirement = self.requirement();
                    let requirement = requirement.map_err(|BadSelector(why)| {
                        BadSelector(format!("unable to parse requirement: {why}"))
                    })?;
                    requirements.push(requirement);
                    let word = self.take(true);
                    match word.token {
                        Token::End => return Ok(requirements),
                        Token::Comma => {
                            let next = self.peek(true);
                            if !matches!(next.token, Token::Name | Token::Not) {
                                return found(&next, "identifier after ','");
                            }
                        }
                        _ => return found(&word, "',' or 'end of string'"),
                    }
                }
                Token::End => return Ok(requirements),
                _ => return found(&word, "!, identifier, or 'end of string'"),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, BadSelector> {
        let mut word = self.take(true);
        let absent = word.token == Token::Not;
        if absent {
            word = self.take(true);
        }
        if word.token != Token::Name {
            return found(&word, "identifier");
        }
        let key = word.text;
        check(&crate::names::label_key(&key), &key, "<nil>")?;
        if absent {
            let demand = Demand::Absent;
            return Ok(Requirement { key, demand });
        }
        if matches!(self.peek(true).token, Token::End | Token::Comma) {
            let demand = Demand::Exists;
            return Ok(Requirement { key, demand });
        }
        let operator = self.take(false);
        let values = match operator.token {
            Token::In | Token::NotIn => self.values()?,
            Token::Equals
            | Token::DoubleEquals
            | Token::NotEquals
            | Token::Greater
            | Token::Less => [self.value()?].into(),
            _ => return found(&operator, OPERATORS),
        };
        let demand = match operator.token {
            Token::NotIn | Token::NotEquals => Demand::NotIn(values.clone()),
            Token::Greater => Demand::Above(number(&values)?),
            Token::Less => Demand::Below(number(&values)?),
            _ => Demand::In(values.clone()),
        };
        for (index, value) in values.iter().enumerate() {
            let field = format!("values[{index}][{key}]");
            check(&crate::names::label_value(value), value, &field)?;
        }
        Ok(Requirement { key, demand })
    }

    fn value(&mut self) -> Result<String, BadSelector> {
        if matches!(self.peek(true).token, Token::End | Token::Comma) {
            return Ok(String::new());
        }
        let word = self.take(true);
        if word.token == Token::Name {
            return Ok(word.text);
        }
        found(&word, "identifier")
    }

    fn values(&mut self) -> Result<BTreeSet<String>, BadSelector> {
        let word = self.take(true);
        if word.token != Token::Open {
            return bad(format!("found '{}' expected: '('", word.text));
        }
        let word = self.peek(true);
        match word.token {
            Token::Name | Token::Comma => {
                let values = self.list()?;
                if self.take(true).token != Token::Close {
                    return found(&word, "')'");
                }
                Ok(values)
            }
            Token::Close => {
                self.at += 1;
                Ok([String::new()].into())
            }
            _ => found(&word, "',', ')' or identifier"),
        }
    }

    fn list(&mut self) -> Result<BTreeSet<String>, BadSelector> {
        let mut values = BTreeSet::new();
        loop {
            let word = self.take(true);
            match word.token {
                Token::Name => {
                    values.insert(word.text);
                    let next = self.peek(true);
                    match next.token {
                        Token::Comma => {}
                        Token::Close => return Ok(values),
                        _ => return found(&next, "',' or ')'"),
                    }
                }
                Token::Comma => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek(true).token {
                        Token::Close => {
                            values.insert(String::new());
                            return Ok(values);
                        }
                        Token::Comma => {
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                _ => return found(&word, "',', or identifier"),
            }
        }
    }
}

fn number(values: &BTreeSet<String>) -> Result<i64, BadSelector> {
    let text = values.first().map(String::as_str).unwrap_or_default();
    let why = "for 'Gt', 'Lt' operators, the value must be an integer";
    text.parse()
        .or_else(|_| bad(format!("values[0]: Invalid value: {text:?}: {why}")))
}

fn check(problems: &[String], value: &str, field: &str) -> Result<(), BadSelector> {
    if problems.is_empty() {
        return Ok(());
    }
    let all = problems.join("; ");
    bad(format!("{field}: Invalid value: {value:?}: {all}"))
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
