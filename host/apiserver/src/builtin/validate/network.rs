//! What is wrong with ingresses.

use std::net::IpAddr;

use serde_json::Value;

use super::spot::{Causes, Spot};
use crate::status::Cause;
use crate::{addresses, names};

const PATH_TYPES: &[&str] = &["Exact", "ImplementationSpecific", "Prefix"];
const BAD_SEQUENCES: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const BAD_ENDS: [&str; 2] = ["/..", "/."];
const CLASS: &str = "kubernetes.io/ingress.class";

pub(super) fn ingress(ingress: &Spot<'_>, is_new: bool, causes: &mut Causes) {
    let spec = ingress.of("spec");
    let (rules, default) = (spec.of("rules"), spec.of("defaultBackend"));
    if rules.is_empty() && !default.is_set() {
        let why = "either `defaultBackend` or `rules` must be specified";
        causes.push(Cause::invalid(spec.path(), rules.value(), why));
    }
    if default.is_set() {
        backend(&default, causes);
    }
    for rule in rules.items() {
        let host = rule.of("host");
        if host.text().parse::<IpAddr>().is_ok() {
            host.invalid("must be a DNS name, not an IP address", causes);
        }
        host.fits_if_set(names::host, causes);
        let http = rule.of("http");
        if http.is_set() && http.of("paths").is_empty() {
            http.of("paths").required("", causes);
        }
        http.of("paths")
            .items()
            .for_each(|path| self::path(&path, causes));
    }
    for tls in spec.of("tls").items() {
        for host in tls.of("hosts").items() {
            host.fits(names::host, causes);
        }
        tls.of("secretName").fits_if_set(names::subdomain, causes);
    }
    let class = spec.of("ingressClassName");
    if class.is_set() {
        class.fits(names::subdomain, causes);
    }
    let said = ingress.of("metadata.annotations");
    let said = said.key(CLASS);
    if is_new && said.is_set() && class.is_set() && said.value() != class.value() {
        let why = "must match `ingressClassName` when both are specified";
        let field = format!("annotations.{CLASS}");
        causes.push(Cause::invalid(field, said.value(), why));
    }
}

fn path(path: &Spot<'_>, causes: &mut Causes) {
    let (kind, place) = (path.of("pathType"), path.of("path"));
    if !kind.is_set() {
        return kind.required("pathType must be specified", causes);
    }
    let is_loose = kind.text() == "ImplementationSpecific";
    kind.one_of(PATH_TYPES, causes);
    if PATH_TYPES.contains(&kind.text()) {
        let text = place.text();
        let wrong = |why: &str| Cause::invalid(place.path(), &text.into(), why);
        let may_be_empty = is_loose && text.is_empty();
        if !may_be_empty && !text.starts_with('/') {
            causes.push(wrong("must be an absolute path"));
        }
        if !is_loose {
            for bad in BAD_SEQUENCES.iter().filter(|bad| text.contains(**bad)) {
                causes.push(wrong(&format!("must not contain '{bad}'")));
            }
            for bad in BAD_ENDS.iter().filter(|bad| text.ends_with(**bad)) {
                causes.push(wrong(&format!("cannot end with '{bad}'")));
            }
        }
    }
    backend(&path.of("backend"), causes);
}

fn backend(backend: &Spot<'_>, causes: &mut Causes) {
    let (resource, service) = (backend.of("resource"), backend.of("service"));
    let wrong = |why: &str| Cause::invalid(backend.path(), &"".into(), why);
    match (resource.is_set(), service.is_set()) {
        (true, true) => causes.push(wrong("cannot set both resource and service backends")),
        (false, false) => causes.push(wrong("resource or service backend is required")),
        (true, false) => {
            resource
                .of("apiGroup")
                .fits_if_set(names::subdomain, causes);
            for field in ["kind", "name"] {
                resource.of(field).named(names::path_segment, causes);
            }
        }
        (false, true) => {
            service.of("name").named(names::label, causes);
            let (name, number) = (service.of("port.name"), service.of("port.number"));
            let has_number = number.number().is_some_and(|number| number != 0);
            match (name.is_empty(), has_number) {
                (false, true) => causes.push(wrong("cannot set both port name & port number")),
                (false, false) => name.fits(names::port, causes),
                (true, true) => number.port(causes),
                (true, false) => {
                    backend.required("port name or number is required", causes);
                }
            }
        }
    }
}

/// Judges what external addresses of a load balancer an ingress has.
pub(super) fn ingress_status(ingress: &Spot<'_>, causes: &mut Causes) {
    for point in ingress.of("status.loadBalancer.ingress").items() {
        point.of("ip").fits_if_set(addresses::ip, causes);
        let host = point.of("hostname");
        host.fits_if_set(names::subdomain, causes);
        if let Value::String(text) = host.value()
            && text.parse::<IpAddr>().is_ok()
        {
            host.invalid("must be a DNS name, not an IP address", causes);
        }
    }
}
