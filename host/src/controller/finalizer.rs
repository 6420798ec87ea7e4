//! Which step an object needs next, and the patches that add and remove a finalizer.
//!
//! - A patch names the UID, so it never meets another object under the same name.
//! - A patch tests what it has seen of the list, so it never undoes what others did meanwhile.

use serde_json::{Value, json};

use crate::bugs::bug;
use crate::object::Metadata;

/// The next thing to do for an object, given its metadata alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Live and unprotected: add our finalizer before anything else.
    Protect,
    /// Live and protected, or live under a plugin that does not finalize.
    Reconcile,
    /// Going away, and we still owe cleanup.
    Finalize,
    /// The plugin does not finalize, but an earlier version of it did: take the finalizer off.
    Release,
    /// Somebody has paused it: nothing is done, whatever it needs.
    Paused,
    /// Going away, and we owe nothing.
    Ignore,
}

impl Step {
    /// Names the step in logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Protect => "protect",
            Self::Reconcile => "reconcile",
            Self::Finalize => "finalize",
            Self::Release => "release",
            Self::Paused => "paused",
            Self::Ignore => "ignore",
        }
    }
}

/// Chooses the step for an object under the finalizer called `name`.
pub(super) fn next_step(object: &Metadata, name: &str, finalizes: bool) -> Step {
    let step = match (finalizes, object.deleting, object.has_finalizer(name)) {
        (true, false, false) => Step::Protect,
        (true, false, true) | (false, false, false) => Step::Reconcile,
        (true, true, true) => Step::Finalize,
        (true, true, false) => bug!(FinalizersComeBack, Step::Ignore, Step::Protect),
        (false, true, false) => Step::Ignore,
        (false, true | false, true) => Step::Release,
    };
    match step {
        Step::Ignore => Step::Ignore,
        _ if object.paused => Step::Paused,
        step => step,
    }
}

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
    fn step_depends_only_on_deletion_our_finalizer_and_whether_the_plugin_finalizes() {
        let cases = [
            (object(&[], false), true, Step::Protect),
            (object(&["other"], false), true, Step::Protect),
            (object(&[OURS], false), true, Step::Reconcile),
            (object(&[OURS, "other"], true), true, Step::Finalize),
            (object(&["other"], true), true, Step::Ignore),
            (object(&[], true), true, Step::Ignore),
            (object(&[], false), false, Step::Reconcile),
            (object(&["other"], true), false, Step::Ignore),
            (object(&[OURS], false), false, Step::Release),
            (object(&["other", OURS], true), false, Step::Release),
        ];
        for (object, finalizes, want) in cases {
            assert_eq!(
                next_step(&object, OURS, finalizes),
                want,
                "{object:?} {finalizes}"
            );
        }
    }

    #[test]
    fn nothing_is_done_for_a_paused_object() {
        let cases = [
            (object(&[], false), true, Step::Paused),
            (object(&[OURS], false), true, Step::Paused),
            (object(&[OURS], true), true, Step::Paused),
            (object(&[], false), false, Step::Paused),
            (object(&[OURS], false), false, Step::Paused),
            (object(&[OURS], true), false, Step::Paused),
            (object(&["other"], true), true, Step::Ignore),
        ];
        for (object, finalizes, want) in cases {
            let paused = Metadata {
                paused: true,
                ..object
            };
            let step = next_step(&paused, OURS, finalizes);
            assert_eq!(step, want, "{paused:?} {finalizes}");
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
