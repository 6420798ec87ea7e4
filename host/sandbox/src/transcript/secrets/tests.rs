use super::*;
use serde_json::json;
use windlass_base::text::clean;

fn hide(value: &mut Value) -> usize {
    let mut values = Values::default();
    values.collect(value);
    values.hider().hide(value);
    values.count()
}

#[test]
fn what_a_secret_holds_is_nowhere() {
    let secret = json!({
        "kind": "Secret",
        "metadata": { "annotations": { "last": "{\"data\":{\"key\":\"aHVudGVyMgo=\"}}" } },
        "data": { "key": "aHVudGVyMgo=", "raw": "/w==", "short": "YWI=" },
    });
    let mut recording = json!({
        "calls": [
            { "call": "get", "answer": { "ok": secret } },
            { "call": "apply", "arguments": { "object": { "kind": "ConfigMap", "data": {
                "url": "postgres://me:hunter2@db", "other": "abc", "same": "ab",
            } } } },
            { "call": "apply", "arguments": { "object": { "kind": "Secret", "stringData": { "new": "s3cret" } } } },
            { "call": "patch", "arguments": {
                "target": { "kind": "Secret" }, "patch": { "stringData": { "a": "patched" } } } },
            { "call": "patch", "arguments": {
                "target": { "kind": "Secret" }, "patch": [{ "op": "add", "path": "/data/b", "value": "aW5wbGFjZQ==" }] } },
            { "call": "create-subresource", "answer": { "ok": { "kind": "TokenRequest", "status": { "token": "eyJhbGci" } } } },
            { "call": "publish", "arguments": { "note": "uses s3cret, patched, inplace and eyJhbGci" } },
        ],
        "outcome": { "failed": { "output": "panicked: hunter2 is wrong" } },
    });
    assert_eq!(hide(&mut recording), 7);
    let text = recording.to_string();
    for secret in [
        "hunter2", "aHVudGVy", "s3cret", "patched", "inplace", "aW5w", "eyJ", "YWI=", "/w==",
    ] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let at = |pointer: &str| recording.pointer(pointer).and_then(Value::as_str);
    assert_eq!(at("/calls/0/answer/ok/data/key"), Some("aGlkZGVu"));
    let data = "/calls/1/arguments/object/data";
    assert_eq!(at(&format!("{data}/url")), Some("postgres://me:hidden@db"));
    assert_eq!(
        at(&format!("{data}/other")),
        Some("abc"),
        "too short to be found in a text"
    );
    assert_eq!(at(&format!("{data}/same")), Some("hidden"));
    assert_eq!(
        at("/outcome/failed/output"),
        Some("panicked: hidden is wrong")
    );
}

#[test]
fn without_secrets_nothing_changes() {
    let mut recording = json!({ "object": { "kind": "Greeting", "data": { "a": "b" } } });
    let before = recording.clone();
    assert_eq!((hide(&mut recording), &recording), (0, &before));
}

#[test]
fn a_value_is_hidden_in_each_of_its_forms() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADAN\n-----END KEY-----\n";
    let config = r#"{"stringData":{"a":"say \"hi\" twice"}}"#;
    let mut recording = json!({
        "a": { "kind": "Secret", "stringData": { "key": key, "a": "say \"hi\" twice", "token": "tokentokentoken" },
            "metadata": { "annotations": { LAST_APPLIED: config } } },
        "failed": format!("bad key {}", clean(key, 4096)),
        "debug": format!("{key:?}"),
        "cut": "its second line is MIIEvQIBADAN and no more",
        "json": config,
        "labels": { "tokentokentoken": "x" },
    });
    hide(&mut recording);
    let text = recording.to_string();
    for secret in ["MIIE", "hi\\\"", "tokentoken"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

/// A word that is in many Secrets is hidden in the Secret, and stays where it is elsewhere.
#[test]
fn a_common_word_is_hidden_in_secrets_alone() {
    let secret = json!({
        "kind": "Secret", "metadata": { "name": "s", "namespace": "default" },
        "data": { "tls": "dHJ1ZQ==", "empty": "" }, "stringData": { "namespace": "default", "user": "admin" },
    });
    let merge = json!({ "stringData": { "user": "admin" } });
    let operations = json!([
        { "op": "add", "path": "/stringData/user", "value": "admin" },
        { "op": "add", "path": "/data", "value": { "tls": "dHJ1ZQ==" } },
        { "op": "replace", "path": "", "value": { "stringData": { "user": "admin" } } },
        { "op": "add", "path": "/metadata/labels/user", "value": "admin" },
    ]);
    let target = json!({ "kind": "Secret" });
    let mut recording = json!({ "calls": [
        secret,
        { "target": target, "patch": merge },
        { "target": target, "patch": operations },
        { "kind": "Greeting", "metadata": { "namespace": "default" }, "spec": { "admin": "true" } },
    ] });
    hide(&mut recording);
    assert_eq!(
        recording["calls"],
        json!([
            { "kind": "Secret", "metadata": { "name": "s", "namespace": "default" },
              "data": { "tls": "aGlkZGVu", "empty": "" }, "stringData": { "namespace": "hidden", "user": "hidden" } },
            { "target": target, "patch": { "stringData": { "user": "hidden" } } },
            { "target": target, "patch": [
                { "op": "add", "path": "/stringData/user", "value": "hidden" },
                { "op": "add", "path": "/data", "value": { "tls": "aGlkZGVu" } },
                { "op": "replace", "path": "", "value": { "stringData": { "user": "hidden" } } },
                { "op": "add", "path": "/metadata/labels/user", "value": "admin" },
            ] },
            { "kind": "Greeting", "metadata": { "namespace": "default" }, "spec": { "admin": "true" } },
        ])
    );
}

/// From the text of a patch, and from a tree of it.
#[test]
fn a_patch_of_a_secret_is_a_source_of_values() {
    let rows = [
        (r#"{"stringData":{"a":"hunter2"}}"#, Some("hunter2")),
        (r#" {"data":{"a":"aHVudGVyMg=="}}"#, Some("hunter2")),
        (r#"{"metadata":{"labels":{"a":"hunter2"}}}"#, None),
        (
            r#"[{"op":"add","path":"/stringData/a","value":"hunter2"}]"#,
            Some("hunter2"),
        ),
        (
            r#" [{"op":"add","path":"/data/a","value":"aHVudGVyMg=="}]"#,
            Some("hunter2"),
        ),
        (
            r#"[{"op":"add","path":"/data","value":{"a":"aHVudGVyMg=="}}]"#,
            Some("hunter2"),
        ),
        (
            r#"[{"op":"replace","path":"","value":{"stringData":{"a":"hunter2"}}}]"#,
            Some("hunter2"),
        ),
        (
            r#"[{"op":"add","path":"/d\u0061ta/a","value":"aHVudGVyMg=="},{"op"#,
            Some("hunter2"),
        ),
        (r#"[{"op":"remove","path":"/data/a"}]"#, None),
        (r#"[{"op":"add","path":"/type","value":"hunter2"}]"#, None),
        ("[7]", None),
        ("", None),
    ];
    for (patch, want) in rows {
        let mut values = Values::default();
        values.collect_patch(patch);
        let want: Vec<&[u8]> = want.into_iter().map(str::as_bytes).collect();
        assert!(
            values.held.iter().map(Vec::as_slice).eq(want.clone()),
            "{patch}"
        );
        if let Ok(tree) = serde_json::from_str::<Value>(patch) {
            let mut values = Values::default();
            values.collect(&json!({ "target": { "kind": "Secret" }, "patch": tree }));
            assert!(values.held.iter().map(Vec::as_slice).eq(want), "{patch}");
        }
    }
}

#[test]
fn what_stands_in_place_of_a_value_is_not_looked_into() {
    let parts: Vec<String> = ["hidd", "idde", "dden", "aGlk", "GlkZ", "kZGV", "ZGVu"]
        .iter()
        .map(|part| (*part).to_owned())
        .collect();
    let data: Map<String, Value> = parts
        .iter()
        .map(|part| (part.clone(), part.clone().into()))
        .collect();
    let mut recording =
        json!({ "a": { "kind": "Secret", "stringData": data }, "b": "x hidd idde x" });
    hide(&mut recording);
    assert_eq!(recording["b"], "x hidden hidden x");
}

#[test]
fn what_an_object_is_stays_though_a_value_says_the_same() {
    let mut recording = json!({
        "a": { "kind": "Secret", "stringData": { "user": "postgres" } },
        "b": { "apiVersion": "postgres.example.com/v1", "kind": "postgres", "host": "postgres" },
    });
    hide(&mut recording);
    assert_eq!(
        recording["b"],
        json!({ "apiVersion": "postgres.example.com/v1", "kind": "postgres", "host": "hidden" })
    );
}
