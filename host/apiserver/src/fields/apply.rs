//! Server-side apply.

use serde_json::Value;

use super::check::{Duplicates, check};
use super::managers::{Manager, ManagerOperation, Managers};
use super::object::{self, identity, kind_text, managed_fields, put_managed_fields};
use super::set::Set;
use super::types::Type;
use super::updater::{Applied, Conflict, ObjectWrite};
use super::versions::convertible;
use super::{OnConflict, Writer, last_applied, meta, refusal, update};
use crate::schema::View;
use crate::status::Refusal;

const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Applies a configuration to `live`; to `None` it creates.
///
/// Answers the object with its `managedFields`. Defaults are not put in, and the object is not validated:
/// what is answered goes the way of every other write. A `null` in the configuration, and a field that loses
/// all that is in it, may be `null` in the answer. `reset` has the fields that the endpoint does not write.
///
/// # Errors
/// 409 where others own what would change; 400 and 500 where the configuration cannot be applied.
pub fn apply(
    live: Option<&Value>,
    applied: &Value,
    schema: View<'_>,
    writer: &Writer<'_>,
    on_conflict: OnConflict,
    reset: &Set,
) -> Result<Value, Refusal> {
    let empty = object::empty(writer);
    let apply = Apply {
        live: live.unwrap_or(&empty),
        applied,
        schema,
        writer,
        reset,
    };
    let managers = apply.managers(live.is_some())?;
    let mut object = match apply.run(&managers, on_conflict) {
        Err(No::Conflicts(conflicts)) => apply.upgrade(&managers, conflicts),
        done => done,
    }
    .map_err(No::into_refusal)?;
    last_applied::sync(&mut object, applied, writer);
    Ok(object)
}

struct Apply<'a> {
    live: &'a Value,
    applied: &'a Value,
    schema: View<'a>,
    writer: &'a Writer<'a>,
    reset: &'a Set,
}

enum No {
    Conflicts(Vec<Conflict>),
    Refused(Refusal),
}

impl No {
    fn into_refusal(self) -> Refusal {
        match self {
            Self::Conflicts(conflicts) => refusal::conflict(&conflicts),
            Self::Refused(refusal) => refusal,
        }
    }
}

impl<'a> Apply<'a> {
    fn ty(&self) -> Type<'a> {
        Type::root(self.schema)
    }

    /// Who owns what so far; what was there before anybody was tracked belongs to nobody in particular.
    fn managers(&self, exists: bool) -> Result<Managers, Refusal> {
        let entries = managed_fields(self.live).unwrap_or_default();
        let managers = Managers::read(entries).map_err(|error| {
            refusal::unknown(format!("failed to decode managed fields: {error}"))
        })?;
        self.check_kind()?;
        if !managers.0.is_empty() || !exists {
            return Ok(managers);
        }
        let ty = self.ty();
        check(self.live, ty, Duplicates::Allowed).map_err(|problem| {
            let identity = identity(self.live);
            refusal::unknown(format!(
                "failed to create manager for existing fields: failed to convert new object \
                 ({identity}) to smd typed: {problem}"
            ))
        })?;
        let blank = update::blank(self.schema, self.writer);
        let change = ObjectWrite {
            live: &blank,
            ty,
            schemas: self.writer.schemas,
            reset: self.reset,
            managers: &managers,
        };
        let writer = Writer {
            manager: BEFORE_FIRST_APPLY,
            ..*self.writer
        };
        Ok(update::record(&change, self.live, &writer))
    }

    fn check_kind(&self) -> Result<(), Refusal> {
        let text = |name| self.applied.get(name).and_then(Value::as_str);
        let kind = kind_text(
            text("apiVersion").unwrap_or_default(),
            text("kind").unwrap_or_default(),
        );
        if kind == kind_text(self.writer.api_version, self.writer.kind) {
            Ok(())
        } else {
            Err(Refusal::bad_request(format!("invalid object type: {kind}")))
        }
    }

    fn run(&self, managers: &Managers, on_conflict: OnConflict) -> Result<Value, No> {
        self.check().map_err(No::Refused)?;
        let origin = update::origin(self.schema);
        let managers = managers.clone();
        let managers = convertible(managers, &[self.live], self.ty(), origin, self.writer)
            .map_err(|problem| No::Refused(refusal::unknown(problem)))?;
        let Writer { api_version, .. } = *self.writer;
        let (name, subresource) = (self.writer.manager, self.writer.subresource);
        let applier = Manager::new(name, ManagerOperation::Apply, api_version, subresource);
        let change = ObjectWrite {
            live: self.live,
            ty: self.ty(),
            schemas: self.writer.schemas,
            reset: self.reset,
            managers: &managers,
        };
        let applied = change.apply(self.applied, &applier, api_version, on_conflict);
        let Applied {
            object,
            mut managers,
        } = applied.map_err(No::Conflicts)?;
        if let Some(owned) = managers.0.get_mut(&applier) {
            owned.set = owned.set.difference(meta::nobodys());
            if object.is_some() {
                owned.time = Some(self.writer.now);
            }
        }
        managers.drop_empty();
        let mut object = object.unwrap_or_else(|| self.live.clone());
        put_managed_fields(&mut object, &managers);
        Ok(object)
    }

    fn check(&self) -> Result<(), Refusal> {
        let metadata = self.applied.get("metadata");
        let entries = metadata.and_then(|metadata| metadata.get("managedFields"));
        if entries.is_some_and(Value::is_array) {
            return Err(Refusal::bad_request("metadata.managedFields must be nil"));
        }
        let fits = |object, duplicates, what| {
            check(object, self.ty(), duplicates).map_err(|problem| {
                let identity = identity(object);
                refusal::unknown(format!(
                    "failed to create typed {what} object ({identity}): {problem}"
                ))
            })
        };
        fits(self.applied, Duplicates::Refused, "patch")?;
        fits(self.live, Duplicates::Allowed, "live")
    }

    /// kubectl's server-side apply takes over what its client-side apply wrote.
    fn upgrade(&self, managers: &Managers, conflicts: Vec<Conflict>) -> Result<Value, No> {
        let allowed = last_applied::allowed(self.live, self.ty(), self.writer);
        let Some(allowed) = allowed else {
            return Err(No::Conflicts(conflicts));
        };
        let left: Vec<_> = conflicts
            .into_iter()
            .filter(|c| !allowed.has(&c.path))
            .collect();
        if left.is_empty() {
            self.run(managers, OnConflict::Force)
        } else {
            Err(No::Conflicts(left))
        }
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use serde_json::json;

    use super::super::testing::ApplyStory;

    #[test]
    fn the_first_apply_creates_and_the_same_again_changes_nothing() {
        let mut story = ApplyStory::new();
        let config = json!({ "metadata": { "name": "f", "labels": { "a": "b" } },
            "count": 1, "items": [{ "name": "x", "count": 2 }], "status": { "count": 3 } });
        story.apply("m", config.clone()).unwrap();
        let mut live = story.live.clone().unwrap();
        assert_eq!(
            live["metadata"]["managedFields"],
            json!([{
                "manager": "m", "operation": "Apply", "apiVersion": "example.com/v1",
                "time": "1970-01-01T00:00:01Z", "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:metadata": { "f:labels": { "f:a": {} } },
                    "f:count": {},
                    "f:items": { "k:{\"name\":\"x\"}": { ".": {}, "f:name": {}, "f:count": {} } },
                },
            }])
        );
        story.apply("m", config).unwrap();
        assert_eq!(story.live.unwrap(), live);
        live["metadata"]["managedFields"] = json!(null);
        assert_eq!(live["items"], json!([{ "name": "x", "count": 2 }]));
    }

    #[test]
    fn fields_that_others_own_are_refused_or_taken_over() {
        let mut story = ApplyStory::new();
        story
            .apply("a", json!({ "count": 1, "text": "x" }))
            .unwrap();
        story.update("u", json!({ "count": 1, "text": "x", "yes": true }));
        let before = story.live.clone();
        let no = story
            .apply("b", json!({ "count": 2, "yes": false }))
            .unwrap_err();
        assert_eq!(no.code, StatusCode::CONFLICT);
        assert_eq!(
            no.message,
            "Apply failed with 2 conflicts: conflicts with \"a\":\n- .count\nconflicts with \"u\" \
             using example.com/v1:\n- .yes"
        );
        assert_eq!(story.live, before);
        story.force("b", json!({ "count": 2, "yes": false }));
        assert_eq!(
            story.fields(),
            json!({ "count": 2, "text": "x", "yes": false })
        );
        assert_eq!(
            story.owners(),
            json!({ "a Apply v1 1": { "f:text": {} }, "b Apply v1 3": { "f:count": {}, "f:yes": {} } })
        );
    }

    #[test]
    fn what_was_never_tracked_belongs_to_before_first_apply() {
        let mut story = ApplyStory::new();
        story.live = Some(json!({ "apiVersion": "example.com/v1", "kind": "Fruit",
            "metadata": { "name": "f", "uid": "u", "labels": { "a": "b" } },
            "count": 1, "status": { "count": 1 } }));
        let no = story.apply("m", json!({ "count": 2 })).unwrap_err();
        assert_eq!(
            no.message,
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using example.com/v1: .count"
        );
        story.force("m", json!({ "count": 2 }));
        assert_eq!(
            story.owners(),
            json!({ "before-first-apply Update v1 1": { "f:metadata": { "f:labels": { ".": {}, "f:a": {} } } },
                "m Apply v1 1": { "f:count": {} } })
        );
    }

    #[test]
    fn each_endpoint_writes_its_own_part() {
        let mut story = ApplyStory::new();
        story
            .apply("m", json!({ "count": 1, "status": { "count": 9 } }))
            .unwrap();
        story.subresource = "status";
        let config = json!({ "metadata": { "labels": { "a": "b" } }, "status": { "count": 2 } });
        story.apply("m", config).unwrap();
        assert_eq!(
            story.owners(),
            json!({ "m Apply v1 1": { "f:count": {} }, "m Apply v1 status 2": { "f:status": { "f:count": {} } } })
        );
        let no = story
            .apply("n", json!({ "status": { "count": 3 } }))
            .unwrap_err();
        assert_eq!(
            no.message,
            "Apply failed with 1 conflict: conflict with \"m\" with subresource \"status\": .status.count"
        );
    }

    #[test]
    fn configurations_that_cannot_be_applied_are_refused() {
        let typed = "failed to create typed patch object (/f; example.com/v1, Kind=Fruit): ";
        let table = [
            (
                json!({ "kind": "Other" }),
                400,
                "invalid object type: example.com/v1, Kind=Other".to_owned(),
            ),
            (
                json!({ "apiVersion": "v1" }),
                400,
                "invalid object type: /v1, Kind=Fruit".to_owned(),
            ),
            (
                json!({ "metadata": { "managedFields": [] } }),
                400,
                "metadata.managedFields must be nil".to_owned(),
            ),
            (
                json!({ "metadata": { "name": "f" }, "zzz": 1 }),
                500,
                format!("{typed}.zzz: field not declared in schema"),
            ),
            (
                json!({ "metadata": { "name": "f" }, "items": [{ "name": "a" }, { "name": "a" }] }),
                500,
                format!("{typed}.items: duplicate entries for key [name=\"a\"]"),
            ),
            (
                json!({ "metadata": { "name": "f", "labels": { "a": true } } }),
                500,
                format!(
                    "{typed}.metadata.labels.a: expected string, got &value.valueUnstructured{{Value:true}}"
                ),
            ),
        ];
        for (config, code, message) in table {
            let no = ApplyStory::new().apply("m", config.clone()).unwrap_err();
            assert_eq!((no.code.as_u16(), no.message), (code, message), "{config}");
        }
        let mut story = ApplyStory::new();
        story
            .apply(
                "m",
                json!({ "count": 1, "metadata": { "managedFields": null } }),
            )
            .unwrap();
    }
}
