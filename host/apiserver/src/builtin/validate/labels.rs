//! What is wrong with labels, and with selectors of them.

use serde_json::Value;

use super::spot::{Causes, Spot};
use crate::names;
use crate::rbac;
use crate::selector::LabelSelector;
use crate::status::Cause;
use crate::store::Labels;

/// Judges a map of labels, whose problems are told of another place.
pub(super) fn map(labels: &Spot<'_>, told: &Spot<'_>, causes: &mut Causes) {
    for (key, value) in labels.entries() {
        for why in names::label_key(key) {
            causes.push(Cause::invalid(told.path(), &key.into(), &why));
        }
        for why in names::label_value(value.text()) {
            causes.push(Cause::invalid(told.path(), value.value(), &why));
        }
    }
}

/// Judges a `LabelSelector`; says whether it can be used.
pub(super) fn selector(selector: &Spot<'_>, causes: &mut Causes) -> bool {
    let wrong = rbac::validate::selector(selector.value(), &selector.path());
    let fine = wrong.is_empty();
    causes.extend(wrong);
    fine
}

/// Whether a selector selects pods with the labels of a template. None at all selects nothing.
pub(super) fn selects(selector: &Value, labels: &Value) -> bool {
    let held: Labels = labels
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect();
    !selector.is_null()
        && LabelSelector::of(selector).is_some_and(|selector| selector.selects(Some(&held)))
}
