use super::*;
use serde_json::json;

#[test]
fn metadata_is_read_and_managed_fields_are_dropped() {
    let object = Object::new(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "12",
            "generation": 3, "deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["f"], "managedFields": [{ "manager": "m" }], "labels": { "l": "1" },
            "ownerReferences": [{ "apiVersion": "v1", "kind": "K", "name": "o", "uid": "ou" }],
        },
    }))
    .unwrap();
    let metadata = &object.metadata;
    assert!(metadata.deleting && metadata.has_finalizer("f"));
    assert_eq!((metadata.version(), metadata.generation), (12, Some(3)));
    assert_eq!(metadata.owners[0].name, "o");
    assert!(!object.json.text().contains("managedFields"));
}

#[test]
fn whoever_has_written_anything_of_an_object_is_known_if_it_is_one_of_ours() {
    let entry = |manager: &str, operation: &str| {
        json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": { "f:data": { "f:a": {} } } })
    };
    let managed = [
        entry("windlass/greeter", "Apply"),
        entry("windlass/other/6f1c2b5e", "Update"),
        entry("kubectl", "Update"),
    ];
    let object = Object::new(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "1" },
        "metadata": { "name": "a", "managedFields": managed },
    }))
    .unwrap();
    let uid = "6f1c2b5e-0000-4000-8000-00000000ada0";
    for (manager, want) in [
        (manager_of("greeter"), true),
        (manager_for("other", uid), true),
        (manager_for("greeter", uid), false),
        (manager_of("other"), false),
        ("kubectl".to_owned(), false),
    ] {
        assert_eq!(object.is_written_by(&manager), want, "{manager}");
    }
}

#[test]
fn what_a_user_asks_of_the_host_is_read_from_the_annotations() {
    let of = |annotations: serde_json::Value| {
        let metadata = json!({ "name": "a", "annotations": annotations });
        let object = Object::new(&json!({ "metadata": metadata })).unwrap();
        (object.metadata.paused, object.metadata.requested)
    };
    assert_eq!(of(json!(null)), (false, None));
    assert_eq!(of(json!({ "other": "true" })), (false, None));
    assert_eq!(of(json!({ PAUSED: "true" })), (true, None));
    for other in ["", "false", "True", "1"] {
        assert_eq!(of(json!({ PAUSED: other })), (false, None), "{other}");
    }
    let at = |time: &str| of(json!({ REQUESTED: time })).1;
    assert!(at("1").is_some());
    assert_eq!(at("1"), at("1"));
    assert_ne!(at("1"), at("2"));
}

/// An object with two fields, one of them nested so deep.
fn nested(levels: usize, inner: &str, other: &str) -> Object {
    let deep = format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels));
    let text = format!(
        r#"{{"apiVersion":"x.dev/v1","kind":"Bag","metadata":{{"labels":{{"l":"1"}},"name":"a"}},"spec":{{"a":{deep}}},"status":{{"b":{other}}}}}"#
    );
    let object = Object::parse(&text).unwrap();
    assert_eq!(object.json.text(), text, "nothing is lost");
    object
}

#[test]
fn an_object_is_kept_however_deep_it_is_nested() {
    let fields = |paths: &[&str]| Fields::parse(paths.iter().copied()).unwrap();
    // Two levels are the object's own.
    for (levels, cut) in [
        (125, true),
        (126, true),
        (127, false),
        (150, false),
        (10_000, false),
    ] {
        let (one, other) = (nested(levels, "1", "1"), nested(levels, "2", "1"));
        assert_eq!(one.metadata.labels["l"], "1");
        let of = |paths: &[&str]| one.text_of(&fields(paths));
        let about =
            r#"{"apiVersion":"x.dev/v1","kind":"Bag","metadata":{"labels":{"l":"1"},"name":"a"}"#;
        assert_eq!(
            of(&[".status.b"]),
            format!(r#"{about},"status":{{"b":1}}}}"#),
            "{levels}"
        );
        assert_eq!(of(&[".spec.b"]), format!("{about}}}"), "{levels}");
        let whole = of(&[".spec.a"]);
        assert!(whole.len() > 2 * levels, "{levels}");
        for kept in [fields(&[".spec.b"]), fields(&[".status.b"])] {
            let read = Object::of(&resource(), &one.json.text(), &kept).unwrap();
            assert_eq!(read.json.text(), one.text_of(&kept), "{levels}");
            assert_eq!(one.clone().cut_to(&kept).json.text(), read.json.text());
        }
        // A change within it is seen, and also told.
        assert!(!one.is_alike(&other, &Fields::default()));
        assert!(!one.is_alike(&other, &fields(&[".spec.a"])));
        assert!(one.is_alike(&other, &fields(&[".status"])));
        assert_eq!(one.is_alike(&other, &fields(&[".spec.b"])), cut, "{levels}");
        assert!(!one.is_alike(&nested(levels, "1", "2"), &fields(&[".status"])));
        assert!(one.is_alike(&nested(levels, "1", "1"), &Fields::default()));
        let (before, after) = one.unlike(&other);
        assert_ne!(before["spec"], after["spec"]);
        assert_eq!(before["metadata"], after["metadata"]);
        assert!(one.but_metadata().get("spec").is_some());
    }
}

fn resource() -> Resource {
    Resource {
        group: "x.dev".into(),
        version: "v1".into(),
        kind: "Bag".into(),
        plural: "bags".into(),
        namespaced: true,
    }
}

#[test]
fn a_number_keeps_all_its_digits() {
    let number = "1.1031304526203975e+217";
    let text = format!(r#"{{"metadata":{{"name":"x"}},"spec":{{"number":{number}}}}}"#);
    let object = Object::parse(&text).unwrap();
    assert_eq!(object.value()["spec"]["number"].to_string(), number);
}

#[test]
fn what_has_no_name_is_no_object() {
    assert!(Object::new(&json!({ "metadata": {} })).is_none());
    assert!(Object::new(&json!([])).is_none());
    assert!(Object::new(&json!({ "metadata": 7 })).is_none());
}
