//! What is wrong with the numbers of jobs whose pods have an index each.

use crate::builtin::validate::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

const MODES: &[&str] = &["NonIndexed", "Indexed"];
const MOST: i64 = 100_000;
const MANY: i64 = 100_000;
const FEW_AT_ONCE: i64 = 10_000;

/// The name of the pod with the last index is one that a pod can have.
pub(super) fn name(job: &Spot<'_>, causes: &mut Causes) {
    let (name, count) = (job.of("metadata.name"), job.of("spec.completions").number());
    let is_indexed = job.of("spec.completionMode").text() == "Indexed";
    let Some(last) = count.filter(|count| is_indexed && *count > 0) else {
        return;
    };
    let host = format!("{}-{}", name.text(), last - 1);
    if !names::label(&host).is_empty() {
        let why = format!("will not able to create pod with invalid DNS label: {host}");
        name.invalid_text(&why, causes);
    }
}

/// Judges what only indexed jobs have, and how much of it they may have.
pub(super) fn spec(spec: &Spot<'_>, causes: &mut Causes) {
    let mode = spec.of("completionMode");
    mode.one_of_if_set(MODES, causes);
    if spec.of("maxFailedIndexes").is_set() && !spec.of("backoffLimitPerIndex").is_set() {
        let why = "when maxFailedIndexes is specified";
        spec.of("backoffLimitPerIndex").required(why, causes);
    }
    if mode.text() == "Indexed" {
        return numbers(spec, causes);
    }
    // Of an unknown mode only the policy is judged.
    let is_known = !mode.is_set() || mode.text() == "NonIndexed";
    for (field, counts) in [
        ("backoffLimitPerIndex", is_known),
        ("maxFailedIndexes", is_known),
        ("successPolicy", true),
    ] {
        let part = spec.of(field);
        if counts && part.is_set() {
            part.invalid("requires indexed completion mode", causes);
        }
    }
}

fn numbers(spec: &Spot<'_>, causes: &mut Causes) {
    let completions = spec.of("completions");
    let (parallelism, failed) = (spec.of("parallelism"), spec.of("maxFailedIndexes"));
    if !completions.is_set() {
        completions.required("when completion mode is Indexed", causes);
    }
    let above = |spot: &Spot<'_>, most: i64| spot.number().is_some_and(|number| number > most);
    if above(&parallelism, MOST) {
        let why = format!("must be less than or equal to {MOST} when completion mode is Indexed");
        parallelism.invalid(&why, causes);
    }
    if completions
        .number()
        .is_some_and(|count| above(&failed, count))
    {
        failed.invalid("must be less than or equal to completions", causes);
    }
    if above(&failed, MOST) {
        let why = format!("must be less than or equal to {MOST}");
        failed.invalid(&why, causes);
    }
    if !above(&completions, MANY) || !spec.of("backoffLimitPerIndex").is_set() {
        return;
    }
    if !failed.is_set() {
        let why = format!("must be specified when completions is above {MANY}");
        causes.push(Cause::required(failed.path(), &why));
    }
    for count in [parallelism, failed] {
        if above(&count, FEW_AT_ONCE) {
            let why = format!(
                "must be less than or equal to {FEW_AT_ONCE} when completions are above {MANY} and used \
                 with backoff limit per index"
            );
            count.invalid(&why, causes);
        }
    }
}
