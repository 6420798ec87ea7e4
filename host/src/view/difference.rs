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
    let difference = |path: &json_patch::jsonptr::Pointer| {
        let (old, new) = (path.resolve(before).ok(), path.resolve(after).ok());
        let path = spelled(before, path);
        match (old, new) {
            // What is new is told field by field, as of an object that was made.
            (None, Some(new)) => leaves(path, new, secret),
            _ => vec![Difference {
                path,
                before: shown(old),
                after: shown(new),
            }],
        }
    };
    paths.flat_map(difference).take(MOST).collect()
}

/// The fields of an object that was made, but for its metadata. Of a Secret no value is shown.
pub(super) fn fields(made: &Value) -> Vec<Difference> {
    let secret = made.get("kind").and_then(Value::as_str) == Some("Secret");
    let own = made.as_object().into_iter().flatten();
    let own = own.filter(|(name, _)| !OF_ALL.contains(&name.as_str()));
    let fields = own.flat_map(|(name, value)| leaves(step(name), value, secret));
    fields.take(MOST).collect()
}

/// The fields of `value`, which is new at `path`.
fn leaves(path: String, value: &Value, secret: bool) -> Vec<Difference> {
    let mut leaves = Vec::new();
    let mut wait = vec![(path, value)];
    // The first field first: what waits is a stack.
    while let Some((path, value)) = wait.pop() {
        if leaves.len() == MOST {
            break;
        }
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                let inner = inner.iter().rev();
                wait.extend(inner.map(|(name, value)| (format!("{path}{}", step(name)), value)));
            }
            _ => leaves.push(Difference {
                path,
                before: None,
                after: Some(match secret {
                    true => "…".to_owned(),
                    false => short(value),
                }),
            }),
        }
    }
    leaves
}

/// What every object has.
const OF_ALL: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A field as a step of a path.
fn step(field: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match field.chars().all(plain) {
        true => format!(".{field}"),
        false => format!("['{field}']"),
    }
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
        let index: Option<usize> = field.parse().ok();
        match (at, index) {
            (Some(Value::Array(items)), Some(index)) => {
                spelled.push_str(&format!("[{index}]"));
                at = items.get(index);
            }
            _ => {
                spelled.push_str(&step(&field));
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
            assert_eq!(told(&before, &after), want, "{before} {after}");
        }
    }

    #[test]
    fn what_was_made_is_told_field_by_field() {
        let told = |made: &Value| -> Vec<String> {
            let all = fields(made).into_iter();
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
        assert_eq!(told(&map), want);
        let secret = json!({"kind": "Secret", "data": {"password": "x"}, "type": "Opaque"});
        assert_eq!(told(&secret), [".data.password …", ".type …"]);
        let many = (0..1000).map(|n| (format!("f{n}"), json!(n))).collect();
        assert_eq!(told(&Value::Object(many)).len(), MOST);
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
