//! Values in the words of Go's `fmt`, which some refusals carry.

use std::fmt::Write;

use serde_json::Value;

use crate::json::go_type;
pub use crate::status::shown::plain as display;

/// A list as `%v` prints it.
pub(super) fn display_list(items: &[Value]) -> String {
    let items: Vec<String> = items.iter().map(display).collect();
    format!("[{}]", items.join(" "))
}

/// A value as `%s` prints it, which is meant for strings.
pub(super) fn display_as_string(value: &Value) -> String {
    match value {
        Value::Null => "%!s(<nil>)".to_owned(),
        Value::Bool(_) | Value::Number(_) => {
            let mut text = String::new();
            let _ = write!(text, "%!s({}={})", type_of(value), display(value));
            text
        }
        Value::String(_) | Value::Array(_) | Value::Object(_) => display(value),
    }
}

/// What Go's decoder makes of a value, as `reflect` prints it.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        value => go_type(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_printed_as_go_does() {
        let rows = [
            (
                json!({ "b": [1, "x", null], "a": { "c": true } }),
                "map[a:map[c:true] b:[1 x <nil>]]",
            ),
            (json!(1.5), "1.5"),
            (json!(1e21), "1e+21"),
            (json!(1e20), "1e+20"),
            (json!(0.00001), "1e-05"),
            (json!(2.0), "2"),
        ];
        for (value, text) in rows {
            assert_eq!(display(&value), text);
        }
        assert_eq!(display_as_string(&json!(3)), "%!s(int64=3)");
    }
}
