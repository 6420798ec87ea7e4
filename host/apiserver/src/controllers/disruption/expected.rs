//! How many pods a budget expects, and how many of them have to be healthy (`getExpectedPodCount` in kubernetes
//! `pkg/controller/disruption/disruption.go`).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::controllers::feed::{Meta, Owner};
use crate::crd::scale;
use crate::meta;
use crate::registry::{Origin, Registry, Resource};
use crate::server::Server;
use crate::status::Named;
use crate::store::{Entry, NamespacedName};
use std::sync::Arc;

/// How many pods are expected, and how many have to be healthy; or why nobody knows.
pub(super) fn of(server: &Server, budget: &Value, pods: &[Value]) -> Result<(i64, i64), String> {
    let bound = |field: &str| budget.get("spec").and_then(|spec| spec.get(field));
    if let Some(most) = bound("maxUnavailable").filter(|most| !most.is_null()) {
        let expected = scales(server, pods)?;
        return Ok((expected, (expected - share(most, expected)?).max(0)));
    }
    match bound("minAvailable") {
        Some(least) if least.is_string() => {
            let expected = scales(server, pods)?;
            Ok((expected, share(least, expected)?))
        }
        Some(least) => {
            let expected = i64::try_from(pods.len()).unwrap_or(i64::MAX);
            Ok((expected, least.as_i64().unwrap_or(0)))
        }
        None => Ok((0, 0)),
    }
}

/// A number, or a percentage of a whole, rounded up.
fn share(bound: &Value, whole: i64) -> Result<i64, String> {
    if let Some(number) = bound.as_i64() {
        return Ok(number);
    }
    let text = bound.as_str().unwrap_or_default();
    let percent = text
        .strip_suffix('%')
        .and_then(|text| text.parse::<i64>().ok());
    let percent = percent.ok_or_else(|| {
        format!("invalid value for IntOrString: invalid type: string is not a percentage: {text:?}")
    })?;
    let parts = percent.saturating_mul(whole);
    Ok(parts.div_euclid(100) + i64::from(parts.rem_euclid(100) > 0))
}

/// What the controllers of the pods are scaled to, together. A pod without a controller counts as nothing.
fn scales(server: &Server, pods: &[Value]) -> Result<i64, String> {
    let registry = server.registry();
    let mut found: BTreeMap<String, i64> = BTreeMap::new();
    for pod in pods {
        let owners = owners(pod);
        let Some(owner) = owners.iter().find(|owner| owner.controls()) else {
            continue;
        };
        if found.contains_key(&owner.uid) {
            continue;
        }
        let namespace = meta::text(pod, "namespace");
        match scale_of(server, &registry, namespace, owner)? {
            Some((uid, scale)) => found.insert(uid, scale),
            None => {
                let name = meta::text(pod, "name");
                return Err(format!("found no controllers for pod {name:?}"));
            }
        };
    }
    Ok(found.values().sum())
}

fn owners(object: &Value) -> Vec<Owner> {
    let held = meta::get(object, "ownerReferences").cloned();
    held.and_then(|held| serde_json::from_value(held).ok())
        .unwrap_or_default()
}

/// The object that scales a pod's controller, by uid, and what it is scaled to.
fn scale_of(
    server: &Server,
    registry: &Registry,
    namespace: &str,
    owner: &Owner,
) -> Result<Option<(String, i64)>, String> {
    let Some(resource) = registry.of_kind(&owner.api_version, &owner.kind) else {
        return Err(format!(
            "no matches for kind {:?} in version {:?}",
            owner.kind, owner.api_version
        ));
    };
    let Some(entry) = same_owner(server, resource, namespace, owner) else {
        return Ok(None);
    };
    let object = entry.value();
    // What a Deployment owns is scaled by the Deployment.
    let above = Meta::of(&entry).owner_references;
    let above = above
        .iter()
        .find(|above| above.controls() && above.kind == "Deployment");
    if let (Some(above), "ReplicaSet") = (above, owner.kind.as_str()) {
        let deployments = registry.of_kind("apps/v1", "Deployment");
        let found = deployments.and_then(|kind| same_owner(server, kind, namespace, above));
        return Ok(found.map(|found| (above.uid.clone(), replicas(&found.value()))));
    }
    let scale = match &resource.origin {
        Origin::BuiltIn if resource.subresource("scale").is_some() => replicas(&object),
        Origin::Custom {
            scale: Some(paths), ..
        } => {
            let read = scale::read(&object, paths).map_err(|refusal| refusal.message)?;
            read.pointer("/spec/replicas")
                .and_then(Value::as_i64)
                .unwrap_or(0)
        }
        _ => {
            let named = Named {
                group: &resource.group,
                resource: &resource.plural,
            };
            let kind = named.qualified();
            return Err(format!("{kind} does not implement the scale subresource"));
        }
    };
    Ok(Some((owner.uid.clone(), scale)))
}

fn replicas(object: &Value) -> i64 {
    let said = object.pointer("/spec/replicas").and_then(Value::as_i64);
    said.unwrap_or(1)
}

/// An owner, if it is still the same object.
fn same_owner(
    server: &Server,
    resource: &Resource,
    namespace: &str,
    owner: &Owner,
) -> Option<Arc<Entry>> {
    let namespace = if resource.namespaced { namespace } else { "" };
    let key = NamespacedName::new(namespace, &owner.name);
    let entry = server.store().get(&resource.place(), &key)?;
    (Meta::of(&entry).uid == owner.uid).then_some(entry)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_share_is_rounded_up() {
        let of = |bound: Value, whole| share(&bound, whole).unwrap();
        assert_eq!(
            [of(json!(2), 9), of(json!("50%"), 3), of(json!("50%"), 4)],
            [2, 2, 2]
        );
        assert_eq!([of(json!("0%"), 4), of(json!("100%"), 4)], [0, 4]);
        assert!(share(&json!("many"), 1).is_err());
    }
}
