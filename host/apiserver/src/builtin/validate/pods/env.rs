//! What is wrong with the variables of a container (`ValidateEnv`, `ValidateEnvFrom`).

use crate::builtin::validate::data;
use crate::builtin::validate::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

/// What a variable can say of its pod.
const FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// What can be named as a field of a pod (`ConvertDownwardAPIFieldLabel`).
const KNOWN: [&str; 15] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.host",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const HUGE_PAGES: [&str; 2] = ["requests.hugepages-", "limits.hugepages-"];
const DIVISORS: [&str; 13] = [
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];
const ONE_OF: &str = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
     `secretKeyRef` or `fileKeyRef`";
const ONE: &str = "may not have more than one field specified at a time";

/// Judges variables.
pub(super) fn variables(variables: &Spot<'_>, causes: &mut Causes) {
    for variable in variables.items() {
        variable.of("name").named(names::variable, causes);
        let source = variable.of("valueFrom");
        if !source.is_set() {
            continue;
        }
        let reference = source.of("fieldRef");
        if reference.is_set() {
            field(&reference, &reference, FIELDS, causes);
        }
        let amount = source.of("resourceFieldRef");
        if amount.is_set() {
            resource(&amount, &amount, false, causes);
        }
        for kind in ["configMapKeyRef", "secretKeyRef"] {
            key(&source.of(kind), causes);
        }
        let why = match source.entries().count() {
            0 => ONE_OF,
            _ if !variable.of("value").is_empty() => {
                "may not be specified when `value` is not empty"
            }
            1 => continue,
            _ => ONE,
        };
        causes.push(Cause::invalid(source.path(), &"".into(), why));
    }
}

/// Judges where many variables come from at once.
pub(super) fn sources(sources: &Spot<'_>, causes: &mut Causes) {
    for source in sources.items() {
        source.of("prefix").fits_if_set(names::variable, causes);
        let parts = [source.of("configMapRef"), source.of("secretRef")];
        for part in parts.iter().filter(|part| part.is_set()) {
            let prefix = |name: &str| names::subdomain(name.strip_suffix('-').unwrap_or(name));
            part.of("name").named(prefix, causes);
        }
        let why = match parts.iter().filter(|part| part.is_set()).count() {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => ONE,
        };
        causes.push(Cause::invalid(sources.path(), &"".into(), why));
    }
}

fn key(reference: &Spot<'_>, causes: &mut Causes) {
    if reference.is_set() {
        let name = reference.of("name");
        for why in names::subdomain(name.text()) {
            causes.push(Cause::invalid(name.path(), &name.text().into(), &why));
        }
        reference.of("key").named(data::key_problems, causes);
    }
}

/// A field of a pod, one of a few or a label; `told` is where that is told.
pub(super) fn field(reference: &Spot<'_>, told: &Spot<'_>, allowed: &[&str], causes: &mut Causes) {
    let (version, path) = (reference.of("apiVersion"), reference.of("fieldPath"));
    for part in ["apiVersion", "fieldPath"] {
        if reference.of(part).is_empty() {
            return told.of(part).required("", causes);
        }
    }
    let at = told.of("fieldPath");
    let subscript = path
        .text()
        .strip_suffix("']")
        .and_then(|path| path.split_once("['"));
    let wrong = match subscript {
        _ if version.text() != "v1" => format!("unsupported pod version: {}", version.text()),
        Some(("metadata.annotations", key)) => return label(&key.to_lowercase(), told, causes),
        Some(("metadata.labels", key)) => return label(key, told, causes),
        Some(_) => format!("field label does not support subscript: {}", path.text()),
        None if !KNOWN.contains(&path.text()) => {
            format!("field label not supported: {}", path.text())
        }
        None => {
            let name = match path.text() {
                "spec.host" => "spec.nodeName",
                name => name,
            };
            if !allowed.contains(&name) {
                let allowed: Vec<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
                causes.push(Cause::unsupported(at.path(), &name.into(), &allowed));
            }
            return;
        }
    };
    let why = format!("error converting fieldPath: {wrong}");
    causes.push(Cause::invalid(at.path(), path.value(), &why));
}

fn label(key: &str, told: &Spot<'_>, causes: &mut Causes) {
    for why in names::label_key(key) {
        causes.push(Cause::invalid(told.path(), &key.into(), &why));
    }
}

/// A resource of a container, and the unit in which it is told.
pub(super) fn resource(reference: &Spot<'_>, told: &Spot<'_>, is_file: bool, causes: &mut Causes) {
    let name = reference.of("resource").text();
    if is_file && reference.of("containerName").is_empty() {
        told.of("containerName").required("", causes);
    } else if name.is_empty() {
        told.of("resource").required("", causes);
    } else if !RESOURCES.contains(&name) && !HUGE_PAGES.iter().any(|page| name.starts_with(page)) {
        let allowed: Vec<String> = RESOURCES.iter().map(|name| (*name).to_owned()).collect();
        causes.push(Cause::unsupported(
            told.of("resource").path(),
            &name.into(),
            &allowed,
        ));
    }
    let divisor = reference.of("divisor").text();
    let (_, what) = name.split_once('.').unwrap_or_default();
    let (is_fine, units) = match what {
        "cpu" => (matches!(divisor, "1m" | "1"), "1m and 1"),
        what if what == "memory"
            || what == "ephemeral-storage"
            || what.starts_with("hugepages-") =>
        {
            (
                DIVISORS.contains(&divisor),
                "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei",
            )
        }
        _ => return,
    };
    if !matches!(divisor, "" | "0") && !is_fine {
        let shown = match what {
            "ephemeral-storage" => "local ephemeral storage",
            what if what.starts_with("hugepages-") => "hugepages",
            what => what,
        };
        let why = format!("only divisor's values {units} are supported with the {shown} resource");
        causes.push(Cause::invalid(
            told.of("divisor").path(),
            &name.into(),
            &why,
        ));
    }
}
