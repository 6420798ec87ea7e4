//! What is wrong with the annotations of a pod, or of a template.

use crate::builtin::validate::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

const MIRROR: &str = "kubernetes.io/config.mirror";
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
/// All annotations together may have so many bytes.
const MOST: usize = 256 * 1024;

/// Judges the annotations of a template, whose problems are told of another place.
pub(super) fn of_template(template: &Spot<'_>, causes: &mut Causes) {
    let annotations = template.of("metadata.annotations");
    let told = template.of("annotations");
    let mut size = 0;
    for (key, value) in annotations.entries() {
        let wrong = names::label_key(&key.to_lowercase());
        let cause = |why: &String| Cause::invalid(told.path(), &key.into(), why);
        causes.extend(wrong.iter().map(cause));
        size += key.len() + value.text().len();
    }
    if size > MOST {
        causes.push(Cause::too_long(told.path(), MOST as u64));
    }
    specific(&annotations, &template.of("spec"), &told, causes);
}

/// Judges annotations that say something about pods (`ValidatePodSpecificAnnotations`).
pub(super) fn specific(
    annotations: &Spot<'_>,
    spec: &Spot<'_>,
    told: &Spot<'_>,
    causes: &mut Causes,
) {
    let mirror = annotations.key(MIRROR);
    if mirror.is_set() && spec.of("nodeName").is_empty() {
        let why = "must set spec.nodeName if mirror pod annotation is set";
        causes.push(Cause::invalid(told.key(MIRROR).path(), mirror.value(), why));
    }
    let cost = annotations.key(COST);
    if cost.is_set() && !is_cost(cost.text()) {
        let why = "must be a 32bit integer";
        causes.push(Cause::invalid(told.key(COST).path(), cost.value(), why));
    }
}

fn is_cost(text: &str) -> bool {
    let fine = match text.as_bytes().first() {
        Some(b'0') => text == "0",
        Some(first) => matches!(first, b'-' | b'1'..=b'9'),
        None => false,
    };
    fine && text.parse::<i32>().is_ok()
}
