//! Objects that are there and that the plugin leaves alone: not selected any more, or paused.

use super::*;

/// Each of them, and its reason.
pub(super) fn situations() -> Vec<(Reason, ObjectState, LiveObject)> {
    let labels = BTreeMap::from([("app", "other")]);
    let paused = json!({ "annotations": { "windlass.dev/paused": "true" } });
    let held_and_paused = json!({
        "annotations": { "windlass.dev/paused": "true" },
        "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["windlass.dev/greeter"],
    });
    let child = || Children {
        first: vec!["ConfigMap n/a".into()],
        count: 1,
    };
    let left = |finalizer: Option<&str>| Left {
        finalizer: finalizer.map(str::to_owned),
        children: child(),
    };
    let stray = |metadata: &Value| {
        facts(|facts| {
            facts.sight = CacheState::Stray(object(metadata));
            facts.label_selector = Some("app=web".into());
            facts.children = child();
        })
    };
    let requeued_stray = || {
        let metadata = json!({ "labels": labels, "finalizers": ["windlass.dev/greeter"] });
        let place = delayed(Some(WakeReason::Requeued), false).place;
        ObjectState {
            place,
            ..stray(&metadata)
        }
    };
    vec![
        (
            Reason::NotSelectedByLabels("app=web".into(), left(None)),
            facts(|facts| {
                facts.sight = CacheState::Absent;
                facts.label_selector = Some("app=web".into());
                facts.children = child();
            }),
            there(&json!({ "labels": labels })),
        ),
        // It was settled, and has left the selector since.
        (
            Reason::NotSelectedByLabels("app=web".into(), left(Some("windlass.dev/greeter"))),
            stray(&json!({ "labels": labels, "finalizers": ["windlass.dev/greeter"] })),
            there(&json!({ "labels": labels, "finalizers": ["windlass.dev/greeter"] })),
        ),
        (
            Reason::NotSelectedByLabels("app=web".into(), left(Some("windlass.dev/greeter"))),
            requeued_stray(),
            LiveObject::Unknown("x".into()),
        ),
        (
            Reason::PausedByAnnotation,
            facts(|facts| facts.sight = CacheState::There(object(&paused))),
            there(&paused),
        ),
        // Whatever it waits for.
        (
            Reason::PausedByAnnotation,
            ObjectState {
                sight: CacheState::There(object(&paused)),
                ..delayed(Some(WakeReason::Failed), false)
            },
            LiveObject::Unknown("x".into()),
        ),
        (
            Reason::PausedByAnnotation,
            facts(|facts| facts.sight = CacheState::There(object(&held_and_paused))),
            there(&held_and_paused),
        ),
        // It is resumed, which the plugin's watch has not shown yet.
        (
            Reason::NewerNotSeenYet,
            facts(|facts| facts.sight = CacheState::There(object(&paused))),
            there(&json!({ "resourceVersion": "8" })),
        ),
        // It comes back.
        (
            Reason::NewerNotSeenYet,
            stray(&json!({ "labels": labels, "finalizers": ["windlass.dev/greeter"] })),
            there(&json!({ "labels": { "app": "web" }, "resourceVersion": "8" })),
        ),
    ]
}
