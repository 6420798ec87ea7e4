//! The checks of the level `baseline`, but for those of profiles (pod-security-admission `policy/check_*.go`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::checks::Violation;
use super::template::{PodTemplate, context, joined, named, plural, setters};
use crate::json::{get, list, text, texts};

const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// The sysctls that only change the pod: those of the first version come first.
const SYSCTLS: [&str; 12] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

fn is_true(value: &Value) -> bool {
    value == &Value::Bool(true)
}

pub(super) fn capabilities(template: &PodTemplate<'_>) -> Option<Violation> {
    let mut added = BTreeSet::new();
    let bad = template.bad_containers(|container| {
        let capabilities = get(context(container), "capabilities");
        let all = texts(capabilities, "add").filter(|added| !CAPABILITIES.contains(added));
        let all: Vec<&str> = all.collect();
        added.extend(all.iter().copied());
        !all.is_empty()
    });
    let detail = format!(
        "{} must not include {} in securityContext.capabilities.add",
        named(&bad),
        joined(added)
    );
    (!bad.is_empty()).then(|| Violation::new("non-default capabilities", detail))
}

pub(super) fn host_namespaces(template: &PodTemplate<'_>) -> Option<Violation> {
    let fields = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let shared = fields.filter(|field| is_true(get(template.spec, field)));
    let shared: Vec<String> = shared.map(|field| format!("{field}=true")).collect();
    (!shared.is_empty()).then(|| Violation::new("host namespaces", shared.join(", ")))
}

pub(super) fn host_paths(template: &PodTemplate<'_>) -> Option<Violation> {
    let volumes = list(template.spec, "volumes").iter();
    let volumes = volumes.filter(|volume| !get(volume, "hostPath").is_null());
    let bad: Vec<&str> = volumes.map(|volume| text(volume, "name")).collect();
    let word = plural("volume", "volumes", bad.len());
    let detail = format!("{word} {}", joined(bad.iter().copied()));
    (!bad.is_empty()).then(|| Violation::new("hostPath volumes", detail))
}

pub(super) fn host_ports(template: &PodTemplate<'_>) -> Option<Violation> {
    let mut taken = BTreeSet::new();
    let bad = template.bad_containers(|container| {
        let ports = list(container, "ports").iter();
        let ports = ports.filter_map(|port| get(port, "hostPort").as_i64());
        let ports: Vec<i64> = ports.filter(|port| *port != 0).collect();
        taken.extend(ports.iter().map(ToString::to_string));
        !ports.is_empty()
    });
    let ports: Vec<String> = taken.into_iter().collect();
    let detail = format!(
        "{} {} {} {}",
        named(&bad),
        plural("uses", "use", bad.len()),
        plural("hostPort", "hostPorts", ports.len()),
        ports.join(", ")
    );
    (!bad.is_empty()).then(|| Violation::new("hostPort", detail))
}

/// The handlers of a container that may name a host.
const HANDLERS: [[&str; 2]; 5] = [
    ["livenessProbe", ""],
    ["readinessProbe", ""],
    ["startupProbe", ""],
    ["lifecycle", "postStart"],
    ["lifecycle", "preStop"],
];

pub(super) fn host_probes(template: &PodTemplate<'_>) -> Option<Violation> {
    let mut hosts = BTreeSet::new();
    let bad = template.bad_containers(|container| {
        let mut any = false;
        for [field, inner] in HANDLERS {
            let mut handler = get(container, field);
            if !inner.is_empty() {
                handler = get(handler, inner);
            }
            for action in ["httpGet", "tcpSocket"] {
                let host = text(get(handler, action), "host");
                if !host.is_empty() {
                    hosts.insert(host);
                    any = true;
                }
            }
        }
        any
    });
    let bad: BTreeSet<&str> = bad.into_iter().collect();
    let bad: Vec<&str> = bad.into_iter().collect();
    let detail = format!(
        "{} {} {} {}",
        named(&bad),
        plural("uses", "use", bad.len()),
        plural(
            "probe or lifecycle host",
            "probe or lifecycle hosts",
            hosts.len()
        ),
        joined(hosts)
    );
    (!bad.is_empty()).then(|| Violation::new("probe or lifecycle host", detail))
}

pub(super) fn privileged(template: &PodTemplate<'_>) -> Option<Violation> {
    let bad = template.bad_containers(|container| is_true(get(context(container), "privileged")));
    let detail = format!(
        "{} must not set securityContext.privileged=true",
        named(&bad)
    );
    (!bad.is_empty()).then(|| Violation::new("privileged", detail))
}

pub(super) fn proc_mount(template: &PodTemplate<'_>) -> Option<Violation> {
    let mut mounts = BTreeSet::new();
    let bad = template.bad_containers(|container| {
        let mount = get(context(container), "procMount").as_str();
        let mount = mount.filter(|mount| *mount != "Default");
        mounts.extend(mount);
        mount.is_some()
    });
    let detail = format!(
        "{} must not set securityContext.procMount to {}",
        named(&bad),
        joined(mounts)
    );
    (!bad.is_empty()).then(|| Violation::new("procMount", detail))
}

pub(super) fn proc_mount_1_35(template: &PodTemplate<'_>) -> Option<Violation> {
    let judged = Some(template).filter(|template| !template.has_own_users());
    judged.and_then(proc_mount)
}

fn sysctls_of(template: &PodTemplate<'_>, allowed: usize) -> Option<Violation> {
    let sysctls = list(template.context(), "sysctls").iter();
    let names = sysctls.map(|sysctl| text(sysctl, "name"));
    let is_allowed = |name: &str| SYSCTLS.iter().take(allowed).any(|known| *known == name);
    let bad: Vec<&str> = names.filter(|name| !is_allowed(name)).collect();
    (!bad.is_empty()).then(|| Violation::new("forbidden sysctls", bad.join(", ")))
}

pub(super) fn sysctls(template: &PodTemplate<'_>) -> Option<Violation> {
    sysctls_of(template, 5)
}

pub(super) fn sysctls_1_27(template: &PodTemplate<'_>) -> Option<Violation> {
    sysctls_of(template, 6)
}

pub(super) fn sysctls_1_29(template: &PodTemplate<'_>) -> Option<Violation> {
    sysctls_of(template, 10)
}

pub(super) fn sysctls_1_32(template: &PodTemplate<'_>) -> Option<Violation> {
    sysctls_of(template, 12)
}

pub(super) fn host_process(template: &PodTemplate<'_>) -> Option<Violation> {
    let is_set = |context| is_true(get(get(context, "windowsOptions"), "hostProcess"));
    let bad = template.bad_containers(|container| is_set(context(container)));
    let setters = setters(is_set(template.context()), &bad)?;
    let detail = format!("{setters} must not set securityContext.windowsOptions.hostProcess=true");
    Some(Violation::new("hostProcess", detail))
}
