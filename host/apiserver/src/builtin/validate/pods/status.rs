//! What is wrong with the status of a pod (`ValidatePodStatusUpdate`).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::builtin::validate::spot::{Causes, Spot};
use crate::status::Cause;
use crate::status::shown::quoted;
use crate::{addresses, names};

const SYSTEM_CONDITIONS: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];
const HEALTH: &[&str] = &["Healthy", "Unhealthy", "Unknown"];
const STATUSES: [(&str, &str); 3] = [
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
];

/// Judges a pod whose status has changed.
pub(in super::super) fn validate_status(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    let (spec, held) = (new.of("spec"), old.of("spec"));
    let (new, old) = (new.of("status"), old.of("status"));
    conditions(&new.of("conditions"), causes);
    nominated(&new, &old, &held, causes);
    not_negative(&new.of("observedGeneration"), causes);
    new.fixed(&old, &["qosClass"], causes);
    for (list, containers) in STATUSES {
        transitions(&new.of(list), &old.of(list), (&held, containers), causes);
    }
    ips(&new, &old, "podIPs", causes);
    let (one, all) = (new.of("hostIP"), new.of("hostIPs"));
    let first = all.value().pointer("/0/ip").and_then(Value::as_str);
    if let Some(first) = first.filter(|first| *first != one.text()) {
        let why = "must be equal to `hostIP`";
        causes.push(Cause::invalid("status.hostIPs[0].ip", &first.into(), why));
    }
    ips(&new, &old, "hostIPs", causes);
    for (list, _) in STATUSES {
        new.of(list)
            .items()
            .for_each(|status| user(&status, &spec, causes));
    }
    for (list, containers) in STATUSES {
        allocated(&new.of(list), &spec.of(containers), causes);
    }
}

fn not_negative(number: &Spot<'_>, causes: &mut Causes) {
    if number.number().is_some_and(|number| number < 0) {
        number.invalid("must be a non-negative integer", causes);
    }
}

fn conditions(conditions: &Spot<'_>, causes: &mut Causes) {
    for condition in conditions.items() {
        not_negative(&condition.of("observedGeneration"), causes);
        let kind = condition.of("type").text();
        if !SYSTEM_CONDITIONS.contains(&kind) {
            let at = condition.of("Type");
            for why in names::label_key(kind) {
                causes.push(Cause::invalid(at.path(), &kind.into(), &why));
            }
        }
    }
}

/// The node that a pod may come to, while it has none.
fn nominated(new: &Spot<'_>, old: &Spot<'_>, spec: &Spot<'_>, causes: &mut Causes) {
    let (node, held) = (new.of("nominatedNodeName"), old.of("nominatedNodeName"));
    if node.is_empty() || node.text() == held.text() {
        return;
    }
    node.fits(names::subdomain, causes);
    if !spec.of("nodeName").is_empty() {
        let why = "may not be set on pods that are already bound to a node";
        node.forbidden(why, causes);
    }
}

/// Addresses are valid unless they were there, and two are one of each family.
fn ips(new: &Spot<'_>, old: &Spot<'_>, field: &str, causes: &mut Causes) {
    let texts = |all: &Spot<'_>| -> Vec<String> {
        let all = all.value().as_array().into_iter().flatten();
        let texts = all.map(|ip| ip.get("ip").and_then(Value::as_str).unwrap_or_default());
        texts.map(str::to_owned).collect()
    };
    let (all, held) = (new.of(field), texts(&old.of(field)));
    let wanted = texts(&all);
    for (ip, text) in all.items().zip(&wanted) {
        if !held.contains(text) {
            for why in addresses::ip(text) {
                causes.push(Cause::invalid(ip.path(), &text.as_str().into(), &why));
            }
        }
    }
    if wanted.len() < 2 {
        return;
    }
    let bad = wanted
        .iter()
        .enumerate()
        .find(|(_, text)| addresses::parse(text).is_none());
    if let Some((index, text)) = bad {
        let why = format!("failed to check for dual stack with error:invalid IP[{index}]: {text}");
        causes.push(Cause::internal(all.path(), &why));
    }
    if wanted.len() > 2 || !addresses::are_dual_stack(wanted.iter().map(String::as_str)) {
        let each = wanted
            .iter()
            .map(|text| format!("{{\"IP\":{}}}", quoted(text)));
        let shown = format!("[{}]", each.collect::<Vec<_>>().join(","));
        let why = "may specify no more than one IP for each IP family";
        causes.push(Cause::invalid_as(all.path(), &shown, why));
    }
}

/// A container that has ended stays so, unless it may start again.
fn transitions(
    new: &Spot<'_>,
    old: &Spot<'_>,
    (spec, containers): (&Spot<'_>, &str),
    causes: &mut Causes,
) {
    if containers != "ephemeralContainers" && all_can_restart(spec) {
        return;
    }
    for (index, held) in old.items().enumerate() {
        let ended = held.of("state.terminated");
        let name = held.of("name").text();
        let mut same = new
            .items()
            .filter(|status| status.of("name").text() == name);
        let runs = same
            .next()
            .is_some_and(|status| !status.of("state.terminated").is_set());
        if !ended.is_set() || !runs {
            continue;
        }
        let code = ended.of("exitCode").number().unwrap_or(0);
        let known = spec.of(containers);
        let mut known = known.items();
        let container = known.find(|container| container.of("name").text() == name);
        let is_ephemeral = containers == "ephemeralContainers";
        let allowed = container.is_some_and(|container| restarts(&container, spec, code));
        if is_ephemeral || !allowed {
            let field = format!("{}[{index}].state", new.path());
            let why = "may not be transitioned to non-terminated state";
            causes.push(Cause::forbidden(field, why));
        }
    }
}

/// `AllContainersCouldRestart`: a rule of one container restarts all.
fn all_can_restart(spec: &Spot<'_>) -> bool {
    ["initContainers", "containers"].iter().any(|list| {
        let containers = spec.of(list);
        let mut containers = containers.items();
        containers.any(|container| {
            let rules = container.of("restartPolicyRules");
            let mut rules = rules.items();
            rules.any(|rule| rule.of("action").text() == "RestartAllContainers")
        })
    })
}

/// `ContainerShouldRestart`: by the rules of the container, its policy, or that of the pod.
fn restarts(container: &Spot<'_>, spec: &Spot<'_>, code: i64) -> bool {
    let own = container.of("restartPolicy");
    let rules = container.of("restartPolicyRules");
    let matches = |rule: Spot<'_>| {
        let codes = rule.of("exitCodes");
        let values = codes.of("values");
        let is_listed = values.items().any(|value| value.number() == Some(code));
        match codes.of("operator").text() {
            "In" => is_listed,
            "NotIn" => !is_listed,
            _ => false,
        }
    };
    if own.is_set() && rules.items().any(matches) {
        return true;
    }
    let policy = match own.text() {
        "" => spec.of("restartPolicy").text(),
        own => own,
    };
    match policy {
        "OnFailure" => code != 0,
        "Never" => false,
        _ => true,
    }
}

/// Who runs in a container: the numbers that a system can have.
fn user(status: &Spot<'_>, spec: &Spot<'_>, causes: &mut Causes) {
    let user = status.of("user.linux");
    if !user.is_set() {
        return;
    }
    match spec.of("os.name").text() {
        "windows" => user.forbidden("cannot be set for a windows pod", causes),
        "" | "linux" => {
            let groups = user.of("supplementalGroups");
            user.of("uid").id(causes);
            user.of("gid").id(causes);
            groups.items().for_each(|group| group.id(causes));
        }
        _ => {}
    }
}

/// What of the resources of a container is healthy (`validateContainerStatusAllocatedResourcesStatus`).
fn allocated(statuses: &Spot<'_>, containers: &Spot<'_>, causes: &mut Causes) {
    let is_ephemeral = statuses.path().contains("ephemeral");
    for status in statuses.items() {
        let all = status.of("allocatedResourcesStatus");
        if is_ephemeral && !all.is_empty() {
            all.forbidden("must not be specified in container status", causes);
            continue;
        }
        let name = status.of("name").text();
        let mut known = containers.items();
        let container = known.find(|container| container.of("name").text() == name);
        for resource in all.items() {
            if let Some(container) = &container {
                requested(&resource.of("name"), &container.of("resources"), causes);
            }
            let found = resource.of("resources");
            let mut seen = BTreeSet::new();
            for part in found.items() {
                let (id, health) = (part.of("resourceID"), part.of("health"));
                if !HEALTH.contains(&health.text()) {
                    health.unsupported(HEALTH, causes);
                }
                if !seen.insert(id.text().to_owned()) {
                    id.duplicate(causes);
                }
            }
        }
    }
}

fn requested(name: &Spot<'_>, resources: &Spot<'_>, causes: &mut Causes) {
    let claims = resources.of("claims");
    if let Some(wanted) = name.text().strip_prefix("claim:") {
        let is_one = |claim: Spot<'_>| match claim.of("request").text() {
            "" => claim.of("name").text() == wanted,
            request => format!("{}/{request}", claim.of("name").text()) == wanted,
        };
        if !claims.items().any(is_one) {
            let why = "must match one of the container's resource claims in a format \
                       'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";
            name.invalid(why, causes);
        }
    } else if !resources.of("requests").key(name.text()).is_set() {
        name.invalid(
            "must match one of the container's resource requests",
            causes,
        );
    }
}
