//! What is wrong with the resources that containers and pods ask for.

mod whole;

use std::collections::BTreeSet;

use crate::builtin::quantity::Amount;
use crate::builtin::validate::resources;
use crate::builtin::validate::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

const HUGE: &str = "hugepages-";

/// Judges the resource claims of a pod (`validatePodResourceClaims`).
pub(super) fn claims(spec: &Spot<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    for claim in spec.of("resourceClaims").items() {
        let name = claim.of("name");
        if name.is_empty() {
            name.required("", causes);
        } else if seen.insert(name.text().to_owned()) {
            name.fits(names::label, causes);
        } else {
            name.duplicate(causes);
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        match sources.map(|source| claim.of(source).is_set()) {
            [true, true] => {
                let why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
                claim.invalid(why, causes);
            }
            [false, false] => {
                let why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
                claim.invalid(why, causes);
            }
            _ => {}
        }
        for source in sources {
            if claim.of(source).is_set() {
                claim.of(source).fits(names::subdomain, causes);
            }
        }
    }
}

/// Judges what a container of a pod asks for (`ValidateContainerResourceRequirements`).
pub(super) fn of_container(resources: &Spot<'_>, spec: &Spot<'_>, causes: &mut Causes) {
    judge(resources, spec, container_name, causes);
}

/// Judges what a pod asks for as a whole (`validatePodResources`).
pub(super) fn of_pod(spec: &Spot<'_>, causes: &mut Causes) {
    let resources = spec.of("resources");
    if !resources.is_set() {
        return;
    }
    if spec.of("os.name").text() == "windows" {
        return resources.forbidden("may not be set for a windows pod", causes);
    }
    if resources.of("claims").is_set() {
        let why = "claims may not be set for Resources at pod-level";
        resources.of("claims").forbidden(why, causes);
    }
    judge(&resources, spec, pod_name, causes);
    whole::judge(spec, causes);
}

type ResourceNameCheck = fn(&str, &str) -> Vec<Cause>;

fn container_name(name: &str, told: &str) -> Vec<Cause> {
    let wrong = resources::of_container(name);
    let cause = |why: &String| Cause::invalid(told, &name.into(), why);
    wrong.iter().map(cause).collect()
}

fn pod_name(name: &str, told: &str) -> Vec<Cause> {
    let wrong = resources::name(name);
    let is_known = matches!(name, "cpu" | "memory") || name.starts_with(HUGE);
    if wrong.is_empty() && !is_known {
        let all = ["cpu", HUGE, "memory"].map(str::to_owned);
        return vec![Cause::unsupported(told, &name.into(), &all)];
    }
    let cause = |why: &String| Cause::invalid(told, &name.into(), why);
    wrong.iter().map(cause).collect()
}

fn judge(resources: &Spot<'_>, spec: &Spot<'_>, rule: ResourceNameCheck, causes: &mut Causes) {
    let (limits, requests) = (resources.of("limits"), resources.of("requests"));
    for (list, is_request) in [(&limits, false), (&requests, true)] {
        for (name, amount) in list.entries() {
            self::amount(name, &amount, &amount.path(), rule, causes);
            if is_request {
                limited(name, &amount, &requests, &limits, causes);
            }
        }
    }
    let has = |wanted: fn(&str) -> bool| {
        let mut all = limits.entries().chain(requests.entries());
        all.any(|(name, _)| wanted(name))
    };
    if has(|name| name.starts_with(HUGE)) && !has(|name| matches!(name, "cpu" | "memory")) {
        resources.forbidden("HugePages require cpu or memory", causes);
    }
    claim_names(resources, spec, causes);
}

/// Judges what a pod needs beside its containers (`validateOverhead`).
pub(super) fn overhead(overhead: &Spot<'_>, causes: &mut Causes) {
    let limits = overhead.of("limits");
    for (name, amount) in overhead.entries() {
        let told = limits.key(name).path();
        self::amount(name, &amount, &told, container_name, causes);
    }
}

fn amount(name: &str, amount: &Spot<'_>, told: &str, rule: ResourceNameCheck, causes: &mut Causes) {
    causes.extend(rule(name, told));
    causes.extend(resources::amount(name, amount, told));
    if let Some(size) = name.strip_prefix(HUGE) {
        let size = Amount::parse(size).filter(|size| size.is_positive() && size.is_whole());
        let held = Amount::parse(amount.text());
        let is_multiple = |size: Amount, held: Amount| held.rounded() % size.rounded() == 0;
        if !matches!((size, held), (Some(size), Some(held)) if is_multiple(size, held)) {
            let why = format!(
                "{} is not positive integer multiple of {name}",
                amount.text()
            );
            causes.push(Cause::invalid(told, amount.value(), &why));
        }
    }
}

/// What is asked for is not above the limit; what cannot be shared is as much as it.
fn limited(
    name: &str,
    request: &Spot<'_>,
    requests: &Spot<'_>,
    limits: &Spot<'_>,
    causes: &mut Causes,
) {
    let limit = limits.key(name);
    let overcommits = resources::is_native(name) && !name.starts_with(HUGE);
    let (Some(asked), Some(most)) = (Amount::parse(request.text()), Amount::parse(limit.text()))
    else {
        if !limit.is_set() && !overcommits {
            limits.required("Limit must be set for non overcommitable resources", causes);
        }
        return;
    };
    let how = match (overcommits, asked.is_above(most)) {
        (false, _) if asked != most => "equal to",
        (_, true) => "less than or equal to",
        (_, false) => return,
    };
    let why = format!("must be {how} {name} limit of {}", limit.text());
    causes.push(Cause::invalid(
        requests.path(),
        &request.text().into(),
        &why,
    ));
}

/// The claims of a container are those of its pod (`validateResourceClaimNames`).
fn claim_names(resources: &Spot<'_>, spec: &Spot<'_>, causes: &mut Causes) {
    let claims = spec.of("resourceClaims");
    let of_pod: BTreeSet<String> = claims
        .items()
        .map(|claim| claim.of("name").text().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for claim in resources.of("claims").items() {
        let (name, request) = (claim.of("name").text(), claim.of("request"));
        if name.is_empty() {
            claim.required("", causes);
            continue;
        }
        let twice = |key: &str| Cause::duplicate(claim.path(), &key.into());
        if seen.contains(name) {
            causes.push(twice(name));
        } else {
            request.fits_if_set(names::label, causes);
            let key = match request.text() {
                "" => name.to_owned(),
                request => format!("{name}/{request}"),
            };
            let part = format!("{name}/");
            let is_part = |held: &&String| request.is_empty() && held.starts_with(&part);
            causes.extend(seen.iter().filter(is_part).map(|_| twice(name)));
            if !seen.insert(key.clone()) {
                causes.push(twice(&key));
            }
        }
        if !of_pod.contains(name) {
            let all: Vec<&str> = of_pod.iter().map(String::as_str).collect();
            let all = if all.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {}", all.join(", "))
            };
            let why = format!("must be one of the names in pod.spec.resourceClaims{all}");
            let mut cause = Cause::not_found(claim.path(), &name.into());
            cause.message = format!("{}: {why}", cause.message);
            causes.push(cause);
        }
    }
}
