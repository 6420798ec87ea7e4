//! What is seen of an object by what a manager owns of it.

use super::*;
use serde_json::json;

fn object(fields: &Value, spec: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "metadata": { "name": "a", "managedFields": [
            { "manager": "windlass/p", "operation": "Apply", "apiVersion": "v1",
              "fieldsType": "FieldsV1", "fieldsV1": { "f:spec": fields } },
        ] },
        "spec": spec,
    })
}

fn owned_in(object: &Value) -> Option<Arc<[Owned]>> {
    let text = object.to_string();
    let parts = RawFields::of(&text).unwrap();
    let metadata = RawFields::within(parts.get("metadata").unwrap()).unwrap();
    owned(&parts, &metadata, object["apiVersion"].as_str())
}

fn of(fields: &Value, spec: &Value) -> Option<[u8; 16]> {
    let owned = owned_in(&object(fields, spec));
    digest(owned.as_deref(), "windlass/p", false)
}

#[test]
fn the_values_that_a_field_set_leads_to_are_seen_and_no_others() {
    let port = json!({ "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:name": {} } });
    let rows = [
        // Fields, what was there, what is there now, and whether that is seen.
        (
            json!({ "f:a": {} }),
            json!({ "a": 1 }),
            json!({ "a": 2 }),
            true,
        ),
        (
            json!({ "f:a": {} }),
            json!({ "a": 1 }),
            json!({ "a": 1, "b": 2 }),
            false,
        ),
        (json!({ "f:a": {} }), json!({ "a": 1 }), json!({}), true),
        (
            json!({ "f:a": {} }),
            json!({ "a": {} }),
            json!({ "a": { "b": 1 } }),
            true,
        ),
        (
            json!({ "f:a": { "f:b": {} } }),
            json!({ "a": { "b": 1 } }),
            json!({ "a": { "b": 1, "c": 2 } }),
            false,
        ),
        (
            json!({ "f:a": { ".": {}, "f:b": {} } }),
            json!({ "a": { "b": 1 } }),
            json!({ "a": { "b": 1, "c": 2 } }),
            false,
        ),
        (
            json!({ "f:a": { ".": {} } }),
            json!({ "a": {} }),
            json!({}),
            true,
        ),
        (
            json!({ "f:a": { ".": {} } }),
            json!({ "a": {} }),
            json!({ "a": { "b": 1 } }),
            false,
        ),
        // A name may hold what separates steps elsewhere.
        (
            json!({ "f:x.dev/y:z": {} }),
            json!({ "x.dev/y:z": 1 }),
            json!({ "x.dev/y:z": 2 }),
            true,
        ),
        // Keyed lists: wherever the item stands, and none but it.
        (
            json!({ "f:p": port }),
            json!({ "p": [{ "port": 80, "protocol": "TCP", "name": "a" }] }),
            json!({ "p": [{ "port": 80, "protocol": "UDP", "name": "x" }, { "port": 80, "protocol": "TCP", "name": "a", "node": 3 }] }),
            false,
        ),
        (
            json!({ "f:p": port }),
            json!({ "p": [{ "port": 80, "protocol": "TCP", "name": "a" }] }),
            json!({ "p": [{ "port": 80, "protocol": "TCP", "name": "b" }] }),
            true,
        ),
        (
            json!({ "f:p": port }),
            json!({ "p": [{ "port": 80, "protocol": "TCP", "name": "a" }] }),
            json!({ "p": [{ "port": 81, "protocol": "TCP", "name": "a" }] }),
            true,
        ),
        (
            json!({ "f:p": { "k:{\"n\":\"a\"}": {} } }),
            json!({ "p": [{ "n": "a", "v": 1 }] }),
            json!({ "p": [{ "n": "a", "v": 2 }] }),
            true,
        ),
        // Sets.
        (
            json!({ "f:s": { "v:\"x\"": {} } }),
            json!({ "s": ["x"] }),
            json!({ "s": ["y", "x"] }),
            false,
        ),
        (
            json!({ "f:s": { "v:\"x\"": {} } }),
            json!({ "s": ["x"] }),
            json!({ "s": ["y"] }),
            true,
        ),
        (
            json!({ "f:s": { "v:1": {} } }),
            json!({ "s": [1] }),
            json!({ "s": ["1"] }),
            true,
        ),
        // By place.
        (
            json!({ "f:l": { "i:1": { "f:a": {} } } }),
            json!({ "l": [0, { "a": 1 }] }),
            json!({ "l": [9, { "a": 1 }] }),
            false,
        ),
        (
            json!({ "f:l": { "i:1": { "f:a": {} } } }),
            json!({ "l": [0, { "a": 1 }] }),
            json!({ "l": [{ "a": 1 }, 0] }),
            true,
        ),
        // What leads into something else leads nowhere.
        (
            json!({ "f:p": port }),
            json!({ "p": 7 }),
            json!({ "p": "x" }),
            false,
        ),
    ];
    for (fields, before, now, seen) in rows {
        let (before_digest, now_digest) = (of(&fields, &before), of(&fields, &now));
        assert!(before_digest.is_some(), "{fields}");
        assert_eq!(
            before_digest != now_digest,
            seen,
            "{fields}: {before} {now}"
        );
    }
}

#[test]
fn the_field_set_itself_is_seen() {
    let spec = json!({ "a": 1, "b": null });
    let sets = [
        json!({}),
        json!({ "f:a": {} }),
        json!({ "f:a": {}, "f:b": {} }),
    ];
    let mut digests: Vec<_> = sets.iter().map(|set| of(set, &spec)).collect();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), sets.len());
}

#[test]
fn only_what_a_manager_of_ours_applied_in_this_version_counts_as_applied() {
    let entry = json!({ "manager": "windlass/p", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {} });
    let counts = |field: &str, value: &str| {
        let mut entry = entry.clone();
        entry[field] = json!(value);
        let object = json!({ "apiVersion": "v1", "metadata": { "managedFields": [entry] } });
        let owned = owned_in(&object);
        let applied = |part: &Owned| part.applied && part.digest.is_some();
        owned.is_some_and(|owned| owned.iter().any(applied))
    };
    assert!(counts("manager", "windlass/p/0011aaff"));
    assert!(counts("subresource", "status"));
    for (field, value) in [
        ("manager", "windlass"),
        ("manager", "kubectl"),
        ("operation", "Update"),
        ("apiVersion", "v2"),
        ("subresource", "scale"),
    ] {
        assert!(!counts(field, value), "{field} {value}");
    }
    for odd in [
        json!(null),
        json!(7),
        json!([7]),
        json!([{ "manager": "windlass/p" }]),
    ] {
        assert!(owned_in(&json!({ "metadata": { "managedFields": odd } })).is_none());
    }
}

#[test]
fn who_applied_the_label_of_a_set_is_known_in_any_version() {
    let entry = json!({
        "manager": "windlass/p", "operation": "Apply", "apiVersion": "v2",
        "fieldsV1": { "f:metadata": { "f:labels": { "f:windlass.dev/set": {} } } },
    });
    let applied = |entry: &Value| {
        let object = json!({ "apiVersion": "v1", "metadata": { "managedFields": [entry] } });
        owns_set_label(owned_in(&object).as_deref(), "windlass/p")
    };
    assert!(applied(&entry));
    for (field, value) in [
        ("manager", json!("windlass/q")),
        ("operation", json!("Update")),
        ("subresource", json!("status")),
        ("fieldsV1", json!({ "f:metadata": { "f:labels": {} } })),
        ("fieldsV1", json!({ "f:data": {} })),
    ] {
        let mut other = entry.clone();
        other[field] = value;
        assert!(!applied(&other), "{other}");
    }
}

#[test]
fn a_status_is_a_part_of_its_own() {
    let mut object = object(&json!({ "f:a": {} }), &json!({ "a": 1 }));
    object["metadata"]["managedFields"][0]["subresource"] = json!("status");
    let owned = owned_in(&object);
    assert!(digest(owned.as_deref(), "windlass/p", true).is_some());
    assert!(digest(owned.as_deref(), "windlass/p", false).is_none());
}

/// An object of which each of these field managers has written a field of `data`.
fn written(parts: &[(&str, &str, &str)], data: &Value) -> Arc<[Owned]> {
    let entry = |(manager, operation, field): &(&str, &str, &str)| {
        let fields = json!({ "f:data": { format!("f:{field}"): {} } });
        json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields })
    };
    let entries: Vec<_> = parts.iter().map(entry).collect();
    let metadata = json!({ "name": "a", "managedFields": entries });
    owned_in(&json!({ "apiVersion": "v1", "metadata": metadata, "data": data })).unwrap_or_default()
}

#[test]
fn a_change_concerns_the_managers_whose_part_it_changes() {
    let (a, b) = (
        ("windlass/p/a", "Apply", "a"),
        ("windlass/p/b", "Update", "b"),
    );
    let before = written(&[a, b], &json!({ "a": "1", "b": "1", "c": "1" }));
    let rows = [
        (
            &[a, b][..],
            json!({ "a": "1", "b": "1", "c": "1" }),
            &[][..],
        ),
        (&[a, b], json!({ "a": "1", "b": "1", "c": "2" }), &[]),
        (&[a, b], json!({ "a": "2", "b": "1" }), &["windlass/p/a"]),
        (&[a, b], json!({ "a": "1", "b": "2" }), &["windlass/p/b"]),
        // Somebody took it away, or took it over.
        (&[b], json!({ "a": "1", "b": "1" }), &["windlass/p/a"]),
        (&[], json!({}), &["windlass/p/a", "windlass/p/b"]),
        // What was created and is applied now is another part of the same manager.
        (
            &[a, ("windlass/p/b", "Apply", "b")],
            json!({ "a": "1", "b": "1" }),
            &["windlass/p/b"],
        ),
    ];
    for (parts, data, concerned) in rows {
        let now = written(parts, &data);
        let want = concerned.iter().map(|manager| Tag::of_manager(manager));
        assert_eq!(changed(&before, &now), want.collect(), "{parts:?} {data}");
    }
}

#[test]
fn a_part_whose_values_are_not_known_may_have_changed() {
    let mut object = object(&json!({ "f:a": {} }), &json!({ "a": 1 }));
    object["metadata"]["managedFields"][0]["apiVersion"] = json!("v0");
    let owned = owned_in(&object).unwrap();
    assert_eq!(
        changed(&owned, &owned),
        [Tag::of_manager("windlass/p")].into()
    );
}
