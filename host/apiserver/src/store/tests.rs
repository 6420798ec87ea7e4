use std::sync::Weak;

use serde_json::json;

use super::past::MOST_EVENTS;
use super::*;

fn place() -> GroupResource {
    GroupResource {
        group: String::new(),
        plural: "configmaps".to_owned(),
    }
}

fn key(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

fn object(name: &str, data: u32) -> Value {
    json!({ "data": data, "kind": "ConfigMap", "metadata": { "name": name, "uid": "u" } })
}

#[test]
fn a_write_that_builds_on_an_older_state_is_refused() {
    let store = Store::default();
    let first = store
        .write(&place(), key("a"), None, Write::Put(object("a", 1)))
        .unwrap();
    assert_eq!(first.revision, 2);
    assert_eq!(
        first.value()["metadata"],
        json!({ "name": "a", "resourceVersion": "2", "uid": "u" })
    );
    let late = store.write(&place(), key("a"), None, Write::Put(object("a", 2)));
    assert_eq!(late.unwrap_err(), Moved);
    let next = store.write(&place(), key("a"), Some(2), Write::Put(object("a", 2)));
    assert_eq!(next.unwrap().revision, 3);
}

#[tokio::test]
async fn a_reader_sees_every_event_once_and_in_order() {
    let store = Store::default();
    let mut events = store.follow(&place(), 1).unwrap();
    let put = |name: &str, expected, data| {
        let write = Write::Put(object(name, data));
        store
            .write(&place(), key(name), expected, write)
            .unwrap()
            .revision
    };
    let first = put("a", None, 1);
    put("b", None, 1);
    put("a", Some(first), 2);
    events.changed().await.unwrap();
    let (seen, revision) = events.take().unwrap();
    let seen: Vec<_> = seen
        .iter()
        .map(|event| (event.change, event.entry.revision))
        .collect();
    assert_eq!(
        seen,
        [
            (EventType::Added, 2),
            (EventType::Added, 3),
            (EventType::Modified, 4)
        ]
    );
    assert_eq!(revision, 4);
    assert!(events.take().unwrap().0.is_empty());
    store.compact();
    assert!(events.take().is_ok(), "it had seen everything");
    put("c", None, 1);
    store.compact();
    assert_eq!(events.take().unwrap_err(), Gone);
}

#[tokio::test]
async fn a_reader_of_what_is_closed_sees_the_rest_and_then_the_end() {
    let store = Store::default();
    let mut events = store.follow(&place(), 1).unwrap();
    let write = Write::Put(object("a", 1));
    store.write(&place(), key("a"), None, write).unwrap();
    store.close(&place());
    assert_eq!(events.changed().await, Ok(()));
    assert_eq!(events.take().unwrap().0.len(), 1);
    assert_eq!(events.changed().await, Err(Closed));
    let mut again = store.follow(&place(), 2).unwrap();
    let write = Write::Put(object("b", 1));
    store.write(&place(), key("b"), None, write).unwrap();
    assert_eq!(again.changed().await, Ok(()), "it may come again");
}

#[test]
fn a_list_can_be_read_as_of_an_earlier_revision() {
    let store = Store::default();
    let names = |snapshot: &Snapshot| -> Vec<String> {
        let entries = snapshot.entries.iter();
        entries
            .map(|entry| format!("{}:{}", entry.key.name, entry.revision))
            .collect()
    };
    for (name, data) in [("a", 1), ("b", 1), ("c", 1)] {
        store
            .write(&place(), key(name), None, Write::Put(object(name, data)))
            .unwrap();
    }
    let before = store.list(&place(), None);
    store
        .write(&place(), key("a"), Some(2), Write::Put(object("a", 2)))
        .unwrap();
    store
        .write(&place(), key("b"), Some(3), Write::Delete(object("b", 1)))
        .unwrap();
    store
        .write(&place(), key("d"), None, Write::Put(object("d", 1)))
        .unwrap();
    assert_eq!(names(&store.list(&place(), None)), ["a:5", "c:4", "d:7"]);
    let then = store.list_at(&place(), None, before.revision).unwrap();
    assert_eq!(names(&then), names(&before));
    assert_eq!(names(&then), ["a:2", "b:3", "c:4"]);
    store.compact();
    assert_eq!(
        store.list_at(&place(), None, before.revision).unwrap_err(),
        Gone
    );
}

/// An object of at least so many bytes.
fn large(name: &str, bytes: usize) -> Value {
    json!({ "data": "x".repeat(bytes), "kind": "ConfigMap", "metadata": { "name": name } })
}

/// Puts and deletes an object; answers its states, as far as something else holds them.
fn put_and_delete(store: &Store, place: &GroupResource, object: &Value) -> [Weak<Entry>; 2] {
    let put = store.write(place, key("a"), None, Write::Put(object.clone()));
    let put = put.unwrap();
    let delete = Write::Delete(object.clone());
    let deleted = store.write(place, key("a"), Some(put.revision), delete);
    [Arc::downgrade(&put), Arc::downgrade(&deleted.unwrap())]
}

#[test]
fn events_are_bounded_by_their_number_and_their_bytes() {
    let store = Store::default();
    for _ in 0..MOST_EVENTS {
        put_and_delete(&store, &place(), &object("a", 1));
    }
    assert_eq!(store.size().events, MOST_EVENTS);
    let other = GroupResource {
        plural: "others".to_owned(),
        ..place()
    };
    put_and_delete(&store, &other, &large("a", 1 << 10));
    let object = large("a", 1 << 20);
    let mut states = Vec::new();
    for _ in 0..100 {
        states.extend(put_and_delete(&store, &place(), &object));
        assert!(store.size().event_bytes <= MOST_PAST);
    }
    let held: usize = { states.iter().filter_map(Weak::upgrade) }
        .map(|entry| entry.json.len())
        .sum();
    let size = store.size();
    assert!(held <= size.event_bytes, "{held} of {size:?}");
    assert!(size.event_bytes > MOST_PAST / 2, "{size:?}");
    assert_eq!(store.follow(&place(), 1).unwrap_err(), Gone);
    // Only the resource with the most has to give.
    assert!(store.follow(&other, 1).is_ok());
}

#[test]
fn what_is_compacted_takes_no_room() {
    let store = Store::default();
    let states: Vec<_> = (0..100)
        .flat_map(|_| put_and_delete(&store, &place(), &object("a", 1)))
        .collect();
    let middle = 101;
    store.compact_until(middle);
    assert_eq!(store.size().events, 100);
    assert_eq!(store.follow(&place(), middle - 1).unwrap_err(), Gone);
    assert!(store.follow(&place(), middle).is_ok());
    let quiet = GroupResource {
        plural: "quiet".to_owned(),
        ..place()
    };
    assert!(store.follow(&quiet, 1).is_ok(), "nothing happened to it");
    assert_eq!(store.list_at(&quiet, None, 1).unwrap_err(), Gone);
    store.compact_until(store.revision());
    let held = states.iter().filter(|state| state.strong_count() > 0);
    assert_eq!(held.count(), 0);
    assert_eq!((store.size().events, store.size().event_bytes), (0, 0));
    assert_eq!(store.size().resources, 2);
    store.close(&place());
    store.compact_until(store.revision());
    assert_eq!(store.size().resources, 1, "it is not served any more");
}

#[tokio::test]
async fn a_reader_takes_a_part_at_a_time_and_misses_nothing() {
    let store = Store::default();
    let mut events = store.follow(&place(), 1).unwrap();
    for _ in 0..AT_ONCE {
        put_and_delete(&store, &place(), &object("a", 1));
    }
    let mut last = 1;
    for _ in 0..2 {
        events.changed().await.unwrap();
        let (part, reached) = events.take().unwrap();
        assert_eq!(part.len(), AT_ONCE);
        for event in part {
            last += 1;
            assert_eq!(event.entry.revision, last);
        }
        assert_eq!(reached, last);
    }
    let (rest, reached) = events.take().unwrap();
    assert_eq!((rest.len(), reached), (0, store.revision()));
}
