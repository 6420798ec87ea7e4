//! What a write would change that is not sent, since the plugin observes.
//!
//! - It is compared with the live object: a write that would change nothing has no difference.
//! - An apply adds to what is there. Lists whose items have names are compared by name, all others by place.
//! - Of fields that the plugin does not read, nobody knows what is there.

use serde_json::Value;

use super::View;
use super::difference::{Difference, Hide, compared, created};
use super::journal::{WriteOutcome, Wrote};
use windlass_kube::api::Resource;
use windlass_kube::object::{Fields, Key, Object};

/// Labels and annotations of the host's own: no other operator sets them, so that they differ says nothing.
const OWN: &str = "windlass.dev/";

/// A write that is not sent.
pub enum UnsentWrite<'a> {
    /// An apply of these fields to what it leaves of the object; none if it takes nothing away.
    Apply(&'a Value, Option<&'a Value>),
    /// A creation of this object.
    Create(&'a Value),
    /// A change that makes this of the object.
    Change(&'a Value),
    /// A deletion.
    Delete,
    /// Something of which nobody sees what it would change.
    Unseen,
}

/// The object that a write is about, as it is.
pub struct LiveTarget<'a> {
    /// Its kind.
    pub resource: &'a Resource,
    /// Its name.
    pub key: &'a Key,
    /// Nothing if it is absent.
    pub object: Option<&'a Object>,
}

impl View {
    /// The run of `by` would have written to `target`.
    pub fn would_write(&self, by: &Key, target: &LiveTarget<'_>, write: &UnsentWrite<'_>) {
        let hide = self.journals.lock().hide(by);
        // Of what the store has, only what the plugin reads is there for certain.
        let fields = match target.object {
            Some(_) if self.holds(target.resource, target.key) => self.fields_of(target.resource),
            Some(_) | None => None,
        };
        let (end, unread) = outcome(target.object, fields, write, hide.as_ref());
        let wrote = Wrote {
            kind: target.resource.kind.clone(),
            key: target.key.clone(),
            end,
            followed: Vec::new(),
            unread,
            version: None,
        };
        self.journals.lock().wrote(by, wrote);
    }
}

/// What `write` would do to the object that is `live`, and what it would send of fields that are not read.
fn outcome(
    live: Option<&Object>,
    fields: Option<&Fields>,
    write: &UnsentWrite<'_>,
    hide: Option<&Hide>,
) -> (WriteOutcome, Vec<Difference>) {
    let made = |object: &Value| {
        let effect = created(object, object, hide);
        (WriteOutcome::Created(effect.applied), Vec::new())
    };
    let changed = |before: &Value, after: &Value| {
        let cut = fields.map(|fields| (fields.cut(before), fields.cut(after)));
        let (before, after) = cut
            .as_ref()
            .map_or((before, after), |(before, after)| (before, after));
        WriteOutcome::Changed(unlike(before, after, hide))
    };
    match (write, live) {
        (UnsentWrite::Unseen, _) => (WriteOutcome::Unseen, Vec::new()),
        (UnsentWrite::Delete, Some(live)) if live.metadata.deleting => {
            (WriteOutcome::Changed(Vec::new()), Vec::new())
        }
        (UnsentWrite::Delete, _) => (WriteOutcome::Deleted, Vec::new()),
        (UnsentWrite::Create(object), _) | (UnsentWrite::Apply(object, _), None) => made(object),
        (UnsentWrite::Change(after), live) => {
            let before = live.map_or(Value::Null, Object::value);
            (changed(&before, after), Vec::new())
        }
        (UnsentWrite::Apply(intent, left), Some(live)) => {
            let (before, intent) = (live.value(), without_own(intent));
            let unread = fields.map(|fields| {
                let read = fields.cut(&intent);
                let mut unread = unlike(&read, &intent, hide);
                unread.iter_mut().for_each(|field| field.before = None);
                unread
            });
            let after = laid_over(left.unwrap_or(&before), &intent);
            (changed(&before, &after), unread.unwrap_or_default())
        }
    }
}

/// All fields in which two trees of an object differ.
fn unlike(before: &Value, after: &Value, hide: Option<&Hide>) -> Vec<Difference> {
    let mut effect = compared([before, after], after, after, Vec::new(), hide);
    effect.applied.append(&mut effect.followed);
    effect.applied
}

/// What an apply sends, but for the labels and annotations of the host's own.
fn without_own(intent: &Value) -> Value {
    let mut intent = intent.clone();
    for field in ["/metadata/labels", "/metadata/annotations"] {
        if let Some(Value::Object(fields)) = intent.pointer_mut(field) {
            fields.retain(|name, _| !name.starts_with(OWN));
        }
    }
    intent
}

/// `live` with the fields of `wanted`. What is wanted to be empty and is absent stays absent.
fn laid_over(live: &Value, wanted: &Value) -> Value {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            let mut fields = live.clone();
            for (name, value) in wanted {
                match live.get(name) {
                    Some(held) => fields.insert(name.clone(), laid_over(held, value)),
                    None if is_empty(value) => None,
                    None => fields.insert(name.clone(), value.clone()),
                };
            }
            Value::Object(fields)
        }
        (Value::Array(live), Value::Array(wanted)) if have_names(live) && have_names(wanted) => {
            let mut items = live.clone();
            for value in wanted {
                let same = |item: &&mut Value| item.get("name") == value.get("name");
                match items.iter_mut().find(same) {
                    Some(item) => *item = laid_over(item, value),
                    None => items.push(value.clone()),
                }
            }
            Value::Array(items)
        }
        (Value::Array(live), Value::Array(wanted)) => {
            let items = wanted.iter().enumerate().map(|(at, value)| {
                let held = live.get(at);
                held.map_or_else(|| value.clone(), |held| laid_over(held, value))
            });
            Value::Array(items.collect())
        }
        (_, wanted) => wanted.clone(),
    }
}

fn have_names(items: &[Value]) -> bool {
    let has_name = |item: &Value| item.get("name").is_some_and(Value::is_string);
    !items.is_empty() && items.iter().all(has_name)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(fields: Value) -> Object {
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "7"},
        });
        merge(&mut object, fields);
        Object::new(&object).unwrap()
    }

    fn merge(object: &mut Value, fields: Value) {
        match (object, fields) {
            (Value::Object(object), Value::Object(fields)) => {
                for (name, value) in fields {
                    merge(object.entry(name).or_insert(Value::Null), value);
                }
            }
            (object, fields) => *object = fields,
        }
    }

    fn told((end, unread): &(WriteOutcome, Vec<Difference>)) -> Vec<String> {
        let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
        let line =
            |it: &Difference| format!("{} {} {}", it.path, side(&it.before), side(&it.after));
        end.differences().iter().chain(unread).map(line).collect()
    }

    #[test]
    fn an_apply_differs_in_what_it_would_change_and_in_nothing_else() {
        let rows = [
            (
                json!({"data": {"a": "1"}}),
                json!({"data": {"a": "1"}}),
                &[][..],
            ),
            (
                json!({"data": {"a": "1", "b": "2"}}),
                json!({"data": {"a": "1"}}),
                &[],
            ),
            (
                json!({"data": {"a": "1"}}),
                json!({"data": {"a": "2"}}),
                &[".data.a \"1\" \"2\""],
            ),
            (json!({}), json!({"data": {"a": "2"}}), &[".data.a - \"2\""]),
            // What the server leaves out.
            (
                json!({}),
                json!({"data": {}, "metadata": {"labels": {}}, "x": null}),
                &[],
            ),
            // Defaults of the server's, in lists too.
            (
                json!({"spec": {"containers": [{"name": "a", "image": "i", "pull": "Always"}]}}),
                json!({"spec": {"containers": [{"name": "a", "image": "i"}]}}),
                &[],
            ),
            (
                json!({"spec": {"containers": [{"name": "x"}, {"name": "a", "image": "i"}]}}),
                json!({"spec": {"containers": [{"name": "a", "image": "j"}]}}),
                &[".spec.containers[1].image \"i\" \"j\""],
            ),
            (
                json!({"ports": [{"port": 80, "protocol": "TCP"}, {"port": 81}]}),
                json!({"ports": [{"port": 80}]}),
                &[".ports[1] {\"port\":81} -"],
            ),
            (
                json!({"list": ["a", "b"]}),
                json!({"list": ["a", "c"]}),
                &[".list[1] \"b\" \"c\""],
            ),
            // The host's own labels.
            (
                json!({}),
                json!({"metadata": {"labels": {"windlass.dev/set": "p", "app": "x"}}}),
                &[".metadata.labels.app - \"x\""],
            ),
        ];
        for (live, intent, want) in rows {
            let outcome = outcome(
                Some(&object(live)),
                None,
                &UnsentWrite::Apply(&intent, None),
                None,
            );
            assert_eq!(told(&outcome), want, "{intent}");
            assert!(matches!(outcome.0, WriteOutcome::Changed(_)));
        }
    }

    #[test]
    fn of_what_the_plugin_does_not_read_only_what_it_would_send_is_known() {
        let live = object(json!({"data": {"a": "1", "b": "1"}}));
        let intent = json!({"data": {"a": "2", "b": "2"}});
        let fields = Fields::parse([".data.a"]).unwrap();
        let outcome = outcome(
            Some(&live),
            Some(&fields),
            &UnsentWrite::Apply(&intent, None),
            None,
        );
        assert_eq!(told(&outcome), [".data.a \"1\" \"2\"", ".data.b - \"2\""]);
        assert_eq!(outcome.1.len(), 1);
    }

    #[test]
    fn a_write_makes_changes_or_deletes_what_is_there() {
        let live = object(json!({"data": {"a": "1"}}));
        let going = object(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
        let intent = json!({"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "2"}});
        let mut gone = live.value();
        gone.as_object_mut().unwrap().remove("data");
        type Row<'a> = (
            UnsentWrite<'a>,
            Option<&'a Object>,
            &'static str,
            &'static [&'static str],
        );
        let rows: [Row<'_>; 7] = [
            (
                UnsentWrite::Apply(&intent, None),
                None,
                "Created",
                &[".data.a - \"2\""],
            ),
            (
                UnsentWrite::Create(&intent),
                None,
                "Created",
                &[".data.a - \"2\""],
            ),
            (
                UnsentWrite::Change(&gone),
                Some(&live),
                "Changed",
                &[".data {\"a\":\"1\"} -"],
            ),
            (UnsentWrite::Delete, Some(&live), "Deleted", &[]),
            (UnsentWrite::Delete, Some(&going), "Changed", &[]),
            (UnsentWrite::Delete, None, "Deleted", &[]),
            (UnsentWrite::Unseen, Some(&live), "Unseen", &[]),
        ];
        for (write, live, word, want) in rows {
            let outcome = outcome(live, None, &write, None);
            assert_eq!(told(&outcome), want, "{word}");
            assert!(format!("{:?}", outcome.0).starts_with(word), "{outcome:?}");
        }
    }

    #[test]
    fn no_value_of_a_secret_is_shown() {
        let mut live = object(json!({"data": {"a": "MQ=="}})).value();
        live["kind"] = "Secret".into();
        let live = Object::new(&live).unwrap();
        let intent = json!({"kind": "Secret", "data": {"a": "Mg=="}});
        let outcome = outcome(Some(&live), None, &UnsentWrite::Apply(&intent, None), None);
        assert_eq!(told(&outcome), [".data.a … …"]);
    }
}
