//! What is wrong with the names and the network of a pod.

use crate::builtin::validate::spot::{Causes, Spot};
use crate::status::Cause;
use crate::{addresses, names};

const MOST_SERVERS: usize = 3;
const MOST_SEARCHES: usize = 32;
const LONGEST_SEARCHES: usize = 2048;
const HOST_PORT: &str = "must match `containerPort` when `hostNetwork` is true";

/// Judges how a pod finds others (`validatePodDNSConfig`).
pub(super) fn dns(spec: &Spot<'_>, causes: &mut Causes) {
    let config = spec.of("dnsConfig");
    let (servers, searches) = (config.of("nameservers"), config.of("searches"));
    if spec.of("dnsPolicy").text() == "None" {
        if !config.is_set() {
            let why = "must provide `dnsConfig` when `dnsPolicy` is None";
            return config.required(why, causes);
        }
        if servers.is_empty() {
            let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return servers.required(why, causes);
        }
    }
    if servers.len() > MOST_SERVERS {
        let why = format!("must not have more than {MOST_SERVERS} nameservers");
        servers.invalid(&why, causes);
    }
    for server in servers.items() {
        server.fits(addresses::ip, causes);
    }
    if searches.len() > MOST_SEARCHES {
        let why = format!("must not have more than {MOST_SEARCHES} search paths");
        searches.invalid(&why, causes);
    }
    let length: usize = searches.items().map(|search| search.text().len() + 1).sum();
    if length > LONGEST_SEARCHES + 1 {
        let why = format!(
            "must not have more than {LONGEST_SEARCHES} characters (including spaces) in the search \
             list"
        );
        searches.invalid(&why, causes);
    }
    for search in searches.items().filter(|search| search.text() != ".") {
        let text = search.text().strip_suffix('.').unwrap_or(search.text());
        for why in names::subdomain_with_underscores(text) {
            causes.push(Cause::invalid(search.path(), &text.into(), &why));
        }
    }
    for option in config.of("options").items() {
        if option.of("name").is_empty() {
            option.required("must not be empty", causes);
        }
    }
}

/// Judges the names by which a pod knows others, and those by which it is known.
pub(super) fn hosts(spec: &Spot<'_>, causes: &mut Causes) {
    for alias in spec.of("hostAliases").items() {
        for why in addresses::ip(alias.of("ip").text()) {
            alias.of("ip").invalid_text(&why, causes);
        }
        for host in alias.of("hostnames").items() {
            host.fits(names::subdomain, causes);
        }
    }
    let name = spec.of("hostnameOverride");
    if !name.is_set() {
        return;
    }
    for field in ["setHostnameAsFQDN", "hostNetwork"] {
        if spec.of(field).is_true() {
            let why = format!("may not be specified when {field} is true");
            name.forbidden(&why, causes);
        }
    }
    if name.text().len() > 64 {
        causes.push(Cause::too_long(name.path(), 64));
    }
    name.fits(names::subdomain, causes);
}

/// In the network of the host a port is the same on the host; in a template it may be missing.
pub(super) fn host_ports(spec: &Spot<'_>, is_pod: bool, causes: &mut Causes) {
    if !spec.of("hostNetwork").is_true() {
        return;
    }
    for container in spec.of("containers").items() {
        for port in container.of("ports").items() {
            let (host, own) = (port.of("hostPort"), port.of("containerPort"));
            let number = host.number().unwrap_or(0);
            if (is_pod || number != 0) && number != own.number().unwrap_or(0) {
                causes.push(Cause::invalid(host.path(), &number.into(), HOST_PORT));
            }
        }
    }
}

/// What a pod with users of its own cannot share with the host (`validateHostUsers`).
pub(super) fn host_users(spec: &Spot<'_>, causes: &mut Causes) {
    let own = spec.of("hostUsers");
    if !own.is_set() || own.is_true() {
        return;
    }
    let why = "when `hostUsers` is false";
    for (field, told) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        if spec.of(field).is_true() {
            spec.of(told).forbidden(why, causes);
        }
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec.of(list).items() {
            let devices = container.of("volumeDevices");
            if !devices.is_empty() {
                devices.forbidden(why, causes);
            }
        }
    }
}
