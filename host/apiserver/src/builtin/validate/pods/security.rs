//! What is wrong with the security contexts of a pod and its containers.

use std::collections::BTreeSet;

use super::volumes;
use crate::builtin::validate::spot::{Causes, Spot};
use crate::status::Cause;

const PROFILES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];
const SYSCTL: &str = "must have at most 253 characters and match regex \
     ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

/// Judges the context of a pod with this spec (`validatePodSpecSecurityContext`).
pub(super) fn of_pod(spec: &Spot<'_>, causes: &mut Causes) {
    let context = spec.of("securityContext");
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        context.of(field).id(causes);
    }
    context
        .of("supplementalGroups")
        .items()
        .for_each(|group| group.id(causes));
    let shares = spec.of("shareProcessNamespace");
    if shares.is_true() && spec.of("hostPID").is_true() {
        let at = context.of("shareProcessNamespace");
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        causes.push(crate::status::Cause::invalid(
            at.path(),
            shares.value(),
            why,
        ));
    }
    sysctls(&context.of("sysctls"), spec, causes);
    let policies = &["Always", "OnRootMismatch"];
    context
        .of("fsGroupChangePolicy")
        .one_of_if_set(policies, causes);
    seccomp(&context.of("seccompProfile"), causes);
    app_armor(&context.of("appArmorProfile"), causes);
    let policies = &["Merge", "Strict"];
    context
        .of("supplementalGroupsPolicy")
        .one_of_if_set(policies, causes);
    // `MountOption` needs a feature that is off.
    let policies = &["Recursive"];
    context
        .of("seLinuxChangePolicy")
        .one_of_if_set(policies, causes);
}

/// Judges the context of a container (`ValidateSecurityContext`).
pub(super) fn of_container(context: &Spot<'_>, host_users: bool, causes: &mut Causes) {
    for field in ["runAsUser", "runAsGroup"] {
        context.of(field).id(causes);
    }
    let mount = context.of("procMount");
    mount.one_of_if_set(&["Default", "Unmasked"], causes);
    if host_users && mount.text() == "Unmasked" {
        mount.invalid("`hostUsers` must be false to use `Unmasked`", causes);
    }
    seccomp(&context.of("seccompProfile"), causes);
    let escalates = context.of("allowPrivilegeEscalation");
    if escalates.is_set() && !escalates.is_true() {
        if context.of("privileged").is_true() {
            let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            context.invalid(why, causes);
        }
        let added = context.of("capabilities.add");
        if added.items().any(|name| name.text() == "CAP_SYS_ADMIN") {
            let why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` \
                       CAP_SYS_ADMIN";
            context.invalid(why, causes);
        }
    }
    app_armor(&context.of("appArmorProfile"), causes);
}

fn sysctls(sysctls: &Spot<'_>, spec: &Spot<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    for sysctl in sysctls.items() {
        let name = sysctl.of("name");
        let end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let fine = |part: &str| {
            part.starts_with(end)
                && part.ends_with(end)
                && part.chars().all(|c| end(c) || matches!(c, '-' | '_'))
        };
        if name.is_empty() {
            name.required("", causes);
        } else if name.text().len() > 253 || !name.text().split(['.', '/']).all(fine) {
            name.invalid(SYSCTL, causes);
        } else if seen.contains(name.text()) {
            name.duplicate(causes);
        }
        for (field, group) in [
            ("hostNetwork", is_of_network as fn(&str) -> bool),
            ("hostIPC", is_of_ipc),
        ] {
            if spec.of(field).is_true() && group(&name.text().replace('/', ".")) {
                let why = format!("may not be specified when '{field}' is true");
                name.invalid(&why, causes);
            }
        }
        seen.insert(name.text().to_owned());
    }
}

fn is_of_network(sysctl: &str) -> bool {
    sysctl.starts_with("net.")
}

fn is_of_ipc(sysctl: &str) -> bool {
    let known = [
        "kernel.sem",
        "kernel.shm",
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
        "kernel.shm_rmid_forced",
        "kernel.msg",
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
    ];
    sysctl.starts_with("fs.mqueue.") || known.contains(&sysctl)
}

fn seccomp(profile: &Spot<'_>, causes: &mut Causes) {
    if !profile.is_set() {
        return;
    }
    let (kind, local) = (profile.of("type"), profile.of("localhostProfile"));
    match kind.text() {
        "" => kind.required("type is required when seccompProfile is set", causes),
        text if PROFILES.contains(&text) => {}
        _ => kind.unsupported(PROFILES, causes),
    }
    match (kind.text() == "Localhost", local.is_set()) {
        (true, true) => volumes::descending(&local, &local, causes),
        (true, false) => local.required("must be set when seccomp type is Localhost", causes),
        (false, true) => {
            let why = "can only be set when seccomp type is Localhost";
            causes.push(Cause::invalid(local.path(), profile.value(), why));
        }
        (false, false) => {}
    }
}

fn app_armor(profile: &Spot<'_>, causes: &mut Causes) {
    if !profile.is_set() {
        return;
    }
    let (kind, local) = (profile.of("type"), profile.of("localhostProfile"));
    match kind.text() {
        "Localhost" if local.text().trim() != local.text() => {
            local.invalid("must not be padded with whitespace", causes);
        }
        "Localhost" if local.is_empty() => {
            local.required("must be set when AppArmor type is Localhost", causes);
        }
        "Localhost" => {}
        "RuntimeDefault" | "Unconfined" if local.is_set() => {
            local.invalid("can only be set when AppArmor type is Localhost", causes);
        }
        "RuntimeDefault" | "Unconfined" => {}
        "" => kind.required("type is required when appArmorProfile is set", causes),
        _ => kind.unsupported(PROFILES, causes),
    }
}
