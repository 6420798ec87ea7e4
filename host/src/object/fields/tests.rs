//! Objects cut to declared fields.

use super::*;
use serde_json::json;

/// Never less than what is kept, and not much more if no list is cut.
#[test]
fn the_length_of_fields_is_told_from_the_text() {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "labels": { "b": "c" } },
        "data": { "x": "1", "app.conf": "y".repeat(1000) }, "spec": { "list": [{ "a": 1, "b": "z".repeat(1000) }] },
    });
    let text = object.to_string();
    let rows: [(&[&str], usize); 8] = [
        (&[], 0),
        (&[".data.x"], 40),
        (&[".data['app.conf']"], 40),
        (&[".data.x", ".data['app.conf']"], 40),
        (&[".data.none", ".none.x", ".data.x.y"], 60),
        (&[".metadata.labels"], 80),
        (&[".spec.list[*].a"], 1060),
        (&[".data", ".spec"], 40),
    ];
    for (paths, slack) in rows {
        let fields = Fields::parse(paths.iter().copied()).unwrap();
        let (kept, told) = (
            fields.cut(&object).to_string().len(),
            fields.length_in(&text),
        );
        assert!(
            kept <= told && told <= kept + slack,
            "{paths:?} {kept} {told}"
        );
    }
    let many: Vec<String> = (0..=MANY).map(|number| format!(".f{number}")).collect();
    let many = Fields::parse(many.iter().map(String::as_str)).unwrap();
    assert_eq!(many.length_in(&text), text.len());
}

fn cut(paths: &[&str], object: &Value) -> Value {
    Fields::parse(paths.iter().copied()).unwrap().cut(object)
}

#[test]
fn only_declared_fields_are_kept() {
    let object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "a", "managedFields": [1] },
        "spec": { "replicas": 2, "secret": "s", "containers": [{ "image": "x", "env": [1] }, { "image": "y" }] },
        "data": { "app.conf": "c", "other": "o" },
    });
    let base = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" } });
    let with = |field: &str, value: Value| {
        let mut object = base.clone();
        object[field] = value;
        object
    };
    let cases = [
        (
            vec![".spec.replicas"],
            with("spec", json!({ "replicas": 2 })),
        ),
        (
            vec![".data['app.conf']"],
            with("data", json!({ "app.conf": "c" })),
        ),
        (
            vec![".spec.containers[*].image"],
            with(
                "spec",
                json!({ "containers": [{ "image": "x" }, { "image": "y" }] }),
            ),
        ),
        (
            vec![".spec.replicas", ".spec.containers[*].env"],
            with(
                "spec",
                json!({ "replicas": 2, "containers": [{ "env": [1] }, {}] }),
            ),
        ),
        (vec![".status"], base.clone()),
        (vec![".spec.replicas.deeper"], base.clone()),
        (vec![".metadata.name"], base.clone()),
    ];
    for (paths, want) in cases {
        assert_eq!(cut(&paths, &object), want, "{paths:?}");
    }
}

#[test]
fn no_declaration_keeps_all_but_managed_fields() {
    let object = json!({ "metadata": { "name": "a", "managedFields": [] }, "data": { "k": "v" } });
    assert_eq!(
        cut(&[], &object),
        json!({ "metadata": { "name": "a" }, "data": { "k": "v" } })
    );
}

#[test]
fn a_union_has_what_both_name_once() {
    let fields = |paths: &[&str]| Fields::parse(paths.iter().copied()).unwrap();
    let rows: [(&[&str], &[&str], &[&str]); 5] = [
        (&[".a"], &[".b"], &[".a", ".b"]),
        (&[".b", ".a"], &[".a"], &[".a", ".b"]),
        (&[".a.b", ".ab"], &[".a"], &[".a", ".ab"]),
        (&[".a[*].b"], &[".a[*].c"], &[".a[*].b", ".a[*].c"]),
        (&[".a"], &[], &[]),
    ];
    for (one, other, both) in rows {
        let union = fields(one).union(fields(other));
        assert_eq!(union, fields(both), "{one:?} {other:?}");
        assert!(union.covers(&fields(one)) && union.covers(&fields(other)));
    }
    assert!(fields(&[".a"]).covers(&fields(&[".a.b"])));
    assert!(!fields(&[".a.b"]).covers(&fields(&[".a"])));
    assert!(!fields(&[".a"]).covers(&fields(&[])));
}

#[test]
fn other_forms_are_refused() {
    for path in [
        "spec",
        "",
        "..spec",
        ".spec[0]",
        ".spec[?(@.a)]",
        ".spec.",
        ".a['b",
    ] {
        assert!(Fields::parse([path]).is_err(), "{path}");
    }
}
