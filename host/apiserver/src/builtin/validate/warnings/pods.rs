//! Warnings about pods and templates of them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::spot::Spot;
use crate::builtin::quantity::Amount;
use crate::status::shown::quoted;

/// Labels of nodes that have other names now.
const LABELS: [(&str, &str); 8] = [
    (
        "beta.kubernetes.io/arch",
        "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
    ),
    (
        "beta.kubernetes.io/os",
        "deprecated since v1.14; use \"kubernetes.io/os\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    (
        "node-role.kubernetes.io/master",
        "use \"node-role.kubernetes.io/control-plane\" instead",
    ),
];
const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];
const VOLUMES: [(&str, &str); 9] = [
    (
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "gitRepo",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];
/// Lists of containers, in the order in which the real server visits them.
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
const AFFINITIES: [&str; 2] = ["affinity.podAffinity", "affinity.podAntiAffinity"];
const SECCOMP: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
const APP_ARMOR: &str = "deprecated since v1.30; use the \"appArmorProfile\" field instead";
const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";

/// Warns of a pod, or of the template of one.
pub(super) fn pod(pod: &Spot<'_>, is_template: bool, all: &mut Vec<String>) {
    let spec = pod.of("spec");
    placing(&spec, all);
    let annotations = pod.of("metadata.annotations");
    for (key, why) in ANNOTATIONS {
        say_if(
            annotations.key(key).is_set(),
            &annotations.key(key),
            why,
            all,
        );
    }
    for volume in spec.of("volumes").items() {
        for (kind, why) in VOLUMES {
            say_if(volume.of(kind).is_set(), &volume.of(kind), why, all);
        }
    }
    lists(&spec, all);
    fractions(&spec.of("overhead"), all);
    let profile = annotations.key("seccomp.security.alpha.kubernetes.io/pod");
    let has_field = spec.of("securityContext.seccompProfile").is_set();
    say_if(profile.is_set() && !has_field, &profile, SECCOMP, all);
    for list in CONTAINERS {
        for container in spec.of(list).items() {
            profiles(&container, &spec, &annotations, is_template, all);
            fractions(&container.of("resources.limits"), all);
            fractions(&container.of("resources.requests"), all);
            variables(&container.of("env"), all);
        }
    }
    ports(&spec, all);
    let grace = spec.of("terminationGracePeriodSeconds");
    let why = "must be >= 0; negative values are invalid and will be treated as 1";
    say_if(
        grace.number().is_some_and(|seconds| seconds < 0),
        &grace,
        why,
        all,
    );
    affinities(&spec, all);
}

fn say_if(holds: bool, at: &Spot<'_>, why: &str, all: &mut Vec<String>) {
    if holds {
        all.push(format!("{}: {why}", at.path()));
    }
}

fn label(key: &str) -> Option<&'static str> {
    let mut rows = LABELS.iter();
    rows.find(|(known, _)| *known == key).map(|(_, why)| *why)
}

fn placing(spec: &Spot<'_>, all: &mut Vec<String>) {
    for (key, at) in spec.of("nodeSelector").entries() {
        if let Some(why) = label(key) {
            say_if(true, &at, why, all);
        }
    }
    for spread in spec.of("topologySpreadConstraints").items() {
        let key = spread.of("topologyKey");
        if let Some(why) = label(key.text()) {
            say_if(true, &key, &format!("{} is {why}", key.text()), all);
        }
        let selector = spread.of("labelSelector");
        say_if(!selector.is_set(), &selector, NO_SELECTOR, all);
    }
}

/// Lists whose items should differ.
fn lists(spec: &Spot<'_>, all: &mut Vec<String>) {
    for (list, field) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        let mut seen = BTreeSet::new();
        for item in spec.of(list).items() {
            let value = item.of(field);
            let is_new = seen.insert(value.text().to_owned());
            let why = format!("duplicate {field} {}", quoted(value.text()));
            say_if(!is_new, &value, &why, all);
        }
    }
    for item in spec.of("imagePullSecrets").items() {
        let name = item.of("name");
        say_if(name.is_empty(), &name, "invalid empty name \"\"", all);
    }
}

fn profiles(
    container: &Spot<'_>,
    spec: &Spot<'_>,
    annotations: &Spot<'_>,
    is_template: bool,
    all: &mut Vec<String>,
) {
    let name = container.of("name").text();
    let has = |spot: &Spot<'_>, field: &str| spot.of("securityContext").of(field).is_set();
    let key = format!("container.seccomp.security.alpha.kubernetes.io/{name}");
    let at = annotations.key(&key);
    let is_old = at.is_set() && !has(container, "seccompProfile");
    say_if(is_old, &at, SECCOMP, all);
    let key = format!("container.apparmor.security.beta.kubernetes.io/{name}");
    let at = annotations.key(&key);
    let has_profile = has(container, "appArmorProfile") || has(spec, "appArmorProfile");
    say_if(
        is_template && at.is_set() && !has_profile,
        &at,
        APP_ARMOR,
        all,
    );
}

/// There are no parts of bytes.
fn fractions(amounts: &Spot<'_>, all: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        let amount = amounts.key(name);
        let is_whole = Amount::parse(amount.text()).is_none_or(Amount::is_whole);
        let why = format!(
            "fractional byte value {} is invalid, must be an integer",
            quoted(amount.text())
        );
        say_if(!is_whole, &amount, &why, all);
    }
}

/// A variable may be given again only to add to it.
fn variables(env: &Spot<'_>, all: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for variable in env.items() {
        let name = variable.of("name").text();
        if seen.insert(name.to_owned()) {
            continue;
        }
        let own = format!("$({name})");
        let value = variable.of("value").text();
        let is_sum = value != own && value.contains(&own);
        let hides = variable.of("valueFrom").is_set() || !is_sum;
        let why = format!(
            "hides previous definition of {}, which may be dropped when using apply",
            quoted(name)
        );
        say_if(hides, &variable, &why, all);
    }
}

/// A port that is there already.
struct HostPort {
    at: String,
    host: (String, i64),
}

fn ports(spec: &Spot<'_>, all: &mut Vec<String>) {
    let mut numbers: BTreeMap<(i64, String), Vec<HostPort>> = BTreeMap::new();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut of_names = Vec::new();
    for list in CONTAINERS {
        for container in spec.of(list).items() {
            for port in container.of("ports").items() {
                let number = |field: &str| port.of(field).number().unwrap_or(0);
                let host = (port.of("hostIP").text().to_owned(), number("hostPort"));
                let key = (
                    number("containerPort"),
                    port.of("protocol").text().to_owned(),
                );
                let others = numbers.entry(key).or_default();
                for other in others.iter() {
                    if let Some(how) = clash(&host, &other.host) {
                        let why = format!("{how} port definition with {}", other.at);
                        say_if(true, &port, &why, all);
                    }
                }
                let at = port.path();
                let name = port.of("name").text().to_owned();
                if let Some(other) = names.get(&name) {
                    of_names.push(format!(
                        "{at}: duplicate port name {} with {other}, services and probes that select \
                         ports by name will use {other}",
                        quoted(&name)
                    ));
                } else if !name.is_empty() {
                    names.insert(name, at.clone());
                }
                others.push(HostPort { at, host });
            }
        }
    }
    all.extend(of_names);
}

fn clash(one: &(String, i64), other: &(String, i64)) -> Option<&'static str> {
    let same_port = one.1 == other.1;
    if one == other {
        Some("duplicate")
    } else if one.1 == 0 || other.1 == 0 {
        Some("overlapping")
    } else if same_port && one.0.is_empty() != other.0.is_empty() {
        Some("dangerously ambiguous")
    } else {
        None
    }
}

fn affinities(spec: &Spot<'_>, all: &mut Vec<String>) {
    for affinity in AFFINITIES {
        let affinity = spec.of(affinity);
        for (list, term) in [
            (
                "requiredDuringSchedulingIgnoredDuringExecution",
                "labelSelector",
            ),
            (
                "preferredDuringSchedulingIgnoredDuringExecution",
                "podAffinityTerm.labelSelector",
            ),
        ] {
            for found in affinity.of(list).items() {
                let selector = found.of(term);
                say_if(!selector.is_set(), &selector, NO_SELECTOR, all);
            }
        }
    }
}
