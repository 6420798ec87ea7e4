//! Label selectors in Kubernetes' own notation: `app=web,tier!=db,env in (a,b),!legacy`.
//!
//! Grammar and meaning: apimachinery `labels.Parse`, and
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>.

use std::collections::BTreeMap;

use kube::core::{Expression, Selector, SelectorExt};

/// A longer selector is refused: it is judged for every object.
const LONGEST: usize = 4 << 10;

/// An expression and each of its values take so much, in bytes, beside their text.
const EXPRESSION: usize = 96;

/// A selector over labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    selector: Selector,
    /// The first label that must have one value.
    equality: Option<(String, String)>,
    /// What it takes, in bytes.
    bytes: usize,
}

/// Text that is no selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no label selector such as app=web,env in (a,b)")]
pub struct BadSelector(String);

impl LabelSelector {
    /// Reads a selector; empty text selects all.
    ///
    /// # Errors
    /// Text that is no selector.
    pub fn parse(text: &str) -> Result<Self, BadSelector> {
        let bad = || BadSelector(text.chars().take(200).collect());
        if text.len() > LONGEST {
            return Err(bad());
        }
        let parts = split(text).into_iter().filter(|_| !text.trim().is_empty());
        let expressions = parts.map(|part| expression(part.trim()).ok_or_else(bad));
        let expressions = expressions.collect::<Result<Vec<Expression>, _>>()?;
        let equality = expressions.iter().find_map(equality);
        let bytes = 2 * text.len() + EXPRESSION * (1 + text.matches(',').count());
        Ok(Self {
            bytes,
            selector: expressions.into_iter().collect(),
            equality,
        })
    }

    /// What it takes, in bytes, at most.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The name and value of the first label that an object must carry to be selected, if there is one.
    pub fn equality(&self) -> Option<(&str, &str)> {
        let equality = self.equality.as_ref();
        equality.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether an object with these labels is selected.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector.matches(labels)
    }
}

fn equality(expression: &Expression) -> Option<(String, String)> {
    match expression {
        Expression::Equal(name, value) => Some((name.clone(), value.clone())),
        Expression::In(name, values) if values.len() == 1 => {
            let value = values.first()?;
            Some((name.clone(), value.clone()))
        }
        _ => None,
    }
}

/// Splits at commas outside parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let at_comma = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(at_comma).collect()
}

fn expression(text: &str) -> Option<Expression> {
    if let Some(key) = text.strip_prefix('!') {
        return Some(Expression::DoesNotExist(word(key)?));
    }
    for (operator, make) in OPERATORS {
        if let Some((key, value)) = text.split_once(operator) {
            return Some(make(word(key)?, value_word(value)?));
        }
    }
    let Some((key, rest)) = text.split_once(char::is_whitespace) else {
        return Some(Expression::Exists(word(text)?));
    };
    let rest = rest.trim_start();
    let set = |rest: &str| {
        let inner = rest.trim().strip_prefix('(')?.strip_suffix(')')?;
        inner.split(',').map(value_word).collect::<Option<_>>()
    };
    if let Some(rest) = rest.strip_prefix("notin") {
        return Some(Expression::NotIn(word(key)?, set(rest)?));
    }
    Some(Expression::In(word(key)?, set(rest.strip_prefix("in")?)?))
}

type Make = fn(String, String) -> Expression;
const OPERATORS: [(&str, Make); 3] = [
    ("!=", Expression::NotEqual),
    ("==", Expression::Equal),
    ("=", Expression::Equal),
];

fn word(text: &str) -> Option<String> {
    let text = text.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    (!text.is_empty() && text.chars().all(plain)).then(|| text.to_owned())
}

/// As [`word`], but may be empty.
fn value_word(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        Some(String::new())
    } else {
        word(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_select_as_kubernetes_says() {
        let labels: BTreeMap<String, String> = [("app", "web"), ("env", "a"), ("x.dev/y", "")]
            .map(|(k, v)| (k.into(), v.into()))
            .into();
        let cases = [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app = web , env=a", true),
            ("app=db", false),
            ("app!=db", true),
            ("tier!=db", true),
            ("env in (a, b)", true),
            ("env in (b)", false),
            ("env notin (b,c)", true),
            ("tier notin (b)", true),
            ("app", true),
            ("!app", false),
            ("!tier", true),
            ("x.dev/y", true),
            ("x.dev/y=", true),
            ("app=web,env in (a,b),!tier", true),
        ];
        for (text, want) in cases {
            assert_eq!(
                LabelSelector::parse(text).unwrap().selects(&labels),
                want,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in [
            "=", "a b", "a in b", "a in (b", "a,,b", ",", "a=b=c", "a in", "!", "ä=1",
        ] {
            assert!(LabelSelector::parse(text).is_err(), "{text}");
        }
    }
}
