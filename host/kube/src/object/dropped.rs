//! The fields that an apply takes away: its manager owns them alone, and the apply does not name them.
//!
//! The API server does the same (<https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management>).

use serde_json::{Map, Value};

/// The entries of `metadata.managedFields`, as one manager sees them.
#[derive(Clone, Copy)]
struct Fields<'a> {
    own: &'a Map<String, Value>,
    others: &'a [&'a Map<String, Value>],
}

/// `live` after `manager` has applied `intent` to `subresource` (empty for the object itself), but for the values of
/// `intent`. `entries` are the managed fields of `live`.
pub fn without_dropped(
    live: &Value,
    entries: &[Value],
    (manager, subresource): (&str, &str),
    intent: &Value,
) -> Value {
    let text = |entry: &Value, field: &str| -> String {
        let text = entry.get(field).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let is_own = |entry: &&Value| {
        text(entry, "manager") == manager
            && text(entry, "operation") == "Apply"
            && text(entry, "subresource") == subresource
    };
    let fields = |entry: &'_ Value| entry.get("fieldsV1").and_then(Value::as_object).cloned();
    let mut live = live.clone();
    let Some(own) = entries.iter().find(is_own).and_then(fields) else {
        return live;
    };
    let others: Vec<_> = { entries.iter() }
        .filter(|entry| !is_own(entry))
        .filter_map(fields)
        .collect();
    let others: Vec<&Map<String, Value>> = others.iter().collect();
    let fields = Fields {
        own: &own,
        others: &others,
    };
    fields.drop_from(&mut live, Some(intent), &Map::new());
    live
}

impl Fields<'_> {
    /// Takes what is dropped out of `live`, but for the `keys` of an item: they stay as long as the item does.
    fn drop_from(self, live: &mut Value, intent: Option<&Value>, keys: &Map<String, Value>) {
        for (path, below) in self.own {
            let Some((kind, name)) = path.split_once(':') else {
                continue;
            };
            if kind == "f" && keys.contains_key(name) {
                continue;
            }
            let others: Vec<&Map<String, Value>> = { self.others.iter() }
                .filter_map(|other| other.get(path).and_then(Value::as_object))
                .collect();
            let step = Step { kind, name };
            let named = intent.and_then(|intent| step.of(intent));
            let is_leaf = below.as_object().is_none_or(Map::is_empty);
            if !is_leaf && let (Some(own), Some(child)) = (below.as_object(), step.of_mut(live)) {
                let fields = Fields {
                    own,
                    others: &others,
                };
                fields.drop_from(child, named, &step.keys().unwrap_or_default());
            }
            // An item of a list has its keys left when all else has gone.
            let owns_whole = is_leaf || below.get(".").is_some();
            let is_left = match step.of(live) {
                Some(Value::Object(fields)) if !is_leaf => match step.keys() {
                    Some(keys) => fields.keys().any(|name| !keys.contains_key(name)),
                    None => !fields.is_empty(),
                },
                Some(Value::Array(items)) if !is_leaf => !items.is_empty(),
                _ => false,
            };
            if owns_whole && others.is_empty() && named.is_none() && !is_left {
                step.remove(live);
            }
        }
    }
}

/// A step of a path in `fieldsV1`: `f:` a field, `k:` an item by its keys, `v:` an item by its value.
#[derive(Clone, Copy)]
struct Step<'a> {
    kind: &'a str,
    name: &'a str,
}

impl Step<'_> {
    /// The keys of an item.
    fn keys(self) -> Option<Map<String, Value>> {
        let keys = (self.kind == "k").then(|| serde_json::from_str(self.name));
        keys?.ok()
    }

    /// Where in a list the step leads.
    fn index(self, items: &[Value]) -> Option<usize> {
        let value: Value = serde_json::from_str(self.name).ok()?;
        items.iter().position(|item| match (self.kind, &value) {
            ("k", Value::Object(keys)) => {
                let mut keys = keys.iter();
                keys.all(|(name, value)| item.get(name) == Some(value))
            }
            ("v", value) => item == value,
            _ => false,
        })
    }

    fn of(self, tree: &Value) -> Option<&Value> {
        match tree {
            Value::Object(fields) if self.kind == "f" => fields.get(self.name),
            Value::Array(items) => items.get(self.index(items)?),
            _ => None,
        }
    }

    fn of_mut(self, tree: &mut Value) -> Option<&mut Value> {
        match tree {
            Value::Object(fields) if self.kind == "f" => fields.get_mut(self.name),
            Value::Array(items) => {
                let at = self.index(items)?;
                items.get_mut(at)
            }
            _ => None,
        }
    }

    fn remove(self, tree: &mut Value) {
        match tree {
            Value::Object(fields) if self.kind == "f" => {
                fields.remove(self.name);
            }
            Value::Array(items) => {
                if let Some(at) = self.index(items) {
                    items.remove(at);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({ "manager": manager, "operation": operation, "fieldsV1": fields })
    }

    fn after(live: &Value, entries: &[Value], intent: &Value) -> Value {
        without_dropped(live, entries, ("own", ""), intent)
    }

    #[test]
    fn what_its_manager_owns_alone_and_does_not_name_goes() {
        let live = json!({
            "data": { "a": "1", "b": "2", "c": "3", "d": "4" },
            "metadata": { "labels": { "x": "1" } },
        });
        let entries = [
            entry(
                "own",
                "Apply",
                &json!({
                    "f:data": { ".": {}, "f:a": {}, "f:b": {}, "f:c": {} },
                    "f:metadata": { "f:labels": { ".": {}, "f:x": {} } },
                }),
            ),
            entry(
                "other",
                "Update",
                &json!({ "f:data": { "f:b": {}, "f:d": {} } }),
            ),
            entry("own", "Update", &json!({ "f:data": { "f:none": {} } })),
        ];
        let intent = json!({ "data": { "c": "5" } });
        let want = json!({ "data": { "b": "2", "c": "3", "d": "4" }, "metadata": {} });
        assert_eq!(after(&live, &entries, &intent), want);
        assert_eq!(
            after(&live, &entries[1..], &intent),
            live,
            "it owns nothing"
        );
        let status = without_dropped(&live, &entries, ("own", "status"), &intent);
        assert_eq!(status, live);
    }

    #[test]
    fn items_of_lists_go_by_their_keys_or_values() {
        let live = json!({
            "finalizers": ["a", "b"],
            "ports": [{ "port": 1, "name": "x" }, { "port": 2, "name": "y" }, { "port": 3 }],
        });
        let item = json!({ ".": {}, "f:port": {}, "f:name": {} });
        let entries = [
            entry(
                "own",
                "Apply",
                &json!({
                    "f:finalizers": { "v:\"a\"": {}, "v:\"b\"": {} },
                    "f:ports": {
                        "k:{\"port\":1}": item, "k:{\"port\":2}": item, "k:{\"port\":3}": { ".": {}, "f:port": {} },
                    },
                }),
            ),
            entry(
                "other",
                "Update",
                &json!({ "f:ports": { "k:{\"port\":2}": { "f:name": {} } } }),
            ),
        ];
        let intent = json!({ "finalizers": ["b"], "ports": [{ "port": 3 }] });
        let want = json!({
            "finalizers": ["b"],
            "ports": [{ "port": 2, "name": "y" }, { "port": 3 }],
        });
        assert_eq!(after(&live, &entries, &intent), want);
    }
}
