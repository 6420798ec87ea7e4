//! Small questions about objects as JSON.

use serde_json::{Value, json};

use crate::failed::Code;
use crate::query::ObjectRef;

/// The text at a JSON pointer.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

/// What an object calls itself.
pub(super) fn name_of(object: &Value) -> Result<ObjectRef, Code> {
    let part = |pointer: &str| match text(object, pointer) {
        Some(part) if !part.is_empty() => Ok(part.to_owned()),
        _ => Err(Code::Invalid(format!(
            "{} is missing",
            pointer.replace('/', ".")
        ))),
    };
    Ok(ObjectRef {
        api_version: part("/apiVersion")?,
        kind: part("/kind")?,
        namespace: part("/metadata/namespace").ok(),
        name: part("/metadata/name")?,
    })
}

/// That `object` is the one with this UID, if one is asked for.
pub(super) fn check_uid(object: &Value, uid: Option<&str>) -> Result<(), Code> {
    match uid {
        Some(uid) if text(object, "/metadata/uid") != Some(uid) => Err(Code::Conflict),
        _ => Ok(()),
    }
}

/// Whether the values that `value_of` finds match a field selector.
pub(super) fn selected<'a>(
    selector: Option<&str>,
    value_of: impl Fn(&str) -> Option<&'a str>,
) -> Result<bool, Code> {
    let terms = selector.unwrap_or_default().split(',').map(str::trim);
    for term in terms.filter(|term| !term.is_empty()) {
        if term.contains(['(', '<', '>']) || term.contains(char::is_whitespace) {
            return Err(Code::Invalid(format!(
                "FakeCluster does not know the selector {term}"
            )));
        }
        let matches = if let Some((name, value)) = term.split_once("!=") {
            value_of(name) != Some(value)
        } else if let Some((name, value)) = term.split_once('=') {
            value_of(name) == Some(value.trim_start_matches('='))
        } else if let Some(name) = term.strip_prefix('!') {
            value_of(name).is_none()
        } else {
            value_of(term).is_some()
        };
        if !matches {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Changes `target` by a JSON merge patch (RFC 7396).
pub(super) fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    if let Value::Object(target) = target {
        for (name, value) in patch {
            if value.is_null() {
                target.remove(name);
            } else {
                merge_patch(target.entry(name).or_insert(Value::Null), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_understood_or_refused() {
        let label = |name: &str| (name == "app").then_some("web");
        let cases = [
            (None, true),
            (Some(""), true),
            (Some("app"), true),
            (Some("!app"), false),
            (Some("app=web"), true),
            (Some("app==web,tier!=db"), true),
            (Some("app=db"), false),
            (Some("app=web,!app"), false),
        ];
        for (selector, want) in cases {
            assert_eq!(selected(selector, label), Ok(want), "{selector:?}");
        }
        assert!(selected(Some("app in (web)"), label).is_err());
    }

    #[test]
    fn a_merge_patch_removes_with_null() {
        let mut target = json!({ "a": { "b": 1, "c": 2 }, "d": [1] });
        merge_patch(
            &mut target,
            &json!({ "a": { "b": null, "e": { "f": 3 } }, "d": [2] }),
        );
        assert_eq!(
            target,
            json!({ "a": { "c": 2, "e": { "f": 3 } }, "d": [2] })
        );
    }
}
