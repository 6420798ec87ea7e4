//! What is wrong with the probes of a container, and with what is called in its life.

use serde_json::Value;

use crate::builtin::validate::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

const NUMBERS: &[&str] = &[
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const SCHEMES: &[&str] = &["HTTP", "HTTPS"];
/// In the order in which the real server looks at them.
const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
const HEADER: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. \
     'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";

/// Judges the handlers of a container of a pod with this spec.
pub(super) fn handlers(container: &Spot<'_>, spec: &Spot<'_>, causes: &mut Causes) {
    let grace = spec.of("terminationGracePeriodSeconds").number();
    let lifecycle = container.of("lifecycle");
    for hook in ["postStart", "preStop"] {
        if lifecycle.of(hook).is_set() {
            handler(&lifecycle.of(hook), grace, causes);
        }
    }
    for name in PROBES {
        let probe = container.of(name);
        if !probe.is_set() {
            continue;
        }
        handler(&probe, grace, causes);
        probe.not_negative(NUMBERS, causes);
        let seconds = probe.of("terminationGracePeriodSeconds");
        if seconds.number().is_some_and(|seconds| seconds <= 0) {
            seconds.invalid("must be greater than 0", causes);
        }
        let successes = probe.of("successThreshold");
        if name == "readinessProbe" {
            if seconds.is_set() {
                seconds.invalid("must not be set for readinessProbes", causes);
            }
        } else if successes.number() != Some(1) {
            let number = successes.number().unwrap_or(0);
            causes.push(Cause::invalid(
                successes.path(),
                &number.into(),
                "must be 1",
            ));
        }
    }
}

/// There is one handler, and it makes sense (`validateHandler`).
fn handler(handler: &Spot<'_>, grace: Option<i64>, causes: &mut Causes) {
    let mut found = HANDLERS.iter().filter(|kind| handler.of(kind).is_set());
    let Some(first) = found.next() else {
        return handler.required("must specify a handler type", causes);
    };
    let action = handler.of(first);
    match *first {
        "exec" if action.of("command").is_empty() => action.of("command").required("", causes),
        "httpGet" => {
            action.of("path").named(|_| Vec::new(), causes);
            port(&action.of("port"), causes);
            let scheme = action.of("scheme");
            if !SCHEMES.contains(&scheme.text()) {
                scheme.unsupported(SCHEMES, causes);
            }
            let headers = action.of("httpHeaders");
            for header in headers.items() {
                let name = header.of("name").text();
                let fine = |c: char| c == '-' || c.is_ascii_alphanumeric();
                if name.is_empty() || !name.chars().all(fine) {
                    causes.push(Cause::invalid(headers.path(), &name.into(), HEADER));
                }
            }
        }
        "tcpSocket" => port(&action.of("port"), causes),
        "grpc" => action.of("port").port(causes),
        "sleep" => sleep(&action, grace, causes),
        _ => {}
    }
    for other in found {
        handler
            .of(other)
            .forbidden("may not specify more than 1 handler type", causes);
    }
}

fn sleep(sleep: &Spot<'_>, grace: Option<i64>, causes: &mut Causes) {
    let seconds = sleep.of("seconds").number().unwrap_or(0);
    if let Some(most) = grace
        && !(0..=most).contains(&seconds)
    {
        let why =
            format!("must be non-negative and less than terminationGracePeriodSeconds ({most})");
        causes.push(Cause::invalid(sleep.path(), &seconds.into(), &why));
    }
}

/// The number or the name of a port.
fn port(port: &Spot<'_>, causes: &mut Causes) {
    match port.value() {
        Value::String(_) => port.fits(names::port, causes),
        _ => port.port(causes),
    }
}
