//! What is remembered of an owner that has gone: where it was and what it was called (kubernetes
//! `pkg/controller/garbagecollector/garbagecollector.go`, `absentOwnerCache`).

use crate::controllers::client::resource_at;
use crate::controllers::feed::{Owner, Seen};
use crate::registry::Registry;

/// An owner that has gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AbsentOwner {
    api_version: String,
    kind: String,
    name: String,
    namespace: String,
}

impl AbsentOwner {
    /// The object that an event tells of, in the version in which collectors watch its kind: the preferred
    /// one, or that in which it was kept if the kind has gone too.
    pub(super) fn of(registry: &Registry, seen: &Seen) -> Self {
        let (key, meta) = (&seen.thing.key, &seen.meta);
        let served = resource_at(registry, &seen.thing.place);
        Self {
            api_version: served.map_or_else(
                || meta.api_version.clone(),
                |resource| resource.api_version(),
            ),
            kind: meta.kind.clone(),
            name: key.name.to_string(),
            namespace: key.namespace.to_string(),
        }
    }

    /// Whether a reference of an object in that namespace means this one. A reference with the uid of
    /// another kind means something that nobody knows.
    pub(super) fn is(&self, owner: &Owner, namespace: &str) -> bool {
        (&self.api_version, &self.kind, &self.name)
            == (&owner.api_version, &owner.kind, &owner.name)
            && (self.namespace.is_empty() || self.namespace == namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_means_what_has_gone_if_it_names_it_as_it_was() {
        let gone = |namespace: &str| AbsentOwner {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            name: "a".to_owned(),
            namespace: namespace.to_owned(),
        };
        let owner = |api_version: &str, kind: &str, name: &str| Owner {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            ..Owner::default()
        };
        let same = owner("v1", "ConfigMap", "a");
        assert!(gone("b").is(&same, "b"));
        assert!(gone("").is(&same, "b"));
        assert!(!gone("b").is(&same, "c"));
        for other in [
            owner("v1beta1", "ConfigMap", "a"),
            owner("apps/v1", "ConfigMap", "a"),
            owner("v1", "configmap", "a"),
            owner("v1", "ConfigMap", "b"),
        ] {
            assert!(!gone("b").is(&other, "b"), "{other:?}");
        }
    }
}
