//! Which objects a smoke test is about: pure.

use std::collections::{BTreeMap, VecDeque};

use windlass_kube::object::Object;

/// So many objects are tested, of all kinds together; more if there are more kinds.
pub(super) const OBJECTS: usize = 20;

/// The objects to test, of those that are `known` of each kind: one of each kind first, and then as many namespaces as
/// there are. Each with the place of its kind.
pub(super) fn sample(known: Vec<Vec<Object>>) -> Vec<(usize, Object)> {
    let most = OBJECTS.max(known.len());
    let spread = known.into_iter().map(by_namespace);
    let mut kinds: Vec<(usize, VecDeque<Object>)> = spread.enumerate().collect();
    let mut sample = Vec::new();
    while sample.len() < most {
        kinds.retain(|(_, objects)| !objects.is_empty());
        if kinds.is_empty() {
            break;
        }
        for (kind, objects) in &mut kinds {
            sample.extend(objects.pop_front().map(|object| (*kind, object)));
        }
    }
    sample.truncate(most);
    sample
}

/// The objects in an order in which no namespace has a second one before each has its first.
fn by_namespace(objects: Vec<Object>) -> VecDeque<Object> {
    let mut rounds: BTreeMap<usize, Vec<Object>> = BTreeMap::new();
    let mut seen: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for object in objects {
        let namespace = object.metadata.key.namespace.as_deref().map(str::to_owned);
        let round = seen.entry(namespace).or_default();
        rounds.entry(*round).or_default().push(object);
        *round += 1;
    }
    rounds.into_values().flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn objects(names: &[&str]) -> Vec<Object> {
        let object = |name: &&str| {
            let (namespace, name) = name.split_once('/').unwrap();
            let metadata = json!({ "namespace": namespace, "name": name, "uid": "u" });
            Object::new(&json!({ "apiVersion": "v1", "kind": "X", "metadata": metadata })).unwrap()
        };
        names.iter().map(object).collect()
    }

    fn sampled(known: &[&[&str]]) -> String {
        let sample = sample(known.iter().map(|names| objects(names)).collect());
        let names = sample
            .iter()
            .map(|(kind, object)| format!("{kind}:{}", object.metadata.key));
        names.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_of_each_kind_comes_first_and_then_other_namespaces() {
        assert_eq!(sampled(&[]), "");
        let known: [&[&str]; 3] = [&["a/1", "a/2", "b/3", "c/4"], &[], &["a/5", "a/6"]];
        assert_eq!(sampled(&known), "0:a/1 2:a/5 0:b/3 2:a/6 0:c/4 0:a/2");
    }

    #[test]
    fn no_more_are_tested_than_needed() {
        let names: Vec<String> = (0..50).map(|number| format!("n/{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let count = |known: &[&[&str]]| sample(known.iter().map(|it| objects(it)).collect()).len();
        assert_eq!(count(&[&names]), OBJECTS);
        assert_eq!(count(&[&names, &names, &names]), OBJECTS);
        assert_eq!(count(&[&names[..3]]), 3);
        assert_eq!(count(&[&names[..]; 30]), 30, "one of each kind");
    }
}
