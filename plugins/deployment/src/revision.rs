//! The numbers of versions, and the annotations that a set gets from its Deployment.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use windlass_kit::template::HASH_LABEL;

use crate::deployment::Deployment;
use crate::set::{DESIRED, MOST, REVISION, REVISION_HISTORY, ReplicaSet, sizes};

/// The longest name of an object.
const LONGEST_NAME: usize = 253;

/// How many letters the list of former numbers has at most.
const MOST_HISTORY: usize = 2000;

/// Annotations that belong to one object, and do not go from a Deployment to its sets.
const OWN: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    REVISION_HISTORY,
    DESIRED,
    MOST,
];

/// The number for the newest version: one more than the largest of the old sets.
pub(crate) fn next(old: &[ReplicaSet]) -> i64 {
    old.iter().map(ReplicaSet::revision).max().unwrap_or(0) + 1
}

/// The annotations that a set of the newest version lacks.
pub(crate) fn annotations(
    deployment: &Deployment,
    set: &ReplicaSet,
    next: i64,
) -> BTreeMap<String, String> {
    let has = &set.metadata.annotations;
    let of_deployment = deployment.metadata.annotations.iter();
    let mut lacks: BTreeMap<String, String> = of_deployment
        .filter(|(name, value)| !OWN.contains(&name.as_str()) && has.get(*name) != Some(*value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if set.revision() < next {
        lacks.insert(REVISION.to_owned(), next.to_string());
        if let Some(former) = has.get(REVISION) {
            let history = has.get(REVISION_HISTORY).map(String::as_str);
            lacks.insert(REVISION_HISTORY.to_owned(), history_with(history, former));
        }
    }
    lacks
}

/// A list of former numbers with one more. The oldest are dropped if it gets too long.
fn history_with(history: Option<&str>, former: &str) -> String {
    let mut list = match history {
        Some(history) if !history.is_empty() => format!("{history},{former}"),
        _ => former.to_owned(),
    };
    while list.len() > MOST_HISTORY {
        match list.split_once(',') {
            Some((_, rest)) => list = rest.to_owned(),
            None => break,
        }
    }
    list
}

/// The set for the template of a Deployment, with this hash.
pub(crate) fn new_set(deployment: &Deployment, hash: &str, next: i64, replicas: i64) -> Value {
    let spec = &deployment.spec;
    let mut template = spec.template.clone();
    let mut labels = template
        .pointer("/metadata/labels")
        .cloned()
        .unwrap_or_else(|| json!({}));
    labels_with(&mut labels, hash);
    if let Some(template) = template.as_object_mut() {
        let metadata = template.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("labels".to_owned(), labels.clone());
        }
    }
    let mut selector = spec.selector.clone();
    if let Some(selector) = selector.as_object_mut() {
        let labels = selector.entry("matchLabels").or_insert_with(|| json!({}));
        labels_with(labels, hash);
    }
    let mut annotations: Map<String, Value> = Map::new();
    for (name, value) in self::annotations(deployment, &ReplicaSet::default(), next) {
        annotations.insert(name, value.into());
    }
    for (name, value) in sizes(spec.replicas(), spec.most()) {
        annotations.insert(name.to_owned(), value.into());
    }
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": set_name(deployment.name(), hash),
            "namespace": deployment.metadata.namespace,
            "labels": labels, "annotations": annotations,
            "ownerReferences": [deployment.owner_reference()],
        },
        "spec": {
            "replicas": replicas, "minReadySeconds": spec.min_ready_seconds,
            "selector": selector, "template": template,
        },
    })
}

/// The name of the ReplicaSet for this version of the Deployment `name`. The name of the Deployment is cut, if need be
/// (kubernetes/kubernetes#132560): any name of a Deployment gives a valid one.
pub(crate) fn set_name(name: &str, hash: &str) -> String {
    let room = LONGEST_NAME.saturating_sub(hash.len() + 1);
    let cut = name.get(..room).unwrap_or(name);
    // A name has a letter or a digit on both sides of each dot.
    let base = if cut.len() < name.len() {
        cut.trim_end_matches(['.', '-'])
    } else {
        cut
    };
    format!("{base}-{hash}")
}

fn labels_with(labels: &mut Value, hash: &str) {
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(HASH_LABEL.to_owned(), hash.into());
    }
}

/// Which old sets are deleted, so that no more than `limit` stay: those of the oldest versions, unless they still have pods.
pub(crate) fn surplus(old: &[ReplicaSet], limit: usize) -> Vec<&ReplicaSet> {
    let mut old: Vec<&ReplicaSet> = old
        .iter()
        .filter(|set| !set.metadata.is_deleting())
        .collect();
    let surplus = old.len().saturating_sub(limit);
    old.sort_by_key(|set| set.revision());
    old.truncate(surplus);
    old.retain(|set| {
        set.status.replicas == 0
            && set.replicas() == 0
            && set.metadata.generation <= set.status.observed_generation
    });
    old
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::tests::set;

    fn with_revision(name: &str, replicas: i64, revision: &str) -> ReplicaSet {
        let mut set = set(name, replicas, 0);
        let annotations = &mut set.metadata.annotations;
        annotations.insert(REVISION.to_owned(), revision.to_owned());
        set
    }

    #[test]
    fn each_name_of_a_deployment_gives_a_name_of_a_set() {
        assert_eq!(set_name("web", "5d8f"), "web-5d8f");
        for length in [242, 243, 248, 249, 253] {
            let name = "a".repeat(length);
            let set = set_name(&name, "7c5ddbdf54");
            assert!(
                set.len() <= LONGEST_NAME && set.ends_with("a-7c5ddbdf54"),
                "{set}"
            );
        }
        let dotted = format!("{}.{}", "a".repeat(241), "b".repeat(11));
        assert_eq!(
            set_name(&dotted, "7c5ddbdf54"),
            format!("{}-7c5ddbdf54", "a".repeat(241))
        );
    }

    #[test]
    fn the_newest_version_has_the_largest_number() {
        for (revisions, expected) in [(vec![], 1), (vec!["1", "3", "2"], 4), (vec!["x"], 1)] {
            let sets = revisions.iter().map(|text| with_revision("a", 0, text));
            assert_eq!(next(&sets.collect::<Vec<_>>()), expected, "{revisions:?}");
        }
    }

    #[test]
    fn former_numbers_are_kept_up_to_a_limit() {
        assert_eq!(history_with(None, "1"), "1");
        assert_eq!(history_with(Some("1,2"), "5"), "1,2,5");
        let long = vec!["1234"; 400].join(",");
        let list = history_with(Some(&long), "9");
        assert!(
            list.len() <= MOST_HISTORY && list.ends_with(",9"),
            "{}",
            list.len()
        );
    }

    #[test]
    fn the_oldest_sets_without_pods_are_surplus() {
        let sets = [
            with_revision("c", 0, "3"),
            with_revision("a", 0, "1"),
            with_revision("b", 2, "2"),
            with_revision("d", 0, "4"),
        ];
        let names = |limit| {
            let surplus = surplus(&sets, limit);
            surplus
                .iter()
                .map(|set| set.metadata.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(4), [""; 0]);
        assert_eq!(names(3), ["a"]);
        assert_eq!(names(2), ["a"]);
        assert_eq!(names(0), ["a", "c", "d"]);
    }
}
