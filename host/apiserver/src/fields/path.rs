//! One step from an object to a part of it, and the order that sets of such steps are kept in.
//!
//! The order and the texts are those of structured-merge-diff's `fieldpath` and `value`; numbers are
//! compared by what they count, whether they were written as `1` or `1.0`.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};

use crate::status::shown::quoted_or_json;

/// One step from an object to a part of it.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of an object, or a key of a map.
    Field(String),
    /// The item of a list whose key fields have these values; sorted by name.
    Key(Vec<(String, Value)>),
    /// The item of a set that has this value.
    Value(Value),
    /// The item of a list at this place.
    Index(i64),
}

impl PathElement {
    /// A field by its name.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => by_fields(
                a.iter().map(|(name, value)| (name, value)),
                b.iter().map(|(name, value)| (name, value)),
            ),
            (Self::Value(a), Self::Value(b)) => compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

/// `.spec`, `[name="web"]`, `[="x"]`, `[0]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}={}", quoted_or_json(value)))
                    .collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(f, "[={}]", quoted_or_json(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A whole path, as messages show it.
pub(super) fn path_text(path: &[PathElement]) -> String {
    path.iter().map(PathElement::to_string).collect()
}

/// A total order over values of any type.
pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let pairs = a.iter().zip(b).map(|(a, b)| compare(a, b));
            first_difference(pairs).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => by_fields(a.iter(), b.iter()),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Whether two values are the same.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    compare(a, b) == Ordering::Equal
}

fn by_fields<'a>(
    a: impl ExactSizeIterator<Item = (&'a String, &'a Value)>,
    b: impl ExactSizeIterator<Item = (&'a String, &'a Value)>,
) -> Ordering {
    let lengths = a.len().cmp(&b.len());
    let pairs = a.zip(b).map(|((name, a), (other, b))| {
        let names = name.cmp(other);
        names.then_with(|| compare(a, b))
    });
    first_difference(pairs).unwrap_or(lengths)
}

fn first_difference(mut pairs: impl Iterator<Item = Ordering>) -> Option<Ordering> {
    pairs.find(|order| *order != Ordering::Equal)
}

fn numbers(a: &Number, b: &Number) -> Ordering {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            let (a, b) = (a.as_f64(), b.as_f64());
            a.partial_cmp(&b).unwrap_or(Ordering::Equal)
        }
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_different_types_have_an_order() {
        let sorted = [
            json!(-3),
            json!(1),
            json!(1.5),
            json!(2),
            json!("a"),
            json!("b"),
            json!(false),
            json!(true),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!([2]),
            json!({}),
            json!({ "a": 1 }),
            json!({ "a": 1, "b": 0 }),
            json!({ "a": 2 }),
            json!({ "b": 1 }),
            json!(null),
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a} {b}");
            }
        }
        assert!(equal(&json!(1), &json!(1.0)));
    }

    #[test]
    fn path_elements_have_an_order() {
        let key = |fields: &[(&str, Value)]| {
            let fields = fields.iter();
            PathElement::Key(fields.map(|(n, v)| ((*n).to_owned(), v.clone())).collect())
        };
        let sorted = [
            PathElement::field(""),
            PathElement::field("a"),
            PathElement::field("aa"),
            key(&[("a", json!(1)), ("b", json!(2))]),
            key(&[("a", json!(2))]),
            key(&[("b", json!(1))]),
            PathElement::Value(json!(1)),
            PathElement::Value(json!("x")),
            PathElement::Index(1),
            PathElement::Index(2),
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(a.cmp(b), i.cmp(&j), "{a} {b}");
            }
        }
    }

    #[test]
    fn paths_read_as_the_real_servers() {
        let key = vec![
            ("containerPort".to_owned(), json!(80)),
            ("protocol".to_owned(), json!("TCP")),
        ];
        let path = [
            PathElement::field("spec"),
            PathElement::Key(key),
            PathElement::Value(json!("a\"b")),
            PathElement::Index(2),
        ];
        assert_eq!(
            path_text(&path),
            r#".spec[containerPort=80,protocol="TCP"][="a\"b"][2]"#
        );
    }
}
