//! How much memory JSON text takes once it is a tree, told from the text alone.

use memchr::memchr2;
use serde::de::DeserializeOwned;

/// The size of a value in a tree (`serde_json::Value`).
const VALUE: usize = 32;
/// A node of a map, which has room for 11 fields.
const NODE: usize = 720;
/// A field of a map beyond those of its first node: nodes are half full in the worst case.
const FIELD: usize = NODE / 5;
/// The text of a name or of a value, with what an allocator adds.
const TEXT: usize = 16;
/// A list has room for as many values as it has, twice in the worst case.
const ITEM: usize = 2 * VALUE;

/// A shorter text is not looked through.
const SHORT: usize = 1 << 10;
/// The most that one byte of a text takes in a tree: `{"":0}`.
const WORST: usize = NODE / 6;

/// The largest tree that is made of an object in a store.
const LARGE: usize = 16 << 20;

/// The bytes that a tree of `text` takes, at most.
pub fn tree(text: &str) -> usize {
    if text.len() < SHORT {
        return text.len() * WORST;
    }
    let (mut bytes, mut rest) = (text.len() + VALUE, text.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => {
                bytes += TEXT;
                rest = after_quoted(rest);
            }
            b'{' => bytes += NODE,
            b':' => bytes += FIELD,
            b'[' | b',' => bytes += ITEM,
            _ => {}
        }
    }
    bytes
}

/// Makes a tree of an object in a store, or of a part of it, for the host's own use.
///
/// `None` if it is not JSON, if it is nested deeper than 127 levels, or if it would be large.
pub fn tree_of<T: DeserializeOwned>(text: &str) -> Option<T> {
    let is_large = text.len() > LARGE / WORST && tree(text) > LARGE;
    (!is_large).then(|| serde_json::from_str(text).ok())?
}

/// What follows the quote that ends a text.
fn after_quoted(mut bytes: &[u8]) -> &[u8] {
    while let Some(at) = memchr2(b'"', b'\\', bytes) {
        let ends = bytes.get(at) == Some(&b'"');
        // What a backslash escapes begins with one byte, which may be a quote.
        let skipped = if ends { 1 } else { 2 };
        bytes = bytes.get(at + skipped..).unwrap_or_default();
        if ends {
            return bytes;
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The bytes of a tree, counted in it.
    fn counted(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len() + TEXT,
            Value::Array(items) => {
                items.capacity() * VALUE + items.iter().map(counted).sum::<usize>()
            }
            Value::Object(fields) => {
                let nodes = match fields.len() {
                    0 => 0,
                    1..=11 => 1,
                    many => many.div_ceil(5),
                };
                let fields = fields
                    .iter()
                    .map(|(name, value)| name.len() + TEXT + counted(value));
                nodes * NODE + fields.sum::<usize>()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    #[test]
    fn a_tree_takes_no_more_than_its_text_says() {
        let list = |item: &str, times: usize| format!("[{}]", vec![item; times].join(","));
        let map: String = (0..5000).map(|n| format!("\"f{n}\":{n},")).collect();
        let texts = [
            "{}".to_owned(),
            "7".to_owned(),
            r#"{"a":{"b":{"c":[1,2,3]}}}"#.to_owned(),
            list(r#"{"":0}"#, 3),
            list(r#"{"":0}"#, 10_000),
            list("[]", 10_000),
            list("[[]]", 10_000),
            list("0", 10_000),
            list("{}", 10_000),
            list(r#""""#, 10_000),
            list(r#""\"[{\\""#, 10_000),
            format!("{{{map}\"last\":0}}"),
            format!(r#"{{"data":"{}"}}"#, "x".repeat(100_000)),
        ];
        for text in texts {
            let counted = counted(&serde_json::from_str(&text).unwrap());
            let told = tree(&text);
            assert!(
                told >= counted,
                "{told} < {counted}: {}",
                &text[..text.len().min(60)]
            );
        }
    }

    #[test]
    fn of_what_would_be_large_no_tree_is_made() {
        let bomb = format!("[{}0]", "{\"\":0},".repeat(40_000));
        assert!(tree_of::<Value>(&bomb).is_none());
        let text = format!(r#"{{"data":"{}"}}"#, "x".repeat(1 << 20));
        assert!(tree_of::<Value>(&text).is_some());
        assert!(tree_of::<Value>("{").is_none());
    }

    #[test]
    fn what_is_in_quotes_costs_no_more_than_itself() {
        let text = format!(r#"{{"data":"{}"}}"#, "{[,:".repeat(100_000));
        assert!(tree(&text) < text.len() + 2 * NODE);
    }

    #[test]
    fn a_small_text_that_makes_a_large_tree_is_told() {
        let bomb = format!("[{}0]", "{\"\":0},".repeat(400_000));
        assert!(tree(&bomb) > 250 << 20, "{}", tree(&bomb));
    }
}
