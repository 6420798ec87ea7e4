//! What is wrong with a pod, or the template of one.

mod annotations;
mod containers;
mod env;
mod ephemeral;
mod handlers;
mod mounts;
mod network;
mod requirements;
mod resize;
mod restart;
mod scheduling;
mod security;
mod status;
mod update;
mod volumes;

use super::labels;
use super::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

pub(super) use ephemeral::validate_ephemeral;
pub(super) use resize::validate_resize;
pub(super) use status::validate_status;
pub(super) use update::validate_update;

const POLICIES: &[&str] = &["Always", "OnFailure", "Never"];
const DNS_POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const PREEMPTION: &[&str] = &["PreemptLowerPriority", "Never"];
type TextCheck = fn(&str) -> Vec<String>;
/// Texts that have a form, if they are there.
const NAMES: [(&str, TextCheck); 6] = [
    ("serviceAccountName", names::subdomain),
    ("nodeName", names::subdomain),
    ("hostname", names::label),
    ("subdomain", names::label),
    ("priorityClassName", names::subdomain),
    ("runtimeClassName", names::subdomain),
];

/// Judges a new pod.
pub(super) fn validate(pod: &Spot<'_>, causes: &mut Causes) {
    let spec = pod.of("spec");
    let annotations = pod.of("metadata.annotations");
    annotations::specific(&annotations, &spec, &annotations, causes);
    of_pod(&spec, causes);
    if !spec.of("ephemeralContainers").is_empty() {
        let why = "cannot be set on create";
        spec.of("ephemeralContainers").forbidden(why, causes);
    }
    if !spec.of("nodeName").is_empty() && !spec.of("schedulingGates").is_empty() {
        let why = "cannot be set until all schedulingGates have been cleared";
        spec.of("nodeName").forbidden(why, causes);
    }
}

/// Judges the template of pods.
pub(super) fn template(template: &Spot<'_>, causes: &mut Causes) {
    labels::map(
        &template.of("metadata.labels"),
        &template.of("labels"),
        causes,
    );
    annotations::of_template(template, causes);
    spec(&template.of("spec"), false, causes);
    let ephemeral = template.of("spec.ephemeralContainers");
    if !ephemeral.is_empty() {
        ephemeral.forbidden("ephemeral containers not allowed in pod template", causes);
    }
}

/// What holds for pods, and not for templates.
fn of_pod(spec: &Spot<'_>, causes: &mut Causes) {
    self::spec(spec, true, causes);
    for list in ["containers", "initContainers"] {
        for container in spec.of(list).items() {
            containers::image_of_pod(&container.of("image"), causes);
        }
    }
}

/// What holds for the spec of a pod and of a template (`ValidatePodSpec`).
fn spec(spec: &Spot<'_>, is_pod: bool, causes: &mut Causes) {
    let mut known = Vec::new();
    let own = spec.of("volumes");
    volumes::volumes(&own, &mut known, causes);
    requirements::claims(spec, causes);
    containers::validate(spec, &known, causes);
    containers::ephemeral(spec, &known, causes);
    requirements::of_pod(spec, causes);
    network::host_ports(spec, is_pod, causes);
    spec.of("restartPolicy").one_of(POLICIES, causes);
    spec.of("dnsPolicy").one_of(DNS_POLICIES, causes);
    security::of_pod(spec, causes);
    scheduling::affinity(&spec.of("affinity"), causes);
    network::dns(spec, causes);
    scheduling::gates(spec, causes);
    scheduling::spread(&spec.of("topologySpreadConstraints"), causes);
    network::host_users(spec, causes);
    network::hosts(spec, causes);
    requirements::overhead(&spec.of("overhead"), causes);
    system(spec, causes);
    rest(spec, causes);
}

/// What a pod runs on, and what that does not have.
fn system(spec: &Spot<'_>, causes: &mut Causes) {
    let (os, name) = (spec.of("os"), spec.of("os.name"));
    match name.text() {
        _ if !os.is_set() => {}
        "" => name.required("", causes),
        "windows" => {}
        "linux" => {
            let why = "windows options cannot be set for a linux pod";
            let contexts = ["containers", "initContainers"].map(|list| spec.of(list));
            let pod = spec.of("securityContext.windowsOptions");
            if pod.is_set() {
                pod.forbidden(why, causes);
            }
            for container in contexts.iter().flat_map(Spot::items) {
                let options = container.of("securityContext.windowsOptions");
                if options.is_set() {
                    options.forbidden(why, causes);
                }
            }
        }
        _ => {
            let all = ["linux".to_owned(), "windows".to_owned()];
            causes.push(Cause::unsupported(os.path(), name.value(), &all));
        }
    }
}

fn rest(spec: &Spot<'_>, causes: &mut Causes) {
    let selector = spec.of("nodeSelector");
    labels::map(&selector, &selector, causes);
    for (field, rule) in NAMES {
        spec.of(field).fits_if_set(rule, causes);
    }
    let deadline = spec.of("activeDeadlineSeconds");
    let most = i64::from(i32::MAX);
    if deadline
        .number()
        .is_some_and(|seconds| !(1..=most).contains(&seconds))
    {
        let why = format!("must be between 1 and {most}, inclusive");
        deadline.invalid(&why, causes);
    }
    let preemption = spec.of("preemptionPolicy");
    if preemption.is_set() {
        preemption.one_of(PREEMPTION, causes);
    }
    let tolerations = spec.of("tolerations");
    tolerations
        .items()
        .for_each(|toleration| self::toleration(&toleration, causes));
}

fn toleration(toleration: &Spot<'_>, causes: &mut Causes) {
    let (key, operator) = (toleration.of("key"), toleration.of("operator"));
    key.fits_if_set(names::label_key, causes);
    if key.is_empty() && operator.text() != "Exists" {
        let why = "operator must be Exists when `key` is empty, which means \"match all values and all \
                   keys\"";
        operator.invalid_text(why, causes);
    }
    let effect = toleration.of("effect");
    if toleration.of("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        effect.invalid_text(why, causes);
    }
    let value = toleration.of("value").text();
    let at_operator = |why: &str, causes: &mut Causes| {
        let cause = crate::status::Cause::invalid(operator.path(), &value.into(), why);
        causes.push(cause);
    };
    match operator.text() {
        "Equal" | "" => {
            let wrong = names::label_value(value);
            if !wrong.is_empty() {
                at_operator(&wrong.join(";"), causes);
            }
        }
        "Exists" if value.is_empty() => {}
        "Exists" => at_operator("value must be empty when `operator` is 'Exists'", causes),
        // Two that need a feature which is off.
        "Lt" | "Gt" => operator.unsupported(&["Equal", "Exists", "Lt", "Gt"], causes),
        _ => operator.unsupported(&["Equal", "Exists"], causes),
    }
    let effects = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
    effect.one_of_if_set(effects, causes);
}
