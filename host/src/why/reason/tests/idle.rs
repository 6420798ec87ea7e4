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
        is_finalized_now: false,
        finalizer: finalizer.map(str::to_owned),
        children: child(),
    };
    let unselected = |metadata: &Value| {
        state(|state| {
            state.cache = CacheState::WithFinalizer(object(metadata));
            state.label_selector = Some("app=web".into());
            state.children = child();
        })
    };
    let requeued_stray = || {
        let metadata = json!({ "labels": labels, "finalizers": ["windlass.dev/greeter"] });
        let place = delayed(Some(WakeReason::Requeued), None).place;
        ObjectState {
            place,
            ..unselected(&metadata)
        }
    };
    vec![
        (
            Reason::NotSelectedByLabels("app=web".into(), left(None)),
            state(|state| {
                state.cache = CacheState::Absent;
                state.label_selector = Some("app=web".into());
                state.children = child();
            }),
            there(&json!({ "labels": labels })),
        ),
        // It was settled, and has left the selector since.
        (
            Reason::NotSelectedByLabels("app=web".into(), left(Some("windlass.dev/greeter"))),
            unselected(&json!({ "labels": labels, "finalizers": ["windlass.dev/greeter"] })),
            there(&json!({ "labels": labels, "finalizers": ["windlass.dev/greeter"] })),
        ),
        (
            Reason::NotSelectedByLabels("app=web".into(), left(Some("windlass.dev/greeter"))),
            requeued_stray(),
            LiveObject::Unknown("x".into()),
        ),
        (
            Reason::PausedByAnnotation,
            state(|state| state.cache = CacheState::There(object(&paused))),
            there(&paused),
        ),
        // Whatever it waits for.
        (
            Reason::PausedByAnnotation,
            ObjectState {
                cache: CacheState::There(object(&paused)),
                ..delayed(Some(WakeReason::Failed), None)
            },
            LiveObject::Unknown("x".into()),
        ),
        (
            Reason::PausedByAnnotation,
            state(|state| state.cache = CacheState::There(object(&held_and_paused))),
            there(&held_and_paused),
        ),
        // It is resumed, which the plugin's watch has not shown yet.
        (
            Reason::NewerNotSeenYet,
            state(|state| state.cache = CacheState::There(object(&paused))),
            there(&json!({ "resourceVersion": "8" })),
        ),
        // It comes back.
        (
            Reason::NewerNotSeenYet,
            unselected(&json!({ "labels": labels, "finalizers": ["windlass.dev/greeter"] })),
            there(&json!({ "labels": { "app": "web" }, "resourceVersion": "8" })),
        ),
    ]
}
