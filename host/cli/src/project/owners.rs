//! Owner references of objects that are applied to this program's own server: they get the UIDs that the owners have
//! there.
//!
//! - A file may come from another cluster, where the owner has another UID. The garbage collector deletes an object whose
//!   owners are all absent, so a reference to an owner that is not there goes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::objects::Wanted;

/// So long is a chain of owners at most, as far as the order goes: CronJob, Job, Pod, and what a Pod owns.
const CHAIN: usize = 8;

/// Kind and name of an object. The namespace does not matter for the order.
type KindAndName = (String, String);

/// Whom an owner reference names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner<'a> {
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> Owner<'a> {
    /// `None` if the reference is not as references are.
    pub(crate) fn of(reference: &'a Value) -> Option<Self> {
        let text = |field: &str| reference.get(field).and_then(Value::as_str);
        Some(Self {
            version: text("apiVersion")?,
            kind: text("kind")?,
            name: text("name")?,
        })
    }
}

/// The owner references of an object.
pub(crate) fn references(object: &Value) -> Vec<&Value> {
    let all = object.pointer("/metadata/ownerReferences");
    all.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect()
}

/// Gives each owner reference the UID that `uids` have at its place; one without goes. What is not as references are
/// stays, for the server to refuse.
pub(crate) fn set_uids(object: &mut Value, uids: Vec<Option<String>>) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return;
    };
    let Some(Value::Array(references)) = metadata.get_mut("ownerReferences") else {
        return;
    };
    let given = std::mem::take(references).into_iter().zip(uids);
    references.extend(given.filter_map(|(mut reference, uid)| {
        let is_reference = Owner::of(&reference).is_some();
        match (is_reference, uid) {
            (false, _) => Some(reference),
            (true, None) => None,
            (true, Some(uid)) => {
                if let Some(fields) = reference.as_object_mut() {
                    fields.insert("uid".to_owned(), json!(uid));
                }
                Some(reference)
            }
        }
    }));
    if references.is_empty() {
        metadata.remove("ownerReferences");
    }
}

/// How many owners, one above the other, each object has among `all`.
pub(crate) fn depths(all: &[&Wanted]) -> BTreeMap<KindAndName, usize> {
    let mut depths: BTreeMap<KindAndName, usize> = all.iter().map(|one| (title(one), 0)).collect();
    // More rounds change nothing unless objects own each other.
    for _ in 0..CHAIN {
        let before = depths.clone();
        for one in all {
            let owners = references(one.object())
                .into_iter()
                .filter_map(Owner::of)
                .map(|owner| (owner.kind.to_owned(), owner.name.to_owned()));
            let above = owners.filter_map(|owner| before.get(&owner)).max();
            if let Some(above) = above {
                depths.insert(title(one), above + 1);
            }
        }
        if depths == before {
            break;
        }
    }
    depths
}

/// Kind and name of an object.
pub(crate) fn title(one: &Wanted) -> KindAndName {
    let (_, kind) = one.kind();
    (kind.to_owned(), one.text("/metadata/name").to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::objects::{in_order, objects};
    use super::*;

    fn reference(name: &str, uid: &str) -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "controller": true })
    }

    fn pod(references: &[Value]) -> Value {
        json!({ "kind": "Pod", "metadata": { "name": "p", "ownerReferences": references } })
    }

    #[test]
    fn a_reference_gets_the_uid_that_its_owner_has_here_or_goes() {
        let (there, gone) = (reference("a", "old"), reference("b", "old"));
        let odd = json!({ "kind": "ConfigMap" });
        let mut object = pod(&[there, gone.clone(), odd.clone()]);
        let owner = Owner {
            version: "v1",
            kind: "ConfigMap",
            name: "a",
        };
        assert_eq!(Owner::of(references(&object)[0]), Some(owner));
        set_uids(&mut object, vec![Some("new".to_owned()), None, None]);
        assert_eq!(object, pod(&[reference("a", "new"), odd]));
        let mut object = pod(&[gone]);
        set_uids(&mut object, vec![None]);
        assert_eq!(
            object,
            json!({ "kind": "Pod", "metadata": { "name": "p" } })
        );
    }

    #[test]
    fn what_has_no_references_stays_as_it_is() {
        for object in [
            json!({ "kind": "Pod" }),
            json!({ "metadata": { "ownerReferences": "x" } }),
            json!({ "metadata": { "ownerReferences": null } }),
        ] {
            let mut same = object.clone();
            set_uids(&mut same, Vec::new());
            assert_eq!(same, object);
        }
    }

    #[test]
    fn owners_are_applied_before_what_they_own_also_if_two_own_each_other() {
        let text = "
{ kind: Pod, metadata: { name: p, ownerReferences: [{ apiVersion: batch/v1, kind: Job, name: j, uid: u }] } }
---
{ kind: Job, metadata: { name: j, ownerReferences: [{ apiVersion: batch/v1, kind: CronJob, name: c, uid: u }] } }
---
{ kind: A, metadata: { name: a, ownerReferences: [{ apiVersion: v1, kind: B, name: b, uid: u }] } }
---
{ kind: B, metadata: { name: b, ownerReferences: [{ apiVersion: v1, kind: A, name: a, uid: u }] } }
---
{ kind: CronJob, metadata: { name: c } }
---
{ kind: ConfigMap, metadata: { name: m, ownerReferences: [{ apiVersion: v1, kind: Node, name: elsewhere, uid: u }] } }
";
        let mut wanted = objects(Path::new("all.yaml"), text).unwrap();
        in_order(&mut wanted, |wanted| wanted);
        let kinds: Vec<&str> = wanted.iter().map(|one| one.kind().1).collect();
        assert_eq!(kinds, ["CronJob", "ConfigMap", "Job", "Pod", "A", "B"]);
    }
}
