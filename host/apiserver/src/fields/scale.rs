//! `managedFields` of the `scale` subresource: those entries of the object that own its replicas.
//!
//! A Scale has a version and fields of its own, so that entries are translated on the way there and back. As
//! in the real server, what comes back from there has no time.

use std::collections::BTreeMap;

use serde_json::Value;

use super::entry::NoManagers;
use super::managers::{Managers, Owned};
use super::object::{managed_fields, put_managed_fields};
use super::path::PathElement;
use super::set::Set;

const VERSION: &str = "autoscaling/v1";
const REPLICAS: [&str; 2] = ["spec", "replicas"];

/// Where the replicas are in each version of a kind, such as `apps/v1` and `["spec", "replicas"]`; nothing
/// for a version without the subresource.
#[derive(Clone, Debug, Default)]
pub struct Replicas(BTreeMap<String, Option<Vec<PathElement>>>);

impl Replicas {
    /// Says where the replicas are in a version.
    #[must_use]
    pub fn with(mut self, api_version: &str, path: Option<&[&str]>) -> Self {
        let path = path.map(|path| path.iter().map(|name| PathElement::field(*name)).collect());
        self.0.insert(api_version.to_owned(), path);
        self
    }

    fn path(&self, api_version: &str) -> Option<&[PathElement]> {
        self.0.get(api_version)?.as_deref()
    }

    /// Gives `scale` the entries of its object that own the replicas. Entries that cannot be read are none.
    pub fn to_scale(&self, object: &Value, scale: &mut Value) {
        let managers = read(object).unwrap_or_default().0.into_iter();
        let owners = managers.filter(|(_, owned)| {
            let path = self.path(&owned.api_version);
            path.is_some_and(|path| owned.set.has(path))
        });
        let owners = owners.map(|(manager, owned)| {
            let owned = Owned {
                set: Set::of_fields([&REPLICAS[..]]),
                api_version: VERSION.to_owned(),
                ..owned
            };
            (manager, owned)
        });
        put_managed_fields(scale, &Managers(owners.collect()));
    }

    /// Brings what `scale` has become back to its object, whose endpoint has the version `api_version`.
    pub fn to_object(&self, scale: &Value, object: &mut Value, api_version: &str) {
        let (Ok(parent), Ok(mut scale)) = (read(object), read(scale)) else {
            return;
        };
        let mut managers = Managers::default();
        for (manager, mut owned) in parent.0 {
            let Some(path) = self.0.get(&owned.api_version) else {
                continue;
            };
            if let Some(path) = path
                && owned.set.has(path)
                && scale.0.remove(&manager).is_none()
            {
                let mut taken = Set::default();
                taken.insert(path);
                owned.set = owned.set.difference(&taken);
            }
            managers.0.insert(manager, owned);
        }
        let in_scale = REPLICAS.map(PathElement::field);
        for (manager, owned) in scale.0 {
            if let Some(path) = self.path(api_version)
                && owned.set.has(&in_scale)
            {
                let mut set = Set::default();
                set.insert(path);
                let api_version = api_version.to_owned();
                let time = managers.0.get(&manager).and_then(|owned| owned.time);
                let owned = Owned {
                    set,
                    api_version,
                    time,
                };
                managers.0.insert(manager, owned);
            }
        }
        managers.drop_empty();
        put_managed_fields(object, &managers);
    }
}

fn read(object: &Value) -> Result<Managers, NoManagers> {
    Managers::read(managed_fields(object).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, version: &str, fields: &Value) -> Value {
        json!({ "manager": manager, "operation": operation, "apiVersion": version,
            "fieldsType": "FieldsV1", "fieldsV1": fields })
    }

    fn replicas() -> Replicas {
        Replicas::default()
            .with("apps/v1", Some(&["spec", "replicas"]))
            .with("apps/v2", Some(&["spec", "the_replicas"]))
            .with("apps/v3", None)
    }

    #[test]
    fn a_scale_has_the_owners_of_the_replicas() {
        let both = json!({ "f:spec": { "f:replicas": {}, "f:selector": {} } });
        let object = json!({ "metadata": { "managedFields": [
            entry("a", "Apply", "apps/v1", &both),
            entry("b", "Update", "apps/v2", &json!({ "f:spec": { "f:the_replicas": {} } })),
            entry("c", "Update", "apps/v2", &both),
            entry("d", "Update", "apps/v3", &both),
            entry("e", "Update", "apps/v4", &both),
        ] } });
        let mut scale = json!({});
        replicas().to_scale(&object, &mut scale);
        let own = json!({ "f:spec": { "f:replicas": {} } });
        assert_eq!(
            scale["metadata"]["managedFields"],
            json!([
                entry("a", "Apply", VERSION, &own),
                entry("b", "Update", VERSION, &own),
            ])
        );
    }

    #[test]
    fn what_a_scale_has_become_comes_back() {
        let both = json!({ "f:spec": { "f:replicas": {}, "f:selector": {} } });
        let only = json!({ "f:spec": { "f:replicas": {} } });
        let rest = json!({ "f:spec": { "f:selector": {} } });
        let mut written = entry("z", "Update", VERSION, &only);
        written["subresource"] = json!("scale");
        let mut back = entry("z", "Update", "apps/v1", &only);
        back["subresource"] = json!("scale");
        let table = [
            // Who applied replicas keeps them while the Scale says so,
            (
                vec![entry("a", "Apply", "apps/v1", &both)],
                vec![entry("a", "Apply", VERSION, &only)],
                vec![entry("a", "Apply", "apps/v1", &both)],
            ),
            // loses them to who takes them over,
            (
                vec![entry("a", "Apply", "apps/v1", &both)],
                vec![written.clone()],
                vec![entry("a", "Apply", "apps/v1", &rest), back.clone()],
            ),
            // and with them the entry if there is nothing else in it.
            (
                vec![entry("a", "Apply", "apps/v1", &only)],
                vec![written],
                vec![back],
            ),
            // Versions without replicas stay, unknown ones go.
            (
                vec![
                    entry("d", "Update", "apps/v3", &both),
                    entry("e", "Update", "apps/v4", &both),
                ],
                vec![],
                vec![entry("d", "Update", "apps/v3", &both)],
            ),
        ];
        for (before, scale, after) in table {
            let mut object = json!({ "metadata": { "managedFields": before } });
            let scale = json!({ "metadata": { "managedFields": scale } });
            replicas().to_object(&scale, &mut object, "apps/v1");
            assert_eq!(object["metadata"]["managedFields"], json!(after));
        }
    }
}
