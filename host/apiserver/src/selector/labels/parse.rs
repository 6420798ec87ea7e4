//! Reads a label selector, as apimachinery's `labels.Parser` does.

use std::collections::BTreeSet;

use super::{Requirement, RequirementOperator};
use crate::names;
use crate::selector::BadSelector;
use crate::selector::lexer::{SelectorToken, Word, words};

const OPERATORS: &str = "in, notin, =, ==, !=, gt, lt";

pub(super) struct Parser {
    words: Vec<Word>,
    at: usize,
}

fn bad<T>(message: String) -> Result<T, BadSelector> {
    Err(BadSelector(message))
}

fn unexpected<T>(word: &Word, expected: &str) -> Result<T, BadSelector> {
    bad(format!("found '{}', expected: {expected}", word.text))
}

impl Parser {
    pub(super) fn new(text: &str) -> Self {
        Self {
            words: words(text),
            at: 0,
        }
    }

    /// The next word; where values are expected, operators that are words count as names.
    fn peek(&self, values: bool) -> Word {
        let end = Word {
            token: SelectorToken::End,
            text: String::new(),
        };
        let mut word = self.words.get(self.at).cloned().unwrap_or(end);
        if values && matches!(word.token, SelectorToken::In | SelectorToken::NotIn) {
            word.token = SelectorToken::Name;
        }
        word
    }

    fn take(&mut self, values: bool) -> Word {
        let word = self.peek(values);
        self.at += 1;
        word
    }

    pub(super) fn selector(mut self) -> Result<Vec<Requirement>, BadSelector> {
        let mut requirements = Vec::new();
        loop {
            let word = self.peek(true);
            match word.token {
                SelectorToken::Name | SelectorToken::Not => {
                    let requirement = self.requirement();
                    let requirement = requirement.map_err(|BadSelector(why)| {
                        BadSelector(format!("unable to parse requirement: {why}"))
                    })?;
                    requirements.push(requirement);
                    let word = self.take(true);
                    match word.token {
                        SelectorToken::End => return Ok(requirements),
                        SelectorToken::Comma => {
                            let next = self.peek(true);
                            if !matches!(next.token, SelectorToken::Name | SelectorToken::Not) {
                                return unexpected(&next, "identifier after ','");
                            }
                        }
                        _ => return unexpected(&word, "',' or 'end of string'"),
                    }
                }
                SelectorToken::End => return Ok(requirements),
                _ => return unexpected(&word, "!, identifier, or 'end of string'"),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, BadSelector> {
        let mut word = self.take(true);
        let absent = word.token == SelectorToken::Not;
        if absent {
            word = self.take(true);
        }
        if word.token != SelectorToken::Name {
            return unexpected(&word, "identifier");
        }
        let key = word.text;
        check(&names::label_key(&key), &key, "<nil>")?;
        if absent {
            let operator = RequirementOperator::Absent;
            return Ok(Requirement { key, operator });
        }
        if matches!(
            self.peek(true).token,
            SelectorToken::End | SelectorToken::Comma
        ) {
            let operator = RequirementOperator::Exists;
            return Ok(Requirement { key, operator });
        }
        let word = self.take(false);
        let values = match word.token {
            SelectorToken::In | SelectorToken::NotIn => self.values()?,
            SelectorToken::Equals
            | SelectorToken::DoubleEquals
            | SelectorToken::NotEquals
            | SelectorToken::Greater
            | SelectorToken::Less => [self.value()?].into(),
            _ => return unexpected(&word, OPERATORS),
        };
        let operator = match word.token {
            SelectorToken::NotIn | SelectorToken::NotEquals => {
                RequirementOperator::NotIn(values.clone())
            }
            SelectorToken::Greater => RequirementOperator::Above(number(&values)?),
            SelectorToken::Less => RequirementOperator::Below(number(&values)?),
            _ => RequirementOperator::In(values.clone()),
        };
        for (index, value) in values.iter().enumerate() {
            let field = format!("values[{index}][{key}]");
            check(&names::label_value(value), value, &field)?;
        }
        Ok(Requirement { key, operator })
    }

    fn value(&mut self) -> Result<String, BadSelector> {
        if matches!(
            self.peek(true).token,
            SelectorToken::End | SelectorToken::Comma
        ) {
            return Ok(String::new());
        }
        let word = self.take(true);
        if word.token == SelectorToken::Name {
            return Ok(word.text);
        }
        unexpected(&word, "identifier")
    }

    fn values(&mut self) -> Result<BTreeSet<String>, BadSelector> {
        let word = self.take(true);
        if word.token != SelectorToken::Open {
            return bad(format!("found '{}' expected: '('", word.text));
        }
        let word = self.peek(true);
        match word.token {
            SelectorToken::Name | SelectorToken::Comma => {
                let values = self.list()?;
                if self.take(true).token != SelectorToken::Close {
                    return unexpected(&word, "')'");
                }
                Ok(values)
            }
            SelectorToken::Close => {
                self.at += 1;
                Ok([String::new()].into())
            }
            _ => unexpected(&word, "',', ')' or identifier"),
        }
    }

    fn list(&mut self) -> Result<BTreeSet<String>, BadSelector> {
        let mut values = BTreeSet::new();
        loop {
            let word = self.take(true);
            match word.token {
                SelectorToken::Name => {
                    values.insert(word.text);
                    let next = self.peek(true);
                    match next.token {
                        SelectorToken::Comma => {}
                        SelectorToken::Close => return Ok(values),
                        _ => return unexpected(&next, "',' or ')'"),
                    }
                }
                SelectorToken::Comma => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek(true).token {
                        SelectorToken::Close => {
                            values.insert(String::new());
                            return Ok(values);
                        }
                        SelectorToken::Comma => {
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                _ => return unexpected(&word, "',', or identifier"),
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
