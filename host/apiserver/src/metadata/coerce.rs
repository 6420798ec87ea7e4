//! Brings metadata into the shape that Go's `ObjectMeta` gives it: what it does not know goes away, and so
//! does what is empty; what it cannot hold is refused with the words of Go's JSON reader.

use serde_json::{Map, Number, Value};

use super::time;
use crate::field::Path;
use crate::json::type_name;

/// What a field holds.
#[derive(Clone, Copy)]
enum Shape {
    /// A text, with the name of its Go type.
    Text(&'static str),
    /// A number without a fraction.
    Integer,
    /// A number that is kept when it is 0.
    OptionalInteger,
    Bool,
    Time,
    Texts,
    TextMap,
    /// Whatever it is, it stays (`fieldsV1`).
    Anything,
    /// Structs of this type.
    List(&'static GoStruct),
}

/// A Go struct.
struct GoStruct {
    name: &'static str,
    fields: &'static [(&'static str, Shape)],
    /// Fields that are written even when empty.
    always: &'static [&'static str],
}

const TEXT: Shape = Shape::Text("string");

static METADATA: GoStruct = GoStruct {
    name: "ObjectMeta",
    fields: &[
        ("annotations", Shape::TextMap),
        ("creationTimestamp", Shape::Time),
        ("deletionGracePeriodSeconds", Shape::OptionalInteger),
        ("deletionTimestamp", Shape::Time),
        ("finalizers", Shape::Texts),
        ("generateName", TEXT),
        ("generation", Shape::Integer),
        ("labels", Shape::TextMap),
        ("managedFields", Shape::List(&MANAGED)),
        ("name", TEXT),
        ("namespace", TEXT),
        ("ownerReferences", Shape::List(&OWNER)),
        ("resourceVersion", TEXT),
        ("selfLink", TEXT),
        ("uid", Shape::Text("types.UID")),
    ],
    always: &[],
};

static OWNER: GoStruct = GoStruct {
    name: "OwnerReference",
    fields: &[
        ("apiVersion", TEXT),
        ("blockOwnerDeletion", Shape::Bool),
        ("controller", Shape::Bool),
        ("kind", TEXT),
        ("name", TEXT),
        ("uid", Shape::Text("types.UID")),
    ],
    always: &["apiVersion", "kind", "name", "uid"],
};

static MANAGED: GoStruct = GoStruct {
    name: "ManagedFieldsEntry",
    fields: &[
        ("apiVersion", TEXT),
        ("fieldsType", TEXT),
        ("fieldsV1", Shape::Anything),
        ("manager", TEXT),
        ("operation", Shape::Text("v1.ManagedFieldsOperationType")),
        ("subresource", TEXT),
        ("time", Shape::Time),
    ],
    always: &[],
};

/// What happens to a field that does not have the shape it should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The object is refused.
    Refuse,
    /// The field goes away: what is stored already must stay readable.
    Drop,
}

/// Brings `metadata` into shape and answers the fields that nobody knows, such as `metadata.foo`.
///
/// `path` is where the metadata lies, without its name.
///
/// # Errors
/// If a field has the wrong type, in Go's words.
pub fn coerce(
    metadata: &mut Value,
    path: Path<'_>,
    malformed: Malformed,
) -> Result<Vec<String>, String> {
    let mut walk = CoerceWalk {
        malformed,
        unknown: Vec::new(),
    };
    let fields = match metadata.take() {
        Value::Null => Map::new(),
        Value::Object(fields) => fields,
        other => {
            return Err(format!(
                "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                type_name(&other)
            ));
        }
    };
    let at = path.child("metadata");
    *metadata = Value::Object(walk.fields(fields, &METADATA, at, "")?);
    Ok(walk.unknown)
}

struct CoerceWalk {
    malformed: Malformed,
    unknown: Vec<String>,
}

impl CoerceWalk {
    /// `below` is the path in Go's own words, from the metadata on.
    fn fields(
        &mut self,
        fields: Map<String, Value>,
        of: &'static GoStruct,
        at: Path<'_>,
        below: &str,
    ) -> Result<Map<String, Value>, String> {
        let mut kept = Map::new();
        for (name, value) in fields {
            let Some((_, shape)) = of.fields.iter().find(|(field, _)| *field == name) else {
                self.unknown.push(at.child(&name).to_string());
                continue;
            };
            let below = match below {
                "" => name.clone(),
                below => format!("{below}.{name}"),
            };
            let value = match self.value(
                value,
                *shape,
                at.child(&name),
                GoPlace { of, below: &below },
            ) {
                Ok(value) => value,
                Err(_) if self.malformed == Malformed::Drop => continue,
                Err(why) => return Err(why),
            };
            if let Some(value) = value {
                kept.insert(name, value);
            }
        }
        for name in of.always {
            kept.entry(*name).or_insert_with(|| Value::from(""));
        }
        Ok(kept)
    }

    /// The value as Go holds it; nothing if Go would not write it.
    fn value(
        &mut self,
        value: Value,
        shape: Shape,
        at: Path<'_>,
        place: GoPlace<'_>,
    ) -> Result<Option<Value>, String> {
        match (shape, value) {
            (Shape::Anything, value) => Ok(Some(value).filter(|value| !value.is_null())),
            (_, Value::Null) => Ok(None),
            (Shape::Texts | Shape::TextMap, value) => texts(value, shape, place),
            (Shape::List(item), Value::Array(items)) => {
                let mut kept = Vec::with_capacity(items.len());
                for (index, entry) in items.into_iter().enumerate() {
                    let fields = match entry {
                        Value::Null => Map::new(),
                        Value::Object(fields) => fields,
                        other => return Err(place.wrong(&other, &format!("v1.{}", item.name))),
                    };
                    let kept_fields = self.fields(fields, item, at.index(index), place.below)?;
                    kept.push(kept_fields.into());
                }
                Ok((!kept.is_empty()).then_some(Value::Array(kept)))
            }
            (Shape::List(item), other) => Err(place.wrong(&other, &format!("[]v1.{}", item.name))),
            (_, value) => scalar(value, shape, place),
        }
    }
}

/// Where a value is, in Go's words.
#[derive(Clone, Copy)]
struct GoPlace<'a> {
    of: &'static GoStruct,
    below: &'a str,
}

impl GoPlace<'_> {
    fn wrong(self, value: &Value, into: &str) -> String {
        let (what, of, below) = (type_name(value), self.of.name, self.below);
        format!("json: cannot unmarshal {what} into Go struct field {of}.{below} of type {into}")
    }
}

fn scalar(value: Value, shape: Shape, place: GoPlace<'_>) -> Result<Option<Value>, String> {
    Ok(match (shape, value) {
        (Shape::Text(_), Value::String(text)) => (!text.is_empty()).then(|| text.into()),
        (Shape::Text(name), other) => return Err(place.wrong(&other, name)),
        (Shape::Bool, Value::Bool(yes)) => Some(yes.into()),
        (Shape::Bool, other) => return Err(place.wrong(&other, "bool")),
        (Shape::Time, Value::String(text)) => Some(time::normal(&text)?.into()),
        (Shape::Time, other) => return Err(place.wrong(&other, "string")),
        (_, Value::Number(number)) => {
            let Some(integer) = integer(&number) else {
                let what = format!("number {number}");
                let why = place.wrong(&Value::Number(number), "int64");
                return Err(why.replace("number", &what));
            };
            let kept = integer != 0 || matches!(shape, Shape::OptionalInteger);
            kept.then(|| integer.into())
        }
        (_, other) => return Err(place.wrong(&other, "int64")),
    })
}

/// A list or map of texts.
fn texts(value: Value, shape: Shape, place: GoPlace<'_>) -> Result<Option<Value>, String> {
    let text = |value: Value| match value {
        Value::Null => Ok(Value::from("")),
        Value::String(_) => Ok(value),
        other => Err(place.wrong(&other, "string")),
    };
    Ok(match (shape, value) {
        (Shape::Texts, Value::Array(items)) => {
            let items: Vec<Value> = items.into_iter().map(text).collect::<Result<_, _>>()?;
            (!items.is_empty()).then(|| items.into())
        }
        (Shape::Texts, other) => return Err(place.wrong(&other, "[]string")),
        (_, Value::Object(entries)) => {
            let entries: Map<String, Value> = entries
                .into_iter()
                .map(|(key, value)| Ok((key, text(value)?)))
                .collect::<Result<_, String>>()?;
            (!entries.is_empty()).then(|| entries.into())
        }
        (_, other) => return Err(place.wrong(&other, "map[string]string")),
    })
}

fn integer(number: &Number) -> Option<i64> {
    let whole = |float: &f64| float.fract() == 0.0 && float.abs() < 9.0e18;
    number
        .as_i64()
        .or_else(|| number.as_f64().filter(whole).map(|float| float as i64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(metadata: Value) -> String {
        let mut metadata = metadata;
        coerce(&mut metadata, Path::ROOT, Malformed::Refuse).unwrap_err()
    }

    #[test]
    fn what_go_cannot_hold_is_refused_in_its_words() {
        for (metadata, why) in [
            (
                json!("x"),
                "cannot unmarshal string into Go value of type v1.ObjectMeta",
            ),
            (
                json!({ "labels": { "a": 1 } }),
                "cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
            ),
            (
                json!({ "labels": [] }),
                "cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string",
            ),
            (
                json!({ "uid": 1 }),
                "cannot unmarshal number into Go struct field ObjectMeta.uid of type types.UID",
            ),
            (
                json!({ "generation": 1.5 }),
                "cannot unmarshal number 1.5 into Go struct field ObjectMeta.generation of type int64",
            ),
            (
                json!({ "creationTimestamp": 1 }),
                "cannot unmarshal number into Go struct field ObjectMeta.creationTimestamp of type string",
            ),
            (
                json!({ "finalizers": "x" }),
                "cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string",
            ),
            (
                json!({ "ownerReferences": ["x"] }),
                "cannot unmarshal string into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference",
            ),
            (
                json!({ "ownerReferences": [{ "kind": 1 }] }),
                "cannot unmarshal number into Go struct field OwnerReference.ownerReferences.kind of type string",
            ),
            (
                json!({ "managedFields": 1 }),
                "cannot unmarshal number into Go struct field ObjectMeta.managedFields of type []v1.ManagedFieldsEntry",
            ),
            (
                json!({ "managedFields": [{ "operation": 1 }] }),
                "cannot unmarshal number into Go struct field ManagedFieldsEntry.managedFields.operation of type v1.ManagedFieldsOperationType",
            ),
        ] {
            assert_eq!(refused(metadata), format!("json: {why}"));
        }
    }

    #[test]
    fn what_is_empty_or_unknown_goes_away() {
        let mut metadata = json!({
            "name": "a", "labels": {}, "annotations": { "a": null }, "finalizers": [], "generation": 0,
            "deletionGracePeriodSeconds": 0, "creationTimestamp": "2020-01-01T02:00:00.9+02:00",
            "deletionTimestamp": null, "foo": 1, "ownerReferences": [{ "name": "b", "bar": 1 }],
        });
        let unknown = coerce(&mut metadata, Path::ROOT, Malformed::Refuse).unwrap();
        assert_eq!(unknown, ["metadata.foo", "metadata.ownerReferences[0].bar"]);
        assert_eq!(
            metadata,
            json!({
                "name": "a", "annotations": { "a": "" }, "deletionGracePeriodSeconds": 0,
                "creationTimestamp": "2020-01-01T00:00:00Z",
                "ownerReferences": [{ "apiVersion": "", "kind": "", "name": "b", "uid": "" }],
            })
        );
    }

    #[test]
    fn what_is_stored_loses_what_is_malformed() {
        let mut metadata = json!({ "name": "a", "labels": 1, "uid": 2 });
        coerce(&mut metadata, Path::ROOT, Malformed::Drop).unwrap();
        assert_eq!(metadata, json!({ "name": "a" }));
    }
}
