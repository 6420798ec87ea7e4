//! JSON paths as client-go reads them: `.spec.ports[0].name`,
//! `.status.conditions[?(@.type=="Ready")].status`, `.metadata.labels.app\.kubernetes\.io/name`.
//!
//! The JSON path crates speak RFC 9535, which has neither the escapes nor the free names of this dialect. What
//! client-go answers to odd paths is kept too, since columns are shown or not by it.

mod read;

use std::cmp::Ordering;

use serde_json::Value;

/// A path that can be followed.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath(Vec<PathStep>);

#[derive(Clone, Debug, PartialEq)]
enum PathStep {
    Field(String),
    /// All fields or items.
    All,
    /// The value itself and all that lies in it.
    Deep,
    Slice(Slice),
    Union(Vec<JsonPath>),
    Filter(JsonPath, Test),
    /// A number or boolean, once for each value.
    Literal(Value),
    /// A text that stands for itself.
    Text(Value),
    /// A word that means nothing here.
    Word,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Slice {
    from: Option<i64>,
    to: Option<i64>,
    by: Option<i64>,
    is_single: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Compare(Operator, JsonPath),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Unknown,
}

/// Why a path cannot be read, in client-go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoPath(String);

/// A path that leads through something of the wrong type, which makes the whole cell empty; with the values that
/// it had reached.
struct Astray<'a>(Vec<&'a Value>);

type Matches<'a> = Result<Vec<&'a Value>, Astray<'a>>;

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, NoPath> {
        read::path(text)
    }

    /// The first value that the path leads to.
    pub fn first<'a>(&'a self, value: &'a Value) -> Option<&'a Value> {
        self.find(vec![value]).ok()?.first().copied()
    }

    fn find<'a>(&'a self, from: Vec<&'a Value>) -> Matches<'a> {
        self.0
            .iter()
            .try_fold(from, |values, step| step.take(values))
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn descend<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    let below = children(value);
    if !below.is_empty() || value.as_str().is_some_and(|text| !text.is_empty()) {
        found.push(value);
        below.into_iter().for_each(|child| descend(child, found));
    }
}

impl PathStep {
    fn take<'a>(&'a self, values: Vec<&'a Value>) -> Matches<'a> {
        Ok(match self {
            Self::Field(name) => values
                .into_iter()
                .filter_map(|value| value.get(name))
                .collect(),
            Self::All => values.into_iter().flat_map(children).collect(),
            Self::Deep => {
                let mut found = Vec::new();
                values
                    .into_iter()
                    .for_each(|value| descend(value, &mut found));
                found
            }
            Self::Slice(slice) => slice.all(&values).ok_or(Astray(values))?,
            Self::Union(parts) => {
                let mut found = Vec::new();
                for part in parts {
                    match part.find(values.clone()) {
                        Ok(more) => found.extend(more),
                        Err(_) => return Err(Astray(values)),
                    }
                }
                found
            }
            Self::Filter(left, test) => filtered(values, left, test)?,
            Self::Literal(value) => values.iter().map(|_| value).collect(),
            Self::Text(text) => vec![text],
            Self::Word => return Err(Astray(values)),
        })
    }
}

fn filtered<'a>(values: Vec<&'a Value>, left: &'a JsonPath, test: &'a Test) -> Matches<'a> {
    let mut found = Vec::new();
    for value in &values {
        let Some(items) = value.as_array() else {
            return Err(Astray(values));
        };
        for item in items {
            match test.holds(left, item) {
                Some(true) => found.push(item),
                Some(false) => {}
                None => return Err(Astray(values)),
            }
        }
    }
    Ok(found)
}

impl Slice {
    fn all<'a>(&self, values: &[&'a Value]) -> Option<Vec<&'a Value>> {
        let mut found = Vec::new();
        for value in values.iter().filter(|value| !value.is_null()) {
            match self.of(value.as_array()?)? {
                // Like client-go, nothing more once nothing is asked for.
                items if items.is_empty() => break,
                items => found.extend(items),
            }
        }
        Some(found)
    }

    fn of<'a>(&self, items: &'a [Value]) -> Option<Vec<&'a Value>> {
        let length = i64::try_from(items.len()).ok()?;
        let from_end = |at: i64| {
            if at < 0 {
                at.checked_add(length)
            } else {
                Some(at)
            }
        };
        let from = from_end(self.from.unwrap_or(0))?;
        let to = if self.is_single {
            from.checked_add(1)?
        } else {
            from_end(self.to.unwrap_or(length))?
        };
        if from == to {
            return Some(Vec::new());
        }
        let in_range = (0..length).contains(&from) && (0..=length).contains(&to) && from < to;
        let by = usize::try_from(self.by.unwrap_or(1)).ok()?;
        if !in_range || by == 0 {
            return None;
        }
        let all = items.iter().skip(from as usize).take((to - from) as usize);
        Some(all.step_by(by).collect())
    }
}

impl Test {
    /// Nothing if the two sides cannot be compared.
    fn holds(&self, left: &JsonPath, item: &Value) -> Option<bool> {
        let Self::Compare(operator, right) = self else {
            let (Ok(found) | Err(Astray(found))) = left.find(vec![item]);
            return Some(!found.is_empty());
        };
        let left = left.find(vec![item]).ok()?;
        let left = match left.as_slice() {
            [] => return Some(false),
            [left] => left,
            _ => return None,
        };
        match right.find(vec![item]).ok()?.as_slice() {
            [] => Some(false),
            [right] => operator.holds(left, right),
            _ => None,
        }
    }
}

impl Operator {
    fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Bool(left), Value::Bool(right)) => match self {
                Self::Equal | Self::NotEqual => left.cmp(right),
                _ => return None,
            },
            (Value::Number(left), Value::Number(right)) if left.is_f64() => {
                right.is_f64().then_some(())?;
                left.as_f64().partial_cmp(&right.as_f64())?
            }
            (Value::Number(left), Value::Number(right)) => left.as_i64()?.cmp(&right.as_i64()?),
            _ => return None,
        };
        Some(match self {
            Self::Equal => order == Ordering::Equal,
            Self::NotEqual => order != Ordering::Equal,
            Self::Less => order == Ordering::Less,
            Self::LessOrEqual => order != Ordering::Greater,
            Self::Greater => order == Ordering::Greater,
            Self::GreaterOrEqual => order != Ordering::Less,
            Self::Unknown => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_where_client_go_goes() {
        let object = json!({
            "metadata": { "labels": { "app.kubernetes.io/name": "web", "a-b": "c" } },
            "list": [{ "n": 1, "s": "x" }, { "n": 2, "s": "y" }, { "n": 3 }],
            "map": { "k": { "v": true } }, "null": null, "text": "abc",
        });
        for (path, want) in [
            (
                ".metadata.labels.app\\.kubernetes\\.io/name",
                Some(json!("web")),
            ),
            (
                ".metadata.labels['app\\.kubernetes\\.io/name']",
                Some(json!("web")),
            ),
            (".metadata.labels.a-b", Some(json!("c"))),
            (".list[0].n", Some(json!(1))),
            (".list[-1].n", Some(json!(3))),
            (".list[1:].n", Some(json!(2))),
            (".list[*].s", Some(json!("x"))),
            (".list[2,0].n", Some(json!(3))),
            (".list[7].n", None),
            (".list[?(@.s==\"y\")].n", Some(json!(2))),
            (".list[?(@.s=='y')].n", Some(json!(2))),
            (".list[?(@.n>=2)].n", Some(json!(2))),
            (".list[?(@.s)].n", Some(json!(1))),
            (".list[?(@.s==\"z\")].n", None),
            (".map.*.v", Some(json!(true))),
            ("..v", Some(json!(true))),
            ("$.text", Some(json!("abc"))),
            (".null", Some(json!(null))),
            (".absent.deeper", None),
            (".text[0]", None),
            (".text[?(@.a)]", None),
            (".map foo", None),
            (".list[?(@.s=)].n", None),
        ] {
            let parsed = JsonPath::parse(path).unwrap();
            assert_eq!(parsed.first(&object).cloned(), want, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_told_in_client_gos_words() {
        for (path, why) in [
            (".a[", "unterminated array"),
            (".a[x]", "invalid array index x"),
            (".a[1:2:3:4]", "invalid array index 1:2:3:4"),
            (
                ".a[99999999999999999999]",
                "array index 99999999999999999999 is not a number",
            ),
            (".a[?(@.b==1", "unterminated filter"),
            (".a[?(@.b==1)", "unclosed array expect ]"),
            (
                ".a[?(@.b==)]",
                "unrecognized character in action: U+003D '='",
            ),
            ("....a", "invalid multiple recursive descent"),
            (".a{", "unrecognized character in action: U+007B '{'"),
            ("#", "unrecognized character in action: U+0023 '#'"),
            (".a\nb", "unclosed action"),
            (".a\\", "unclosed action"),
            ("'a", "unterminated quoted string"),
            ("'\\z'", "unquote string '\\z' error invalid syntax"),
            ("1.2.3", "cannot parse number 1.2.3"),
        ] {
            let found = JsonPath::parse(path).map_err(|why| why.to_string());
            assert_eq!(found, Err(why.to_owned()), "{path}");
        }
    }
}
