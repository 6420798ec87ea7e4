//! Pure rules for the members of a set: which there can be, and what the host adds to each.

use serde_json::{Map, Value, json};

use super::super::check::invalid;
use super::super::{Primary, Target};
use crate::api::group_of;
use crate::plugin::bindings::cluster::Error;
use crate::view::{Metadata, Owner};

/// What marks a member, with the plugin's name.
const LABEL: &str = "windlass.dev/set";

/// Selects the members of all sets of a plugin.
pub(super) fn selector(plugin: &str) -> String {
    format!("{LABEL}={plugin}")
}

/// Whether an object is in a set of this plugin for this primary.
pub(super) fn is_member(object: &Metadata, primary: &Primary, plugin: &str) -> bool {
    object.labels.get(LABEL).map(String::as_str) == Some(plugin)
        && object.owners.iter().any(|owner| owner.uid == primary.uid)
}

/// Whether an object is in a set of this plugin for another primary: taking it would only make the two
/// take it from each other. One of the same name is this primary before it was made anew.
pub(super) fn is_of_another(object: &Metadata, primary: &Primary, plugin: &str) -> bool {
    let of_its_kind = |owner: &&Owner| {
        owner.kind == primary.resource.kind
            && group_of(&owner.api_version) == primary.resource.group
    };
    object.labels.get(LABEL).map(String::as_str) == Some(plugin)
        && object
            .owners
            .iter()
            .filter(of_its_kind)
            .any(|owner| *owner.name != *primary.key.name)
}

/// Whether the primary can own an object there: the garbage collector deletes what has its owner elsewhere.
pub(super) fn check_ownable(target: &Target, primary: &Primary) -> Result<(), Error> {
    if target.resource == primary.resource && target.key == primary.key {
        return invalid(format!("{primary} cannot be its own child"));
    }
    if primary.key.namespace.is_some() && primary.key.namespace != target.key.namespace {
        return invalid(format!(
            "{primary} cannot own {} {}: a child is in its owner's namespace",
            target.resource, target.key
        ));
    }
    Ok(())
}

/// Makes the primary the controlling owner, and marks the object as a member.
pub(super) fn adopt(
    object: &mut Map<String, Value>,
    primary: &Primary,
    plugin: &str,
) -> Result<(), Error> {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return invalid("the object has no metadata".into());
    };
    let owner = json!({
        "apiVersion": primary.resource.api_version(), "kind": primary.resource.kind,
        "name": primary.key.name, "uid": primary.uid,
        "controller": true, "blockOwnerDeletion": true,
    });
    metadata.insert("ownerReferences".into(), json!([owner]));
    let labels = metadata.entry("labels").or_insert(Value::Null);
    if labels.is_null() {
        *labels = json!({});
    }
    match labels {
        Value::Object(labels) => labels.insert(LABEL.into(), plugin.into()),
        _ => return invalid("metadata.labels is not an object".into()),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Resource;
    use crate::view::{Key, Object};

    fn resource(kind: &str, namespaced: bool) -> Resource {
        Resource {
            group: "x.dev".into(),
            version: "v1".into(),
            kind: kind.into(),
            plural: format!("{}s", kind.to_lowercase()),
            namespaced,
        }
    }

    fn key(namespace: &str, name: &str) -> Key {
        Key::new((!namespace.is_empty()).then_some(namespace), name)
    }

    fn primary(namespace: &str) -> Primary {
        Primary {
            resource: resource("Thing", !namespace.is_empty()),
            key: key(namespace, "a"),
            uid: "u".into(),
        }
    }

    #[test]
    fn a_child_is_where_its_owner_can_own_it() {
        let rows = [
            ("home", "Child", "home", true),
            ("home", "Child", "away", false),
            ("home", "Child", "", false),
            ("", "Child", "home", true),
            ("", "Child", "", true),
            ("home", "Thing", "home", false),
        ];
        for (owner, kind, namespace, ownable) in rows {
            let target = Target {
                resource: resource(kind, !namespace.is_empty()),
                key: key(namespace, "a"),
            };
            let got = check_ownable(&target, &primary(owner));
            assert_eq!(
                got.is_ok(),
                ownable,
                "{owner:?} {kind} {namespace:?}: {got:?}"
            );
        }
    }

    #[test]
    fn a_member_is_marked_and_owned_whatever_the_guest_said() {
        let said = json!({ "metadata": {
            "name": "c", "labels": { LABEL: "another", "app": "x" },
            "ownerReferences": [{ "apiVersion": "x.dev/v1", "kind": "Thing", "name": "a", "uid": "u" }],
        } });
        let mut object = said.as_object().unwrap().clone();
        adopt(&mut object, &primary("home"), "p").unwrap();
        let object = Value::Object(object);
        assert_eq!(
            object["metadata"]["labels"],
            json!({ LABEL: "p", "app": "x" })
        );
        assert_eq!(
            object["metadata"]["ownerReferences"],
            json!([{ "apiVersion": "x.dev/v1", "kind": "Thing", "name": "a", "uid": "u",
                "controller": true, "blockOwnerDeletion": true }])
        );
        let metadata = Object::new(&object).unwrap().metadata;
        assert!(is_member(&metadata, &primary("home"), "p"));
        assert!(!is_member(&metadata, &primary("home"), "q"));
        let another = Primary {
            uid: "v".into(),
            ..primary("home")
        };
        assert!(!is_member(&metadata, &another, "p"));
        let mut odd = json!({ "metadata": { "labels": 7 } })
            .as_object()
            .unwrap()
            .clone();
        assert!(adopt(&mut odd, &primary("home"), "p").is_err());
    }
}
