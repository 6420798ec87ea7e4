//! Whether etcd takes an object: a request to it has a greatest size.
//!
//! - What counts is the request: the object as it is kept, protobuf or JSON, its key three times at most, and
//!   a few numbers (etcd `client/v3/kubernetes/client.go`, `server/etcdserver/v3_server.go`).
//! - One of these numbers is drawn at random there, and another is a revision, so the limit is a few bytes
//!   off.

use std::io::{self, Write};

use prost::encoding::encoded_len_varint;
use serde_json::Value;

use crate::builtin;
use crate::meta;
use crate::registry::Resource;
use crate::status::Refusal;
use crate::store::NamespacedName;

/// The default of etcd's `--max-request-bytes`.
const MOST: usize = 1_572_864;
/// What etcd's client sends.
const MOST_SENT: usize = 2 * 1024 * 1024;
/// A byte of text is no more than this as JSON (`\u0000`).
const ESCAPED: usize = 6;

/// How an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Create, PUT or a patch.
    Update,
    /// Server-side apply.
    Apply,
}

/// The object as it is kept, if etcd takes it. If not, it is tried without its `managedFields`, unless it
/// is applied (apiserver `pkg/endpoints/handlers/{create,update,patch}.go`).
///
/// # Errors
/// 500 if it is too large.
pub(super) fn fit(
    mut object: Value,
    resource: &Resource,
    key: &NamespacedName,
    held: Option<u64>,
    by: By,
) -> Result<Value, Refusal> {
    if weight(&object) * ESCAPED <= MOST {
        return Ok(object);
    }
    let key = resource.etcd_key(key).len();
    let first = judge(stored_size(&object, resource), key, held);
    if first.is_ok() || by == By::Apply {
        return first.map(|()| object);
    }
    meta::set(&mut object, "managedFields", None);
    judge(stored_size(&object, resource), key, held).map(|()| object)
}

/// About how long all texts of a value are.
fn weight(value: &Value) -> usize {
    // Quotes, a colon and a comma; or a number.
    const LEAST: usize = 4;
    match value {
        Value::String(text) => text.len() + LEAST,
        Value::Array(items) => LEAST + items.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => {
            let fields = fields.iter();
            LEAST + { fields }
                .map(|(name, value)| name.len() + LEAST + weight(value))
                .sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => LEAST,
    }
}

/// How long an object is as it is kept, which is without its version.
fn stored_size(object: &Value, resource: &Resource) -> usize {
    let version = meta::text(object, "resourceVersion").len();
    match builtin::protobuf_size(object, resource) {
        // The number of the field and the length are there in any case.
        Some(size) => size - version,
        None if version > 0 => json(object) - version - "\"resourceVersion\":\"\",".len(),
        None => json(object),
    }
}

/// How long an object is as JSON that Go writes, with a newline at the end.
fn json(object: &Value) -> usize {
    let mut counter = Counter(1);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut counter, object);
    counter.0
}

/// Counts bytes as Go writes them: it escapes what could be HTML or end a line of JavaScript
/// (`encoding/json`, `SetEscapeHTML`).
struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let html = bytes.iter().filter(|byte| b"<>&".contains(byte)).count();
        let separators = bytes
            .windows(3)
            .filter(|three| matches!(three, [0xe2, 0x80, 0xa8 | 0xa9]))
            .count();
        self.0 += bytes.len() + 5 * html + 3 * separators;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a value of that size is sent and taken. `held` is the revision that the write builds on.
fn judge(value: usize, key: usize, held: Option<u64>) -> Result<(), Refusal> {
    let sent = transaction(value, key, held);
    if sent > MOST_SENT {
        return Err(Refusal::unknown(format!(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max \
             ({sent} vs. {MOST_SENT})"
        )));
    }
    // With its header: a number drawn at random.
    if field(sent) + 14 > MOST {
        return Err(Refusal::unknown("etcdserver: request is too large"));
    }
    Ok(())
}

/// How long etcd's `TxnRequest` is.
fn transaction(value: usize, key: usize, held: Option<u64>) -> usize {
    let revision = encoded_len_varint(held.unwrap_or(0));
    let compare = 2 + field(key) + 1 + revision;
    let put = field(key) + field(value);
    // A write that builds on a revision asks for what is there instead.
    let range = held.map_or(0, |_| field(field(field(key))));
    field(compare) + field(field(put)) + range
}

/// How long a field of a message is, with its number and length.
fn field(length: usize) -> usize {
    1 + encoded_len_varint(length as u64) + length
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resource(plural: &str) -> std::sync::Arc<Resource> {
        let all = builtin::resources();
        { all.into_iter() }
            .find(|found| found.plural == plural)
            .unwrap()
    }

    fn map(size: usize, managed: usize) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "a", "namespace": "b",
                "managedFields": [{ "manager": "x".repeat(managed) }] },
            "data": { "k": "x".repeat(size) },
        })
    }

    #[test]
    fn what_is_larger_than_a_request_is_refused_as_etcd_and_its_client_do() {
        let resource = resource("configmaps");
        let key = NamespacedName::new("b", "a");
        let fits = |size, managed, by| fit(map(size, managed), &resource, &key, None, by);
        let whole = MOST - 400;
        assert!(fits(whole, 0, By::Apply).is_ok());
        let large = fits(MOST, 0, By::Apply).unwrap_err();
        assert_eq!(large.message, "etcdserver: request is too large");
        assert_eq!((large.code.as_u16(), large.reason), (500, ""));
        let larger = fits(MOST_SENT, 0, By::Update).unwrap_err();
        assert!(
            { larger.message }
                .starts_with("rpc error: code = ResourceExhausted desc = trying to send")
        );
        // Without its managedFields it would be small enough.
        assert!(fits(whole, 1000, By::Apply).is_err());
        let kept = fits(whole, 1000, By::Update).unwrap();
        assert_eq!(meta::get(&kept, "managedFields"), None);
        let small = fits(1000, 1000, By::Update).unwrap();
        assert!(meta::get(&small, "managedFields").is_some());
    }

    #[test]
    fn the_limit_is_on_the_byte_for_the_longest_random_number() {
        // 1.5 MiB less the header (14), two field headers of 4, one of 4 and the put's key and value.
        let key = 10;
        let most = (0..MOST)
            .rev()
            .find(|size| judge(*size, key, None).is_ok())
            .unwrap();
        assert_eq!(field(transaction(most, key, None)) + 14, MOST);
        assert!(judge(most - key - 6, key, Some(7)).is_ok());
        assert!(judge(most, key, Some(7)).is_err());
    }

    #[test]
    fn json_is_counted_as_go_writes_it() {
        assert_eq!(json(&json!({ "a": "b" })), "{\"a\":\"b\"}\n".len());
        assert_eq!(json(&json!("<&>\u{2028}")), 2 + 4 * 6 + 1);
        assert_eq!(json(&json!(["\u{1}\n"])), "[\"\\u0001\\n\"]\n".len());
    }
}
