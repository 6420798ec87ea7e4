mod idle;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use windlass_controller::controller::{Children, Delayed, Hold, Record};
use windlass_controller::metrics::FailureKind;
use windlass_kube::object::{Key, Object};
use windlass_view::{WriteOutcome, Wrote};

const SECOND: Duration = Duration::from_secs(1);

/// An object at version 7, with what `more` says of its metadata.
fn object(more: &Value) -> Arc<Metadata> {
    let mut metadata = json!({ "name": "ada", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 2 });
    for (field, value) in more.as_object().unwrap() {
        metadata[field] = value.clone();
    }
    Object::new(&json!({ "metadata": metadata }))
        .unwrap()
        .metadata
}

fn key() -> Key {
    Key::new(Some("n"), "ada")
}

/// A settled object.
fn settled() -> ObjectState {
    ObjectState {
        stage: PluginStage::Running,
        holder: None,
        cache: CacheState::There(object(&json!({}))),
        place: QueuePosition::Nowhere,
        paused: None,
        throttled: false,
        failures: 0,
        passes: vec![Arc::new(Record::settled())],
        finalizer: "windlass.dev/greeter".into(),
        finalizes_on_leave: false,
        label_selector: None,
        field_selector: None,
        spec_change_only: false,
        declares_fields: false,
        children: Children::default(),
    }
}

/// The settled object, changed.
fn state(change: impl FnOnce(&mut ObjectState)) -> ObjectState {
    let mut state = settled();
    change(&mut state);
    state
}

/// The same, of which the last pass is changed.
fn last(change: impl FnOnce(&mut Record)) -> ObjectState {
    let mut last = Record::settled();
    change(&mut last);
    state(|state| state.passes = vec![Arc::new(last)])
}

fn there(more: &Value) -> LiveObject {
    LiveObject::There(object(more))
}

fn delayed(why: Option<WakeReason>, hold: Option<Hold>) -> ObjectState {
    let left = SECOND;
    state(|state| state.place = QueuePosition::Delayed(Delayed { left, why, hold }))
}

/// Each reason, and a situation that leads to it.
fn situations() -> Vec<(Reason, ObjectState, LiveObject)> {
    let mut all = usual();
    all.extend(idle::situations());
    all
}

/// Those of objects that the plugin selects and nobody has paused, and of objects that are not there.
fn usual() -> Vec<(Reason, ObjectState, LiveObject)> {
    let same = || there(&json!({}));
    let stage = |stage: PluginStage| state(|state| state.stage = stage);
    let place = |place: QueuePosition| state(|state| state.place = place);
    let waiting = |low| QueuePosition::Waiting { low, since: SECOND };
    let running = |again| QueuePosition::Running {
        since: SECOND,
        again,
    };
    let absent = |change: fn(&mut ObjectState)| {
        state(|state| {
            state.cache = CacheState::Absent;
            change(state);
        })
    };
    let leaving = |finalizers: Value| {
        let leaving = object(
            &json!({ "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers }),
        );
        state(|state| state.cache = CacheState::There(leaving))
    };
    let older = |change: fn(&mut ObjectState)| {
        let mut state = last(|last| last.version = "6".into());
        change(&mut state);
        state
    };
    let wrote = |last: &mut Record| {
        last.version = "6".into();
        last.journal.writes.push(Wrote {
            kind: "Greeting".into(),
            key: key(),
            end: WriteOutcome::Changed(Vec::new()),
            followed: Vec::new(),
            unread: Vec::new(),
            version: Some("7".into()),
        });
    };
    let finalizing = || {
        let mut state = delayed(Some(WakeReason::Requeued), None);
        let mut last = Record::settled();
        last.step = Step::Finalize;
        state.passes = vec![Arc::new(last)];
        state
    };
    let failing = || {
        let mut state = delayed(Some(WakeReason::Failed), None);
        state.failures = 3;
        state
    };
    let labels = BTreeMap::from([("app", "other")]);
    vec![
        (Reason::Loading, stage(PluginStage::Loading), same()),
        (
            Reason::Refused("x".into()),
            stage(PluginStage::Refused("x".into())),
            same(),
        ),
        (
            Reason::Quarantined("x".into()),
            stage(PluginStage::Quarantined("x".into())),
            same(),
        ),
        (
            Reason::SlowedDown("x".into()),
            state(|state| {
                state.stage = PluginStage::SlowedDown("x".into());
                state.place = QueuePosition::Waiting {
                    low: false,
                    since: Duration::ZERO,
                };
            }),
            same(),
        ),
        (
            Reason::Waiting("no kind".into()),
            stage(PluginStage::Waiting("no kind".into())),
            same(),
        ),
        (Reason::Syncing, stage(PluginStage::Syncing), same()),
        (
            Reason::StandingBy(None),
            stage(PluginStage::StandingBy),
            same(),
        ),
        (
            Reason::NamespaceNotGranted,
            state(|state| state.cache = CacheState::NotWatched),
            same(),
        ),
        (Reason::NotThere, absent(|_| {}), LiveObject::Absent),
        (
            Reason::NotSelectedByLabels("app=web".into(), Left::default()),
            absent(|state| state.label_selector = Some("app=web".into())),
            there(&json!({ "labels": labels })),
        ),
        (
            Reason::NotSelectedByFields("spec.a=b".into(), Left::default()),
            absent(|state| state.field_selector = Some("spec.a=b".into())),
            same(),
        ),
        (Reason::NotSeenYet, absent(|_| {}), same()),
        (
            Reason::NotSeenAndUnknown("x".into()),
            absent(|_| {}),
            LiveObject::Unknown("x".into()),
        ),
        (Reason::GoneNotSeenYet, settled(), LiveObject::Absent),
        (Reason::Running(SECOND), place(running(false)), same()),
        (
            Reason::RunningAndAgain(SECOND),
            place(running(true)),
            same(),
        ),
        (
            Reason::Paused(SECOND),
            state(|state| {
                state.place = waiting(true);
                state.paused = Some(SECOND);
            }),
            same(),
        ),
        (
            Reason::ClientThrottled(SECOND),
            state(|state| {
                state.place = running(true);
                state.throttled = true;
            }),
            same(),
        ),
        (
            Reason::ClientThrottled(SECOND),
            state(|state| {
                state.place = waiting(false);
                state.throttled = true;
            }),
            same(),
        ),
        (Reason::Queued(SECOND), place(waiting(false)), same()),
        (Reason::QueuedLow(SECOND), place(waiting(true)), same()),
        (
            Reason::Backoff {
                left: SECOND,
                failures: 3,
            },
            failing(),
            same(),
        ),
        (
            Reason::Throttled(SECOND),
            delayed(Some(WakeReason::SlowedDown), None),
            same(),
        ),
        (
            Reason::HotLoop(SECOND),
            delayed(Some(WakeReason::Requeued), Some(Hold::HotLoop)),
            same(),
        ),
        (
            Reason::Paced(SECOND),
            delayed(None, Some(Hold::Pace)),
            same(),
        ),
        (
            Reason::Requeued(SECOND),
            delayed(Some(WakeReason::Requeued), None),
            same(),
        ),
        (Reason::FinalizePending(SECOND), finalizing(), same()),
        (Reason::Delayed(SECOND), delayed(None, None), same()),
        (
            Reason::NewerNotSeenYet,
            settled(),
            there(&json!({ "resourceVersion": "8" })),
        ),
        (
            Reason::NewerNotSeenYet,
            settled(),
            there(&json!({ "uid": "v", "resourceVersion": "1" })),
        ),
        (
            Reason::HeldByOthers(vec!["x.dev/y".into()]),
            leaving(json!(["x.dev/y"])),
            LiveObject::Unknown(String::new()),
        ),
        (
            Reason::LeavesWithoutUs,
            leaving(json!([])),
            LiveObject::Unknown(String::new()),
        ),
        (
            Reason::Terminal,
            last(|last| {
                last.outcome = PassOutcome::TERMINAL;
                last.error = Some("x".into());
            }),
            same(),
        ),
        (
            Reason::Interrupted,
            last(|last| {
                last.outcome = PassOutcome::STOPPED;
                last.error = Some("x".into());
            }),
            same(),
        ),
        (
            Reason::Failed,
            last(|last| {
                last.outcome = PassOutcome::Failed(FailureKind::Read);
                last.error = Some("x".into());
            }),
            same(),
        ),
        (
            Reason::Forgotten,
            state(|state| state.passes.clear()),
            same(),
        ),
        (
            Reason::Forgotten,
            last(|last| last.uid = "older".into()),
            same(),
        ),
        (Reason::OwnWrite, last(wrote), same()),
        (
            Reason::FilteredByTrigger,
            older(|state| state.spec_change_only = true),
            same(),
        ),
        (
            Reason::FilteredByFields,
            older(|state| state.declares_fields = true),
            same(),
        ),
        (Reason::Settled, settled(), same()),
        (Reason::Settled, settled(), LiveObject::Unknown("x".into())),
    ]
}

#[test]
fn each_situation_has_its_reason() {
    for (reason, state, live) in situations() {
        assert_eq!(judge(&state, &live), reason, "{state:#?} {live:?}");
    }
}

/// A reason that is added to the enum has to be added to `Reason::word`, and so to this source.
#[test]
fn each_reason_has_a_situation_and_a_sentence() {
    let source = include_str!("../reason.rs");
    let words = source
        .split("=> \"")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0));
    let words: Vec<&str> = words
        .filter(|word| word.starts_with(char::is_uppercase))
        .collect();
    assert!(words.len() >= 30, "{words:?}");
    let situations = situations();
    for word in words {
        let mut all = situations.iter().map(|(reason, ..)| reason);
        assert!(
            all.any(|reason| reason.word() == word),
            "{word} has no situation"
        );
    }
    for (reason, ..) in situations {
        let sentence = reason.sentence();
        let word = reason.word();
        assert!(
            sentence.len() > 15 && !sentence.ends_with('.'),
            "{word}: {sentence}"
        );
        assert!(format!("{reason:?}").starts_with(word));
    }
}
