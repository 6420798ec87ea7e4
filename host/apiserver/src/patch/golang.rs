//! Values in the words of Go's `fmt`, which some refusals carry.

use std::fmt::Write;

use serde_json::Value;

/// A value as `%v` prints it: `map[a:1 b:[x y]]`.
pub fn display(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("<nil>"),
        Value::String(string) => text.push_str(string),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => text.push_str(&display_float(float)),
            _ => text.push_str(&number.to_string()),
        },
        Value::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
        Value::Array(items) => display_items(items, text),
        Value::Object(fields) => {
            text.push_str("map[");
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    text.push(' ');
                }
                text.push_str(name);
                text.push(':');
                write(value, text);
            }
            text.push(']');
        }
    }
}

/// A list as `%v` prints it.
pub(super) fn display_list(items: &[Value]) -> String {
    let mut text = String::new();
    display_items(items, &mut text);
    text
}

fn display_items(items: &[Value], text: &mut String) {
    text.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        write(item, text);
    }
    text.push(']');
}

/// `%v` of a float is `%g`: an exponent below 1e-4 and from 1e21 on, of at least two digits.
fn display_float(float: f64) -> String {
    let exponential = format!("{float:e}");
    let Some((digits, exponent)) = exponential.split_once('e') else {
        return exponential;
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..21).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{float}"),
    }
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
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
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
            (json!(1e20), "100000000000000000000"),
            (json!(0.00001), "1e-05"),
            (json!(2.0), "2"),
        ];
        for (value, text) in rows {
            assert_eq!(display(&value), text);
        }
        assert_eq!(display_as_string(&json!(3)), "%!s(int64=3)");
    }
}
