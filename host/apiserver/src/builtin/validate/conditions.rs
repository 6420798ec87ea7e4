//! What is wrong with the conditions in a status
//! (apimachinery `pkg/apis/meta/v1/validation/validation.go`, `ValidateConditions`).

use std::collections::BTreeSet;

use super::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

const STATUSES: &[&str] = &["False", "True", "Unknown"];
const LONGEST_REASON: usize = 1024;
const LONGEST_MESSAGE: usize = 32 * 1024;
const REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of \
     alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or \
     'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
     '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

/// A list of conditions.
pub(super) fn conditions(conditions: &Spot<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    for condition in conditions.items() {
        let kind = condition.of("type");
        if !seen.insert(kind.text().to_owned()) {
            kind.duplicate(causes);
        }
        one(&condition, causes);
    }
}

fn one(condition: &Spot<'_>, causes: &mut Causes) {
    condition.of("type").fits(names::label_key, causes);
    let status = condition.of("status");
    if !STATUSES.contains(&status.text()) {
        status.unsupported(STATUSES, causes);
    }
    let generation = condition.of("observedGeneration");
    if generation.number().is_some_and(|number| number < 0) {
        generation.invalid("must be greater than or equal to zero", causes);
    }
    let time = condition.of("lastTransitionTime");
    if !time.is_set() {
        time.required("", causes);
    }
    let reason = condition.of("reason");
    if reason.is_empty() {
        reason.required("", causes);
    } else {
        if !is_reason(reason.text()) {
            reason.invalid(REASON, causes);
        }
        not_longer(&reason, LONGEST_REASON, causes);
    }
    not_longer(&condition.of("message"), LONGEST_MESSAGE, causes);
}

fn is_reason(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.ends_with(is_word)
        && text.chars().all(|c| is_word(c) || matches!(c, ',' | ':'))
}

fn not_longer(text: &Spot<'_>, most: usize, causes: &mut Causes) {
    if text.text().len() > most {
        causes.push(Cause::too_long(text.path(), most as u64));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_has_a_type_a_status_a_reason_and_a_time() {
        let fine = json!({
            "type": "example.com/Ready", "status": "True", "reason": "Is_Fine", "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        });
        let wrong = json!({
            "type": "", "status": "", "reason": "1", "message": "m".repeat(LONGEST_MESSAGE + 1),
            "lastTransitionTime": null, "observedGeneration": -1,
        });
        let mut causes = Causes::new();
        let all = json!([fine, fine, wrong]);
        conditions(&Spot::root(&all), &mut causes);
        let lines: Vec<String> = causes.iter().map(Cause::line).collect();
        let expected = [
            "[1].type: Duplicate value: \"example.com/Ready\"",
            "[2].type: Invalid value: \"\": name part must be non-empty",
            "[2].type: Invalid value: \"\": name part must consist of",
            "[2].status: Unsupported value: \"\": supported values: \"False\", \"True\", \"Unknown\"",
            "[2].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
            "[2].lastTransitionTime: Required value",
            "[2].reason: Invalid value: \"1\": a condition reason must start with",
            "[2].message: Too long: may not be more than 32768 bytes",
        ];
        assert_eq!(lines.len(), expected.len(), "{lines:#?}");
        for (line, start) in lines.iter().zip(expected) {
            assert!(line.starts_with(start), "{line}");
        }
    }
}
