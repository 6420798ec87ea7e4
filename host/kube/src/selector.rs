//! Label selectors in Kubernetes' own notation: `app=web,tier!=db,env in (a,b),!legacy,cores>2`.
//!
//! - What the API server refuses is refused here, so that a list from the store is as invalid as one from the server.
//!
//! Grammar and meaning: apimachinery `labels.Parse`, and
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>.

mod mapping;
mod words;

use std::collections::BTreeMap;

use kube::core::{Expression, Selector, SelectorExt};

pub use mapping::{BadMapping, Requirement, SelectorMapping};
use words::{wrong_key, wrong_value};

/// A longer selector is refused: it is judged for every object.
const LONGEST: usize = 4 << 10;

/// An expression and each of its values take so much, in bytes, beside their text.
const EXPRESSION: usize = 96;

/// Whether a text is a name as that of a label: `name`, or `example.com/name`.
pub fn is_qualified_name(text: &str) -> bool {
    wrong_key(text).is_none()
}

/// A selector over labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    selector: Selector,
    /// Labels that must be numbers above or below others.
    bounds: Vec<Bound>,
    /// The first label that must have one value.
    equality: Option<(String, String)>,
    /// What it takes, in bytes.
    bytes: usize,
}

/// A label that must be a number above or below another one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    key: String,
    above: bool,
    than: i64,
}

/// Text that is not a selector, or one that the API server refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the label selector {text:?} is invalid: {why}")]
pub struct BadSelector {
    text: String,
    why: String,
}

impl LabelSelector {
    /// Reads a selector; empty text selects all.
    ///
    /// # Errors
    /// Text that is not a selector.
    pub fn parse(text: &str) -> Result<Self, BadSelector> {
        let bad = |why: String| BadSelector {
            text: text.chars().take(200).collect(),
            why,
        };
        if text.len() > LONGEST {
            return Err(bad(format!("it has more than {LONGEST} bytes")));
        }
        let is_other_space = |c: char| c.is_whitespace() && !matches!(c, ' ' | '\t' | '\r' | '\n');
        if text.contains(is_other_space) {
            let why = "it has white space that is no blank, tab or end of a line";
            return Err(bad(why.to_owned()));
        }
        let (mut expressions, mut bounds) = (Vec::new(), Vec::new());
        for part in split(text).into_iter().filter(|_| !text.trim().is_empty()) {
            let term = term(part.trim()).ok_or_else(|| {
                bad(format!(
                    "{:?} is not like app=web, app, !app, env in (a,b) or cores>2",
                    part.trim()
                ))
            })?;
            if let Some(why) = term.wrong() {
                return Err(bad(why));
            }
            match term {
                Term::Expression(expression) => expressions.push(expression),
                Term::Bound(bound, _) => bounds.push(bound),
            }
        }
        let equality = expressions.iter().find_map(equality);
        let bytes = 2 * text.len() + EXPRESSION * (1 + text.matches(',').count());
        Ok(Self {
            bytes,
            selector: expressions.into_iter().collect(),
            bounds,
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

    /// About how many comparisons it takes to look at an object.
    pub fn comparisons(&self) -> usize {
        1 + self.bytes / 64
    }

    /// Whether an object with these labels is selected.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector.matches(labels) && self.bounds.iter().all(|bound| bound.holds(labels))
    }
}

impl Bound {
    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let held = labels.get(&self.key).and_then(|held| held.parse().ok());
        held.is_some_and(|held: i64| {
            if self.above {
                held > self.than
            } else {
                held < self.than
            }
        })
    }
}

/// One condition of a selector.
enum Term {
    Expression(Expression),
    /// With the number as it is written.
    Bound(Bound, String),
}

impl Term {
    /// What the API server would refuse in it, if anything.
    fn wrong(&self) -> Option<String> {
        let (key, values): (_, Vec<&String>) = match self {
            Self::Bound(bound, than) => {
                return wrong_key(&bound.key).or_else(|| wrong_value(than));
            }
            Self::Expression(Expression::In(key, values) | Expression::NotIn(key, values)) => {
                (key, values.iter().collect())
            }
            Self::Expression(Expression::Equal(key, value) | Expression::NotEqual(key, value)) => {
                (key, vec![value])
            }
            Self::Expression(Expression::Exists(key) | Expression::DoesNotExist(key)) => {
                (key, Vec::new())
            }
        };
        let mut values = values.into_iter();
        wrong_key(key).or_else(|| values.find_map(|value| wrong_value(value)))
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

fn term(text: &str) -> Option<Term> {
    match bound(text) {
        Some((bound, than)) => Some(Term::Bound(bound, than)),
        None => expression(text).map(Term::Expression),
    }
}

/// A comparison of numbers. Text that is none is not an expression either.
fn bound(text: &str) -> Option<(Bound, String)> {
    let (key, than) = text.split_once(['>', '<'])?;
    let above = text.get(key.len()..)?.starts_with('>');
    let (key, written) = (word(key)?, word(than)?);
    let than = written.parse().ok()?;
    Some((Bound { key, above, than }, written))
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
        let held = [
            ("app", "web"),
            ("env", "a"),
            ("x.dev/y", ""),
            ("cores", "4"),
        ];
        let labels: BTreeMap<String, String> = held.map(|(k, v)| (k.into(), v.into())).into();
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
            ("cores>3", true),
            ("cores > 3, cores < 5", true),
            ("cores>4", false),
            ("cores<4", false),
            ("app>1", false),
            ("tier<1", false),
        ];
        for (text, want) in cases {
            assert_eq!(
                LabelSelector::parse(text).unwrap().selects(&labels),
                want,
                "{text}"
            );
        }
    }

    /// By the list of cases that both SDKs are tested with.
    #[test]
    fn it_selects_as_the_sdks_do() {
        let shared = include_str!("../../../guest-sdk/testdata/label-selectors.json");
        let shared: serde_json::Value = serde_json::from_str(shared).unwrap();
        let labels = serde_json::from_value(shared["labels"].clone()).unwrap();
        let list = |name: &str| shared[name].as_array().unwrap().clone();
        for case in [list("cases"), list("ofTheServer")].concat() {
            let selector = LabelSelector::parse(case[0].as_str().unwrap()).unwrap();
            assert_eq!(selector.selects(&labels), case[1], "{case}");
        }
        for text in [list("refused"), list("refusedByTheServer")].concat() {
            let parsed = LabelSelector::parse(text.as_str().unwrap());
            assert!(parsed.is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in [
            "=",
            "a b",
            "a in b",
            "a in (b",
            "a,,b",
            ",",
            "a=b=c",
            "a in",
            "!",
            "ä=1",
            "a>",
            "a>b",
            "a>1<2",
            ">1",
            "a>=1",
            "a\u{c}",
            "a\u{a0}=b",
            "a in\u{2003}(b)",
        ] {
            assert!(LabelSelector::parse(text).is_err(), "{text}");
        }
        let digits = format!("a>{}", "0".repeat(64));
        assert!(
            LabelSelector::parse(&digits).is_err(),
            "a value has 63 characters at most"
        );
    }

    #[test]
    fn what_the_api_server_refuses_is_refused_and_says_why() {
        let long = "a".repeat(64);
        for (text, why) in [
            (format!("owner={long}"), "more than 63 characters"),
            (format!("owner!={long}"), "more than 63 characters"),
            (format!("owner in (a,{long})"), "more than 63 characters"),
            (format!("owner notin (a,{long})"), "more than 63 characters"),
            (format!("!{long}"), "more than 63 characters"),
            (format!("{long}>1"), "more than 63 characters"),
            ("owner=shop/ada".into(), "must consist of"),
            ("owner=-1".into(), "must consist of"),
            ("-x=1".into(), "must consist of"),
            ("x>-1".into(), "must consist of"),
            ("-x".into(), "must consist of"),
            ("a/b/c".into(), "more than one slash"),
            ("X.dev/a=b".into(), "not a DNS subdomain"),
        ] {
            let error = LabelSelector::parse(&text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
