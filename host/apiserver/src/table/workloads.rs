//! What runs pods: deployments and their like.

use jiff::Timestamp;
use serde_json::Value;

use super::age::human;
use super::part::{NONE, TimedValue, UNSET};

const CONTAINERS: &str = "/spec/template/spec/containers";

fn row<const N: usize>(cells: [Value; N], containers: [Value; 2]) -> Vec<Value> {
    cells.into_iter().chain(containers).collect()
}

pub(super) fn deployment(object: TimedValue<'_>) -> Vec<Value> {
    let ready = format!(
        "{}/{}",
        object.int("/status/readyReplicas"),
        object.int("/spec/replicas")
    );
    let cells = [
        object.name(),
        ready.into(),
        object.int("/status/updatedReplicas").into(),
        object.int("/status/availableReplicas").into(),
        object.age(),
    ];
    let mut cells = row(cells, object.containers(CONTAINERS));
    cells.push(object.selector("/spec/selector").into());
    cells
}

pub(super) fn replica_set(object: TimedValue<'_>) -> Vec<Value> {
    let mut cells = row(replicas(object), object.containers(CONTAINERS));
    cells.push(object.selector_or_none("/spec/selector").into());
    cells
}

pub(super) fn replication_controller(object: TimedValue<'_>) -> Vec<Value> {
    let mut cells = row(replicas(object), object.containers(CONTAINERS));
    cells.push(object.labels("/spec/selector").into());
    cells
}

fn replicas(object: TimedValue<'_>) -> [Value; 5] {
    [
        object.name(),
        object.int("/spec/replicas").into(),
        object.int("/status/replicas").into(),
        object.int("/status/readyReplicas").into(),
        object.age(),
    ]
}

pub(super) fn stateful_set(object: TimedValue<'_>) -> Vec<Value> {
    let ready = format!(
        "{}/{}",
        object.int("/status/readyReplicas"),
        object.int("/spec/replicas")
    );
    row(
        [object.name(), ready.into(), object.age()],
        object.containers(CONTAINERS),
    )
}

pub(super) fn daemon_set(object: TimedValue<'_>) -> Vec<Value> {
    let cells = [
        object.name(),
        object.int("/status/desiredNumberScheduled").into(),
        object.int("/status/currentNumberScheduled").into(),
        object.int("/status/numberReady").into(),
        object.int("/status/updatedNumberScheduled").into(),
        object.int("/status/numberAvailable").into(),
        object.labels("/spec/template/spec/nodeSelector").into(),
        object.age(),
    ];
    let mut cells = row(cells, object.containers(CONTAINERS));
    cells.push(object.selector_or_none("/spec/selector").into());
    cells
}

pub(super) fn pod_template(object: TimedValue<'_>) -> Vec<Value> {
    let mut cells = row(
        [object.name()],
        object.containers("/template/spec/containers"),
    );
    cells.push(object.labels("/template/metadata/labels").into());
    cells
}

pub(super) fn controller_revision(object: TimedValue<'_>) -> Vec<Value> {
    let owners = object.list("/metadata/ownerReferences");
    let owner = owners.iter().find(|owner| owner.is_true("/controller"));
    let owner = owner.map_or(NONE.to_owned(), |owner| {
        let kind = owner.text("/kind").to_lowercase();
        let group = owner
            .text("/apiVersion")
            .split_once('/')
            .map_or("", |(group, _)| group);
        let dot = if group.is_empty() { "" } else { "." };
        format!("{kind}{dot}{group}/{}", owner.text("/name"))
    });
    vec![
        object.name(),
        owner.into(),
        object.int("/revision").into(),
        object.age(),
    ]
}

pub(super) fn job(object: TimedValue<'_>) -> Vec<Value> {
    let done = object.int("/status/succeeded");
    let completions = match (
        object.maybe_int("/spec/completions"),
        object.int("/spec/parallelism"),
    ) {
        (Some(wanted), _) => format!("{done}/{wanted}"),
        (None, many @ 2..) => format!("{done}/1 of {many}"),
        (None, _) => format!("{done}/1"),
    };
    let time = |pointer: &str| object.text(pointer).parse::<Timestamp>().ok();
    let ended = time("/status/completionTime").unwrap_or_else(|| object.now());
    let took = time("/status/startTime").map(|started| human(started, ended));
    let cells = [
        object.name(),
        job_status(object).into(),
        completions.into(),
        took.unwrap_or_default().into(),
        object.age(),
    ];
    let mut cells = row(cells, object.containers(CONTAINERS));
    cells.push(object.selector_or_none("/spec/selector").into());
    cells
}

fn job_status(object: TimedValue<'_>) -> &'static str {
    let of = |kinds: [(&'static str, &'static str); 2]| {
        let mut kinds = kinds.into_iter();
        kinds
            .find(|(kind, _)| object.condition(kind))
            .map(|(_, status)| status)
    };
    if let Some(status) = of([("Complete", "Complete"), ("Failed", "Failed")]) {
        return status;
    }
    if object.is_terminating() {
        return "Terminating";
    }
    let late = of([
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
    ]);
    let last = of([("SuccessCriteriaMet", "SuccessCriteriaMet"), ("", "")]);
    late.or(last).unwrap_or("Running")
}

pub(super) fn cron_job(object: TimedValue<'_>) -> Vec<Value> {
    let suspended = match object.get("/spec/suspend").and_then(Value::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => UNSET,
    };
    let last = if object.has("/status/lastScheduleTime") {
        object.since("/status/lastScheduleTime")
    } else {
        NONE.to_owned()
    };
    let cells = [
        object.name(),
        object.text("/spec/schedule").into(),
        object.maybe_text("/spec/timeZone").unwrap_or(NONE).into(),
        suspended.into(),
        object.count("/status/active").into(),
        last.into(),
        object.age(),
    ];
    let template = "/spec/jobTemplate/spec/template/spec/containers";
    let mut cells = row(cells, object.containers(template));
    cells.push(
        object
            .selector_or_none("/spec/jobTemplate/spec/selector")
            .into(),
    );
    cells
}

pub(super) fn disruption_budget(object: TimedValue<'_>) -> Vec<Value> {
    let bound = |pointer: &str| match object.get(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(number) => number.to_string(),
        None => "N/A".to_owned(),
    };
    vec![
        object.name(),
        bound("/spec/minAvailable").into(),
        bound("/spec/maxUnavailable").into(),
        object.int("/status/disruptionsAllowed").into(),
        object.age(),
    ]
}

pub(super) fn autoscaler(object: TimedValue<'_>) -> Vec<Value> {
    let target = object
        .part("/spec/scaleTargetRef")
        .map(|to| format!("{}/{}", to.text("/kind"), to.text("/name")));
    let least = object.maybe_int("/spec/minReplicas");
    vec![
        object.name(),
        target.unwrap_or_default().into(),
        metrics(object).into(),
        least
            .map_or(UNSET.to_owned(), |least| least.to_string())
            .into(),
        object.int("/spec/maxReplicas").into(),
        object.int("/status/currentReplicas").into(),
        object.age(),
    ]
}

/// At most two metrics, each with what is and what ought to be.
fn metrics(object: TimedValue<'_>) -> String {
    let current = object.list("/status/currentMetrics");
    let wanted = object.list("/spec/metrics");
    if wanted.is_empty() {
        return NONE.to_owned();
    }
    let all: Vec<String> = wanted
        .iter()
        .enumerate()
        .map(|(index, metric)| one_metric(metric, current.get(index)))
        .collect();
    let shown: Vec<&str> = all.iter().take(2).map(String::as_str).collect();
    let shown = shown.join(", ");
    match all.len() {
        0..=2 => shown,
        count => format!("{shown} + {} more...", count - 2),
    }
}

fn one_metric(metric: &TimedValue<'_>, current: Option<&TimedValue<'_>>) -> String {
    let (source, named) = match metric.text("/type") {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let name = if named {
        format!("{}: ", metric.text(&format!("/{source}/name")))
    } else {
        String::new()
    };
    let of = |field: &str| metric.get(&format!("/{source}/target/{field}"));
    let is = |field: &str| current.and_then(|is| is.get(&format!("/{source}/current/{field}")));
    let unknown = || "<unknown>".to_owned();
    let quantity = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    if let Some(target) = of("averageValue") {
        let average = if named || source == "pods" {
            ""
        } else {
            " (avg)"
        };
        let is = is("averageValue").map_or_else(unknown, quantity);
        return format!("{name}{is}/{}{average}", quantity(target));
    }
    if named {
        let percent = |value: &Value| format!("{value}%");
        let target = of("averageUtilization").map_or("<auto>".to_owned(), percent);
        let is = is("averageUtilization").map_or_else(unknown, percent);
        return format!("{name}{is}/{target}");
    }
    let target = of("value").map_or("0".to_owned(), quantity);
    format!("{}/{target}", is("value").map_or_else(unknown, quantity))
}
