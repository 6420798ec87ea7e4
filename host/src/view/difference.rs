//! What a write changed, field by field, for people: paths as in CustomResourceDefinitions, values cut short.

use serde_json::Value;

/// So many fields are named.
const MOST: usize = 32;
/// So much of a value is shown.
const LONGEST: usize = 120;

/// One field that a write changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where: `.spec.replicas`, `.spec.containers[0].image`, `.data['app.conf']`.
    pub path: String,
    /// What was there, as JSON; none if nothing was.
    pub before: Option<String>,
    /// What is there now, as JSON; none if nothing is.
    pub after: Option<String>,
}

/// The fields in which two objects differ, but for what the server counts by itself. Of a Secret no value
/// is shown.
pub(super) fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let secret = [before, after]
        .iter()
        .any(|object| object.get("kind").and_then(Value::as_str) == Some("Secret"));
    let shown = |value: Option<&Value>| {
        value.map(|value| match secret {
            true => "…".to_owned(),
            false => short(value),
        })
    };
    let patch = json_patch::diff(before, after);
    let paths = patch.iter().map(|operation| operation.path());
    let paths = paths.filter(|path| !counted(path.as_str())).take(MOST);
    let difference = |path: &json_patch::jsonptr::Pointer| Difference {
        path: spelled(before, path),
        before: shown(path.resolve(before).ok()),
        after: shown(path.resolve(after).ok()),
    };
    paths.map(difference).collect()
}

/// Whether the server changes this field by itself with every write.
fn counted(path: &str) -> bool {
    let fields = ["resourceVersion", "generation", "managedFields"];
    let field = path.strip_prefix("/metadata/");
    field.is_some_and(|field| fields.contains(&field)) || ["/apiVersion", "/kind"].contains(&path)
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// A pointer as a path; what is an index depends on the object.
fn spelled(object: &Value, path: &json_patch::jsonptr::Pointer) -> String {
    let mut spelled = String::new();
    let mut at = Some(object);
    for token in path.tokens() {
        let field = token.decoded();
        let plain = field
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let index: Option<usize> = field.parse().ok();
        match (at, index) {
            (Some(Value::Array(items)), Some(index)) => {
                spelled.push_str(&format!("[{index}]"));
                at = items.get(index);
            }
            _ => {
                match plain {
                    true => spelled.push_str(&format!(".{field}")),
                    false => spelled.push_str(&format!("['{field}']")),
                }
                at = at.and_then(|at| at.get(&*field));
            }
        }
    }
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// `path before after`, one for each difference.
    fn told(before: &Value, after: &Value) -> Vec<String> {
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
            (json!({}), json!({"a": {"b": []}}), vec![r#".a - {"b":[]}"#]),
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
            assert_eq!(told(&before, &after), want, "{before} {after}");
        }
    }

    #[test]
    fn nothing_of_a_secret_is_shown_and_nothing_is_long() {
        let secret = |value: &str| json!({"kind": "Secret", "data": {"password": value}});
        assert_eq!(told(&secret("a"), &secret("b")), [".data.password … …"]);
        let long = |fill: &str| json!({"data": {"a": fill.repeat(1000)}});
        let told = differences(&long("ä"), &long("b"));
        assert!(told[0].before.as_ref().unwrap().chars().count() <= LONGEST + 1);
        let many = |value: u32| (0..1000).map(|n| (format!("f{n}"), json!(value))).collect();
        let many = |value| Value::Object(many(value));
        assert_eq!(differences(&many(1), &many(2)).len(), MOST);
    }
}
