//! Lists that are sets or maps: no item twice.

use serde_json::{Map, Value};

use crate::field::Path;
use crate::schema::{ListKind, View};
use crate::status::Cause;

/// What is there twice, in all lists below `value`.
pub(crate) fn validate(value: &Value, schema: View<'_>, at: Path<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    walk(value, schema, at, &mut causes);
    causes
}

fn walk(value: &Value, schema: View<'_>, at: Path<'_>, causes: &mut Vec<Cause>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(schema) = schema.property(name) {
                    walk(value, schema, at.child(name), causes);
                } else if let Some(schema) = schema.values() {
                    walk(value, schema, at.key(name), causes);
                }
            }
        }
        Value::Array(items) => {
            match schema.list() {
                ListKind::Atomic => {}
                ListKind::Set => twice(items, at, causes),
                ListKind::Map(keys) => keyed(items, keys, at, causes),
            }
            if let Some(schema) = schema.items() {
                for (index, item) in items.iter().enumerate() {
                    walk(item, schema, at.index(index), causes);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Each value that comes again is reported once, where it comes for the second time.
fn twice(items: &[Value], at: Path<'_>, causes: &mut Vec<Cause>) {
    for (index, item) in items.iter().enumerate() {
        let before = items.iter().take(index).filter(|other| *other == item);
        if before.count() == 1 {
            causes.push(Cause::duplicate(at.index(index), item));
        }
    }
}

fn keyed(items: &[Value], keys: &[String], at: Path<'_>, causes: &mut Vec<Cause>) {
    let odd = items
        .iter()
        .position(|item| !item.is_object() && !item.is_null());
    if let Some(index) = odd {
        let item = items.get(index).unwrap_or(&Value::Null);
        let why = "must be an object for an array of list-type map";
        causes.push(Cause::invalid(at.index(index), item, why));
        return;
    }
    let keys_of = |item: &Value| {
        let found = keys.iter().filter_map(|key| {
            let value = item.get(key)?;
            Some((key.clone(), value.clone()))
        });
        Value::Object(found.collect::<Map<_, _>>())
    };
    let all: Vec<Value> = items.iter().map(keys_of).collect();
    twice(&all, at, causes);
}
