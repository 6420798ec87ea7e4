//! What is wrong with containers.

use std::collections::BTreeSet;

use crate::builtin::quantity::Amount;
use crate::builtin::validate::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const MESSAGES: &[&str] = &["File", "FallbackToLogsOnError"];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const PROBE_NUMBERS: &[&str] = &[
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
];
const SIDECARS: &str = "may not be set for init containers without restartPolicy=Always";
/// What a container can have of a node.
const RESOURCES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Judges the containers of a pod that has these volumes.
pub(super) fn validate(spec: &Spot<'_>, volumes: &[&str], causes: &mut Causes) {
    let (containers, first) = (spec.of("containers"), spec.of("initContainers"));
    if containers.is_empty() {
        containers.required("", causes);
    }
    let mut seen = BTreeSet::new();
    for container in containers.items() {
        common(&container, volumes, causes);
        unique(&container.of("name"), &mut seen, causes);
        probes(&container, causes);
    }
    for container in first.items() {
        common(&container, volumes, causes);
        unique(&container.of("name"), &mut seen, causes);
        if container.of("restartPolicy").text() == "Always" {
            probes(&container, causes);
            continue;
        }
        for field in PROBES.into_iter().chain(["lifecycle"]) {
            let part = container.of(field);
            if part.is_set() {
                part.forbidden(SIDECARS, causes);
            }
        }
    }
}

/// In a pod, but not in a template, an image has no space around it.
pub(super) fn image_of_pod(image: &Spot<'_>, causes: &mut Causes) {
    if image.text().trim() != image.text() {
        image.invalid("must not have leading or trailing whitespace", causes);
    }
}

fn unique(name: &Spot<'_>, seen: &mut BTreeSet<String>, causes: &mut Causes) {
    if !name.is_empty() && !seen.insert(name.text().to_owned()) {
        name.duplicate(causes);
    }
}

fn common(container: &Spot<'_>, volumes: &[&str], causes: &mut Causes) {
    container.of("name").named(names::label, causes);
    container.of("image").named(|_| Vec::new(), causes);
    container
        .of("terminationMessagePolicy")
        .one_of(MESSAGES, causes);
    ports(&container.of("ports"), causes);
    for variable in container.of("env").items() {
        variable.of("name").named(names::variable, causes);
    }
    mounts(&container.of("volumeMounts"), volumes, causes);
    container
        .of("imagePullPolicy")
        .one_of(PULL_POLICIES, causes);
    resources(&container.of("resources"), causes);
}

fn probes(container: &Spot<'_>, causes: &mut Causes) {
    for probe in PROBES {
        container.of(probe).not_negative(PROBE_NUMBERS, causes);
    }
}

fn ports(ports: &Spot<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let (name, number) = (port.of("name"), port.of("containerPort"));
        name.fits_if_set(names::port, causes);
        unique(&name, &mut seen, causes);
        match number.number() {
            None | Some(0) => number.required("", causes),
            Some(_) => number.port(causes),
        }
        let host = port.of("hostPort");
        if host.number().is_some_and(|number| number != 0) {
            host.port(causes);
        }
        port.of("protocol").one_of(PROTOCOLS, causes);
    }
}

fn mounts(mounts: &Spot<'_>, volumes: &[&str], causes: &mut Causes) {
    let mut paths = BTreeSet::new();
    for mount in mounts.items() {
        let (name, path) = (mount.of("name"), mount.of("mountPath"));
        if name.is_empty() {
            name.required("", causes);
        }
        if !volumes.contains(&name.text()) {
            causes.push(Cause::not_found(name.path(), &name.text().into()));
        }
        if path.is_empty() {
            path.required("", causes);
        }
        if !paths.insert(path.text().to_owned()) {
            path.invalid("must be unique", causes);
        }
    }
}

fn resources(resources: &Spot<'_>, causes: &mut Causes) {
    let (limits, requests) = (resources.of("limits"), resources.of("requests"));
    for list in [&limits, &requests] {
        for (name, amount) in list.entries() {
            resource_name(name, &amount, causes);
            if Amount::parse(amount.text()).is_some_and(Amount::is_negative) {
                amount.invalid("must be greater than or equal to 0", causes);
            }
        }
    }
    for (name, request) in requests.entries() {
        let limit = limits.key(name);
        let overcommits = is_native(name) && !name.starts_with("hugepages-");
        let (Some(asked), Some(most)) =
            (Amount::parse(request.text()), Amount::parse(limit.text()))
        else {
            if !limit.is_set() && !overcommits {
                limits.required("Limit must be set for non overcommitable resources", causes);
            }
            continue;
        };
        let how = match (overcommits, asked.is_above(most)) {
            (false, _) if asked != most => "equal to",
            (_, true) => "less than or equal to",
            (_, false) => continue,
        };
        let why = format!("must be {how} {name} limit of {}", limit.text());
        let cause = Cause::invalid(requests.path(), &request.text().into(), &why);
        causes.push(cause);
    }
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn resource_name(name: &str, amount: &Spot<'_>, causes: &mut Causes) {
    let wrong = |why: &str| Cause::invalid(amount.path(), &name.into(), why);
    let problems = names::label_key(name);
    if !problems.is_empty() {
        causes.extend(problems.iter().map(|why| wrong(why)));
    } else if !name.contains('/') && !RESOURCES.contains(&name) && !name.starts_with("hugepages-") {
        let known = ["storage", "pods", "services"].contains(&name);
        if !known {
            causes.push(wrong("must be a standard resource type or fully qualified"));
        }
        causes.push(wrong("must be a standard resource for containers"));
    }
}
