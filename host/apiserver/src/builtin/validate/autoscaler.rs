//! What is wrong with autoscalers, in the form of `autoscaling/v2`.

use super::resources;
use super::spot::{Causes, Spot};
use crate::builtin::quantity::Amount;
use crate::names;
use crate::status::Cause;

const SOURCES: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];
/// The first of these that a metric has is judged.
const JUDGED: [&str; 5] = [
    "object",
    "external",
    "pods",
    "resource",
    "containerResource",
];
const SELECT: &[&str] = &["Disabled", "Max", "Min"];

pub(super) fn autoscaler(object: &Spot<'_>, old: Option<&Spot<'_>>, causes: &mut Causes) {
    let spec = object.of("spec");
    let (least, most) = (spec.of("minReplicas"), spec.of("maxReplicas"));
    let had_zero = old.is_some_and(|old| old.of("spec.minReplicas").number() == Some(0));
    let lowest = i64::from(!had_zero);
    if least.number().is_some_and(|number| number < lowest) {
        let why = format!("must be greater than or equal to {lowest}");
        least.invalid(&why, causes);
    }
    match most.number().unwrap_or(0) {
        0 => most.required("must be set and greater than 0", causes),
        ..0 => most.invalid("must be greater than or equal to 1", causes),
        1.. => {}
    }
    if least
        .number()
        .is_some_and(|least| most.number().unwrap_or(0) < least)
    {
        most.invalid("must be greater than or equal to `minReplicas`", causes);
    }
    let target = spec.of("scaleTargetRef");
    named(&target, causes);
    let same = |old: &&Spot<'_>| {
        let held = old.of("spec.scaleTargetRef");
        ["apiVersion", "kind"]
            .iter()
            .all(|field| held.of(field).text() == target.of(field).text())
    };
    if old.filter(same).is_none() {
        api_version(
            &target,
            target.of("kind").text() != "ReplicationController",
            causes,
        );
    }
    let metrics = spec.of("metrics");
    for metric in metrics.items() {
        self::metric(&metric, causes);
    }
    let is_for_zero = |metric: Spot<'_>| matches!(metric.of("type").text(), "Object" | "External");
    if least.number() == Some(0) && !metrics.items().any(is_for_zero) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        metrics.forbidden(why, causes);
    }
    for way in ["behavior.scaleUp", "behavior.scaleDown"] {
        rules(&spec.of(way), causes);
    }
}

pub(super) fn status(object: &Spot<'_>, causes: &mut Causes) {
    let counts = &["currentReplicas", "desiredReplicas"];
    object.of("status").not_negative(counts, causes);
}

/// What a reference refers to has a kind and a name.
fn named(to: &Spot<'_>, causes: &mut Causes) {
    for field in ["kind", "name"] {
        to.of(field).named(names::path_segment, causes);
    }
}

fn api_version(of: &Spot<'_>, needs_group: bool, causes: &mut Causes) {
    let version = of.of("apiVersion");
    let text = version.text();
    let why = match text.split('/').collect::<Vec<_>>().as_slice() {
        [_] | ["", _] if needs_group => "apiVersion must specify API group".to_owned(),
        [_] | [_, _] => return,
        _ => format!("unexpected GroupVersion string: {text}"),
    };
    causes.push(Cause::invalid(version.path(), &text.into(), &why));
}

fn metric(metric: &Spot<'_>, causes: &mut Causes) {
    let kind = metric.of("type");
    let expected = SOURCES.iter().find(|(name, _)| *name == kind.text());
    let all = SOURCES.map(|(name, _)| name);
    if kind.is_empty() {
        kind.required("must specify a metric source type", causes);
    }
    if expected.is_none() {
        // The real server says so twice.
        kind.unsupported(&all, causes);
        kind.unsupported(&all, causes);
    }
    let present: Vec<&str> = JUDGED
        .into_iter()
        .filter(|field| metric.of(field).is_set())
        .collect();
    let expected = expected.map(|(_, field)| *field);
    if let Some(field) = present.first() {
        source(&metric.of(field), field, causes);
    }
    if let Some(field) = expected.filter(|field| !present.contains(field)) {
        let why = "must populate information for the given metric source";
        metric.of(field).required(why, causes);
    }
    if present.len() != 1 {
        for field in present.iter().filter(|field| Some(**field) != expected) {
            let why = "must populate the given metric source only";
            metric.of(field).forbidden(why, causes);
        }
    }
}

fn source(source: &Spot<'_>, field: &str, causes: &mut Causes) {
    let target = source.of("target");
    match field {
        "object" => {
            let object = source.of("describedObject");
            named(&object, causes);
            api_version(&object, false, causes);
            identifier(&source.of("metric.name"), causes);
        }
        "external" | "pods" => identifier(&source.of("metric.name"), causes),
        _ => {
            let name = source.of("name");
            if name.is_empty() {
                name.required("must specify a resource name", causes);
            } else if field == "containerResource" {
                name.fits(resources::of_container, causes);
            }
        }
    }
    if field == "containerResource" {
        let container = source.of("container");
        if container.is_empty() {
            container.required("must specify a container", causes);
        }
        container.fits_if_set(names::label, causes);
    }
    self::target(&target, causes);
    needs(&target, field, causes);
}

fn identifier(name: &Spot<'_>, causes: &mut Causes) {
    if name.is_empty() {
        return name.required("must specify a metric name", causes);
    }
    name.fits(names::path_segment, causes);
}

fn target(target: &Spot<'_>, causes: &mut Causes) {
    let kind = target.of("type");
    if kind.is_empty() {
        kind.required("must specify a metric target type", causes);
    }
    if !matches!(kind.text(), "Utilization" | "Value" | "AverageValue") {
        let why = "must be either Utilization, Value, or AverageValue";
        causes.push(Cause::invalid(kind.path(), &kind.text().into(), why));
    }
    for field in ["value", "averageValue"] {
        let value = target.of(field);
        if Amount::parse(value.text()).is_some_and(|amount| !amount.is_positive()) {
            value.invalid("must be positive", causes);
        }
    }
    let share = target.of("averageUtilization");
    if share.number().is_some_and(|share| share < 1) {
        share.invalid("must be greater than 0", causes);
    }
}

/// Which values a target must and must not have.
fn needs(target: &Spot<'_>, field: &str, causes: &mut Causes) {
    let has = |field: &str| target.of(field).is_set();
    let (at, why, one, other, both) = match field {
        "object" => (
            "averageValue",
            "must set either a target value or averageValue",
            "value",
            "averageValue",
            None,
        ),
        "external" => (
            "averageValue",
            "must set either a target value for metric or a per-pod target",
            "value",
            "averageValue",
            Some((
                "value",
                "may not set both a target value for metric and a per-pod target",
            )),
        ),
        "pods" => (
            "averageValue",
            "must specify a positive target averageValue",
            "averageValue",
            "averageValue",
            None,
        ),
        _ => (
            "averageUtilization",
            "must set either a target raw value or a target utilization",
            "averageUtilization",
            "averageValue",
            Some((
                "averageValue",
                "may not set both a target raw value and a target utilization",
            )),
        ),
    };
    if !has(one) && !has(other) {
        target.of(at).required(why, causes);
    }
    if let Some((at, why)) = both.filter(|_| has(one) && has(other)) {
        target.of(at).forbidden(why, causes);
    }
}

fn rules(rules: &Spot<'_>, causes: &mut Causes) {
    if !rules.is_set() {
        return;
    }
    between(&rules.of("stabilizationWindowSeconds"), 0, 3600, causes);
    rules.of("selectPolicy").one_of_if_set(SELECT, causes);
    let policies = rules.of("policies");
    if policies.is_empty() {
        policies.required("must specify at least one Policy", causes);
    }
    for policy in policies.items() {
        let kind = policy.of("type");
        if !matches!(kind.text(), "Pods" | "Percent") {
            kind.unsupported(&["Percent", "Pods"], causes);
        }
        policy.of("value").positive(causes);
        let period = policy.of("periodSeconds");
        period.positive(causes);
        between(&period, i64::MIN, 1800, causes);
    }
    let tolerance = rules.of("tolerance");
    if Amount::parse(tolerance.text()).is_some_and(Amount::is_negative) {
        tolerance.invalid("must be greater than or equal to 0", causes);
    }
}

fn between(spot: &Spot<'_>, least: i64, most: i64, causes: &mut Causes) {
    match spot.number() {
        Some(number) if number < least && least == 0 => {
            spot.invalid("must be greater than or equal to zero", causes);
        }
        Some(number) if number < least => spot.invalid("must be greater than zero", causes),
        Some(number) if number > most => {
            spot.invalid(&format!("must be less than or equal to {most}"), causes);
        }
        _ => {}
    }
}
