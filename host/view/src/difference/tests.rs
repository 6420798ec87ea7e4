//! What is told of the difference of two objects.

use super::*;

fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    super::differences([before, after], false, None)
}
use serde_json::json;

/// `path before after`, one for each difference.
fn lines(before: &Value, after: &Value) -> Vec<String> {
    let text = |side: Option<String>| side.unwrap_or_else(|| "-".into());
    let all = differences(before, after).into_iter();
    all.map(|one| format!("{} {} {}", one.path, text(one.before), text(one.after)))
        .collect()
}

#[test]
fn fields_are_named_with_what_was_there_and_is() {
    let cases = [
        (json!({"a": 1}), json!({"a": 2}), vec![".a 1 2"]),
        (json!({"a": 1}), json!({}), vec![".a 1 -"]),
        (json!({}), json!({"a": {"b": []}}), vec![".a.b - []"]),
        (
            json!({"data": {"app.conf": "x"}}),
            json!({"data": {"app.conf": "y"}}),
            vec![r#".data['app.conf'] "x" "y""#],
        ),
        (
            json!({"spec": {"containers": [{"image": "a"}]}}),
            json!({"spec": {"containers": [{"image": "b"}]}}),
            vec![r#".spec.containers[0].image "a" "b""#],
        ),
        (
            json!({"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}),
            json!({"metadata": {"resourceVersion": "2", "labels": {"a": "c"}}}),
            vec![r#".metadata.labels.a "b" "c""#],
        ),
        (json!({"a": 1}), json!({"a": 1}), vec![]),
    ];
    for (before, after, want) in cases {
        assert_eq!(lines(&before, &after), want, "{before} {after}");
    }
}

#[test]
fn what_was_made_is_told_field_by_field() {
    let created_lines = |made: &Value| -> Vec<String> {
        let all = super::created(made, made, None).applied.into_iter();
        all.map(|one| format!("{} {}", one.path, one.after.unwrap()))
            .collect()
    };
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "data": {"app.conf": "x", "text": "y"}, "empty": {}, "list": [1, 2],
    });
    let want = [
        r#".data['app.conf'] "x""#,
        r#".data.text "y""#,
        ".empty {}",
        ".list [1,2]",
    ];
    assert_eq!(created_lines(&map), want);
    let labelled = json!({
        "kind": "ConfigMap", "data": {"a": "b"},
        "metadata": {
            "name": "a", "uid": "u",
            "labels": {"app": "web", "windlass.dev/set": "x"},
            "annotations": {"example.com/owner": "team"},
        },
    });
    let want = [
        r#".data.a "b""#,
        r#".metadata.labels.app "web""#,
        r#".metadata.annotations['example.com/owner'] "team""#,
    ];
    assert_eq!(created_lines(&labelled), want);
    let secret = json!({"kind": "Secret", "data": {"password": "x"}, "type": "Opaque"});
    assert_eq!(created_lines(&secret), [".data.password …", ".type …"]);
    let many = (0..1000).map(|n| (format!("f{n}"), json!(n))).collect();
    assert_eq!(created_lines(&Value::Object(many)).len(), MOST);
}

#[test]
fn a_path_is_short_whatever_the_fields_are_called() {
    let long = "ä".repeat(100_000);
    let many = |value: u32| -> Value {
        let fields = (0..10_000).map(|n| (format!("{long}{n}"), json!(value)));
        json!({ "data": { long.clone(): Value::Object(fields.take(100).collect()) } })
    };
    let (one, two) = (many(1), many(2));
    for all in [
        differences(&one, &two),
        created(&two, &two, None).applied,
        differences(&json!({}), &two),
    ] {
        assert_eq!(all.len(), MOST);
        assert!(
            all.iter()
                .all(|one| one.path.chars().count() <= LONGEST_PATH + 1)
        );
    }
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!({ "f".repeat(100): deep });
    }
    let deep = json!({ "data": deep });
    let [one] = &created(&deep, &deep, None).applied[..] else {
        panic!("one field")
    };
    assert_eq!(one.path.chars().count(), LONGEST_PATH + 1);
}

#[test]
fn lists_are_compared_item_by_item() {
    let cases = [
        (
            json!({"a": [1, 2]}),
            json!({"a": [1, 3, 4]}),
            vec![".a[1] 2 3", ".a[2] - 4"],
        ),
        (json!({"a": [1, 2]}), json!({"a": [1]}), vec![".a[1] 2 -"]),
        (
            json!({"a": [1]}),
            json!({"a": {"b": 1}}),
            vec![r#".a [1] {"b":1}"#],
        ),
    ];
    for (before, after, want) in cases {
        assert_eq!(lines(&before, &after), want, "{before} {after}");
    }
}

#[test]
fn the_whole_of_a_value_is_compared_but_for_secrets() {
    let value = |kind: &str, end: &str| {
        let text = format!("{}{end}", "x".repeat(1000));
        let [old, new] = [String::new(), text].map(|a| json!({"kind": kind, "data": {"a": a}}));
        differences(&old, &new)[0].value
    };
    assert_eq!(value("ConfigMap", "a"), value("ConfigMap", "a"));
    assert_ne!(value("ConfigMap", "a"), value("ConfigMap", "b"));
    assert!(!value("Secret", "a").is_known());
    assert!(!format!("{:?}", value("ConfigMap", "a")).contains(char::is_numeric));
}

#[test]
fn nothing_of_a_secret_is_shown_and_nothing_is_long() {
    let secret = |value: &str| json!({"kind": "Secret", "data": {"password": value}});
    assert_eq!(lines(&secret("a"), &secret("b")), [".data.password … …"]);
    let long = |fill: &str| json!({"data": {"a": fill.repeat(1000)}});
    let told = differences(&long("ä"), &long("b"));
    assert!(told[0].before.as_ref().unwrap().chars().count() <= LONGEST + 1);
    let many = |value: u32| (0..1000).map(|n| (format!("f{n}"), json!(value))).collect();
    let many = |value| Value::Object(many(value));
    assert_eq!(differences(&many(1), &many(2)).len(), MOST);
}
