//! Who is there at one moment, as the server counts them: enough to compare a store with.
//!
//! - An object is two numbers, whatever it holds: a digest of its name, and its version.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::reflector::query::{self, ListQuery};
use super::{InformerDependencies, InformerKey};
use crate::api::{Accept, ApiError, Request};
use crate::object::{Key, Object};

/// How many objects a page has at most.
const PAGE: usize = 1000;

/// The digest of a name.
pub(super) type NameHash = u64;

/// A consistent list, in numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct VersionSnapshot {
    /// When it was true.
    version: u64,
    /// The versions of the objects.
    objects: HashMap<NameHash, u64>,
}

#[derive(Deserialize)]
struct MetadataList {
    metadata: ListMeta,
    /// Null if there are none: so kube-apiserver writes a list of metadata.
    items: Option<Vec<Item>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta {
    resource_version: String,
    #[serde(rename = "continue", default)]
    token: String,
}

#[derive(Deserialize)]
struct Item {
    metadata: ItemMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ItemMeta {
    namespace: Option<String>,
    name: String,
    resource_version: String,
    finalizers: Vec<String>,
}

impl VersionSnapshot {
    /// Counts what there is now: the newest state that the server has.
    ///
    /// # Errors
    /// The server could not be asked.
    pub(super) async fn take(
        watched: &InformerKey,
        means: &InformerDependencies,
    ) -> Result<Self, ApiError> {
        let (mut snapshot, mut token) = (Self::default(), String::new());
        loop {
            let page = ListQuery {
                at_least: None,
                limit: PAGE,
                token: &token,
            };
            let uri = query::page(watched, page);
            let uri = uri.map_err(|error| ApiError::Garbled(error.to_string()))?;
            let list: MetadataList = means
                .api
                .fetch(Request::list(uri, Accept::Metadata))
                .await?;
            let items = list.items.into_iter().flatten().map(|item| item.metadata);
            let wanted = items.filter(|item| match &watched.finalizer {
                Some(finalizer) => item.finalizers.contains(finalizer),
                None => true,
            });
            for item in wanted {
                let version = item.resource_version.parse().unwrap_or(0);
                let name = digest(item.namespace.as_deref(), &item.name);
                snapshot.objects.insert(name, version);
            }
            snapshot.version = list.metadata.resource_version.parse().unwrap_or(0);
            token = list.metadata.token;
            if token.is_empty() {
                return Ok(snapshot);
            }
        }
    }

    /// When it was true.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The objects that are not the same in a store that holds `held`. What is newer there is as it
    /// should be.
    pub(super) fn suspects<'a>(&self, held: impl Iterator<Item = &'a Object>) -> HashSet<NameHash> {
        let mut missing = self.objects.clone();
        let mut suspects = HashSet::new();
        for object in held {
            let (name, version) = (name_of(&object.metadata.key), object.metadata.version());
            let counted = missing.remove(&name);
            if version <= self.version && counted != Some(version) {
                suspects.insert(name);
            }
        }
        suspects.extend(missing.into_keys());
        suspects
    }
}

fn name_of(key: &Key) -> NameHash {
    digest(key.namespace.as_deref(), &key.name)
}

/// FNV-1a over namespace and name, as the API server's own check of its caches does it (KEP-4988).
fn digest(namespace: Option<&str>, name: &str) -> NameHash {
    let parts = [namespace.unwrap_or_default(), "/", name];
    fnv(parts.into_iter().flat_map(str::bytes))
}

fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(name: &str, version: u64) -> Object {
        let metadata = json!({ "name": name, "resourceVersion": version.to_string() });
        Object::new(&json!({ "metadata": metadata })).unwrap()
    }

    #[test]
    fn only_what_the_store_should_know_by_then_is_suspect() {
        let snapshot = VersionSnapshot {
            version: 20,
            objects: [("same", 5), ("stale", 9), ("newer", 7), ("lost", 3)]
                .map(|(name, version)| (digest(None, name), version))
                .into(),
        };
        let held = [
            object("same", 5),
            object("stale", 8),
            object("newer", 21),
            object("ghost", 4),
            object("born", 22),
        ];
        let suspects = snapshot.suspects(held.iter());
        let want = ["stale", "ghost", "lost"].map(|name| digest(None, name));
        assert_eq!(suspects, HashSet::from(want));
        assert!(VersionSnapshot::default().suspects([].iter()).is_empty());
    }

    #[test]
    fn a_list_of_nothing_is_read_in_all_its_forms() {
        for items in ["", r#", "items": null"#, r#", "items": []"#] {
            let text = format!(r#"{{ "metadata": {{ "resourceVersion": "7" }}{items} }}"#);
            let list: MetadataList = serde_json::from_str(&text).unwrap();
            assert_eq!(list.items.into_iter().flatten().count(), 0, "{text}");
        }
    }

    #[test]
    fn a_name_is_digested_with_its_namespace() {
        assert_eq!(digest(None, ""), digest(Some(""), ""));
        assert_ne!(digest(Some("a"), "bc"), digest(Some("ab"), "c"));
        // As the authors of FNV-1a have published it.
        assert_eq!(fnv("a".bytes()), 0xaf63_dc4c_8601_ec8c);
    }
}
