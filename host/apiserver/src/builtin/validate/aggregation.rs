//! Problems of APIServices.

use serde_json::Value;

use super::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

const MOST_OF_GROUP: i64 = 20_000;
const MOST_OF_VERSION: i64 = 1_000;

/// Judges an `APIService`.
pub(super) fn api_service(service: &Spot<'_>, causes: &mut Causes) {
    let (name, spec) = (service.of("metadata.name"), service.of("spec"));
    let (group, version) = (spec.of("group"), spec.of("version"));
    let wanted = format!("{}.{}", version.text(), group.text());
    if name.text() != wanted && names::path_segment(name.text()).is_empty() {
        let why = format!("must be `spec.version+\".\"+spec.group`: {wanted:?}");
        name.invalid(&why, causes);
    }
    if group.text().is_empty() && version.text() != "v1" {
        let why = "only v1 may have an empty group and it better be legacy kube";
        group.required(why, causes);
    }
    group.fits_if_set(names::subdomain, causes);
    let label = |text: &str| names::label_1035(text);
    version.fits(label, causes);
    for (field, most) in [
        ("groupPriorityMinimum", MOST_OF_GROUP),
        ("versionPriority", MOST_OF_VERSION),
    ] {
        let priority = spec.of(field);
        let number = priority.number().unwrap_or(0);
        if !(1..=most).contains(&number) {
            let why = format!("must be positive and less than {most}");
            causes.push(Cause::invalid(priority.path(), &number.into(), &why));
        }
    }
    backend(&spec, causes);
}

/// Judges the Service that answers for the group.
fn backend(spec: &Spot<'_>, causes: &mut Causes) {
    let (bundle, insecure) = (spec.of("caBundle"), spec.of("insecureSkipTLSVerify"));
    let service = spec.of("service");
    if !service.is_set() {
        if !bundle.is_empty() {
            let bytes = bundle.text().trim_end_matches('=').len() * 3 / 4;
            let shown = Value::from(format!("{bytes} bytes"));
            let why = "local APIServices may not have a caBundle";
            causes.push(Cause::invalid(bundle.path(), &shown, why));
        }
        if insecure.is_true() {
            let why = "local APIServices may not have insecureSkipTLSVerify";
            insecure.invalid(why, causes);
        }
        return;
    }
    for field in ["namespace", "name"] {
        if service.of(field).is_empty() {
            service.of(field).required("", causes);
        }
    }
    let port = service.of("port");
    let number = port.number().unwrap_or(0);
    if !(1..=65_535).contains(&number) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(Cause::invalid(port.path(), &number.into(), why));
    }
    if insecure.is_true() && !bundle.is_empty() {
        insecure.invalid("may not be true if caBundle is present", causes);
    }
}

/// Judges the conditions of an `APIService`.
pub(super) fn status(service: &Spot<'_>, causes: &mut Causes) {
    for condition in service.of("status.conditions").items() {
        let status = condition.of("status");
        if !matches!(status.text(), "True" | "False" | "Unknown") {
            status.unsupported(&["True", "False", "Unknown"], causes);
        }
    }
}
