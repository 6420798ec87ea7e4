//! How values look in messages: as Go's `fmt` and `encoding/json` print them.

use std::fmt::Write;

use serde_json::Value;

/// A value as field errors show it: strings in quotes, numbers as `%v`, the rest as JSON.
pub fn quoted_or_json(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => shown_float(float),
            _ => number.to_string(),
        },
        other => json(other),
    }
}

/// A value as `%v` prints it: `map[a:[1 x]]`.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", plain(value)));
            format!("map[{}]", fields.collect::<Vec<_>>().join(" "))
        }
        other => quoted_or_json(other),
    }
}

/// A text in quotes, as `%q` prints it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            c if c < ' ' || c == '\x7f' => push(&mut out, format_args!("\\x{:02x}", c as u32)),
            c if is_printable(c) => out.push(c),
            c if (c as u32) < 0x10000 => push(&mut out, format_args!("\\u{:04x}", c as u32)),
            c => push(&mut out, format_args!("\\U{:08x}", c as u32)),
        }
    }
    out.push('"');
    out
}

/// Rust escapes in `{:?}` what Go does not print, and beside it marks that join what is before them.
fn is_printable(c: char) -> bool {
    c == ' ' || (!c.is_whitespace() && !c.is_control() && !is_private(c))
}

fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}' | '\u{f0000}'..)
}

/// A float as `%v` prints it: `1.5`, `1e+06`.
pub fn shown_float(float: f64) -> String {
    float_text(float, |exponent| (-4..6).contains(&exponent))
}

/// Digits from the shortest form; `plain` says which exponents are written without `e`.
fn float_text(float: f64, plain: impl Fn(i32) -> bool) -> String {
    let short = format!("{float:e}");
    let Some((digits, exponent)) = short.split_once('e') else {
        return short;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if float == 0.0 || plain(exponent) {
        return format!("{float}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A value as `json.Marshal` prints it: keys sorted, and what HTML cares about escaped.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, value);
    out
}

fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Object(map) => {
            out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_text(out, key);
                out.push(':');
                write_json(out, value);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::String(text) => write_text(out, text),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => out.push_str(&json_float(float)),
            _ => push(out, format_args!("{number}")),
        },
        Value::Null | Value::Bool(_) => push(out, format_args!("{value}")),
    }
}

fn json_float(float: f64) -> String {
    let text = float_text(float, |exponent| (-6..21).contains(&exponent));
    // Go writes e-9, not e-09, in JSON.
    match text.split_once("e-0") {
        Some((digits, exponent)) => format!("{digits}e-{exponent}"),
        None => text,
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => escape(out, c),
            c if c < ' ' => escape(out, c),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn escape(out: &mut String, c: char) {
    push(out, format_args!("\\u{:04x}", c as u32));
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_read_as_go_prints_them() {
        for (value, text) in [
            (json!("é\"\n\u{7}"), r#""é\"\n\a""#),
            (json!("it's"), r#""it's""#),
            (json!(2.5), "2.5"),
            (json!(2.0), "2"),
            (json!(1_000_001.5), "1.0000015e+06"),
            (json!(1e30), "1e+30"),
            (json!(0.00001), "1e-05"),
            (json!(-0.5), "-0.5"),
            (json!(9_007_199_254_740_993_u64), "9007199254740993"),
            (json!(null), "null"),
            (
                json!({ "b": [1, 2.0], "a": "<x>" }),
                r#"{"a":"\u003cx\u003e","b":[1,2]}"#,
            ),
            (json!([1e21, 1e-7]), "[1e+21,1e-7]"),
        ] {
            assert_eq!(quoted_or_json(&value), text);
        }
        let nested = json!({ "b": [1, "x", null], "a": { "c": true } });
        assert_eq!(plain(&nested), "map[a:map[c:true] b:[1 x <nil>]]");
    }
}
