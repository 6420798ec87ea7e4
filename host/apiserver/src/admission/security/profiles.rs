//! The checks of what a kernel module enforces: AppArmor, SELinux and seccomp (pod-security-admission `policy/check_*.go`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::checks::Violation;
use super::restricted::unless_for_windows;
use super::template::{PodTemplate, context, joined, named, plural, setters};
use crate::json::{Fields, get, text};
use crate::status::shown::quoted;

const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// The types of SELinux that are fine; the last one since 1.31.
const SE_LINUX: [&str; 5] = [
    "",
    "container_t",
    "container_init_t",
    "container_kvm_t",
    "container_engine_t",
];

/// Whether a pod or a container chooses a profile that is not one of its node.
fn is_bad_profile(profile: &Value) -> bool {
    !profile.is_null() && !matches!(text(profile, "type"), "RuntimeDefault" | "Localhost")
}

/// The containers with bad profiles in a field of the security context.
struct BadProfiles<'a> {
    pod: bool,
    containers: Vec<&'a str>,
    types: BTreeSet<&'a str>,
}

fn bad_profiles<'a>(template: &PodTemplate<'a>, field: &str) -> BadProfiles<'a> {
    let mut types = BTreeSet::new();
    let mut is_bad = |context: &'a Value| {
        let profile = get(context, field);
        let bad = is_bad_profile(profile);
        types.extend(bad.then(|| text(profile, "type")));
        bad
    };
    let pod = is_bad(template.context());
    let containers = template.bad_containers(|container| is_bad(context(container)));
    BadProfiles {
        pod,
        containers,
        types,
    }
}

pub(super) fn app_armor(template: &PodTemplate<'_>) -> Option<Violation> {
    let bad = bad_profiles(template, "appArmorProfile");
    let none = Fields::default();
    let annotations = template.annotations.as_object().unwrap_or(&none).iter();
    let annotations = annotations.filter_map(|(name, value)| {
        let value = value.as_str().unwrap_or_default();
        let fine = matches!(value, "" | "runtime/default") || value.starts_with("localhost/");
        let bad = name.starts_with(APP_ARMOR) && !fine;
        bad.then(|| format!("{name}={}", quoted(value)))
    });
    let mut annotations: Vec<String> = annotations.collect();
    annotations.sort_unstable();
    let word = plural("annotation", "annotations", annotations.len());
    let of_annotations = (!annotations.is_empty()).then(|| word.to_owned());
    let all = setters(bad.pod, &bad.containers).into_iter();
    let all: Vec<String> = all.chain(of_annotations).collect();
    let values = bad.types.iter().copied();
    let values: Vec<&str> = values
        .chain(annotations.iter().map(String::as_str))
        .collect();
    let reason = plural(
        "forbidden AppArmor profile",
        "forbidden AppArmor profiles",
        values.len(),
    );
    let detail = format!(
        "{} must not set AppArmor profile type to {}",
        all.join(" and "),
        joined(values)
    );
    (!all.is_empty()).then(|| Violation::new(reason, detail))
}

fn se_linux_of(template: &PodTemplate<'_>, allowed: usize) -> Option<Violation> {
    let is_allowed = |name: &str| SE_LINUX.iter().take(allowed).any(|known| *known == name);
    let mut types = BTreeSet::new();
    let (mut user, mut role) = (false, false);
    let mut is_bad = |context| {
        let options = get(context, "seLinuxOptions");
        let said = |field| !text(options, field).is_empty();
        let bad = Some(text(options, "type")).filter(|name| !is_allowed(name));
        types.extend(bad);
        user |= said("user");
        role |= said("role");
        bad.is_some() || said("user") || said("role")
    };
    let pod = is_bad(template.context());
    let containers = template.bad_containers(|container| is_bad(context(container)));
    let setters = setters(pod, &containers)?;
    let word = plural("type", "types", types.len());
    let types = (!types.is_empty()).then(|| format!("{word} {}", joined(types)));
    let user = user.then(|| "user may not be set".to_owned());
    let role = role.then(|| "role may not be set".to_owned());
    let data: Vec<String> = [types, user, role].into_iter().flatten().collect();
    let detail = format!(
        "{setters} set forbidden securityContext.seLinuxOptions: {}",
        data.join("; ")
    );
    Some(Violation::new("seLinuxOptions", detail))
}

pub(super) fn se_linux(template: &PodTemplate<'_>) -> Option<Violation> {
    se_linux_of(template, 4)
}

pub(super) fn se_linux_1_31(template: &PodTemplate<'_>) -> Option<Violation> {
    se_linux_of(template, 5)
}

pub(super) fn seccomp_annotations(template: &PodTemplate<'_>) -> Option<Violation> {
    let containers = template.containers();
    let containers =
        containers.map(|container| format!("{SECCOMP_CONTAINER}{}", text(container, "name")));
    let all = [SECCOMP_POD.to_owned()].into_iter().chain(containers);
    let forbidden = all.filter_map(|name| {
        let value = get(template.annotations, &name).as_str()?;
        let fine = matches!(value, "runtime/default" | "docker/default")
            || value.starts_with("localhost/");
        (!fine).then(|| format!("{name}={}", quoted(value)))
    });
    let forbidden: BTreeSet<String> = forbidden.collect();
    let forbidden: Vec<String> = forbidden.into_iter().collect();
    let word = plural("annotation", "annotations", forbidden.len());
    let detail = format!("forbidden {word} {}", forbidden.join(", "));
    (!forbidden.is_empty()).then(|| Violation::new("seccompProfile", detail))
}

pub(super) fn seccomp_baseline(template: &PodTemplate<'_>) -> Option<Violation> {
    let bad = bad_profiles(template, "seccompProfile");
    let setters = setters(bad.pod, &bad.containers)?;
    let detail = format!(
        "{setters} must not set securityContext.seccompProfile.type to {}",
        joined(bad.types)
    );
    Some(Violation::new("seccompProfile", detail))
}

pub(super) fn seccomp_restricted(template: &PodTemplate<'_>) -> Option<Violation> {
    if let Some(violation) = seccomp_baseline(template) {
        return Some(violation);
    }
    let is_unset = |context| get(context, "seccompProfile").is_null();
    let is_set_by_pod = !is_unset(template.context());
    let silent =
        template.bad_containers(|container| is_unset(context(container)) && !is_set_by_pod);
    let detail = format!(
        "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
        named(&silent)
    );
    (!silent.is_empty()).then(|| Violation::new("seccompProfile", detail))
}

pub(super) fn seccomp_restricted_1_25(template: &PodTemplate<'_>) -> Option<Violation> {
    unless_for_windows(template, seccomp_restricted)
}
