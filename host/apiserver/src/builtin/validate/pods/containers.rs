//! What is wrong with containers.

use std::collections::BTreeSet;

use super::{env, handlers, mounts, requirements, restart, security};
use crate::builtin::validate::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const MESSAGES: &[&str] = &["File", "FallbackToLogsOnError"];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const SIDECARS: &str = "may not be set for init containers without restartPolicy=Always";
const EPHEMERAL: &str = "cannot be set for an Ephemeral Container";
/// What only a container has that a pod starts with.
const NOT_EPHEMERAL: [&str; 9] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

/// Judges the containers of a pod that has these volumes.
pub(super) fn validate(spec: &Spot<'_>, volumes: &[&str], causes: &mut Causes) {
    let (containers, first) = (spec.of("containers"), spec.of("initContainers"));
    if containers.is_empty() {
        containers.required("", causes);
    }
    let mut seen = BTreeSet::new();
    for container in containers.items() {
        common(&container, spec, volumes, causes);
        unique(&container.of("name"), &mut seen, causes);
        handlers::handlers(&container, spec, causes);
        restart::policy(&container, causes);
    }
    host_ports(containers.items(), &mut BTreeSet::new(), causes);
    for container in first.items() {
        common(&container, spec, volumes, causes);
        restart::first_policy(&container, causes);
        unique(&container.of("name"), &mut seen, causes);
        host_ports(std::iter::once(container), &mut BTreeSet::new(), causes);
        if container.of("restartPolicy").text() == "Always" {
            handlers::handlers(&container, spec, causes);
            continue;
        }
        for field in PROBES.into_iter().chain(["lifecycle"]) {
            let part = container.of(field);
            if part.is_set() {
                part.forbidden(SIDECARS, causes);
            }
        }
        restart::first_resize(&container.of("resizePolicy"), causes);
    }
}

/// Judges the containers that were added to a pod that runs.
pub(super) fn ephemeral(spec: &Spot<'_>, volumes: &[&str], causes: &mut Causes) {
    let lists = [spec.of("containers"), spec.of("initContainers")];
    let others: Vec<String> = lists
        .iter()
        .flat_map(Spot::items)
        .map(|container| container.of("name").text().to_owned())
        .collect();
    let mut seen: BTreeSet<String> = others.iter().cloned().collect();
    for container in spec.of("ephemeralContainers").items() {
        common(&container, spec, volumes, causes);
        image_of_pod(&container.of("image"), causes);
        unique(&container.of("name"), &mut seen, causes);
        let target = container.of("targetContainerName");
        if !target.is_empty() && !others.iter().any(|name| name == target.text()) {
            causes.push(Cause::not_found(target.path(), target.value()));
        }
        for field in NOT_EPHEMERAL {
            let part = container.of(field);
            if !part.is_empty() {
                part.forbidden(EPHEMERAL, causes);
            }
        }
        for mount in container.of("volumeMounts").items() {
            for field in ["subPath", "subPathExpr"] {
                if !mount.of(field).is_empty() {
                    mount.of(field).forbidden(EPHEMERAL, causes);
                }
            }
        }
    }
}

/// No two ports of these containers are the same on the host (`checkHostPortConflicts`).
fn host_ports<'a>(
    containers: impl Iterator<Item = Spot<'a>>,
    seen: &mut BTreeSet<String>,
    causes: &mut Causes,
) {
    for container in containers {
        for port in container.of("ports").items() {
            let host = port.of("hostPort");
            let Some(number) = host.number().filter(|number| *number != 0) else {
                continue;
            };
            let (protocol, ip) = (port.of("protocol"), port.of("hostIP"));
            let key = format!("{}/{}/{number}", protocol.text(), ip.text());
            if !seen.insert(key.clone()) {
                causes.push(Cause::duplicate(host.path(), &key.into()));
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

fn common(container: &Spot<'_>, spec: &Spot<'_>, volumes: &[&str], causes: &mut Causes) {
    container.of("name").named(names::label, causes);
    container.of("image").named(|_| Vec::new(), causes);
    container
        .of("terminationMessagePolicy")
        .one_of(MESSAGES, causes);
    ports(&container.of("ports"), causes);
    env::variables(&container.of("env"), causes);
    env::sources(&container.of("envFrom"), causes);
    mounts::mounts(container, spec, volumes, causes);
    container
        .of("imagePullPolicy")
        .one_of(PULL_POLICIES, causes);
    requirements::of_container(&container.of("resources"), spec, causes);
    restart::resize(&container.of("resizePolicy"), spec, causes);
    let users = spec.of("hostUsers");
    let host_users = !users.is_set() || users.is_true();
    security::of_container(&container.of("securityContext"), host_users, causes);
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
