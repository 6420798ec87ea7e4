//! What a write changed, field by field, for people: paths as in CustomResourceDefinitions, values cut short.

use std::sync::Arc;

use serde_json::Value;

/// So many fields are named.
const MOST: usize = 32;
/// So much of a value is shown, in characters; so much of a path, and of each of its steps.
const LONGEST: usize = 120;
const LONGEST_PATH: usize = 200;
const LONGEST_STEP: usize = 64;

/// Makes of the text of a value what people may be shown of it.
pub type Hide = Arc<dyn Fn(&str) -> String + Send + Sync>;

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

impl Difference {
    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        size_of::<Self>() + self.path.len() + text(&self.before) + text(&self.after)
    }
}

/// The fields in which two objects differ, but for what the server counts by itself. Of a Secret no value
/// is shown, and of others what `hide` makes of it.
pub(super) fn differences(before: &Value, after: &Value, hide: Option<&Hide>) -> Vec<Difference> {
    let mut walk = Walk::of([before, after], hide);
    walk.compare(Some(before), Some(after));
    walk.found
}

/// The fields of an object that was made, but for its metadata. Its values are shown as in [`differences`].
pub(super) fn fields(made: &Value, hide: Option<&Hide>) -> Vec<Difference> {
    let mut walk = Walk::of([made, made], hide);
    let own = made.as_object().into_iter().flatten();
    for (name, value) in own.filter(|(name, _)| !OF_ALL.contains(&name.as_str())) {
        walk.step(&step(name), |walk| walk.compare(None, Some(value)));
    }
    walk.found
}

/// Looks through two objects side by side, no further than there is something to tell.
struct Walk<'a> {
    secret: bool,
    hide: Option<&'a Hide>,
    /// Where it is.
    path: String,
    found: Vec<Difference>,
}

impl<'a> Walk<'a> {
    fn of(objects: [&Value; 2], hide: Option<&'a Hide>) -> Self {
        let is_secret =
            |object: &&Value| object.get("kind").and_then(Value::as_str) == Some("Secret");
        Self {
            secret: objects.iter().any(is_secret),
            hide,
            path: String::new(),
            found: Vec::new(),
        }
    }

    /// Looks at what is one step further.
    fn step(&mut self, step: &str, look: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(step);
        if self.found.len() < MOST && !counted(&self.path) {
            look(self);
        }
        self.path.truncate(length);
    }

    /// Trees are no deeper than JSON's parser makes them.
    fn compare(&mut self, before: Option<&Value>, after: Option<&Value>) {
        match (before, after) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                for (name, value) in old {
                    self.step(&step(name), |walk| walk.compare(Some(value), new.get(name)));
                }
                for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
                    self.step(&step(name), |walk| walk.compare(None, Some(value)));
                }
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) => {
                for at in 0..old.len().max(new.len()) {
                    let (old, new) = (old.get(at), new.get(at));
                    self.step(&format!("[{at}]"), |walk| walk.compare(old, new));
                    if self.found.len() >= MOST {
                        break;
                    }
                }
            }
            // What is new is told field by field.
            (None, Some(Value::Object(new))) if !new.is_empty() => {
                for (name, value) in new {
                    self.step(&step(name), |walk| walk.compare(None, Some(value)));
                    if self.found.len() >= MOST {
                        break;
                    }
                }
            }
            (before, after) if before == after => {}
            (before, after) => {
                // Hidden as a whole, and then cut: a part of a value would not be known for one.
                let shown = |value: &Value| match (self.secret, self.hide) {
                    (true, _) => "…".to_owned(),
                    (false, Some(hide)) => cut(&hide(&value.to_string()), LONGEST),
                    (false, None) => cut(&value.to_string(), LONGEST),
                };
                let difference = Difference {
                    path: cut(&self.path, LONGEST_PATH),
                    before: before.map(shown),
                    after: after.map(shown),
                };
                self.found.push(difference);
            }
        }
    }
}

/// What every object has.
const OF_ALL: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A field as a step of a path.
fn step(field: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let short = cut(field, LONGEST_STEP);
    match field.chars().all(plain) {
        true => format!(".{short}"),
        false => format!("['{short}']"),
    }
}

/// Whether the server changes this field by itself with every write.
fn counted(path: &str) -> bool {
    let fields = ["resourceVersion", "generation", "managedFields"];
    let field = path.strip_prefix(".metadata.");
    field.is_some_and(|field| fields.contains(&field)) || [".apiVersion", ".kind"].contains(&path)
}

/// At most so many characters of a text.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// `path before after`, one for each difference.
    fn told(before: &Value, after: &Value) -> Vec<String> {
        let text = |side: Option<String>| side.unwrap_or_else(|| "-".into());
        let all = differences(before, after, None).into_iter();
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
            let all = fields(made, None).into_iter();
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
    fn a_path_is_short_whatever_the_fields_are_called() {
        let long = "ä".repeat(100_000);
        let many = |value: u32| -> Value {
            let fields = (0..10_000).map(|n| (format!("{long}{n}"), json!(value)));
            json!({ "data": { long.clone(): Value::Object(fields.take(100).collect()) } })
        };
        let (one, two) = (many(1), many(2));
        for all in [
            differences(&one, &two, None),
            fields(&two, None),
            differences(&json!({}), &two, None),
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
        let [one] = &fields(&json!({ "data": deep }), None)[..] else {
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
            assert_eq!(told(&before, &after), want, "{before} {after}");
        }
    }

    #[test]
    fn nothing_of_a_secret_is_shown_and_nothing_is_long() {
        let secret = |value: &str| json!({"kind": "Secret", "data": {"password": value}});
        assert_eq!(told(&secret("a"), &secret("b")), [".data.password … …"]);
        let long = |fill: &str| json!({"data": {"a": fill.repeat(1000)}});
        let told = differences(&long("ä"), &long("b"), None);
        assert!(told[0].before.as_ref().unwrap().chars().count() <= LONGEST + 1);
        let many = |value: u32| (0..1000).map(|n| (format!("f{n}"), json!(value))).collect();
        let many = |value| Value::Object(many(value));
        assert_eq!(differences(&many(1), &many(2), None).len(), MOST);
    }
}
