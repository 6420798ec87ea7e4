//! The patches that add and remove a finalizer.
//!
//! - A patch names the UID, so it never meets another object under the same name.
//! - A patch tests what it has seen of the list, so it never undoes what others did meanwhile.

use serde_json::{Value, json};

use crate::object::Metadata;

/// The patch that adds the finalizer `name`. The whole list is tested: had it changed, the same
/// name could be in it already, and two of it would be there.
pub(super) fn protect(object: &Metadata, name: &str) -> Value {
    let uid = json!({ "op": "test", "path": "/metadata/uid", "value": object.uid });
    let list = "/metadata/finalizers";
    if object.finalizers.is_empty() {
        json!([
            uid,
            { "op": "test", "path": list, "value": null },
            { "op": "add", "path": list, "value": [name] },
        ])
    } else {
        json!([
            uid,
            { "op": "test", "path": list, "value": *object.finalizers },
            { "op": "add", "path": format!("{list}/-"), "value": name },
        ])
    }
}

/// The patch that removes the finalizer `name`; `None` if it is not there.
pub(super) fn release(object: &Metadata, name: &str) -> Option<Value> {
    let index = object.finalizers.iter().position(|held| held == name)?;
    let path = format!("/metadata/finalizers/{index}");
    Some(json!([
        { "op": "test", "path": "/metadata/uid", "value": object.uid },
        { "op": "test", "path": path, "value": name },
        { "op": "remove", "path": path },
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const OURS: &str = "windlass.dev/greeter";

    fn object(finalizers: &[&str], deleting: bool) -> Metadata {
        Metadata {
            uid: "u1".into(),
            finalizers: Arc::new(finalizers.iter().map(|name| (*name).to_owned()).collect()),
            deleting,
            ..Metadata::default()
        }
    }

    #[test]
    fn patches_test_what_they_rely_on() {
        assert_eq!(
            protect(&object(&[], false), OURS),
            json!([
                { "op": "test", "path": "/metadata/uid", "value": "u1" },
                { "op": "test", "path": "/metadata/finalizers", "value": null },
                { "op": "add", "path": "/metadata/finalizers", "value": [OURS] },
            ])
        );
        assert_eq!(
            protect(&object(&["a"], false), OURS),
            json!([
                { "op": "test", "path": "/metadata/uid", "value": "u1" },
                { "op": "test", "path": "/metadata/finalizers", "value": ["a"] },
                { "op": "add", "path": "/metadata/finalizers/-", "value": OURS },
            ])
        );
        assert_eq!(
            release(&object(&["a", OURS], true), OURS).unwrap(),
            json!([
                { "op": "test", "path": "/metadata/uid", "value": "u1" },
                { "op": "test", "path": "/metadata/finalizers/1", "value": OURS },
                { "op": "remove", "path": "/metadata/finalizers/1" },
            ])
        );
        assert_eq!(release(&object(&["a"], true), OURS), None);
    }
}
