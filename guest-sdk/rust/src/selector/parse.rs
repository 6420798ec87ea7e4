//! Reads the text of a label selector: `app=web,tier!=db,env in (a,b),!old`.

use super::{Demand, Requirement};

/// A word, or a sign, or nothing more.
type Token<'a> = Option<&'a str>;

/// The rest of a text that is read token by token.
struct Tokens<'a>(&'a str);

impl<'a> Tokens<'a> {
    /// The next token, which stays.
    fn peek(&self) -> Token<'a> {
        let rest = self.0.trim_start_matches(is_space);
        let first = rest.chars().next()?;
        let length = if !is_sign(first) {
            rest.find(|c| is_sign(c) || is_space(c))
                .unwrap_or(rest.len())
        } else if rest.starts_with("==") || rest.starts_with("!=") {
            2
        } else {
            1
        };
        rest.get(..length)
    }

    /// The next token.
    fn take(&mut self) -> Token<'a> {
        let token = self.peek()?;
        let rest = self.0.trim_start_matches(is_space);
        self.0 = rest.get(token.len()..).unwrap_or_default();
        Some(token)
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_sign(c: char) -> bool {
    "=!(),<>".contains(c)
}

fn is_word(token: Token<'_>) -> bool {
    token.is_some_and(|token| !token.starts_with(is_sign))
}

fn shown(token: Token<'_>) -> String {
    token.map_or_else(|| "its end".to_owned(), |token| format!("{token:?}"))
}

/// The requirements of a text.
///
/// # Errors
/// Why it is not a selector.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    let mut tokens = Tokens(text);
    let mut requirements = Vec::new();
    if tokens.peek().is_none() {
        return Ok(requirements);
    }
    loop {
        let requirement = requirement(&mut tokens)?;
        check(&requirement)?;
        requirements.push(requirement);
        match tokens.take() {
            None => return Ok(requirements),
            Some(",") => {}
            other => return Err(format!("expected a comma, found {}", shown(other))),
        }
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, String> {
    let absent = tokens.peek() == Some("!");
    if absent {
        tokens.take();
    }
    let key = word(tokens, "a label's key")?;
    if absent {
        let demand = Demand::Absent;
        return Ok(Requirement { key, demand });
    }
    if matches!(tokens.peek(), None | Some(",")) {
        let demand = Demand::Exists;
        return Ok(Requirement { key, demand });
    }
    let demand = match tokens.take() {
        Some("in") => Demand::In(values(tokens)?),
        Some("notin") => Demand::NotIn(values(tokens)?),
        Some("=" | "==") => Demand::In(vec![value(tokens)?]),
        Some("!=") => Demand::NotIn(vec![value(tokens)?]),
        Some(">") => Demand::Above(number(&value(tokens)?)?),
        Some("<") => Demand::Below(number(&value(tokens)?)?),
        other => {
            return Err(format!(
                "expected in, notin, =, ==, !=, < or > after {key}, found {}",
                shown(other)
            ));
        }
    };
    Ok(Requirement { key, demand })
}

fn word(tokens: &mut Tokens<'_>, what: &str) -> Result<String, String> {
    match tokens.take() {
        Some(word) if is_word(Some(word)) => Ok(word.to_owned()),
        other => Err(format!("expected {what}, found {}", shown(other))),
    }
}

/// What is after `=`: perhaps nothing.
fn value(tokens: &mut Tokens<'_>) -> Result<String, String> {
    match tokens.peek() {
        None | Some(",") => Ok(String::new()),
        Some(_) => word(tokens, "a label's value"),
    }
}

/// A number that is the value of a label too: without a sign.
fn number(value: &str) -> Result<i64, String> {
    let number = value.parse().ok().filter(|_| is_label_value(value));
    number.ok_or_else(|| format!("{value:?} is not a whole number without a sign"))
}

/// What is in parentheses: an empty value stands before, after and between commas where no word does.
fn values(tokens: &mut Tokens<'_>) -> Result<Vec<String>, String> {
    match tokens.take() {
        Some("(") => {}
        other => return Err(format!("expected (, found {}", shown(other))),
    }
    let mut values = Vec::new();
    loop {
        let value = match tokens.peek() {
            Some("," | ")") => String::new(),
            _ => word(tokens, "a label's value")?,
        };
        if !values.contains(&value) {
            values.push(value);
        }
        match tokens.take() {
            Some(",") => {}
            Some(")") => return Ok(values),
            other => return Err(format!("expected , or ), found {}", shown(other))),
        }
    }
}

/// That key and values are those of labels.
///
/// # Errors
/// Which of them is not.
pub(super) fn check(requirement: &Requirement) -> Result<(), String> {
    let Requirement { key, demand } = requirement;
    if !is_label_key(key) {
        return Err(format!("{key:?} is not a label key"));
    }
    let values = match demand {
        Demand::In(values) | Demand::NotIn(values) => values.as_slice(),
        Demand::Exists | Demand::Absent | Demand::Above(_) | Demand::Below(_) => &[],
    };
    match values.iter().find(|value| !is_label_value(value)) {
        Some(value) => Err(format!("{value:?} is not a label value")),
        None => Ok(()),
    }
}

fn is_label_key(key: &str) -> bool {
    let name = match key.split_once('/') {
        Some((prefix, name)) if is_subdomain(prefix) => name,
        Some(_) => return false,
        None => key,
    };
    !name.is_empty() && is_label_value(name)
}

fn is_label_value(value: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let outer = |c: char| c.is_ascii_alphanumeric();
    value.len() <= 63
        && value.chars().all(inner)
        && value.chars().next().is_none_or(outer)
        && value.chars().next_back().is_none_or(outer)
}

fn is_subdomain(name: &str) -> bool {
    let is_label = |label: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty()
            && label.chars().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}
