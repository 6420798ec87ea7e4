//! What is wrong with a request for a certificate. The request itself is not read: nobody signs it here.

use std::collections::BTreeSet;

use super::spot::{Causes, Spot};

/// The conditions that say what became of a request; they are never false, and never go.
const DECISIONS: [&str; 3] = ["Approved", "Denied", "Failed"];
/// The fields of these that only an approval sets.
const OF_APPROVAL: [&str; 2] = ["Approved", "Denied"];

/// A certificate lasts no shorter than this.
const LEAST_SECONDS: i64 = 600;

/// Judges the spec of a `CertificateSigningRequest`.
pub(super) fn validate(spec: &Spot<'_>, causes: &mut Causes) {
    let usages = spec.of("usages");
    if usages.is_empty() {
        usages.required("", causes);
    }
    spec.of("signerName").named(signer, causes);
    let seconds = spec.of("expirationSeconds");
    if seconds
        .number()
        .is_some_and(|number| number < LEAST_SECONDS)
    {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        seconds.invalid(why, causes);
    }
}

/// Judges a request whose status is written.
pub(super) fn status(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    let (conditions, held) = (new.of("status.conditions"), old.of("status.conditions"));
    judge_conditions(&conditions, &held, causes);
    for decision in OF_APPROVAL {
        if count(&conditions, decision) > count(&held, decision) {
            let why = format!("updates may not add a condition of type \"{decision}\"");
            conditions.forbidden(&why, causes);
        }
    }
    let (certificate, before) = (new.of("status.certificate"), old.of("status.certificate"));
    if !before.is_empty() && certificate.text() != before.text() {
        let why = "updates may not modify existing certificate content";
        certificate.forbidden(why, causes);
    }
}

/// Judges a request that is approved or denied.
pub(super) fn approval(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    let (conditions, held) = (new.of("status.conditions"), old.of("status.conditions"));
    judge_conditions(&conditions, &held, causes);
}

fn judge_conditions(conditions: &Spot<'_>, held: &Spot<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    let was_both = OF_APPROVAL.iter().all(|decision| count(held, decision) > 0);
    for condition in conditions.items() {
        let (kind, status) = (condition.of("type"), condition.of("status"));
        if kind.text().is_empty() {
            kind.required("", causes);
        }
        let allowed: &[&str] = if DECISIONS.contains(&kind.text()) {
            &["True"]
        } else {
            &["False", "True", "Unknown"]
        };
        status.one_of(allowed, causes);
        let other = match kind.text() {
            "Approved" => Some("Denied"),
            "Denied" => Some("Approved"),
            _ => None,
        };
        if other.is_some_and(|other| seen.contains(other)) && !was_both {
            let why = "Approved and Denied conditions are mutually exclusive";
            conditions.instead(kind.value()).invalid(why, causes);
        }
        if !seen.insert(kind.text().to_owned()) {
            kind.duplicate(causes);
        }
    }
    for decision in DECISIONS {
        if count(conditions, decision) < count(held, decision) {
            let why = format!("updates may not remove a condition of type \"{decision}\"");
            conditions.forbidden(&why, causes);
        }
    }
}

fn count(conditions: &Spot<'_>, kind: &str) -> usize {
    let all = conditions.items();
    all.filter(|condition| condition.of("type").text() == kind)
        .count()
}

fn signer(name: &str) -> Vec<String> {
    if name.contains('/') {
        return Vec::new();
    }
    vec![
        "must be a fully qualified domain and path of the form 'example.com/signer-name'"
            .to_owned(),
    ]
}
