//! Pure rules for the members of a set: which there can be, whose an object is, and what the host adds to each.

use serde_json::{Map, Value, json};

use super::super::check::invalid;
use super::super::{Primary, Target};
use crate::bindings::cluster::Error;
use windlass_kube::api::group_of;
use windlass_kube::object::{ADOPTED_LABEL, Metadata, Object, Owner, SET_LABEL, manager_of};

/// What an object that is there is to the set of a primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The host made it for a set of the plugin, or has adopted it, and no other object controls it.
    Member,
    /// The host made it for an earlier primary of the same name, and the garbage collector is going to delete it.
    Left,
    /// Another object controls it.
    Controlled(Owner),
    /// The host did not make it, and no other object controls it.
    Foreign,
}

/// Selects the members of all sets of a plugin.
pub(super) fn selector(plugin: &str) -> String {
    format!("{SET_LABEL}={plugin}")
}

/// What an object is to a set of `plugin` for `primary`.
///
/// That the host made it is known after a restart as well: only the host applies the label of a set as the plugin's
/// field manager, and its first apply makes the object or is refused. Somebody who copies a member copies its label
/// and its owner, but not that.
pub(super) fn standing(object: &Object, primary: &Primary, plugin: &str) -> Standing {
    let metadata = &object.metadata;
    let labelled = metadata.labels.get(SET_LABEL).map(String::as_str) == Some(plugin);
    let made = labelled && object.has_set_label_by(&manager_of(plugin));
    let is_of_its_kind = |owner: &Owner| {
        owner.kind == primary.resource.kind
            && group_of(&owner.api_version) == primary.resource.group
    };
    let mut owners = metadata.owners.iter();
    let other = owners.find(|owner| {
        owner.uid != primary.uid && (owner.controller || labelled && is_of_its_kind(owner))
    });
    match other {
        Some(other) if made && is_of_its_kind(other) && *other.name == *primary.key.name => {
            Standing::Left
        }
        Some(other) => Standing::Controlled(other.clone()),
        None if made => Standing::Member,
        None => Standing::Foreign,
    }
}

/// Whether an object is in the set of this very primary.
pub(in crate::cluster) fn is_in_set_of(object: &Object, primary: &Primary, plugin: &str) -> bool {
    let mut owners = object.metadata.owners.iter();
    owners.any(|owner| owner.uid == primary.uid)
        && standing(object, primary, plugin) == Standing::Member
}

/// Whether the host took the member over from somebody.
pub(in crate::cluster) fn is_adopted(object: &Metadata) -> bool {
    object.labels.contains_key(ADOPTED_LABEL)
}

/// Why a set may not take an object, and what to do.
pub(super) fn refusal(standing: &Standing, plugin: &str) -> String {
    match standing {
        Standing::Controlled(owner) => format!(
            "is controlled by {} {}: choose another name for the child, or delete one of the two",
            owner.kind, owner.name
        ),
        Standing::Member | Standing::Left | Standing::Foreign => format!(
            "was not made by {plugin}: rename or delete it, choose another name for the child, or grant `adopt: true` to let the plugin take it over"
        ),
    }
}

/// Whether the primary can own an object there: the garbage collector deletes what has its owner elsewhere.
pub(in crate::cluster) fn check_ownable(target: &Target, primary: &Primary) -> Result<(), Error> {
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
pub(super) fn mark(
    object: &mut Map<String, Value>,
    primary: &Primary,
    plugin: &str,
    adopted: bool,
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
    label(object, plugin, adopted)
}

/// Marks the object as a member, which the host has made or adopted.
pub(in crate::cluster) fn label(
    object: &mut Map<String, Value>,
    plugin: &str,
    adopted: bool,
) -> Result<(), Error> {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return invalid("the object has no metadata".into());
    };
    let labels = metadata.entry("labels").or_insert(Value::Null);
    if labels.is_null() {
        *labels = json!({});
    }
    let Value::Object(labels) = labels else {
        return invalid("metadata.labels is not an object".into());
    };
    labels.insert(SET_LABEL.into(), plugin.into());
    if adopted {
        labels.insert(ADOPTED_LABEL.into(), "true".into())
    } else {
        labels.remove(ADOPTED_LABEL)
    };
    Ok(())
}

/// Takes an adopted object out of a set: what it says stays as it is. Nothing happens to another version of it.
pub(super) fn release(object: &Object, primary: &Primary) -> Value {
    let metadata = &object.metadata;
    let mut others = object.owner_references();
    others.retain(|owner| owner.get("uid").and_then(Value::as_str) != Some(&primary.uid));
    json!({ "metadata": {
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
        "labels": { SET_LABEL: null, ADOPTED_LABEL: null },
        "ownerReferences": others,
    } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_kube::api::Resource;
    use windlass_kube::object::Key;

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
            "name": "c", "labels": { SET_LABEL: "another", ADOPTED_LABEL: "true", "app": "x" },
            "ownerReferences": [{ "apiVersion": "x.dev/v1", "kind": "Thing", "name": "a", "uid": "u" }],
        } });
        let mut object = said.as_object().unwrap().clone();
        mark(&mut object, &primary("home"), "p", false).unwrap();
        let marked = Value::Object(object.clone());
        assert_eq!(
            marked["metadata"]["labels"],
            json!({ SET_LABEL: "p", "app": "x" })
        );
        assert_eq!(
            marked["metadata"]["ownerReferences"],
            json!([{ "apiVersion": "x.dev/v1", "kind": "Thing", "name": "a", "uid": "u",
                "controller": true, "blockOwnerDeletion": true }])
        );
        mark(&mut object, &primary("home"), "p", true).unwrap();
        let marked = Value::Object(object);
        assert!(is_adopted(&Object::new(&marked).unwrap().metadata));
        let mut odd = json!({ "metadata": { "labels": 7 } })
            .as_object()
            .unwrap()
            .clone();
        assert!(mark(&mut odd, &primary("home"), "p", false).is_err());
    }

    /// An object with the set's label, if it has one, by the field manager `by`.
    fn labelled(label: Option<&str>, by: &str, owners: &Value) -> Object {
        let fields = json!({ "f:metadata": { "f:labels": { "f:windlass.dev/set": {} } } });
        let entry =
            json!({ "manager": by, "operation": "Apply", "apiVersion": "v9", "fieldsV1": fields });
        let mut object = json!({ "apiVersion": "v1", "metadata": {
            "name": "c", "ownerReferences": owners, "managedFields": [entry],
        } });
        if let Some(label) = label {
            object["metadata"]["labels"] = json!({ SET_LABEL: label });
        }
        Object::new(&object).unwrap()
    }

    #[test]
    fn an_object_is_a_member_only_if_the_host_made_it_and_no_other_object_controls_it() {
        let owner = |kind: &str, name: &str, uid: &str, controller: bool| json!({ "apiVersion": "x.dev/v2", "kind": kind, "name": name, "uid": uid, "controller": controller });
        let (own, none) = (json!([owner("Thing", "a", "u", true)]), json!([]));
        let earlier = json!([owner("Thing", "a", "t", true)]);
        let another = json!([owner("Thing", "b", "v", false)]);
        let foreign = json!([owner("Other", "a", "v", true)]);
        let beside = json!([
            owner("Thing", "a", "u", true),
            owner("Other", "o", "v", false)
        ]);
        let (p, q) = ("windlass/p", "windlass/q");
        let rows: [(Option<&str>, &str, &Value, &str); 14] = [
            (Some("p"), p, &own, "member"),
            (Some("p"), p, &none, "member"),
            (Some("p"), p, &beside, "member"),
            (Some("p"), p, &earlier, "left"),
            (Some("p"), p, &another, "controlled by b"),
            (Some("p"), p, &foreign, "controlled by a"),
            // Without the host's hand label and owner are what anybody may have written.
            (Some("p"), "kubectl", &own, "foreign"),
            (Some("p"), "kubectl", &earlier, "controlled by a"),
            (Some("p"), "kubectl", &another, "controlled by b"),
            (Some("q"), q, &own, "foreign"),
            (Some("p"), q, &own, "foreign"),
            (None, p, &own, "foreign"),
            (None, "kubectl", &another, "foreign"),
            (None, "kubectl", &foreign, "controlled by a"),
        ];
        for (label, by, owners, want) in rows {
            let object = labelled(label, by, owners);
            let got = match standing(&object, &primary("home"), "p") {
                Standing::Member => "member".to_owned(),
                Standing::Left => "left".to_owned(),
                Standing::Controlled(owner) => format!("controlled by {}", owner.name),
                Standing::Foreign => "foreign".to_owned(),
            };
            assert_eq!(got, want, "{label:?} {by} {owners}");
            let inside = want == "member" && *owners != none;
            assert_eq!(is_in_set_of(&object, &primary("home"), "p"), inside);
        }
    }

    #[test]
    fn what_is_released_keeps_its_other_owners() {
        let others = json!({ "apiVersion": "v1", "kind": "K", "name": "o", "uid": "v" });
        let own = json!({ "apiVersion": "x.dev/v1", "kind": "Thing", "name": "a", "uid": "u" });
        let object = json!({ "metadata": {
            "name": "c", "uid": "w", "resourceVersion": "7", "ownerReferences": [own, others],
        } });
        let patch = release(&Object::new(&object).unwrap(), &primary("home"));
        assert_eq!(
            patch,
            json!({ "metadata": {
                "uid": "w", "resourceVersion": "7", "ownerReferences": [others],
                "labels": { SET_LABEL: null, ADOPTED_LABEL: null },
            } })
        );
    }
}
