//! What is wrong with events, in the form of the core group.

use serde_json::Value;

use super::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

/// What can be no longer than this.
const LONGEST: [(&str, usize); 4] = [
    ("reportingInstance", 128),
    ("action", 128),
    ("reason", 128),
    ("message", 1024),
];
/// What only the core group still knows.
const OLD: [&str; 4] = ["firstTimestamp", "lastTimestamp", "count", "source"];
/// What of an event stays, but for the core group.
const FIXED: &[&str] = &[
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
];
const NAMESPACE: &str = "does not match event.namespace";

/// Judges an event that is sent to the core group, or else to `events.k8s.io`.
pub(super) fn event(event: &Spot<'_>, is_core: bool, causes: &mut Causes) {
    of_both(event, is_core, causes);
    if is_core {
        return;
    }
    series(event, causes);
    if !event.of("eventTime").is_set() {
        event.of("eventTime").required("", causes);
    }
    let kind = event.of("type");
    if !matches!(kind.text(), "Normal" | "Warning") {
        unshown(
            &kind,
            &format!("has invalid value: {}", kind.text()),
            causes,
        );
    }
    for field in OLD {
        let part = event.of(field);
        if !part.is_empty() && part.number() != Some(0) {
            unshown(&part, "needs to be unset", causes);
        }
    }
}

/// Judges what an event has become.
pub(super) fn event_update(new: &Spot<'_>, old: &Spot<'_>, is_core: bool, causes: &mut Causes) {
    of_both(new, is_core, causes);
    if is_core {
        return;
    }
    if new.of("series").value() != old.of("series").value() {
        series(new, causes);
    }
    new.fixed(old, FIXED, causes);
    for (field, said) in [
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        let value = new.of(field).value();
        if value != old.of(field).value() {
            causes.push(Cause::invalid(said, value, "field is immutable"));
        }
    }
}

fn of_both(event: &Spot<'_>, is_core: bool, causes: &mut Causes) {
    let namespace = event.of("metadata.namespace").text();
    let about = event.of("involvedObject.namespace");
    let told = |causes: &mut Causes| {
        causes.push(Cause::invalid(
            about.path(),
            &about.text().into(),
            NAMESPACE,
        ));
    };
    if event.of("eventTime").is_set() {
        if about.is_empty() && !matches!(namespace, "default" | "kube-system") {
            told(causes);
        }
        reporter(event, is_core, causes);
        for (field, most) in LONGEST {
            let part = event.of(field);
            if part.is_empty() && field != "message" {
                part.required("", causes);
            }
            if part.text().len() > most {
                unshown(
                    &part,
                    &format!("can have at most {most} characters"),
                    causes,
                );
            }
        }
        return;
    }
    let fits = match about.text() {
        "" => matches!(namespace, "" | "default"),
        other => other == namespace,
    };
    if !fits {
        told(causes);
    }
}

/// Each group has its own name for who reports.
fn reporter(event: &Spot<'_>, is_core: bool, causes: &mut Causes) {
    let component = event.of("reportingComponent");
    let field = if is_core {
        "reportingComponent"
    } else {
        "reportingController"
    };
    if component.is_empty() {
        causes.push(Cause::required(field, ""));
    }
    let value = Value::from(component.text());
    let wrong = names::label_key(component.text());
    causes.extend(wrong.iter().map(|why| Cause::invalid(field, &value, why)));
}

fn series(event: &Spot<'_>, causes: &mut Causes) {
    let series = event.of("series");
    if !series.is_set() {
        return;
    }
    if series.of("count").number().unwrap_or(0) < 2 {
        unshown(&series.of("count"), "should be at least 2", causes);
    }
    if !series.of("lastObservedTime").is_set() {
        series.of("lastObservedTime").required("", causes);
    }
}

/// The real server shows no value here.
fn unshown(part: &Spot<'_>, why: &str, causes: &mut Causes) {
    causes.push(Cause::invalid(part.path(), &"".into(), why));
}
