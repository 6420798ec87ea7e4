//! Labels and annotations under `windlass.dev/`: the host's and the user's, never a plugin's.
//!
//! - There is no exception. What the host itself sets (`windlass.dev/set`) it adds after this check.
//! - Groups such as `examples.windlass.dev` are no such prefix: their labels are anybody's.

use serde_json::{Map, Value};

/// What a reserved name begins with.
const PREFIX: &str = "windlass.dev/";

/// The fields of metadata that hold such names.
const MAPS: [&str; 2] = ["labels", "annotations"];

/// Whether a label or annotation of this name is reserved. Of an annotation Kubernetes takes any case.
fn is_reserved(name: &str) -> bool {
    name.get(..PREFIX.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// Whether a field of metadata is the labels or the annotations.
pub(super) fn is_map(field: &str) -> bool {
    MAPS.iter().any(|map| map.eq_ignore_ascii_case(field))
}

/// The first reserved name that `metadata` has.
pub(super) fn in_metadata(metadata: &Map<String, Value>) -> Option<&str> {
    let maps = MAPS
        .iter()
        .filter_map(|map| metadata.get(*map)?.as_object());
    let mut names = maps.flat_map(Map::keys).map(String::as_str);
    names.find(|name| is_reserved(name))
}

/// Whether a merge patch of the labels or annotations touches a reserved one: by its name, or since it removes all.
pub(super) fn in_merge(patch: &Value) -> bool {
    match patch {
        Value::Object(names) => names.keys().any(|name| is_reserved(name)),
        _ => true,
    }
}

/// Whether a JSON pointer leads to a reserved label or annotation, into it, or to all of them.
pub(super) fn at_pointer(pointer: &str) -> bool {
    let mut steps = pointer.split('/').skip(1);
    let (Some(first), Some(second)) = (steps.next(), steps.next()) else {
        return false;
    };
    first.eq_ignore_ascii_case("metadata")
        && is_map(second)
        && steps
            .next()
            .is_none_or(|name| is_reserved(&unescaped(name)))
}

/// A step of a JSON pointer (RFC 6901).
fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_prefix_itself_is_reserved() {
        for (name, reserved) in [
            ("windlass.dev/set", true),
            ("windlass.dev/", true),
            ("Windlass.DEV/set", true),
            ("windlass.dev", false),
            ("windlass.device/set", false),
            ("examples.windlass.dev/set", false),
            ("app", false),
            ("wíndlass.dev/set", false),
        ] {
            assert_eq!(is_reserved(name), reserved, "{name}");
            let metadata = json!({ "annotations": { "a": "b", name: "x" }, "labels": null });
            let found = in_metadata(metadata.as_object().unwrap());
            assert_eq!(found.is_some(), reserved, "{name}");
        }
    }

    #[test]
    fn a_pointer_is_read_as_the_server_reads_it() {
        for (pointer, reserved) in [
            ("/metadata/labels/windlass.dev~1set", true),
            ("/metadata/annotations/windlass.dev~1set/0", true),
            ("/Metadata/Labels/windlass.dev~1set", true),
            ("/metadata/labels", true),
            ("/metadata/annotations", true),
            ("/metadata/labels/a", false),
            ("/metadata/labels/a~1b", false),
            ("/metadata/labels/examples.windlass.dev~1set", false),
            // No slash after the escape is read: this is `windlass.dev~1set`.
            ("/metadata/labels/windlass.dev~01set", false),
            ("/metadata/name", false),
            ("/metadata", false),
            ("/spec/labels/windlass.dev~1set", false),
            ("/spec/metadata/labels", false),
            ("", false),
        ] {
            assert_eq!(at_pointer(pointer), reserved, "{pointer}");
        }
    }
}
