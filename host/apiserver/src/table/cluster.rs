//! Namespaces, nodes, events, configuration, and who may do what.

use serde_json::Value;

use super::age;
use super::part::{NONE, TimedValue};

pub(super) fn config_map(object: TimedValue<'_>) -> Vec<Value> {
    let count = object.count("/data") + object.count("/binaryData");
    vec![object.name(), count.into(), object.age()]
}

pub(super) fn secret(object: TimedValue<'_>) -> Vec<Value> {
    let kind = object.text("/type");
    vec![
        object.name(),
        kind.into(),
        object.count("/data").into(),
        object.age(),
    ]
}

pub(super) fn namespace(object: TimedValue<'_>) -> Vec<Value> {
    vec![
        object.name(),
        object.text("/status/phase").into(),
        object.age(),
    ]
}

pub(super) fn lease(object: TimedValue<'_>) -> Vec<Value> {
    vec![
        object.name(),
        object.text("/spec/holderIdentity").into(),
        object.age(),
    ]
}

pub(super) fn runtime_class(object: TimedValue<'_>) -> Vec<Value> {
    vec![object.name(), object.text("/handler").into(), object.age()]
}

pub(super) fn api_service(object: TimedValue<'_>) -> Vec<Value> {
    let service = match object.part("/spec/service") {
        Some(service) => format!("{}/{}", service.text("/namespace"), service.text("/name")),
        None => "Local".to_owned(),
    };
    let conditions = object.list("/status/conditions");
    let available = conditions
        .iter()
        .find(|held| held.text("/type") == "Available");
    let available = available.map(|held| (held.text("/status"), held.text("/reason")));
    let available = match available {
        None => "Unknown".to_owned(),
        Some((status, reason)) if status != "True" && !reason.is_empty() => {
            format!("{status} ({reason})")
        }
        Some((status, _)) => status.to_owned(),
    };
    vec![
        object.name(),
        service.into(),
        available.into(),
        object.age(),
    ]
}

pub(super) fn signing_request(object: TimedValue<'_>) -> Vec<Value> {
    let conditions = object.list("/status/conditions");
    let has = |kind: &str| conditions.iter().any(|held| held.text("/type") == kind);
    let mut condition = match () {
        () if has("Denied") => "Denied",
        () if has("Approved") => "Approved",
        () => "Pending",
    }
    .to_owned();
    if has("Failed") {
        condition.push_str(",Failed");
    }
    if object.has("/status/certificate") {
        condition.push_str(",Issued");
    }
    let duration = object
        .maybe_int("/spec/expirationSeconds")
        .map_or_else(|| NONE.to_owned(), age::lasting);
    vec![
        object.name(),
        object.age(),
        object.text_or("/spec/signerName", NONE).into(),
        object.text("/spec/username").into(),
        duration.into(),
        condition.into(),
    ]
}

pub(super) fn webhooks(object: TimedValue<'_>) -> Vec<Value> {
    vec![
        object.name(),
        object.count("/webhooks").into(),
        object.age(),
    ]
}

pub(super) fn priority_class(object: TimedValue<'_>) -> Vec<Value> {
    vec![
        object.name(),
        object.int("/value").into(),
        object.is_true("/globalDefault").into(),
        object.age(),
        object.text("/preemptionPolicy").into(),
    ]
}

pub(super) fn role_binding(object: TimedValue<'_>) -> Vec<Value> {
    let role = format!(
        "{}/{}",
        object.text("/roleRef/kind"),
        object.text("/roleRef/name")
    );
    let subjects = object.list("/subjects");
    let of = |kind: &str| -> Value {
        let found = subjects
            .iter()
            .filter(|subject| subject.text("/kind") == kind);
        let names = found.map(|subject| match kind {
            "ServiceAccount" => format!("{}/{}", subject.text("/namespace"), subject.text("/name")),
            _ => subject.text("/name").to_owned(),
        });
        names.collect::<Vec<_>>().join(", ").into()
    };
    let (users, groups, accounts) = (of("User"), of("Group"), of("ServiceAccount"));
    vec![
        object.name(),
        role.into(),
        object.age(),
        users,
        groups,
        accounts,
    ]
}

pub(super) fn resource_quota(object: TimedValue<'_>) -> Vec<Value> {
    let used = object.map("/status/used");
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (name, hard) in object.map("/status/hard") {
        let used = used.get(name).copied().unwrap_or("0");
        let is_limit = name.split_once('.').is_some_and(|(of, _)| of == "limits");
        let list = if is_limit { &mut limits } else { &mut requests };
        list.push(format!("{name}: {used}/{hard}"));
    }
    let (requests, limits) = (requests.join(", "), limits.join(", "));
    vec![object.name(), requests.into(), limits.into(), object.age()]
}

pub(super) fn node(object: TimedValue<'_>) -> Vec<Value> {
    let conditions = object.list("/status/conditions");
    let ready = conditions
        .iter()
        .rev()
        .find(|condition| condition.text("/type") == "Ready");
    let mut status = match ready.map(|ready| ready.text("/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if object.is_true("/spec/unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let info = |field: &str, other| object.text_or(&format!("/status/nodeInfo/{field}"), other);
    let unknown = "<unknown>";
    let mut kernel = info("kernelVersion", unknown).to_owned();
    let architecture = info("architecture", "");
    if !architecture.is_empty() {
        kernel.push_str(&format!(" ({architecture})"));
    }
    let addresses = object.list("/status/addresses");
    let address = |kind: &str| -> Value {
        let found = addresses
            .iter()
            .find(|address| address.text("/type") == kind);
        found
            .map_or(NONE, |address| address.text("/address"))
            .into()
    };
    vec![
        object.name(),
        status.into(),
        roles(object).into(),
        object.age(),
        info("kubeletVersion", "").into(),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage", unknown).into(),
        kernel.into(),
        info("containerRuntimeVersion", unknown).into(),
    ]
}

fn roles(object: TimedValue<'_>) -> String {
    let labels = object.map("/metadata/labels");
    let roles = labels.iter().filter_map(|(key, value)| match *key {
        "kubernetes.io/role" => Some(*value),
        key => key.strip_prefix("node-role.kubernetes.io/"),
    });
    let mut roles: Vec<&str> = roles.filter(|role| !role.is_empty()).collect();
    roles.sort_unstable();
    roles.dedup();
    match roles.as_slice() {
        [] => NONE.to_owned(),
        roles => roles.join(","),
    }
}

/// An event, in the words of either of its two groups.
pub(super) fn event(object: TimedValue<'_>) -> Vec<Value> {
    let old = |field: &str| format!("/deprecated{field}");
    let either = |field: &'static str, old: &str| {
        if object.has(field) {
            field.to_owned()
        } else {
            old.to_owned()
        }
    };
    let first_at = either("/firstTimestamp", &old("FirstTimestamp"));
    let last_at = either("/lastTimestamp", &old("LastTimestamp"));
    let mut first = object.since(&first_at);
    if !object.has(&first_at) {
        first = object.since("/eventTime");
    }
    let mut last = object.since(&last_at);
    if !object.has(&last_at) {
        last.clone_from(&first);
    }
    let mut count = object.int(&either("/count", &old("Count")));
    if object.has("/series") {
        last = object.since("/series/lastObservedTime");
        count = object.int("/series/count");
    } else if count == 0 {
        count = 1;
    }
    let about = object.part(&either("/involvedObject", "/regarding"));
    let about = |field: &str| about.map_or("", |about| about.text(field));
    let kind = about("/kind").to_lowercase();
    let target = match about("/name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    vec![
        last.into(),
        object.text("/type").into(),
        object.text("/reason").into(),
        target.into(),
        about("/fieldPath").into(),
        source(object).into(),
        object.text(&either("/message", "/note")).trim().into(),
        first.into(),
        count.into(),
        object.name(),
    ]
}

fn source(object: TimedValue<'_>) -> String {
    let said = |fields: [&str; 4]| {
        let mut texts = fields.into_iter().map(|field| object.text(field));
        texts.find(|text| !text.is_empty()).unwrap_or_default()
    };
    let component = said([
        "/source/component",
        "/deprecatedSource/component",
        "/reportingComponent",
        "/reportingController",
    ]);
    let instance = said([
        "/source/host",
        "/deprecatedSource/host",
        "/reportingInstance",
        "",
    ]);
    match instance {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}
