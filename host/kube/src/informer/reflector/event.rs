//! One line of a watch.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::api::{ApiError, Resource};
use crate::object::{Fields, Object};

/// The annotation of the bookmark that ends a streamed list.
const INITIAL_END: &str = "k8s.io/initial-events-end";

/// What a line says.
#[derive(Debug)]
pub(super) enum WatchEvent {
    /// The object is there, or has changed.
    Shown(Object),
    /// The object is gone, or has left what is watched.
    Gone(Object),
    /// Everything up to this version has been shown.
    Bookmark {
        version: String,
        /// Whether it ends a streamed list.
        end: bool,
    },
    /// The watch ends with an error.
    Error(ApiError),
    /// A type that nobody has thought of yet.
    Unknown,
}

#[derive(Deserialize)]
struct RawWatchEvent<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Reads a line about objects of `resource`, of which `fields` are kept; `None` if it is none.
pub(super) fn read(line: &str, resource: &Resource, fields: &Fields) -> Option<WatchEvent> {
    let usual = usual(line).and_then(|(kind, object)| event(kind, object, resource, fields));
    usual.or_else(|| {
        let RawWatchEvent { kind, object } = serde_json::from_str(line).ok()?;
        event(&kind, object.get(), resource, fields)
    })
}

/// What is in a line as servers write it, with nothing between its two fields and around them. Its object is read in any
/// case, and that it is one is seen then: the line is not read twice.
fn usual(line: &str) -> Option<(&str, &str)> {
    let (kind, object) = line.strip_prefix(r#"{"type":""#)?.split_once('"')?;
    let object = object.strip_prefix(r#","object":"#)?.strip_suffix('}')?;
    Some((kind, object))
}

/// Reads the event called `kind`, which is about this object.
fn event(kind: &str, object: &str, resource: &Resource, fields: &Fields) -> Option<WatchEvent> {
    let tree = || serde_json::from_str::<Value>(object).ok();
    Some(match kind {
        "ADDED" | "MODIFIED" => WatchEvent::Shown(Object::of(resource, object, fields)?),
        "DELETED" => WatchEvent::Gone(Object::of(resource, object, fields)?),
        "BOOKMARK" => bookmark(&tree()?)?,
        "ERROR" => WatchEvent::Error(ApiError::from_event(&tree()?)),
        _ => WatchEvent::Unknown,
    })
}

fn bookmark(object: &Value) -> Option<WatchEvent> {
    let metadata = object.get("metadata")?;
    let annotations = metadata.get("annotations");
    let end = annotations.and_then(|annotations| annotations.get(INITIAL_END));
    Some(WatchEvent::Bookmark {
        version: metadata.get("resourceVersion")?.as_str()?.to_owned(),
        end: end.is_some_and(|end| end == "true"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn resource() -> Resource {
        Resource {
            group: String::new(),
            version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
            namespaced: true,
        }
    }

    fn summary(line: &str) -> String {
        match read(line, &resource(), &Fields::default()) {
            Some(WatchEvent::Shown(object)) => format!("shown {}", object.json.text()),
            Some(WatchEvent::Gone(object)) => format!("gone {}", object.metadata.key.name),
            Some(WatchEvent::Bookmark { version, end }) => format!("bookmark {version} {end}"),
            Some(WatchEvent::Error(error)) => format!("{:?}", error.code()),
            Some(WatchEvent::Unknown) => "unknown".into(),
            None => "nothing".into(),
        }
    }

    #[test]
    fn every_line_says_something() {
        let object = || json!({ "kind": "PartialObjectMetadata", "metadata": { "name": "a" } });
        let bookmark = |annotations: Value| {
            let metadata = json!({ "resourceVersion": "9", "annotations": annotations });
            json!({ "type": "BOOKMARK", "object": { "metadata": metadata } })
        };
        let rows = [
            (
                json!({ "type": "ADDED", "object": object() }),
                r#"shown {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#,
            ),
            (json!({ "type": "DELETED", "object": object() }), "gone a"),
            (bookmark(json!(null)), "bookmark 9 false"),
            (bookmark(json!({ INITIAL_END: "true" })), "bookmark 9 true"),
            (
                json!({ "type": "ERROR", "object": { "code": 410, "reason": "Expired" } }),
                "Some(410)",
            ),
            (json!({ "type": "ERROR", "object": "what" }), "Some(500)"),
            (json!({ "type": "RESTED", "object": {} }), "unknown"),
            (json!({ "type": "ADDED", "object": {} }), "nothing"),
            (json!({ "type": "BOOKMARK", "object": {} }), "nothing"),
            (json!([]), "nothing"),
        ];
        for (line, want) in rows {
            assert_eq!(summary(&line.to_string()), want, "{line}");
            if let (Some(kind), Some(object)) = (line.get("type"), line.get("object")) {
                let usual = format!(r#"{{"type":{kind},"object":{object}}}"#);
                assert_eq!(summary(&usual), want, "{usual}");
                let unusual = format!(r#"{{"type":{kind},"object":{object},"more":{{}}}}"#);
                assert_eq!(summary(&unusual), want, "{unusual}");
            }
        }
        assert!(read("{\"type\":\"ADDED\",\"obj", &resource(), &Fields::default()).is_none());
    }
}
