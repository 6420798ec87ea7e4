//! Hands fields from the managers of an earlier operator to ours, as client-go's `csaupgrade` does: pure.
//!
//! - The next apply then removes what the earlier operator wrote and the plugin does not apply.
//! - Finalizers stay with the manager that wrote them: an apply that leaves one out would remove it.

use serde_json::{Map, Value, json};

const METADATA: &str = "f:metadata";
const FINALIZERS: &str = "f:finalizers";
const FIELDS: &str = "fieldsV1";

/// The `metadata.managedFields` of an object after `manager` has what `replaced` wrote to `subresource` (empty for the
/// object itself). None if they wrote nothing there.
///
/// Fields that were written in another version of the kind than ours belong to nobody afterwards: their paths may differ.
pub fn handed_over(
    entries: &[Value],
    replaced: &[String],
    (manager, subresource): (&str, &str),
) -> Option<Vec<Value>> {
    let is_here = |entry: &Value| text(entry, "subresource") == subresource;
    let is_replaced =
        |entry: &Value| is_here(entry) && replaced.iter().any(|it| *it == text(entry, "manager"));
    let is_own = |entry: &Value| {
        is_here(entry) && text(entry, "manager") == manager && text(entry, "operation") == "Apply"
    };
    let mut own = entries.iter().find(|entry| is_own(entry)).cloned();
    let mut left = Vec::new();
    let mut is_changed = false;
    for entry in entries {
        if is_own(entry) {
            continue;
        }
        if !is_replaced(entry) {
            left.push(entry.clone());
            continue;
        }
        let (finalizers, rest) = split(entry);
        if let Some(finalizers) = finalizers {
            left.push(with_fields(entry, finalizers));
        }
        if rest.is_empty() {
            continue;
        }
        is_changed = true;
        match &mut own {
            None => own = Some(of_manager(with_fields(entry, rest), manager)),
            Some(own) if text(own, "apiVersion") == text(entry, "apiVersion") => {
                merge(
                    own,
                    Value::Object(Map::from_iter([(FIELDS.to_owned(), Value::Object(rest))])),
                );
            }
            Some(_) => {}
        }
    }
    left.extend(own);
    is_changed.then_some(left)
}

/// Whether one of `managers` wrote to the object.
pub fn is_written_by(entries: &[Value], managers: &[String]) -> bool {
    let mut entries = entries.iter();
    entries.any(|entry| managers.iter().any(|it| *it == text(entry, "manager")))
}

fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The fields of an entry: the finalizers, and the rest.
fn split(entry: &Value) -> (Option<Map<String, Value>>, Map<String, Value>) {
    let fields = entry.get(FIELDS).and_then(Value::as_object);
    let mut rest = fields.cloned().unwrap_or_default();
    let Some(Value::Object(metadata)) = rest.get_mut(METADATA) else {
        return (None, rest);
    };
    let finalizers = metadata.remove(FINALIZERS);
    // What is left is the mark of the object itself.
    if metadata.keys().all(|key| key == ".") {
        rest.remove(METADATA);
    }
    let finalizers = finalizers.map(|finalizers| {
        let metadata = json!({ FINALIZERS: finalizers });
        Map::from_iter([(METADATA.to_owned(), metadata)])
    });
    (finalizers, rest)
}

fn with_fields(entry: &Value, fields: Map<String, Value>) -> Value {
    let mut entry = entry.clone();
    if let Value::Object(entry) = &mut entry {
        entry.insert(FIELDS.to_owned(), Value::Object(fields));
    }
    entry
}

fn of_manager(mut entry: Value, manager: &str) -> Value {
    if let Value::Object(entry) = &mut entry {
        entry.insert("manager".to_owned(), manager.into());
        entry.insert("operation".to_owned(), "Apply".into());
    }
    entry
}

/// Adds `more` to a tree of fields.
fn merge(tree: &mut Value, more: Value) {
    let (Value::Object(tree), Value::Object(more)) = (tree, more) else {
        return;
    };
    for (name, fields) in more {
        match tree.get_mut(&name) {
            Some(held) => merge(held, fields),
            None => {
                tree.insert(name, fields);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "windlass/p";

    fn entry(manager: &str, operation: &str, subresource: &str, fields: &Value) -> Value {
        let mut entry = json!({
            "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        });
        if !subresource.is_empty() {
            entry["subresource"] = subresource.into();
        }
        entry
    }

    fn handed(entries: &[Value], subresource: &str) -> Option<Vec<Value>> {
        let replaced = ["old".to_owned(), "older".to_owned()];
        handed_over(entries, &replaced, (OWN, subresource))
    }

    #[test]
    fn our_manager_has_what_the_others_wrote() {
        let data = |names: &[&str]| {
            let names = names.iter().map(|name| (format!("f:{name}"), json!({})));
            json!({ "f:data": Map::from_iter(names) })
        };
        let user = entry("kubectl", "Update", "", &data(&["u"]));
        let status = entry("old", "Update", "status", &json!({ "f:status": {} }));
        let (old, older) = (
            entry("old", "Update", "", &data(&["a"])),
            entry("older", "Apply", "", &data(&["b"])),
        );
        let own = |fields: Value| entry(OWN, "Apply", "", &fields);
        let rows = [
            // Nobody whom it replaces.
            (vec![user.clone()], None),
            (vec![own(data(&["a"]))], None),
            // Of another part of the object.
            (vec![status.clone()], None),
            (
                vec![user.clone(), old.clone()],
                Some(vec![user.clone(), own(data(&["a"]))]),
            ),
            (
                vec![old.clone(), older.clone(), status.clone()],
                Some(vec![status.clone(), own(data(&["a", "b"]))]),
            ),
            (
                vec![own(data(&["c", "a"])), old.clone(), user.clone()],
                Some(vec![user, own(data(&["c", "a"]))]),
            ),
        ];
        for (entries, want) in rows {
            assert_eq!(handed(&entries, ""), want, "{entries:?}");
        }
        let moved = handed(&[old, status], "status").unwrap();
        assert_eq!(
            moved[1],
            entry(OWN, "Apply", "status", &json!({ "f:status": {} }))
        );
    }

    #[test]
    fn finalizers_stay_and_fields_of_another_version_belong_to_nobody() {
        let finalizers = json!({ "f:finalizers": { ".": {}, "v:\"example.com/x\"": {} } });
        let alone = entry("old", "Update", "", &json!({ "f:metadata": finalizers }));
        assert_eq!(handed(std::slice::from_ref(&alone), ""), None);
        let both = json!({
            "f:metadata": { ".": {}, "f:finalizers": finalizers["f:finalizers"], "f:labels": { "f:a": {} } },
        });
        let moved = handed(&[entry("old", "Update", "", &both)], "").unwrap();
        let labels = json!({ "f:metadata": { ".": {}, "f:labels": { "f:a": {} } } });
        assert_eq!(moved, [alone, entry(OWN, "Apply", "", &labels)]);
        let own = entry(OWN, "Apply", "", &labels);
        let mut other = entry("old", "Update", "", &json!({ "f:spec": {} }));
        other["apiVersion"] = "v1beta1".into();
        assert_eq!(handed(&[own.clone(), other], ""), Some(vec![own]));
    }
}
