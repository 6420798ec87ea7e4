//! Changes to the owner references of a dependent.

use serde_json::{Value, json};

use crate::controllers::client::{At, Client, Failed};
use crate::controllers::feed::Thing;
use crate::deep;
use crate::meta;
use crate::registry::Resource;

/// Takes references to owners away.
pub(super) fn disown(
    client: Client<'_>,
    thing: &Thing,
    resource: &Resource,
    lost: impl Fn(&str) -> bool,
) -> Result<(), Failed> {
    change_owners(client, thing, resource, |owners| {
        owners.retain(|owner| !owner.get("uid").and_then(Value::as_str).is_some_and(&lost));
    })
}

/// Lets no owner wait for this object.
pub(super) fn unblock(
    client: Client<'_>,
    thing: &Thing,
    resource: &Resource,
) -> Result<(), Failed> {
    change_owners(client, thing, resource, |owners| {
        for owner in owners {
            if owner.get("blockOwnerDeletion") == Some(&Value::Bool(true)) {
                meta::put(owner, "blockOwnerDeletion", false);
            }
        }
    })
}

fn change_owners(
    client: Client<'_>,
    thing: &Thing,
    resource: &Resource,
    change: impl FnOnce(&mut Vec<Value>),
) -> Result<(), Failed> {
    let entry = client.stored(thing).ok_or(Failed::Absent)?;
    let owners = deep::roomy(deep::nesting(&entry.json), || {
        meta::get(&entry.value(), "ownerReferences").cloned()
    });
    let Some(Value::Array(mut owners)) = owners else {
        return Ok(());
    };
    let before = owners.clone();
    change(&mut owners);
    if owners == before {
        return Ok(());
    }
    let owners = if owners.is_empty() {
        Value::Null
    } else {
        Value::Array(owners)
    };
    let revision = entry.revision.to_string();
    let patch = json!({ "metadata": { "resourceVersion": revision, "ownerReferences": owners } });
    client.merge(At::new(resource, &thing.key), &patch)
}
