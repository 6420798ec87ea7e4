//! Templates of pods: whether two are the same, and the hash that tells their objects apart.

use serde_json::Value;

/// The label with the hash of a template.
pub const HASH_LABEL: &str = "pod-template-hash";

/// Letters and digits of a hash: none of them makes a word, or is taken for another.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Whether two templates are the same, but for the label with the hash.
///
/// Both come from the API server, which fills in defaults. So they are compared field by field.
pub fn is_same(one: &Value, other: &Value) -> bool {
    plain(one) == plain(other)
}

/// The hash of a template: up to ten letters and digits. Another number of `collisions` gives another hash.
///
/// The hash differs from that of kube-controller-manager, which hashes the memory of a Go program. Controllers find an object
/// by its template and not by the hash, so one can follow the other.
pub fn hash(template: &Value, collisions: i64) -> String {
    let mut text = plain(template).to_string();
    text.push_str(&collisions.to_string());
    // FNV-1a of 64 bits.
    let mut rest = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut letters = String::new();
    for _ in 0..10 {
        let at = usize::try_from(rest % 27).unwrap_or_default();
        letters.extend(ALPHABET.get(at).map(|letter| char::from(*letter)));
        rest /= 27;
    }
    letters
}

/// The template without the label, and without fields that are null: they are the same as absent ones.
fn plain(template: &Value) -> Value {
    let mut plain = template.clone();
    let labels = plain.pointer_mut("/metadata/labels");
    if let Some(labels) = labels.and_then(Value::as_object_mut) {
        labels.remove(HASH_LABEL);
    }
    without_nulls(&mut plain);
    plain
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_label_with_the_hash_does_not_count() {
        let template = |hash: Option<&str>, image: &str| {
            let mut labels = json!({ "app": "web" });
            if let Some(hash) = hash {
                labels[HASH_LABEL] = hash.into();
            }
            json!({
                "metadata": { "labels": labels, "creationTimestamp": null },
                "spec": { "containers": [{ "name": "web", "image": image }] },
            })
        };
        assert!(is_same(&template(None, "a"), &template(Some("x"), "a")));
        assert!(!is_same(&template(None, "a"), &template(None, "b")));
        let first = hash(&template(None, "a"), 0);
        assert_eq!(first.len(), 10);
        assert_eq!(first, hash(&template(Some("x"), "a"), 0));
        assert_ne!(first, hash(&template(None, "b"), 0));
        assert_ne!(first, hash(&template(None, "a"), 1));
    }
}
