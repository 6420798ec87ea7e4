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

/// Every pair of these paths, of every one of these objects.
#[test]
fn a_text_is_cut_as_its_tree_is() {
    let paths = [
        ".spec",
        ".spec.a",
        ".spec.a.b",
        ".spec.list",
        ".spec.list[*]",
        ".spec.list[*].a",
        ".spec.list[*].a.b",
        ".spec.list[*].c[*].d",
        ".spec.grid[*][*]",
        ".spec.grid[*][*].a",
        ".spec['a.b']",
        ".spec['q\"q']",
        ".spec['é']",
        ".status.none",
        ".metadata.labels",
        ".kind.x",
        ".none",
    ];
    let specs = [
        json!(null),
        json!(7),
        json!("{\"a\":1}"),
        json!([]),
        json!({}),
        json!({ "a": 1, "b": 2 }),
        json!({ "a": {}, "list": [] }),
        json!({ "a": { "b": null, "c": "]" }, "a.b": true, "q\"q": -1.5e3, "é": "ü\\" }),
        json!({ "list": [{ "a": 1, "x": "}" }, {}, 7, null, "t", [], [1], { "a": { "b": [] } }] }),
        json!({ "list": [{ "c": [{ "d": 1, "e": 2 }, { "e": 3 }] }, { "c": {} }, { "c": [] }] }),
        json!({ "list": { "a": 1 }, "grid": [[1, { "a": 2 }], [], {}, 3] }),
    ];
    for spec in specs {
        let object = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "labels": { "a": "\\\"" }, "name": "a" },
            "spec": spec, "status": { "some": [{}] },
        });
        let texts = [
            object.to_string(),
            serde_json::to_string_pretty(&object).unwrap(),
        ];
        for one in paths {
            for other in paths {
                let fields = Fields::parse([one, other]).unwrap();
                for text in &texts {
                    let cut = fields.cut_text(text);
                    let cut: Value = serde_json::from_str(&cut).unwrap_or_else(|_| panic!("{cut}"));
                    assert_eq!(cut, fields.cut(&object), "{one} {other} {text}");
                }
            }
        }
    }
}

#[test]
fn whatever_the_text_is_cutting_it_ends() {
    let long = format!(".{}", vec!["a"; 100_000].join("."));
    let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let fields = Fields::parse([&*long, ".b[*].c", ".d"]).unwrap();
    let whole = r#"{"b":[{"c":"é\"","x":1},2],"d":{"e":[null]}}"#;
    let parts = (0..whole.len()).filter_map(|at| whole.get(..at));
    for text in parts.chain(["", "}", "]", "7", "{,,}", "{\"b\"[}", &deep]) {
        let kept = fields.cut_text(text);
        assert!(kept.len() <= text.len() + 8, "{text}");
    }
    // More steps than are followed lead to a value that is there whole.
    assert_eq!(fields.cut_text(&deep), deep);
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
