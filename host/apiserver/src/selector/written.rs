//! Selectors of objects' fields, as text.

use serde_json::Value;

use crate::json::{entries, list, text, texts};

/// A `LabelSelector` in the notation of queries, sorted by keys, as apimachinery writes it; empty if it
/// selects everything.
pub fn written(selector: &Value) -> String {
    let labels = entries(selector, "matchLabels").map(|(key, value)| {
        let value = value.as_str().unwrap_or_default();
        (key.clone(), format!("{key}={value}"))
    });
    let expressions = list(selector, "matchExpressions").iter().map(|expression| {
        let key = text(expression, "key");
        let mut values: Vec<&str> = texts(expression, "values").collect();
        values.sort_unstable();
        let values = values.join(",");
        let written = match text(expression, "operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        };
        (key.to_owned(), written)
    });
    let mut all: Vec<(String, String)> = labels.chain(expressions).collect();
    all.sort_by(|(left, _), (right, _)| left.cmp(right));
    let texts: Vec<String> = all.into_iter().map(|(_, text)| text).collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_selector_is_written_in_the_order_of_its_keys() {
        let selector = json!({
            "matchLabels": { "b": "1" },
            "matchExpressions": [
                { "key": "d", "operator": "DoesNotExist" },
                { "key": "c", "operator": "NotIn", "values": ["y", "x"] },
                { "key": "a", "operator": "In", "values": ["z"] },
                { "key": "e", "operator": "Exists" },
            ],
        });
        assert_eq!(written(&selector), "a in (z),b=1,c notin (x,y),!d,e");
        assert_eq!(written(&json!({})), "");
    }
}
