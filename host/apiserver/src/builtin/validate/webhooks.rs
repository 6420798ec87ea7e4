//! What is wrong with configurations of admission webhooks
//! (kubernetes `pkg/apis/admissionregistration/validation/validation.go`, apiserver `pkg/util/webhook`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::admission::{self, FAILURE_POLICIES, MATCH_POLICIES, REINVOCATIONS};
use super::labels;
use super::spot::{Causes, Spot};
use crate::names;
use crate::schema::url::Url;
use crate::status::Cause;

const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];
const ALL_SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun", "Some", "Unknown"];
const REVIEWS: &[&str] = &["v1", "v1beta1"];
const FORM: &str = "; desired format: https://host[/path]";

/// What is demanded of a configuration: what the old one lacked already may go on lacking.
#[derive(Clone, Copy, Debug)]
struct Demands {
    no_side_effects: bool,
    known_review: bool,
    unique_names: bool,
    good_selectors: bool,
    conditions: bool,
}

/// A configuration; `mutates` says of which kind.
pub(super) fn configuration(
    configuration: &Spot<'_>,
    old: Option<&Spot<'_>>,
    mutates: bool,
    causes: &mut Causes,
) {
    let demands = demands(configuration, old);
    let mut seen = BTreeSet::new();
    for hook in configuration.of("webhooks").items() {
        webhook(&hook, demands, mutates, causes);
        let versions = hook.of("admissionReviewVersions");
        reviews(&versions, demands.known_review, causes);
        let name = hook.of("name");
        let is_new = name.is_empty() || seen.insert(name.text().to_owned());
        if demands.unique_names && !is_new {
            name.duplicate(causes);
        }
    }
}

fn demands(new: &Spot<'_>, old: Option<&Spot<'_>>) -> Demands {
    let Some(old) = old else {
        return Demands {
            no_side_effects: true,
            known_review: true,
            unique_names: true,
            good_selectors: true,
            conditions: true,
        };
    };
    let hooks = old.of("webhooks");
    let mut names = BTreeSet::new();
    let mut held = Demands {
        no_side_effects: true,
        known_review: true,
        unique_names: true,
        good_selectors: true,
        conditions: conditions(new) != conditions(old),
    };
    for hook in hooks.items() {
        held.no_side_effects &= SIDE_EFFECTS.contains(&hook.of("sideEffects").text());
        let versions = hook.of("admissionReviewVersions");
        let mut known = versions.items();
        held.known_review &=
            versions.is_empty() || known.any(|version| REVIEWS.contains(&version.text()));
        held.unique_names &= names.insert(hook.of("name").text().to_owned());
        for field in ["namespaceSelector", "objectSelector"] {
            let selector = hook.of(field);
            held.good_selectors &=
                !selector.is_set() || labels::selector(&selector, &mut Causes::new());
        }
    }
    held
}

fn conditions(configuration: &Spot<'_>) -> Vec<Value> {
    let hooks = configuration.of("webhooks");
    let all = hooks
        .items()
        .map(|hook| hook.of("matchConditions").value().clone());
    all.collect()
}

fn webhook(hook: &Spot<'_>, demands: Demands, mutates: bool, causes: &mut Causes) {
    full_name(&hook.of("name"), causes);
    for rule in hook.of("rules").items() {
        admission::rule(&rule, causes);
    }
    hook.of("failurePolicy")
        .one_of_if_set(FAILURE_POLICIES, causes);
    hook.of("matchPolicy").one_of_if_set(MATCH_POLICIES, causes);
    let effects = hook.of("sideEffects");
    let allowed = if demands.no_side_effects {
        SIDE_EFFECTS
    } else {
        ALL_SIDE_EFFECTS
    };
    if effects.is_set() {
        effects.one_of_if_set(allowed, causes);
    } else {
        let why = format!("must specify one of {}", allowed.join(", "));
        effects.required(&why, causes);
    }
    let timeout = hook.of("timeoutSeconds");
    if timeout
        .number()
        .is_some_and(|seconds| !(1..=30).contains(&seconds))
    {
        let why = "the timeout value must be between 1 and 30 seconds";
        timeout.invalid(why, causes);
    }
    for field in ["namespaceSelector", "objectSelector"] {
        let selector = hook.of(field);
        if selector.is_set() && demands.good_selectors {
            labels::selector(&selector, causes);
        }
    }
    if mutates {
        hook.of("reinvocationPolicy")
            .one_of_if_set(REINVOCATIONS, causes);
    }
    client(&hook.of("clientConfig"), causes);
    if demands.conditions {
        admission::conditions(&hook.of("matchConditions"), false, causes);
    }
}

fn full_name(name: &Spot<'_>, causes: &mut Causes) {
    let problems = names::subdomain(name.text());
    if name.is_empty() {
        name.required("", causes);
    } else if !problems.is_empty() {
        name.invalid(&problems.join(","), causes);
    } else if name.text().split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        name.invalid(why, causes);
    }
}

fn reviews(versions: &Spot<'_>, known: bool, causes: &mut Causes) {
    if versions.is_empty() {
        let why = format!("must specify one of {}", REVIEWS.join(", "));
        return versions.required(&why, causes);
    }
    let mut seen = BTreeSet::new();
    for version in versions.items() {
        if seen.insert(version.text().to_owned()) {
            version.fits(names::label_1035, causes);
        } else {
            version.invalid("duplicate version", causes);
        }
    }
    if known && !REVIEWS.iter().any(|review| seen.contains(*review)) {
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        versions.invalid(&why, causes);
    }
}

fn client(client: &Spot<'_>, causes: &mut Causes) {
    let (url, service) = (client.of("url"), client.of("service"));
    match (url.is_set(), service.is_set()) {
        (true, false) => self::url(&url, causes),
        (false, true) => self::service(&service, causes),
        _ => client.required("exactly one of url or service is required", causes),
    }
}

fn url(url: &Spot<'_>, causes: &mut Causes) {
    let read = match Url::reference(url.text()) {
        Ok(read) => read,
        Err(why) => {
            return url.required(&format!("url must be a valid URL: {why}{FORM}"), causes);
        }
    };
    let mut wrong = |value: &str, why: &str| {
        causes.push(Cause::invalid(url.path(), &value.into(), why));
    };
    if read.scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        wrong(&read.scheme, &why);
    }
    if read.host.is_empty() {
        wrong("", &format!("host must be specified{FORM}"));
    }
    if let Some(user) = &read.user {
        wrong(user, "user information is not permitted in the URL");
    }
    if !read.fragment.is_empty() {
        wrong(&read.fragment, "fragments are not permitted in the URL");
    }
    if !read.query.is_empty() {
        let why = "query parameters are not permitted in the URL";
        wrong(&read.query, why);
    }
}

fn service(service: &Spot<'_>, causes: &mut Causes) {
    // The real server takes one for the other here.
    for (held, told) in [("namespace", "name"), ("name", "namespace")] {
        if service.of(held).is_empty() {
            service.of(told).required("", causes);
        }
    }
    let (port, path) = (service.of("port"), service.of("path"));
    if port
        .number()
        .is_some_and(|port| !(1..=65_535).contains(&port))
    {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        port.invalid(why, causes);
    }
    self::path(&path, causes);
}

fn path(path: &Spot<'_>, causes: &mut Causes) {
    let text = path.text();
    if matches!(text, "" | "/") {
        return;
    }
    if text == "//" {
        return path.invalid("segment[0] may not be empty", causes);
    }
    if !text.starts_with('/') {
        path.invalid("must start with a '/'", causes);
    }
    let mut after = text.chars();
    after.next();
    let steps = after.as_str();
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    for (index, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            path.invalid(&format!("segment[{index}] may not be empty"), causes);
            continue;
        }
        for why in names::subdomain(step) {
            path.invalid(&format!("segment[{index}]: {why}"), causes);
        }
    }
}
