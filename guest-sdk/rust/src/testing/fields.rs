//! Which fields an applied object names, and how they come into another one and out of it.

use std::collections::BTreeSet;

use serde_json::Value;

/// The way to a field: names of fields, and `[key=value]` for an item of a list.
pub(super) type Path = Vec<String>;

/// The fields that `value` names: scalars, whole lists, and items of lists that merge by key.
pub(super) fn leaves(value: &Value) -> BTreeSet<Path> {
    let mut found = BTreeSet::new();
    collect(value, "", &mut Vec::new(), &mut found);
    found
}

fn collect(value: &Value, field: &str, path: &mut Path, found: &mut BTreeSet<Path>) {
    let mut enter = |step: String, field: &str, child: &Value, item: bool| {
        path.push(step);
        if item {
            found.insert(path.clone());
        }
        collect(child, field, path, found);
        path.pop();
    };
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (name, child) in map {
                enter(name.clone(), name, child, false);
            }
        }
        Value::Array(items) if merges(field, items) => {
            for item in items {
                enter(key(field, item).unwrap_or_default(), "", item, true);
            }
        }
        _ => drop(found.insert(path.clone())),
    }
}

/// Puts every field that `applied` names into `live`. `field` is what holds both.
pub(super) fn merge(live: &mut Value, applied: &Value, field: &str) {
    match (live, applied) {
        (Value::Object(live), Value::Object(applied)) => {
            for (name, value) in applied {
                match live.get_mut(name) {
                    Some(slot) => merge(slot, value, name),
                    None => drop(live.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::Array(live), Value::Array(applied))
            if merges(field, applied) && merges(field, live) =>
        {
            for item in applied {
                match live
                    .iter_mut()
                    .find(|old| key(field, old) == key(field, item))
                {
                    Some(old) => merge(old, item, ""),
                    None => live.push(item.clone()),
                }
            }
        }
        (live, applied) => *live = applied.clone(),
    }
}

/// Takes the field at `path` out of `live`, and what is empty without it. `field` holds `live`.
pub(super) fn remove(live: &mut Value, field: &str, path: &[String]) {
    let Some((step, rest)) = path.split_first() else {
        return;
    };
    match live {
        Value::Object(map) => {
            if let Some(child) = map.get_mut(step) {
                remove(child, step, rest);
                if rest.is_empty() || is_empty(child) {
                    map.remove(step);
                }
            }
        }
        Value::Array(items) => {
            let here = |item: &Value| key(field, item).as_ref() == Some(step);
            if let Some(at) = items.iter().position(here) {
                match items.get_mut(at) {
                    Some(item) if !rest.is_empty() => remove(item, "", rest),
                    _ => drop(items.remove(at)),
                }
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Whether a list under this field merges by key: every item has one.
fn merges(field: &str, items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(|item| key(field, item).is_some())
}

/// What tells an item of the list `field` from the others, as Kubernetes' own types have it.
fn key(field: &str, item: &Value) -> Option<String> {
    let keys: &[&str] = match field {
        "containers" | "initContainers" | "volumes" | "env" | "imagePullSecrets" => &["name"],
        "volumeMounts" => &["mountPath"],
        "conditions" => &["type"],
        "ownerReferences" => &["uid"],
        "ports" if item.get("containerPort").is_some() => &["containerPort", "protocol"],
        "ports" => &["port", "protocol"],
        "finalizers" => return item.as_str().map(|name| format!("[{name}]")),
        _ => return None,
    };
    let part = |&name: &&str| match item.get(name) {
        Some(value) => Some(format!("{name}={value}")),
        None if name == "protocol" => Some("protocol=\"TCP\"".to_owned()),
        None => None,
    };
    let parts: Option<Vec<_>> = keys.iter().map(part).collect();
    parts.map(|parts| format!("[{}]", parts.join(",")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_merge_by_key_where_kubernetes_does_and_are_replaced_elsewhere() {
        let mut live = json!({
            "containers": [{ "name": "a", "image": "1", "args": ["x", "y"] }],
            "names": [{ "name": "a" }],
        });
        let applied = json!({
            "containers": [{ "name": "a", "args": ["z"] }, { "name": "b" }],
            "names": [{ "name": "b" }],
        });
        merge(&mut live, &applied, "");
        assert_eq!(
            live,
            json!({
                "containers": [{ "name": "a", "image": "1", "args": ["z"] }, { "name": "b" }],
                "names": [{ "name": "b" }],
            }),
        );
    }

    #[test]
    fn what_is_put_in_by_its_leaves_can_be_taken_out_by_them() {
        let applied = json!({
            "data": { "a": "1" }, "empty": {}, "list": [1],
            "ports": [{ "port": 80 }, { "port": 80, "protocol": "UDP" }],
        });
        let mut live = json!({ "other": true, "ports": [{ "port": 81 }] });
        merge(&mut live, &applied, "");
        assert_eq!(live["ports"].as_array().unwrap().len(), 3);
        for path in leaves(&applied) {
            remove(&mut live, "", &path);
        }
        assert_eq!(live, json!({ "other": true, "ports": [{ "port": 81 }] }));
    }
}
