//! Finds where two answers differ.

use serde_json::Value;

use crate::path::escape;

/// One place where two answers differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where, as keys and indices.
    pub place: Vec<String>,
    /// What the first server has there.
    pub first: Option<Value>,
    /// What the second server has there.
    pub second: Option<Value>,
}

impl Difference {
    /// The place as a JSON pointer.
    pub fn pointer(&self) -> String {
        let keys = self.place.iter();
        keys.map(|key| format!("/{}", escape(key))).collect()
    }
}

/// Every place where two documents differ, as deep as possible.
pub fn differences(first: &Value, second: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(&mut Vec::new(), Some(first), Some(second), &mut found);
    found
}

fn compare(
    place: &mut Vec<String>,
    first: Option<&Value>,
    second: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (first, second) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let only_second = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(only_second) {
                place.push(key.clone());
                compare(place, a.get(key), b.get(key), found);
                place.pop();
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for index in 0..a.len().max(b.len()) {
                place.push(index.to_string());
                compare(place, a.get(index), b.get(index), found);
                place.pop();
            }
        }
        (first, second) if first == second => {}
        (first, second) => found.push(Difference {
            place: place.clone(),
            first: first.cloned(),
            second: second.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_found_as_deep_as_they_lie() {
        let cases = [
            (json!({ "a": 1 }), json!({ "a": 1 }), vec![]),
            (json!({ "a": 1 }), json!({ "a": 1.0 }), vec!["/a"]),
            (
                json!({ "a": { "b/c": 1 } }),
                json!({ "a": { "b/c": 2 } }),
                vec!["/a/b~1c"],
            ),
            (json!([1, 2]), json!([1, 3, 4]), vec!["/1", "/2"]),
            (json!({ "a": {} }), json!({ "a": [] }), vec!["/a"]),
            (json!({ "a": null }), json!({}), vec!["/a"]),
        ];
        for (first, second, want) in cases {
            let found = differences(&first, &second);
            let found: Vec<String> = found.iter().map(Difference::pointer).collect();
            assert_eq!(found, want, "{first} {second}");
        }
    }
}
