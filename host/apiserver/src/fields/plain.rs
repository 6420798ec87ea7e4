//! Puts a configuration into an object as server-side apply does, without regard to owners
//! (apiserver `pkg/admission/plugin/policy/mutating/patch/smd.go`).

use serde_json::Value;

use super::check::{Duplicates, check};
use super::merge::merge;
use super::types::{Type, TypePart};
use crate::schema::View;

/// An object with a configuration in it.
///
/// # Errors
/// If either is not as the schema says, or if the configuration has lists or maps that are one value.
pub fn merged(live: &Value, config: &Value, schema: View<'_>) -> Result<Value, String> {
    let ty = Type::root(schema);
    check(config, ty, Duplicates::Refused)
        .map_err(|problem| format!("failed to convert patch object to typed object: {problem}"))?;
    let mut atomic = Vec::new();
    find_atomic(config, ty, "", &mut atomic);
    if !atomic.is_empty() {
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomic.join(", ")
        ));
    }
    check(live, ty, Duplicates::Allowed).map_err(|problem| {
        format!("failed to convert original object to typed object: {problem}")
    })?;
    Ok(merge(live, config, ty))
}

fn find_atomic(value: &Value, ty: Type<'_>, path: &str, into: &mut Vec<String>) {
    match (value, ty.part_of(value)) {
        (Value::Object(fields), TypePart::Map(map)) => {
            if map.is_atomic() {
                into.push(path.to_owned());
            }
            for (name, value) in fields {
                if let Some(ty) = map.declared(name) {
                    find_atomic(value, ty, &format!("{path}.{name}"), into);
                }
            }
        }
        (Value::Array(items), TypePart::List(list)) => {
            if list.is_atomic() {
                into.push(path.to_owned());
            }
            for (index, value) in items.iter().enumerate() {
                find_atomic(value, list.items(), &format!("{path}[{index}]"), into);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    #[test]
    fn a_configuration_is_merged_unless_it_has_what_is_one_value() {
        let registry = Registry::new(crate::builtin::resources());
        let pods = registry.find("", "v1", "pods").unwrap();
        let schema = pods.schema().unwrap().view();
        let pod = |spec: Value| json!({ "apiVersion": "v1", "kind": "Pod", "spec": spec });
        let live = pod(json!({ "containers": [{ "name": "a", "image": "x" }] }));
        let more = pod(json!({ "containers": [{ "name": "b", "image": "y" }], "nodeName": "n" }));
        assert_eq!(
            merged(&live, &more, schema),
            Ok(pod(json!({ "nodeName": "n", "containers":
                [{ "name": "a", "image": "x" }, { "name": "b", "image": "y" }] })))
        );
        let command = pod(json!({ "containers": [{ "name": "a", "command": ["c"] }] }));
        assert_eq!(
            merged(&live, &command, schema).unwrap_err(),
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: \
             .spec.containers[0].command"
        );
    }
}
