//! What a client should know of an object that is fine: what is deprecated, or means less than it seems.

mod pods;
mod storage;

use super::spot::Spot;
use super::{Resource, Value};
use crate::names;
use crate::status::shown::quoted;

const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
const CLASS: &str = "kubernetes.io/ingress.class";
const RECOMMENDED: &str = "which can result in surprising behavior; a DNS label is recommended";
const FOREVER: &str = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a \
     value >= 0 is recommended";
const ZONE: &str = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
     https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";

const NOT_CALLED: &str = "this server does not call webhooks: requests are admitted without them";
const STATIC: &str = ".static.k8s.io";

/// Warns of a new object, or of what has become of `old`.
pub fn warnings(new: &Value, old: Option<&Value>, resource: &Resource) -> Vec<String> {
    let mut all = Vec::new();
    let object = Spot::root(new);
    let place = (resource.group.as_str(), resource.plural.as_str());
    match place {
        ("", "pods") if old.is_none() => {
            name(&object, "the Pod's hostname", &mut all);
            pods::pod(&object, false, &mut all);
        }
        ("", "services") => service(&object, &mut all),
        ("", "persistentvolumeclaims") => storage::claim(&object, &mut all),
        ("", "persistentvolumes") => storage::volume(&object, &mut all),
        (
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations" | "mutatingwebhookconfigurations",
        ) => {
            if !object.of("webhooks").is_empty() {
                all.push(NOT_CALLED.to_owned());
            }
            static_name(&object, &mut all);
        }
        ("admissionregistration.k8s.io", _) => static_name(&object, &mut all),
        ("networking.k8s.io", "ingresses") if old.is_none() => {
            let class = object.of("metadata.annotations");
            if class.key(CLASS).is_set() && !object.of("spec.ingressClassName").is_set() {
                all.push(format!(
                    "annotation {CLASS:?} is deprecated, please use 'spec.ingressClassName' instead"
                ));
            }
        }
        _ => {
            if let Some(at) = template(place) {
                workload(&object, old, (place.1, at), &mut all);
            }
        }
    }
    all
}

/// Names that belong to files on the real server.
fn static_name(object: &Spot<'_>, all: &mut Vec<String>) {
    if object.of("metadata.name").text().ends_with(STATIC) {
        all.push(format!(
            "metadata.name: names ending with {STATIC:?} are reserved for static manifest-based \
             configurations and cannot be managed via the API"
        ));
    }
}

/// Where a kind has the template of its pods.
fn template(place: (&str, &str)) -> Option<&'static str> {
    match place {
        ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets")
        | ("batch", "jobs")
        | ("", "replicationcontrollers") => Some("spec.template"),
        ("batch", "cronjobs") => Some("spec.jobTemplate.spec.template"),
        ("", "podtemplates") => Some("template"),
        _ => None,
    }
}

fn workload(
    object: &Spot<'_>,
    old: Option<&Value>,
    (plural, at): (&str, &str),
    all: &mut Vec<String>,
) {
    let is_named = !matches!(plural, "statefulsets" | "daemonsets" | "podtemplates");
    if is_named && old.is_none() {
        name(object, "Pod names and hostnames", all);
    }
    let count = match plural {
        "daemonsets" => "/metadata/annotations/deprecated.daemonset.template.generation",
        _ => "/metadata/generation",
    };
    let counted = |object: &Value| object.pointer(count).cloned();
    if old.is_none_or(|old| counted(old) != counted(object.value())) {
        pods::pod(&object.of(at), true, all);
    }
    let limit = object.of("spec.revisionHistoryLimit").number();
    if plural == "statefulsets" && limit.is_some_and(|limit| limit < 0) {
        all.push(FOREVER.to_owned());
    }
    let schedule = object.of("spec.schedule");
    if plural == "cronjobs" && old.is_some() && schedule.text().contains("TZ") {
        all.push(ZONE.to_owned());
    }
}

fn name(object: &Spot<'_>, used: &str, all: &mut Vec<String>) {
    let wrong = names::label(object.of("metadata.name").text());
    if !wrong.is_empty() {
        let wrong = wrong.join(" ");
        all.push(format!(
            "metadata.name: this is used in {used}, {RECOMMENDED}: [{wrong}]"
        ));
    }
}

fn service(service: &Spot<'_>, all: &mut Vec<String>) {
    let spec = service.of("spec");
    if service.of("metadata.annotations").key(HINTS).is_set() {
        all.push(format!(
            "annotation {HINTS} is deprecated, please use {MODE} instead"
        ));
    }
    let kind = spec.of("type").text();
    let has = |field: &str| !spec.of(field).is_empty();
    let is_headless = kind == "ClusterIP" && spec.of("clusterIP").text() == "None";
    if is_headless {
        for field in ["loadBalancerIP", "externalIPs"] {
            if has(field) {
                all.push(format!("spec.{field} is ignored for headless services"));
            }
        }
        if spec.of("sessionAffinity").text() != "None" {
            all.push("spec.SessionAffinity is ignored for headless services".to_owned());
        }
    }
    let is_name = kind == "ExternalName";
    if has("externalIPs") && !is_headless && !is_name {
        let why =
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
        all.push(why.to_owned());
    }
    if is_name && has("externalIPs") {
        all.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !is_name && has("externalName") {
        all.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec.of("trafficDistribution").text() == "PreferClose" {
        let (old, new) = (quoted("PreferClose"), quoted("PreferSameZone"));
        all.push(format!(
            "spec.trafficDistribution: {old} is deprecated; use {new}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    #[test]
    fn clients_are_warned_of_what_is_less_than_it_seems() {
        let registry = Registry::new(crate::builtin::resources());
        let spec = json!({
            "nodeSelector": { "beta.kubernetes.io/os": "linux" },
            "imagePullSecrets": [{ "name": "a" }, { "name": "a" }, {}],
            "volumes": [{ "name": "g", "gitRepo": {} }],
            "terminationGracePeriodSeconds": -1,
            "topologySpreadConstraints": [{ "topologyKey": "zone" }],
            "containers": [
                {
                    "name": "a",
                    "env": [
                        { "name": "A", "value": "1" }, { "name": "A", "value": "2" },
                        { "name": "B", "value": "1" }, { "name": "B", "value": "$(B)2" },
                    ],
                    "resources": { "limits": { "memory": "100m" } },
                    "ports": [{ "name": "p", "containerPort": 80, "protocol": "TCP" }],
                },
                {
                    "name": "b",
                    "ports": [
                        { "name": "p", "containerPort": 80, "protocol": "TCP" },
                        { "containerPort": 80, "protocol": "TCP", "hostPort": 8080 },
                    ],
                },
            ],
        });
        let said = |plural: &str, new: &Value, old: Option<&Value>| {
            let group = if plural == "deployments" { "apps" } else { "" };
            let resource = registry.find(group, "v1", plural).unwrap();
            warnings(new, old, resource)
        };
        let pod = json!({ "metadata": { "name": "a.b" }, "spec": spec });
        let of_pod = [
            "metadata.name: this is used in the Pod's hostname, which can result in surprising \
             behavior; a DNS label is recommended: [must not contain dots]",
            "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \
             \"kubernetes.io/os\" instead",
            "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in \
             matching no pod",
            "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
            "spec.imagePullSecrets[1].name: duplicate name \"a\"",
            "spec.imagePullSecrets[2].name: invalid empty name \"\"",
            "spec.containers[0].resources.limits[memory]: fractional byte value \"100m\" is invalid, \
             must be an integer",
            "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped \
             when using apply",
            "spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]",
            "spec.containers[1].ports[1]: overlapping port definition with \
             spec.containers[0].ports[0]",
            "spec.containers[1].ports[1]: overlapping port definition with \
             spec.containers[1].ports[0]",
            "spec.containers[1].ports[0]: duplicate port name \"p\" with \
             spec.containers[0].ports[0], services and probes that select ports by name will use \
             spec.containers[0].ports[0]",
            "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will \
             be treated as 1",
        ];
        assert_eq!(said("pods", &pod, None), of_pod);
        assert_eq!(said("pods", &pod, Some(&pod)), [""; 0]);
        let template = json!({ "spec": spec });
        let web = |generation: u64| json!({ "metadata": { "name": "web", "generation": generation }, "spec": { "template": template } });
        let of_web = said("deployments", &web(2), Some(&web(1)));
        assert_eq!(of_web.len(), of_pod.len() - 1);
        assert!(
            of_web
                .iter()
                .all(|line| line.starts_with("spec.template.spec."))
        );
        assert_eq!(said("deployments", &web(1), Some(&web(1))), [""; 0]);
        let service = json!({ "spec": {
            "type": "ClusterIP", "clusterIP": "None", "externalIPs": ["192.0.2.1"],
            "sessionAffinity": "None", "externalName": "x",
        } });
        assert_eq!(
            said("services", &service, None),
            [
                "spec.externalIPs is ignored for headless services",
                "spec.externalName is ignored when spec.type is not \"ExternalName\"",
            ]
        );
    }
}
