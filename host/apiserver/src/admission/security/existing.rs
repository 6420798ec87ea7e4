//! What a namespace's pods violate of a level that it begins to enforce (`EvaluatePodsInNamespace`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::checks;
use super::labels::LevelVersion;
use super::template::PodTemplate;
use crate::json::{get, list, text};
use crate::meta;
use crate::store::{GroupResource, Store};

/// The number of pods that are judged at most.
const MOST: usize = 3000;

/// The warnings for the client.
pub(super) fn warnings(store: &Store, namespace: &str, level: LevelVersion) -> Vec<String> {
    let place = GroupResource {
        group: String::new(),
        plural: "pods".to_owned(),
    };
    let entries = store.list(&place, Some(namespace)).entries;
    let pods: Vec<Value> = entries.iter().map(|entry| entry.value()).collect();
    told(namespace, level, &pods)
}

fn told(namespace: &str, level: LevelVersion, pods: &[Value]) -> Vec<String> {
    let mut by_reason: BTreeMap<String, (String, usize)> = BTreeMap::new();
    let judged = in_order(pods);
    for pod in judged.iter().take(MOST) {
        let violations = checks::violations(level, &PodTemplate::of(pod));
        let reasons: Vec<&str> = violations
            .iter()
            .map(|violation| violation.reason)
            .collect();
        if reasons.is_empty() {
            continue;
        }
        let name = meta::text(pod, "name");
        let (first, count) = by_reason.entry(reasons.join(", ")).or_default();
        if *count == 0 || name < first.as_str() {
            name.clone_into(first);
        }
        *count += 1;
    }
    let mut warnings = Vec::new();
    if pods.len() > MOST {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {MOST} of {} existing pods",
            pods.len()
        ));
    }
    if !by_reason.is_empty() {
        warnings.push(format!(
            "existing pods in namespace \"{namespace}\" violate the new PodSecurity enforce level \"{level}\""
        ));
    }
    let lines = by_reason
        .into_iter()
        .map(|(reason, (first, count))| match count {
            1 => format!("{first}: {reason}"),
            2 => format!("{first} (and 1 other pod): {reason}"),
            more => format!("{first} (and {} other pods): {reason}", more - 1),
        });
    let mut lines: Vec<String> = lines.collect();
    lines.sort_unstable();
    warnings.extend(lines);
    warnings
}

/// One pod of each controller first.
fn in_order(pods: &[Value]) -> Vec<&Value> {
    let mut controllers = BTreeSet::new();
    let (mut first, mut copies) = (Vec::new(), Vec::new());
    for pod in pods {
        let owners = list(get(pod, "metadata"), "ownerReferences").iter();
        let controller = owners
            .clone()
            .find(|owner| get(owner, "controller") == &Value::Bool(true));
        match controller {
            Some(owner) if !controllers.insert(text(owner, "uid")) => copies.push(pod),
            _ => first.push(pod),
        }
    }
    first.append(&mut copies);
    first
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::labels::{Level, PolicyVersion};
    use super::*;

    #[test]
    fn pods_with_the_same_reasons_share_a_line() {
        let pod = |name: &str, spec: Value| json!({ "metadata": { "name": name }, "spec": spec });
        let bad = json!({ "hostNetwork": true });
        let pods = [
            pod("c", bad.clone()),
            pod("b", bad.clone()),
            pod("fine", json!({})),
            pod(
                "a",
                json!({ "hostPID": true, "volumes": [{ "name": "v", "hostPath": {} }] }),
            ),
        ];
        let level = LevelVersion {
            level: Level::Baseline,
            version: PolicyVersion::default(),
        };
        let wanted = [
            "existing pods in namespace \"n\" violate the new PodSecurity enforce level \"baseline:latest\"",
            "a: host namespaces, hostPath volumes",
            "b (and 1 other pod): host namespaces",
        ];
        assert_eq!(told("n", level, &pods), wanted);
        let many = vec![pod("d", bad); 3001];
        let told = told("n", level, &many);
        let cut = "new PodSecurity enforce level only checked against the first 3000 of 3001 existing pods";
        assert_eq!(told.first().map(String::as_str), Some(cut));
        assert_eq!(
            told.last().map(String::as_str),
            Some("d (and 2999 other pods): host namespaces")
        );
    }

    #[test]
    fn one_pod_of_each_controller_comes_first() {
        let pod = |name: &str, uid: &str| {
            let owner = json!({ "controller": true, "uid": uid });
            json!({ "metadata": { "name": name, "ownerReferences": [owner] } })
        };
        let pods = [pod("a", "1"), pod("b", "1"), pod("c", "2")];
        let names = in_order(&pods)
            .into_iter()
            .map(|pod| meta::text(pod, "name"));
        assert_eq!(Vec::from_iter(names), ["a", "c", "b"]);
    }
}
