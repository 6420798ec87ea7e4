//! What is wrong with when a job counts as failed or as done.

use std::collections::BTreeSet;

use crate::builtin::validate::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;
use crate::status::shown::quoted;

const ACTIONS: &[&str] = &["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS: &[&str] = &["In", "NotIn"];
const STATUSES: &[&str] = &["False", "True", "Unknown"];
const MOST_RULES: usize = 20;
const MOST_CODES: usize = 255;
const LONGEST_INDEXES: usize = 64 * 1024;

/// Judges the failure policy of a job with this spec (`validatePodFailurePolicy`).
pub(super) fn failure(spec: &Spot<'_>, causes: &mut Causes) {
    let rules = spec.of("podFailurePolicy.rules");
    few(&rules, MOST_RULES, causes);
    for rule in rules.items() {
        let (codes, conditions) = (rule.of("onExitCodes"), rule.of("onPodConditions"));
        let action = rule.of("action");
        if action.text() == "FailIndex" {
            if !spec.of("backoffLimitPerIndex").is_set() {
                action.invalid("requires the backoffLimitPerIndex to be set", causes);
            }
        } else {
            choice(&action, ACTIONS, causes);
        }
        if codes.is_set() {
            exit_codes(&codes, spec, causes);
        }
        few(&conditions, MOST_RULES, causes);
        for pattern in conditions.items() {
            let kind = pattern.of("type");
            for why in names::label_key(kind.text()) {
                kind.invalid_text(&why, causes);
            }
            choice(&pattern.of("status"), STATUSES, causes);
        }
        let why = match (codes.is_set(), !conditions.is_empty()) {
            (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        causes.push(Cause::invalid_unshown(rule.path(), why));
    }
}

fn few(list: &Spot<'_>, most: usize, causes: &mut Causes) {
    if list.len() > most {
        causes.push(Cause::too_many(list.path(), list.len(), most as u64));
    }
}

/// One of a few texts, which are named if there is none.
fn choice(text: &Spot<'_>, allowed: &[&str], causes: &mut Causes) {
    if text.is_empty() {
        let all: Vec<String> = allowed.iter().map(|text| quoted(text)).collect();
        text.required(&format!("valid values: [{}]", all.join(" ")), causes);
    } else {
        text.one_of(allowed, causes);
    }
}

fn exit_codes(codes: &Spot<'_>, spec: &Spot<'_>, causes: &mut Causes) {
    let (operator, values) = (codes.of("operator"), codes.of("values"));
    choice(&operator, OPERATORS, causes);
    let name = codes.of("containerName");
    let lists =
        ["containers", "initContainers"].map(|list| spec.of("template.spec").value().get(list));
    let mut containers = lists
        .into_iter()
        .flatten()
        .filter_map(|list| list.as_array())
        .flatten();
    if name.is_set() && !containers.any(|container| container.get("name") == Some(name.value())) {
        let why = "must be one of the container or initContainer names in the pod template";
        name.invalid(why, causes);
    }
    if values.is_empty() {
        let why = "at least one value is required";
        causes.push(Cause::invalid_as(values.path(), "null", why));
    }
    few(&values, MOST_CODES, causes);
    let mut seen = BTreeSet::new();
    let (mut last, mut is_ordered) = (None, true);
    for value in values.items() {
        let number = value.number();
        if operator.text() == "In" && number == Some(0) {
            value.invalid("must not be 0 for the In operator", causes);
        }
        if !seen.insert(number) {
            value.duplicate(causes);
        }
        is_ordered &= last <= number;
        last = number;
    }
    if !is_ordered {
        values.invalid("must be ordered", causes);
    }
}

/// Judges the success policy of an indexed job with this spec (`validateSuccessPolicy`).
pub(super) fn success(spec: &Spot<'_>, causes: &mut Causes) {
    let rules = spec.of("successPolicy.rules");
    let most = spec.of("completions").number().unwrap_or(0);
    if rules.is_empty() {
        let why = "at least one rules must be specified when the successPolicy is specified";
        rules.required(why, causes);
    }
    few(&rules, MOST_RULES, causes);
    for rule in rules.items() {
        let (count, indexes) = (rule.of("succeededCount"), rule.of("succeededIndexes"));
        if !count.is_set() && !indexes.is_set() {
            let why = "at least one of succeededCount or succeededIndexes must be specified";
            rule.required(why, causes);
        }
        if indexes.text().len() > LONGEST_INDEXES {
            causes.push(Cause::too_long(indexes.path(), LONGEST_INDEXES as u64));
        }
        let total = self::total(indexes.text(), most);
        if let Err(why) = &total {
            let why = format!("error parsing succeededIndexes: {why}");
            indexes.invalid(&why, causes);
        }
        rule.not_negative(&["succeededCount"], causes);
        let Some(number) = count.number() else {
            continue;
        };
        let total = total.unwrap_or(0);
        if number > most {
            let why = format!(
                "must be less than or equal to {most} (the number of specified completions)"
            );
            count.invalid(&why, causes);
        }
        if indexes.is_set() && number > total {
            let why = format!(
                "must be less than or equal to {total} (the number of indexes in the specified \
                 succeededIndexes field)"
            );
            count.invalid(&why, causes);
        }
    }
}

/// How many indexes a text like `0,2-4` has, all below `most` (`validateIndexesFormat`).
fn total(text: &str, most: i64) -> Result<i64, String> {
    let mut total = 0;
    let mut last: Option<i64> = None;
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let (first, end) = interval(part, most)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(disorder(last, first));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

fn interval(text: &str, most: i64) -> Result<(i64, i64), String> {
    let number = |text: &str| {
        let number = text.parse::<i64>().map_err(|_| {
            format!(
                "cannot convert string to integer for index: {}",
                quoted(text)
            )
        })?;
        if number >= most {
            return Err(format!("too large index: {}", quoted(text)));
        }
        Ok(number)
    };
    match *text.split('-').collect::<Vec<_>>() {
        [one] => number(one).map(|one| (one, one)),
        [first, last] => {
            let (first, last) = (number(first)?, number(last)?);
            if first >= last {
                return Err(disorder(first, last));
            }
            Ok((first, last))
        }
        _ => Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two \
             parts separated by '-'",
            quoted(text)
        )),
    }
}

fn disorder(before: i64, now: i64) -> String {
    format!("non-increasing order, previous: {before}, current: {now}")
}
