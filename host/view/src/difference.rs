//! What a write changed, field by field, for people: paths as in CustomResourceDefinitions, values cut short.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::guide::{ChangeCause, Guide};

/// What a write did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    /// Fields that were sent.
    pub(super) applied: Vec<Difference>,
    /// Other fields: defaults, and what is not applied any more.
    pub(super) followed: Vec<Difference>,
    /// Fields that were sent and that the plugin does not read, with what is there now.
    pub(super) unread: Vec<Difference>,
}

/// So many fields are named.
const MOST: usize = 32;
/// So much of a value is shown, in characters; so much of a path, and of each of its steps.
const LONGEST: usize = 120;
const LONGEST_PATH: usize = 200;
const LONGEST_STEP: usize = 64;
/// So many steps are made at most.
const STEPS: usize = 20_000;
/// To find out who is responsible for an item of a list counts as so many, for each set of fields.
const ITEM: usize = 10;
/// What is shown in the place of a value that is not.
const HIDDEN: &str = "…";

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
    /// The whole of what is there now, to compare it with a later value.
    pub value: ValueHash,
}

/// Tells two values of a field apart, without showing them. Unknown for values of a Secret.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ValueHash(Option<u64>);

impl ValueHash {
    /// The hash of the JSON text of a value.
    pub fn of(text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self(Some(hasher.finish()))
    }

    /// Whether the value is known.
    pub fn is_known(self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for ValueHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.is_known() { "known" } else { "unknown" })
    }
}

impl Difference {
    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        size_of::<Self>() + self.path.len() + text(&self.before) + text(&self.after)
    }
}

/// The fields in which two objects, or what is sent of them, differ, but for what the server counts by itself. Of values
/// is shown what `hide` makes of them; of a Secret, or if `is_secret`, nothing.
pub fn differences(
    [before, after]: [&Value; 2],
    is_secret: bool,
    hide: Option<&Hide>,
) -> Vec<Difference> {
    let mut walk = Walk::of([before, after], hide);
    walk.secret |= is_secret;
    walk.compare(Some(before), Some(after), &Guide::ALL);
    walk.found.applied
}

/// The same of two trees of an object like `object`, told apart by what was `sent`, and without what `others` own. Of
/// values is shown what `hide` makes of them.
pub(super) fn compared<'a>(
    [before, after]: [&Value; 2],
    object: &Value,
    sent: &'a Value,
    others: Vec<&'a Map<String, Value>>,
    hide: Option<&Hide>,
) -> Effect {
    let mut walk = Walk::of([before, object], hide);
    walk.compare(Some(before), Some(after), &Guide::new(sent, others));
    walk.found
}

/// The fields of an object that was made, told apart by what was `sent`. Of its metadata these are the labels and
/// annotations that were sent, but for the host's own. Of a Secret no value is shown.
pub(super) fn created(object: &Value, sent: &Value, hide: Option<&Hide>) -> Effect {
    let mut walk = Walk::of([object, sent], hide);
    let guide = Guide::new(sent, Vec::new());
    let own = object.as_object().into_iter().flatten();
    for (name, value) in own.filter(|(name, _)| !OF_ALL.contains(&name.as_str())) {
        walk.step(&step(name), &guide.field(name), |walk, guide| {
            walk.compare(None, Some(value), guide);
        });
    }
    for field in ["labels", "annotations"] {
        let all = sent
            .get("metadata")
            .and_then(|metadata| metadata.get(field));
        let all = all.and_then(Value::as_object).into_iter().flatten();
        walk.step(&format!(".metadata.{field}"), &Guide::ALL, |walk, guide| {
            for (name, value) in all.filter(|(name, _)| !name.starts_with(OWN)) {
                walk.field(name, None, Some(value), guide);
            }
        });
    }
    walk.found
}

/// Looks through two objects side by side, no further than there is something to tell.
struct Walk<'h> {
    secret: bool,
    hide: Option<&'h Hide>,
    /// Where it is.
    path: String,
    found: Effect,
    /// How many more steps it makes.
    left: usize,
}

impl<'h> Walk<'h> {
    fn of(objects: [&Value; 2], hide: Option<&'h Hide>) -> Self {
        let is_secret =
            |object: &&Value| object.get("kind").and_then(Value::as_str) == Some("Secret");
        Self {
            secret: objects.iter().any(is_secret),
            hide,
            path: String::new(),
            found: Effect::default(),
            left: STEPS,
        }
    }

    /// Whether nothing more of what `guide` is about is told.
    fn is_full(&self, guide: &Guide<'_>) -> bool {
        let applied = self.found.applied.len() >= MOST;
        let followed = guide.is_all() || self.found.followed.len() >= MOST;
        self.left == 0 || applied && followed
    }

    /// Looks at what is one step further.
    fn step(&mut self, step: &str, guide: &Guide<'_>, look: impl FnOnce(&mut Self, &Guide<'_>)) {
        if self.is_full(guide) {
            return;
        }
        self.left = self.left.saturating_sub(1);
        let length = self.path.len();
        self.path.push_str(step);
        if !counted(&self.path) {
            look(self, guide);
        }
        self.path.truncate(length);
    }

    /// Trees are no deeper than JSON's parser makes them.
    fn compare(&mut self, before: Option<&Value>, after: Option<&Value>, guide: &Guide<'_>) {
        match (before, after) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                for (name, value) in old {
                    self.field(name, Some(value), new.get(name), guide);
                }
                for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
                    self.field(name, None, Some(value), guide);
                }
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) => {
                self.items(old, new, guide);
            }
            // What is new is told field by field.
            (None, Some(Value::Object(new))) if !new.is_empty() => {
                for (name, value) in new {
                    self.field(name, None, Some(value), guide);
                }
            }
            // A list in which not all was sent as it is there.
            (None, Some(Value::Array(new))) if !guide.is_all() && has_objects(new) => {
                self.items(&[], new, guide);
            }
            (before, after) if before == after => {}
            (before, after) => self.found(before, after, guide),
        }
    }

    fn field(
        &mut self,
        name: &str,
        before: Option<&Value>,
        after: Option<&Value>,
        guide: &Guide<'_>,
    ) {
        if self.is_full(guide) {
            return;
        }
        self.step(&step(name), &guide.field(name), |walk, guide| {
            walk.compare(before, after, guide);
        });
    }

    fn items(&mut self, old: &[Value], new: &[Value], guide: &Guide<'_>) {
        for at in 0..old.len().max(new.len()) {
            let (old, new) = (old.get(at), new.get(at));
            if self.is_full(guide) {
                return;
            }
            if old != new {
                self.left = self.left.saturating_sub(ITEM * guide.sets());
                let inner = guide.item(at, new.or(old));
                self.step(&format!("[{at}]"), &inner, |walk, guide| {
                    walk.compare(old, new, guide);
                });
            }
        }
    }

    /// The field here is another one now.
    fn found(&mut self, before: Option<&Value>, after: Option<&Value>, guide: &Guide<'_>) {
        let told = match guide.cause() {
            ChangeCause::Applied => &mut self.found.applied,
            ChangeCause::Followed if is_of_write(&self.path) => &mut self.found.followed,
            ChangeCause::Followed | ChangeCause::Others => return,
        };
        if told.len() >= MOST {
            return;
        }
        // Hidden as a whole, and then cut: a part of a value would not be known for one.
        let shown = |text: &str| match (self.secret, self.hide) {
            (true, _) => HIDDEN.to_owned(),
            (false, Some(hide)) => cut(&hide(text), LONGEST),
            (false, None) => cut(text, LONGEST),
        };
        let [before, after] = [before, after].map(|value| value.map(Value::to_string));
        let value = if self.secret {
            ValueHash::default()
        } else {
            ValueHash::of(after.as_deref().unwrap_or_default())
        };
        told.push(Difference {
            path: cut(&self.path, LONGEST_PATH),
            before: before.as_deref().map(shown),
            after: after.as_deref().map(shown),
            value,
        });
    }
}

/// Whether an item of a list has fields.
fn has_objects(list: &[Value]) -> bool {
    list.iter().any(Value::is_object)
}

/// Whether a write can lead to a change of this field. Of the metadata the API server and others write the rest.
fn is_of_write(path: &str) -> bool {
    let fields = ["labels", "annotations", "ownerReferences"];
    let field = path.strip_prefix(".metadata.");
    field.is_none_or(|field| fields.iter().any(|name| field.starts_with(name)))
}

/// How the host's own labels and annotations begin.
const OWN: &str = "windlass.dev/";
/// What every object has.
const OF_ALL: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A field as a step of a path.
fn step(field: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let short = cut(field, LONGEST_STEP);
    if field.chars().all(plain) {
        format!(".{short}")
    } else {
        format!("['{short}']")
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
mod tests;
