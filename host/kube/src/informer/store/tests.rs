//! The store by itself, event by event.

use serde_json::json;

use super::*;

fn object(name: &str, uid: &str, version: u64) -> Object {
    let metadata = json!({
        "namespace": "n", "name": name, "uid": uid, "resourceVersion": version.to_string(),
    });
    Object::new(&json!({ "metadata": metadata })).unwrap()
}

fn key(name: &str) -> Key {
    Key::new(Some("n"), name)
}

fn version(store: &Store, name: &str) -> Option<u64> {
    let held = store.get(&key(name))?;
    Some(held.metadata.version())
}

/// What came of an event: `-x@10` for an object that went, `+x@10` for one that came, `!` for one that
/// the store is past.
fn told(shown: &Shown) -> String {
    let named = |object: &Option<Object>, sign: &str| {
        let metadata = object.as_ref().map(|object| &object.metadata);
        metadata.map_or(String::new(), |metadata| {
            format!("{sign}{}@{}", metadata.uid, metadata.version())
        })
    };
    match shown {
        Shown::Changed(change) => named(&change.old, "-") + &named(&change.new, "+"),
        Shown::Known(_) => "!".into(),
        Shown::Nothing => String::new(),
    }
}

fn list(store: &mut Store, version: u64, objects: Vec<Object>) -> Vec<String> {
    store.begin_list();
    let mut all: Vec<Shown> = objects
        .into_iter()
        .map(|object| store.show(object, 0))
        .collect();
    all.extend(store.end_list(version));
    all.iter()
        .map(told)
        .filter(|told| !told.is_empty())
        .collect()
}

#[test]
fn it_never_moves_back_in_time() {
    let mut store = Store::new(false, None);
    assert_eq!(told(&store.show(object("x", "u", 10), 0)), "+u@10");
    assert_eq!(told(&store.show(object("x", "u", 9), 0)), "!");
    assert_eq!(told(&store.show(object("x", "u", 10), 0)), "!", "an echo");
    assert!(store.learn(object("x", "u", 9), 0).is_none());
    assert_eq!(list(&mut store, 11, vec![object("x", "u", 8)]), ["!"]);
    assert_eq!(version(&store, "x"), Some(10));
}

#[test]
fn a_late_answer_does_not_bring_back_what_is_deleted() {
    let mut store = Store::new(false, None);
    store.show(object("x", "u", 10), 0);
    assert_eq!(told(&store.delete(object("x", "u", 11))), "-u@10");
    assert!(store.learn(object("x", "u", 10), 0).is_none());
    assert_eq!(told(&store.show(object("x", "u", 10), 0)), "");
    assert_eq!(told(&store.show(object("x", "v", 12), 0)), "+v@12");
}

#[test]
fn an_answer_about_what_the_watch_should_have_shown_is_too_late() {
    let mut store = Store::new(false, None);
    store.reach(10);
    assert!(store.learn(object("x", "u", 9), 0).is_none());
    assert!(store.learn(object("x", "u", 11), 0).is_some());
}

#[test]
fn an_object_that_left_the_selector_may_come_back() {
    let mut store = Store::new(true, None);
    store.show(object("x", "u", 10), 0);
    store.delete(object("x", "u", 11));
    assert_eq!(told(&store.show(object("x", "u", 12), 0)), "+u@12");
    assert!(store.forget(&key("x"), "u", u64::MAX).is_some());
    assert_eq!(
        told(&store.show(object("x", "u", 13), 0)),
        "",
        "gone for good"
    );
}

#[test]
fn what_the_watch_says_has_left_is_gone_though_an_answer_was_newer() {
    let mut store = Store::new(true, None);
    store.show(object("x", "u", 10), 0);
    store.learn(object("x", "u", 12), 0);
    assert_eq!(told(&store.delete(object("x", "u", 11))), "-u@12");
    assert_eq!(told(&store.show(object("x", "u", 13), 0)), "+u@13");
}

#[test]
fn an_old_deletion_shown_again_takes_nothing_out() {
    let mut store = Store::new(true, None);
    store.show(object("x", "u", 10), 0);
    store.delete(object("x", "u", 11));
    store.show(object("x", "u", 12), 0);
    assert_eq!(told(&store.delete(object("x", "u", 11))), "!");
    assert_eq!(version(&store, "x"), Some(12));
}

#[test]
fn delete_and_recreate_with_another_uid_is_one_change() {
    let mut store = Store::new(false, None);
    store.show(object("x", "u", 10), 0);
    assert_eq!(told(&store.show(object("x", "v", 12), 0)), "-u@10+v@12");
    assert_eq!(told(&store.delete(object("x", "u", 11))), "!");
    store.delete(object("x", "v", 13));
    assert_eq!(told(&store.show(object("x", "u", 10), 0)), "", "long gone");
}

#[test]
fn the_end_of_a_successor_is_the_end_of_those_before_it() {
    let mut store = Store::new(false, None);
    store.show(object("x", "u", 10), 0);
    assert_eq!(told(&store.delete(object("x", "v", 13))), "-u@10");
}

#[test]
fn a_relist_shows_what_is_gone() {
    let mut store = Store::new(false, None);
    list(
        &mut store,
        5,
        vec![object("x", "u", 1), object("y", "v", 2)],
    );
    assert_eq!(
        list(&mut store, 9, vec![object("y", "v", 2)]),
        ["!", "-u@1"]
    );
    assert_eq!(
        told(&store.show(object("x", "u", 9), 0)),
        "",
        "older than the list"
    );
    assert_eq!(told(&store.show(object("x", "u", 10), 0)), "+u@10");
}

#[test]
fn a_relist_leaves_alone_what_is_newer() {
    let mut store = Store::new(false, None);
    store.learn(object("old", "u", 10), 0);
    store.learn(object("new", "v", 20), 0);
    assert_eq!(list(&mut store, 15, Vec::new()), ["-u@10"]);
    assert_eq!(version(&store, "new"), Some(20));
    assert_eq!(list(&mut store, 20, Vec::new()), ["-v@20"]);
}

#[test]
fn a_relist_by_selector_tells_what_has_left() {
    let mut store = Store::new(true, None);
    store.show(object("x", "u", 10), 0);
    store.learn(object("x", "u", 20), 0);
    assert_eq!(list(&mut store, 15, Vec::new()), ["-u@20"]);
    assert_eq!(told(&store.show(object("x", "u", 21), 0)), "+u@21");
}

#[test]
fn a_list_that_turns_out_to_be_old_brings_nothing_back() {
    let mut store = Store::new(false, None);
    list(&mut store, 20, Vec::new());
    store.begin_list();
    assert_eq!(told(&store.show(object("gone", "u", 10), 0)), "");
    assert_eq!(told(&store.show(object("new", "v", 21), 0)), "+v@21");
    store.drop_list();
    assert_eq!(
        (version(&store, "gone"), version(&store, "new")),
        (None, Some(21))
    );
    let listed = vec![object("lost", "w", 11), object("new", "v", 21)];
    assert_eq!(list(&mut store, 22, listed), ["!", "+w@11"]);
}

#[test]
fn only_objects_with_the_finalizer_are_kept() {
    let with = |version: u64, finalizers: &[&str]| {
        let metadata = json!({
            "name": "x", "uid": "u", "resourceVersion": version.to_string(), "finalizers": finalizers,
        });
        Object::new(&json!({ "metadata": metadata })).unwrap()
    };
    let mut store = Store::new(false, Some("f".into()));
    assert_eq!(told(&store.show(with(1, &[]), 0)), "");
    assert_eq!(told(&store.show(with(2, &["f"]), 0)), "+u@2");
    assert_eq!(told(&store.show(with(3, &["g"]), 0)), "-u@2");
    assert_eq!(told(&store.show(with(4, &["f", "g"]), 0)), "+u@4");
    assert_eq!(store.size().0, 1);
}

#[test]
fn a_wider_cut_takes_the_place_of_a_narrower_one_and_is_no_change() {
    let mut store = Store::new(false, None);
    store.show(object("x", "u", 10), 0);
    store.keep(Fields::parse([".spec"]).unwrap());
    let mut wider = object("x", "u", 10).value();
    wider["spec"] = json!(1);
    let wider = Object::new(&wider).unwrap();
    assert_eq!(told(&store.show(wider.clone(), store.cut().edition)), "!");
    assert_eq!(store.get(&key("x")).unwrap().json.text(), wider.json.text());
    store.show(object("x", "u", 10), 0);
    assert_eq!(
        store.get(&key("x")).unwrap().json.text(),
        wider.json.text(),
        "not back"
    );
}

#[test]
fn nothing_is_left_of_a_kind_that_is_served_no_more() {
    let mut store = Store::new(false, None);
    store.show(object("x", "u", 10), 0);
    let gone: Vec<String> = store.clear().iter().map(told).collect();
    assert_eq!(gone, ["-u@10"]);
    assert_eq!(store.size(), (0, 0));
}

#[test]
fn a_list_looks_at_what_it_may_select_alone() {
    let mut store = Store::new(false, None);
    for number in 0..10_000 {
        let namespace = format!("n{}", number % 10);
        let metadata = json!({
            "namespace": namespace, "name": format!("m{number}"), "uid": number.to_string(),
            "resourceVersion": "1", "labels": { "app": (number / 10).to_string() },
        });
        store.show(Object::new(&json!({ "metadata": metadata })).unwrap(), 0);
    }
    assert_eq!(store.find(None, None).len(), 10_000);
    assert_eq!(store.find(Some("n1"), None).len(), 1000);
    assert_eq!(store.find(None, Some(("app", "7"))).len(), 10);
    assert_eq!(store.find(Some("n1"), Some(("app", "7"))).len(), 1);
    assert_eq!(store.find(Some("n"), Some(("app", "7"))).len(), 0);
    assert_eq!(store.find(None, Some(("app", "none"))).len(), 0);
}
