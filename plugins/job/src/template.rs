//! The pod that a Job creates.

use serde_json::{Map, Value, json};
use windlass_sdk::OwnerReference;

use crate::pod::{FAILURES, FINALIZER, IGNORED, INDEX};
use crate::scale::NewPod;
use crate::spec::Template;

/// The environment variable with the index.
const ENV: &str = "JOB_COMPLETION_INDEX";
/// The API server adds five letters to the beginning of a name, which has at most 63.
const LONGEST_PREFIX: usize = 58;

/// Where the pod belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner<'a> {
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) reference: &'a OwnerReference,
}

/// A pod as the template describes it, with the finalizer, and with an index if it has one.
pub(crate) fn new_pod(owner: Owner<'_>, template: &Template, new: NewPod) -> Value {
    let given = &template.metadata;
    let (mut labels, mut annotations) = (given.labels.clone(), given.annotations.clone());
    let mut spec = template.spec.clone();
    let mut finalizers = given.finalizers.clone();
    if !finalizers.iter().any(|held| held == FINALIZER) {
        finalizers.push(FINALIZER.to_owned());
    }
    if let Some(index) = new.index {
        labels.insert(INDEX.to_owned(), index.to_string());
        annotations.insert(INDEX.to_owned(), index.to_string());
        let hostname = format!("{}-{index}", owner.name);
        if let Value::Object(spec) = &mut spec {
            spec.insert("hostname".to_owned(), hostname.into());
            add_env(spec);
        }
    }
    if let Some(attempts) = new.attempts {
        annotations.insert(FAILURES.to_owned(), attempts.failures.to_string());
        if attempts.ignored > 0 {
            annotations.insert(IGNORED.to_owned(), attempts.ignored.to_string());
        }
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": prefix(owner.name, new.index),
            "namespace": owner.namespace,
            "labels": labels,
            "annotations": annotations,
            "finalizers": finalizers,
            "ownerReferences": [owner.reference],
        },
        "spec": spec,
    })
}

/// What the name of a pod begins with. A long name of a Job is cut, so that the index stays.
fn prefix(name: &str, index: Option<usize>) -> String {
    let end = index.map_or("-".to_owned(), |index| format!("-{index}-"));
    let length = LONGEST_PREFIX.saturating_sub(end.len());
    let name: String = name.chars().take(length).collect();
    name + &end
}

/// Gives each container its index, unless the template does.
fn add_env(spec: &mut Map<String, Value>) {
    let path = format!("metadata.labels['{INDEX}']");
    let variable = json!({ "name": ENV, "valueFrom": { "fieldRef": { "fieldPath": path } } });
    for field in ["initContainers", "containers"] {
        let containers = spec.get_mut(field).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let Value::Object(container) = container else {
                continue;
            };
            let env = container.entry("env").or_insert_with(|| json!([]));
            let Value::Array(env) = env else { continue };
            let is_index = |one: &Value| one.get("name").and_then(Value::as_str) == Some(ENV);
            if !env.iter().any(is_index) {
                env.push(variable.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempts::Attempts;

    fn made(template: Value, new: NewPod) -> Value {
        let reference = OwnerReference::default();
        let owner = Owner {
            name: "pi",
            namespace: "default",
            reference: &reference,
        };
        new_pod(owner, &serde_json::from_value(template).unwrap(), new)
    }

    #[test]
    fn a_pod_has_the_finalizer_and_what_the_template_says() {
        let template = json!({
            "metadata": { "labels": { "a": "b" }, "finalizers": ["example.com/x"] },
            "spec": { "containers": [{ "name": "main" }] },
        });
        let pod = made(template, NewPod::default());
        assert_eq!(pod["metadata"]["generateName"], "pi-");
        assert_eq!(pod["metadata"]["labels"], json!({ "a": "b" }));
        assert_eq!(
            pod["metadata"]["finalizers"],
            json!(["example.com/x", FINALIZER])
        );
        assert_eq!(pod["spec"], json!({ "containers": [{ "name": "main" }] }));
    }

    #[test]
    fn a_pod_with_an_index_knows_it() {
        let template = json!({ "spec": {
            "initContainers": [{ "name": "own", "env": [{ "name": ENV, "value": "x" }] }],
            "containers": [{ "name": "main", "env": [{ "name": "A", "value": "a" }] }],
        } });
        let attempts = Some(Attempts {
            failures: 2,
            ignored: 0,
        });
        let new = NewPod {
            index: Some(7),
            attempts,
        };
        let pod = made(template, new);
        assert_eq!(pod["metadata"]["generateName"], "pi-7-");
        assert_eq!(pod["metadata"]["labels"], json!({ INDEX: "7" }));
        assert_eq!(
            pod["metadata"]["annotations"],
            json!({ INDEX: "7", FAILURES: "2" })
        );
        assert_eq!(pod["spec"]["hostname"], "pi-7");
        let env = &pod["spec"]["containers"][0]["env"];
        assert_eq!(env[1]["name"], ENV);
        let path = &env[1]["valueFrom"]["fieldRef"]["fieldPath"];
        assert_eq!(
            path,
            "metadata.labels['batch.kubernetes.io/job-completion-index']"
        );
        assert_eq!(
            pod["spec"]["initContainers"][0]["env"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
    }

    #[test]
    fn a_long_name_leaves_room_for_the_index() {
        let name = "a".repeat(63);
        assert_eq!(prefix(&name, None).len(), LONGEST_PREFIX);
        let prefix = prefix(&name, Some(12));
        assert_eq!(prefix.len(), LONGEST_PREFIX);
        assert!(prefix.ends_with("a-12-"));
    }
}
