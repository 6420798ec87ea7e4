//! The parts of a pod that the checks look at, with their names.

use serde_json::Value;

use crate::json::{get, list, text};

/// The metadata and the spec of a pod, or of what pods are made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct PodTemplate<'a> {
    pub(super) annotations: &'a Value,
    pub(super) spec: &'a Value,
}

impl<'a> PodTemplate<'a> {
    pub(super) fn of(object: &'a Value) -> Self {
        Self {
            annotations: get(get(object, "metadata"), "annotations"),
            spec: get(object, "spec"),
        }
    }

    /// All containers, in the order of messages.
    pub(super) fn containers(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        let spec = self.spec;
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        lists.into_iter().flat_map(|name| list(spec, name))
    }

    /// The security context of the pod.
    pub(super) fn context(&self) -> &'a Value {
        context(self.spec)
    }

    /// The names of containers that are bad.
    pub(super) fn bad_containers(&self, mut is_bad: impl FnMut(&'a Value) -> bool) -> Vec<&'a str> {
        let bad = self.containers().filter(|container| is_bad(container));
        bad.map(|container| text(container, "name")).collect()
    }

    pub(super) fn is_for_windows(&self) -> bool {
        text(get(self.spec, "os"), "name") == "windows"
    }

    /// Whether the users of the pod are none of the node.
    pub(super) fn has_own_users(&self) -> bool {
        get(self.spec, "hostUsers") == &Value::Bool(false)
    }
}

/// The template in an object of a kind that makes pods.
pub(super) fn of<'a>(group: &str, plural: &str, object: &'a Value) -> Option<PodTemplate<'a>> {
    let template = match (group, plural) {
        ("", "podtemplates") => get(object, "template"),
        ("", "replicationcontrollers")
        | ("apps", "replicasets" | "deployments" | "statefulsets" | "daemonsets")
        | ("batch", "jobs") => get(get(object, "spec"), "template"),
        ("batch", "cronjobs") => {
            let job = get(get(get(object, "spec"), "jobTemplate"), "spec");
            get(job, "template")
        }
        _ => return None,
    };
    (!template.is_null()).then(|| PodTemplate::of(template))
}

/// The security context of a pod's spec or of a container.
pub(super) fn context(holder: &Value) -> &Value {
    get(holder, "securityContext")
}

/// `"a", "b"`.
pub(super) fn joined<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<&str> = items.into_iter().collect();
    match items.as_slice() {
        [] => String::new(),
        items => format!("\"{}\"", items.join("\", \"")),
    }
}

/// The one word for one thing, the other for several.
pub(super) fn plural(one: &'static str, several: &'static str, count: usize) -> &'static str {
    if count == 1 { one } else { several }
}

/// `container "a"`, `containers "a", "b"`.
pub(super) fn named(containers: &[&str]) -> String {
    let word = plural("container", "containers", containers.len());
    format!("{word} {}", joined(containers.iter().copied()))
}

/// `pod and containers "a", "b"`; nothing if neither sets anything.
pub(super) fn setters(pod: bool, containers: &[&str]) -> Option<String> {
    let pod = pod.then(|| "pod".to_owned());
    let containers = (!containers.is_empty()).then(|| named(containers));
    let all: Vec<String> = pod.into_iter().chain(containers).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}
