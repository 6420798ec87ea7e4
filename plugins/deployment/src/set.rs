//! A ReplicaSet of a Deployment: one version of its pods.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use windlass_kit::metadata::Metadata;
use windlass_sdk::ObjectRef;

/// The number of a version. Versions count from 1.
pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";
/// The numbers that a version had before.
pub(crate) const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// How many replicas the Deployment wanted when the set was last scaled.
pub(crate) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// How many there could be then.
pub(crate) const MOST: &str = "deployment.kubernetes.io/max-replicas";

/// A ReplicaSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ReplicaSet {
    pub(crate) metadata: Metadata,
    pub(crate) spec: Spec,
    pub(crate) status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    replicas: Option<i64>,
    pub(crate) min_ready_seconds: i64,
    pub(crate) template: Value,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Status {
    pub(crate) replicas: i64,
    pub(crate) ready_replicas: i64,
    pub(crate) available_replicas: i64,
    pub(crate) terminating_replicas: Option<i64>,
    pub(crate) observed_generation: i64,
    pub(crate) conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Condition {
    pub(crate) r#type: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl ReplicaSet {
    /// One that is not there yet.
    pub(crate) fn none() -> Self {
        let mut none = Self::default();
        none.spec.replicas = Some(0);
        none
    }

    /// How many replicas it keeps.
    pub(crate) fn replicas(&self) -> i64 {
        self.spec.replicas.unwrap_or(1)
    }

    /// The number of its version; 0 without one.
    pub(crate) fn revision(&self) -> i64 {
        self.number(REVISION).unwrap_or(0)
    }

    /// The number in an annotation.
    pub(crate) fn number(&self, annotation: &str) -> Option<i64> {
        self.metadata.annotations.get(annotation)?.parse().ok()
    }

    /// Its reference.
    pub(crate) fn reference(&self) -> ObjectRef {
        let metadata = &self.metadata;
        ObjectRef::new(
            "apps/v1",
            "ReplicaSet",
            &metadata.namespace,
            &*metadata.name,
        )
    }
}

/// The replicas that sets keep, together.
pub(crate) fn replicas<'a>(sets: impl IntoIterator<Item = &'a ReplicaSet>) -> i64 {
    sets.into_iter().map(ReplicaSet::replicas).sum()
}

/// The available replicas of sets, together.
pub(crate) fn available<'a>(sets: impl IntoIterator<Item = &'a ReplicaSet>) -> i64 {
    let of = |set: &ReplicaSet| set.status.available_replicas;
    sets.into_iter().map(of).sum()
}

/// The order in which sets were made.
pub(crate) fn oldest_first(set: &ReplicaSet) -> impl Ord + use<> {
    (set.metadata.creation_timestamp, set.metadata.name.clone())
}

/// The order in which sets are scaled in proportion: the largest first, and of equal ones the newer or the older first.
pub(crate) fn by_size(sets: &mut [ReplicaSet], newer_first: bool) {
    sets.sort_by_key(oldest_first);
    if newer_first {
        sets.reverse();
    }
    sets.sort_by_key(|set| Reverse(set.replicas()));
}

/// What the annotations of a set say about the Deployment's size.
pub(crate) fn sizes(desired: i64, most: i64) -> BTreeMap<&'static str, String> {
    BTreeMap::from([(DESIRED, desired.to_string()), (MOST, most.to_string())])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A set that keeps `replicas`, of which `available` are available.
    pub(crate) fn set(name: &str, replicas: i64, available: i64) -> ReplicaSet {
        let mut set = ReplicaSet::default();
        set.metadata.name = name.to_owned();
        set.spec.replicas = Some(replicas);
        set.status.replicas = replicas;
        set.status.available_replicas = available;
        set
    }

    #[test]
    fn the_largest_is_scaled_first() {
        let mut sets = [set("a", 1, 0), set("b", 3, 0), set("c", 3, 0)];
        let names = |sets: &[ReplicaSet]| {
            let names = sets.iter().map(|set| set.metadata.name.clone());
            names.collect::<Vec<_>>()
        };
        by_size(&mut sets, true);
        assert_eq!(names(&sets), ["c", "b", "a"]);
        by_size(&mut sets, false);
        assert_eq!(names(&sets), ["b", "c", "a"]);
    }
}
