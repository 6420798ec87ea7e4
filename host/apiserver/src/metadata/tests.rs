use serde_json::json;

use super::*;

const KEY: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and \
                   end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', \
                   regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

fn config_maps() -> Rules {
    Rules {
        name: NameRule::Subdomain,
        namespaced: true,
        own_finalizers: true,
        again: Again::After,
    }
}

fn lines(causes: &[Cause]) -> Vec<String> {
    let lines = causes.iter();
    lines
        .map(|cause| format!("{} {}: {}", cause.reason, cause.field, cause.message))
        .collect()
}

#[test]
fn an_objects_metadata_is_judged_as_the_real_server_does() {
    let two = json!([
        { "apiVersion": "v1", "kind": "X", "name": "a", "uid": "1", "controller": true },
        { "apiVersion": "v1", "kind": "Event", "name": "b", "uid": "2", "controller": true },
    ]);
    let both = r#"[{"apiVersion":"v1","kind":"X","name":"a","uid":"1","controller":true},{"apiVersion":"v1","kind":"Event","name":"b","uid":"2","controller":true}]"#;
    let event = r#"{"apiVersion":"v1","kind":"Event","name":"b","uid":"2","controller":true}"#;
    for (metadata, want) in [
        (json!({}), vec!["FieldValueRequired metadata.name: Required value: name or generateName is required".to_owned()]),
        (json!({ "name": "a", "labels": { "a b": "-" } }), vec![
            format!("FieldValueInvalid metadata.labels: Invalid value: \"a b\": {KEY}"),
            "FieldValueInvalid metadata.labels: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')".to_owned(),
        ]),
        (json!({ "name": "a", "annotations": { "A b": "x", "Ok": "y" } }), vec![
            format!("FieldValueInvalid metadata.annotations: Invalid value: \"A b\": {KEY}"),
        ]),
        (json!({ "name": "a", "annotations": { "a": "x".repeat(262_144) } }), vec![
            "FieldValueTooLong metadata.annotations: Too long: may not be more than 262144 bytes".to_owned(),
        ]),
        (json!({ "name": "a", "finalizers": ["a b", "x", "kubernetes", "c.d/e"] }), vec![
            format!("FieldValueInvalid metadata.finalizers: Invalid value: \"a b\": {KEY}"),
            "FieldValueInvalid metadata.finalizers[0]: Invalid value: \"a b\": name is neither a standard finalizer name nor is it fully qualified".to_owned(),
            "FieldValueInvalid metadata.finalizers[1]: Invalid value: \"x\": name is neither a standard finalizer name nor is it fully qualified".to_owned(),
        ]),
        (json!({ "name": "a", "finalizers": ["orphan", "foregroundDeletion"] }), vec![
            "FieldValueInvalid metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and foregroundDeletion cannot be both set".to_owned(),
        ]),
        (json!({ "name": "a", "ownerReferences": [{ "apiVersion": "a/b/c", "kind": "", "name": "", "uid": "" }] }), vec![
            "FieldValueInvalid metadata.ownerReferences.apiVersion: Invalid value: \"a/b/c\": version must not be empty".to_owned(),
            "FieldValueInvalid metadata.ownerReferences.kind: Invalid value: \"\": must not be empty".to_owned(),
            "FieldValueInvalid metadata.ownerReferences.name: Invalid value: \"\": must not be empty".to_owned(),
            "FieldValueInvalid metadata.ownerReferences.uid: Invalid value: \"\": must not be empty".to_owned(),
        ]),
        (json!({ "name": "a", "ownerReferences": two }), vec![
            format!("FieldValueInvalid metadata.ownerReferences: Invalid value: {event}: /v1, Kind=Event is disallowed from being an owner"),
            format!("FieldValueInvalid metadata.ownerReferences: Invalid value: {both}: Only one reference can have Controller set to true. Found \"true\" in references for X/a and Event/b"),
        ]),
        (json!({ "name": "a", "generation": -1 }), vec![
            "FieldValueInvalid metadata.generation: Invalid value: -1: must be greater than or equal to 0".to_owned(),
        ]),
    ] {
        let mut object = json!({ "metadata": metadata });
        object["metadata"]["namespace"] = "default".into();
        assert_eq!(lines(&validate_create(&object, config_maps())), want);
    }
}

#[test]
fn a_cluster_wide_object_has_no_namespace_and_a_namespaced_one_has() {
    let wide = Rules {
        namespaced: false,
        ..config_maps()
    };
    let object = json!({ "metadata": { "name": "a", "namespace": "b" } });
    assert_eq!(
        lines(&validate_create(&object, wide)),
        ["FieldValueForbidden metadata.namespace: Forbidden: not allowed on this type"]
    );
    let object = json!({ "metadata": { "name": "a" } });
    assert_eq!(
        lines(&validate_create(&object, config_maps())),
        ["FieldValueRequired metadata.namespace: Required value"]
    );
}

#[test]
fn what_must_not_change_is_named_once_for_every_kind_and_once_for_this_one() {
    let old = json!({ "metadata": {
        "name": "m1", "namespace": "a", "uid": "1", "resourceVersion": "5", "generation": 2,
        "creationTimestamp": "2020-01-01T00:00:00Z",
    } });
    let immutable = |field: &str, value: &str| {
        let line = format!(
            "FieldValueInvalid metadata.{field}: Invalid value: {value}: field is immutable"
        );
        vec![line.clone(), line]
    };
    for (field, value, want) in [
        ("uid", json!("x"), immutable("uid", "\"x\"")),
        ("name", json!("m2"), immutable("name", "\"m2\"")),
        ("deletionTimestamp", json!("2020-01-01T00:00:00Z"), immutable("deletionTimestamp", "\"2020-01-01T00:00:00Z\"")),
        ("deletionGracePeriodSeconds", json!(5), immutable("deletionGracePeriodSeconds", "5")),
        ("generation", json!(1), vec!["FieldValueInvalid metadata.generation: Invalid value: 1: must not be decremented".to_owned(); 2]),
        ("resourceVersion", json!(""), vec!["FieldValueInvalid metadata.resourceVersion: Invalid value: \"\": must be specified for an update".to_owned(); 2]),
        // Config maps are judged as at their creation, too.
        ("labels", json!({ "a b": "" }), vec![format!("FieldValueInvalid metadata.labels: Invalid value: \"a b\": {KEY}"); 4]),
    ] {
        let mut new = old.clone();
        new["metadata"][field] = value;
        assert_eq!(lines(&validate_update(&new, &old, config_maps())), want, "{field}");
    }
}

#[test]
fn an_object_that_goes_away_gets_no_new_finalizers() {
    let custom = Rules {
        own_finalizers: false,
        again: Again::No,
        ..config_maps()
    };
    let old = json!({ "metadata": {
        "name": "a", "namespace": "a", "resourceVersion": "5", "finalizers": ["x.y/z"],
        "deletionTimestamp": "2020-01-01T00:00:00Z",
    } });
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!(["n.ew/b", "x.y/z", "n.ew/a"]);
    let want = "FieldValueForbidden metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"n.ew/a\", \"n.ew/b\"}";
    assert_eq!(lines(&validate_update(&new, &old, custom)), [want, want]);
    assert_eq!(lines(&validate_update(&old, &old, custom)), [""; 0]);
}
