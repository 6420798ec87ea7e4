//! `managedFields` after a create, PUT or patch.

use serde_json::Value;

use super::check::{Duplicates, check};
use super::managers::{Manager, ManagerOperation, Managers, Owned};
use super::object::{self, managed_fields, metadata_text, put_managed_fields, take_managed_fields};
use super::path::equal;
use super::set::Set;
use super::types::Type;
use super::updater::ObjectWrite;
use super::versions::{KindOrigin, convertible};
use super::{Writer, meta};
use crate::builtin;
use crate::schema::View;

/// Computes `metadata.managedFields` of `new`, which is to take the place of `old`; of `None` for a create.
///
/// What the client says there counts if it can be read, unless this is a subresource; an empty list, or one
/// empty entry, resets it. `reset` has the fields that the endpoint does not write. As in the real server,
/// there is no refusal: an object whose fields cannot be owned (it fits its schema too little) has no
/// `managedFields`, and validation refuses it.
#[must_use]
pub fn update(
    old: Option<&Value>,
    mut new: Value,
    schema: View<'_>,
    writer: &Writer<'_>,
    reset: &Set,
) -> Value {
    let given = take_managed_fields(&mut new);
    let managers = starting_point(old, given.as_deref(), writer);
    let exists = old.is_some_and(|old| !metadata_text(old, "uid").is_empty());
    if managers.0.is_empty() && exists {
        // Nobody has been tracked so far; the first apply begins with it.
        return new;
    }
    let blank = match old {
        Some(_) => Value::Null,
        None => blank(schema, writer),
    };
    let live = old.unwrap_or(&blank);
    let ty = Type::root(schema);
    let fits = |object| check(object, ty, Duplicates::Allowed).is_ok();
    if fits(&new)
        && fits(live)
        && let Ok(managers) = convertible(managers, &[live, &new], ty, origin(schema), writer)
    {
        let change = ObjectWrite {
            live,
            ty,
            schemas: writer.schemas,
            reset,
            managers: &managers,
        };
        let managers = record(&change, &new, writer);
        put_managed_fields(&mut new, &managers);
    }
    new
}

/// Whether a kind is built in: then its schema has a name.
pub(super) fn origin(schema: View<'_>) -> KindOrigin {
    match schema.type_name() {
        Some(_) => KindOrigin::BuiltIn,
        None => KindOrigin::Custom,
    }
}

/// Puts the times in `managedFields` of `new` back to those of `old` if nothing but times changed, so that a
/// write that changes nothing is none. To be called when `new` is otherwise complete.
pub fn keep_times(old: &Value, new: &mut Value) {
    let (Some(before), Some(after)) = (managed_fields(old), managed_fields(new)) else {
        return;
    };
    if before.is_empty() || before == after || !equal_but_for_times(before, after) {
        return;
    }
    let entries = take_managed_fields(new).unwrap_or_default();
    let mut rest = old.clone();
    let old_entries = take_managed_fields(&mut rest).unwrap_or_default();
    let entries = if equal(&rest, new) {
        old_entries
    } else {
        entries
    };
    if let Some(metadata) = object::metadata_mut(new) {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

fn equal_but_for_times(before: &[Value], after: &[Value]) -> bool {
    before.len() == after.len()
        && before.iter().zip(after).all(|pair| match pair {
            (Value::Object(one), Value::Object(other)) => {
                let timeless = |(name, _): &(&String, &Value)| *name != "time";
                let one = one.iter().filter(timeless);
                one.eq(other.iter().filter(timeless))
            }
            (one, other) => one == other,
        })
}

/// Who owned what before the write, as far as client and live object say it.
fn starting_point(old: Option<&Value>, given: Option<&[Value]>, writer: &Writer<'_>) -> Managers {
    if let Some(given) = given.filter(|_| writer.subresource.is_empty()) {
        if is_reset(given) {
            return Managers::default();
        }
        if let Ok(managers) = Managers::read(given) {
            return managers;
        }
    }
    let live = old.and_then(managed_fields).unwrap_or_default();
    Managers::read(live).unwrap_or_default()
}

fn is_reset(entries: &[Value]) -> bool {
    match entries {
        [] => true,
        [Value::Object(only)] => only.values().all(|value| value.is_null() || value == ""),
        _ => false,
    }
}

/// Writes down what an update changes.
pub(super) fn record(change: &ObjectWrite<'_>, new: &Value, writer: &Writer<'_>) -> Managers {
    let (mut managers, written) = change.update(new);
    let written = written.difference(meta::nobodys());
    if !written.is_empty() {
        let Writer { api_version, .. } = *writer;
        let operation = ManagerOperation::Update;
        let manager = Manager::new(writer.manager, operation, api_version, writer.subresource);
        let owned = managers.0.entry(manager).or_insert_with(|| Owned {
            set: Set::default(),
            api_version: api_version.to_owned(),
            time: None,
        });
        owned.set.add(&written);
        owned.time = Some(writer.now);
    }
    managers.cap_updaters();
    managers
}

/// What an object is before anything is written to it.
///
/// Objects of built-in kinds are structs in the real server, and begin with what an empty struct has: inner
/// structs, which are not owned by themselves since nobody makes them.
pub(super) fn blank(schema: View<'_>, writer: &Writer<'_>) -> Value {
    let mut blank = object::empty(writer);
    if let Some(name) = schema.type_name() {
        // A type that is not known has nothing in it.
        let _ = builtin::decode_type(&mut blank, name);
    }
    blank
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::super::testing::ApplyStory;
    use super::*;

    #[test]
    fn an_updater_owns_what_it_changes() {
        let mut story = ApplyStory::new();
        let first =
            json!({ "count": 1, "inner": { "text": "x" }, "set": ["a"], "status": { "count": 1 } });
        story.update("a", first.clone());
        assert_eq!(
            story.owners(),
            json!({ "a Update v1 1": { "f:count": {}, "f:inner": { ".": {}, "f:text": {} },
                "f:set": { ".": {}, "v:\"a\"": {} } } })
        );
        // What does not change has no new owner and no new time.
        story.update("b", first);
        story.update(
            "b",
            json!({ "count": 2, "inner": { "text": "x" }, "set": ["a", "b"] }),
        );
        story.update(
            "a",
            json!({ "count": 2, "inner": { "count": 1 }, "set": ["b"] }),
        );
        assert_eq!(
            story.owners(),
            json!({ "a Update v1 4": { "f:inner": { ".": {}, "f:count": {} }, "f:set": {} },
                "b Update v1 3": { "f:count": {}, "f:set": { "v:\"b\"": {} } } })
        );
    }

    #[test]
    fn what_a_client_says_about_owners_counts_if_it_can_be_read() {
        let mine = json!({ "manager": "z", "operation": "Apply", "apiVersion": "example.com/v1",
            "fieldsType": "FieldsV1", "fieldsV1": { "f:text": {} } });
        let there =
            json!({ "a Update v1 1": { "f:text": {} }, "b Update v1 2": { "f:count": {} } });
        let table = [
            (json!(null), there.clone()),
            (json!([]), json!({})),
            (json!([{}]), json!({})),
            (json!([{ "manager": "", "time": null }]), json!({})),
            (json!([{ "manager": "z" }]), there.clone()),
            (json!([mine, {}]), there),
            (
                json!([mine]),
                json!({ "b Update v1 2": { "f:count": {} }, "z Apply v1": { "f:text": {} } }),
            ),
        ];
        for (given, owners) in table {
            let mut story = ApplyStory::new();
            story.update("a", json!({ "count": 1, "text": "x" }));
            let change = json!({ "count": 2, "text": "x", "metadata": { "managedFields": given } });
            story.update("b", change.clone());
            assert_eq!(story.owners(), owners, "{given}");
            // A subresource does not listen.
            let mut story = ApplyStory::new();
            story.update("a", json!({ "count": 1, "text": "x" }));
            story.subresource = "scale";
            story.update("b", change);
            let heard = story.owners()
                != json!({ "a Update v1 1": { "f:text": {} }, "b Update v1 scale 2": { "f:count": {} } });
            assert!(!heard, "{given}: {}", story.owners());
        }
    }

    #[test]
    fn who_was_not_tracked_stays_untracked() {
        let mut story = ApplyStory::new();
        story.update("a", json!({ "count": 1 }));
        story.update(
            "a",
            json!({ "count": 1, "metadata": { "managedFields": [] } }),
        );
        story.update("a", json!({ "count": 2 }));
        assert_eq!(story.owners(), json!({}));
    }

    #[test]
    fn fields_that_cannot_be_owned_are_nobodys() {
        let mut story = ApplyStory::new();
        story.update("a", json!({ "count": 1 }));
        story.update("a", json!({ "count": "x" }));
        assert_eq!(story.owners(), json!({}));
    }

    #[test]
    fn endpoints_own_what_they_write() {
        let mut story = ApplyStory::new();
        story.update("a", json!({ "count": 1, "status": { "count": 1 } }));
        story.subresource = "status";
        story.update(
            "a",
            json!({ "count": 1, "status": { "count": 2 }, "metadata": { "labels": { "a": "b" } } }),
        );
        assert_eq!(
            story.owners(),
            json!({ "a Update v1 1": { "f:count": {} }, "a Update v1 status 2": { "f:status": { "f:count": {} } } })
        );
    }

    #[test]
    fn structs_of_built_in_kinds_are_there_before_their_fields() {
        let mut resources = builtin::resources().into_iter();
        let events = resources.find(|resource| resource.plural == "events");
        let events = events.unwrap();
        let writer = Writer {
            manager: "m",
            api_version: "v1",
            kind: "Event",
            versions: &["v1"],
            schemas: &[],
            subresource: "",
            now: Timestamp::UNIX_EPOCH,
        };
        let new = json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "name": "a", "labels": { "b": "c" } },
            "eventTime": null, "firstTimestamp": "1970-01-01T00:00:00Z", "lastTimestamp": null,
            "reportingComponent": "", "source": { "component": "x" }, "series": { "count": 1 } });
        let schema = events.schema().unwrap();
        let new = update(None, new, schema.view(), &writer, &Set::default());
        assert_eq!(
            new["metadata"]["managedFields"][0]["fieldsV1"],
            json!({ "f:metadata": { "f:labels": { ".": {}, "f:b": {} } }, "f:firstTimestamp": {},
                "f:source": { "f:component": {} }, "f:series": { ".": {}, "f:count": {} } })
        );
    }

    #[test]
    fn times_are_kept_where_nothing_else_changes() {
        let object = |time: &str, manager: &str, count: i64| json!({ "metadata": { "managedFields": [{ "manager": manager, "time": time }] }, "count": count });
        let old = object("then", "a", 1);
        let table = [
            (object("now", "a", 1), object("then", "a", 1)),
            (object("now", "a", 2), object("now", "a", 2)),
            (object("now", "b", 1), object("now", "b", 1)),
            (json!({ "count": 1 }), json!({ "count": 1 })),
        ];
        for (new, kept) in table {
            let mut found = new.clone();
            keep_times(&old, &mut found);
            assert_eq!(found, kept, "{new}");
        }
    }
}
