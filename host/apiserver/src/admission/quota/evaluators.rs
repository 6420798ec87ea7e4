//! How objects of each kind count (kubernetes `pkg/quota/v1/evaluator/core`, apiserver `pkg/quota/v1/generic`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::scopes;
use crate::admission::amounts::{self, Amounts};
use crate::admission::attributes::{Admission, AdmissionOperation};
use crate::admission::needs::{self, Basis, ResourceSide};
use crate::builtin::quantity::Amount;
use crate::builtin::{is_extended, is_native};
use crate::json::{get, list, text};
use crate::meta;
use crate::store::GroupResource;

/// Resources that no quota counts (kubernetes `pkg/quota/v1/install`); reviews are no objects.
const IGNORED: [(&str, &str); 3] = [
    ("", "bindings"),
    ("", "events"),
    ("events.k8s.io", "events"),
];

/// The names of resources of pods in a quota, beside huge pages and extended resources.
const OF_PODS: [&str; 11] = [
    "count/pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];

/// The resources that every container must name if a quota limits them.
const REQUIRED: [&str; 6] = [
    "cpu",
    "limits.cpu",
    "limits.memory",
    "memory",
    "requests.cpu",
    "requests.memory",
];

const CLASS_STORAGE: &str = ".storageclass.storage.k8s.io/requests.storage";
const CLASS_CLAIMS: &str = ".storageclass.storage.k8s.io/persistentvolumeclaims";
const CLASS_DEVICES: &str = ".deviceclass.resource.k8s.io/devices";
/// As many devices at most are given to one request.
const MOST_DEVICES: i64 = 32;

/// How objects of a kind count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Evaluator {
    Pods,
    Services,
    Claims,
    Devices,
    /// By their number, under these names.
    Counted(Vec<String>),
}

impl Evaluator {
    /// That of the objects at a place.
    pub(super) fn of(place: &GroupResource) -> Option<Self> {
        let named = (place.group.as_str(), place.plural.as_str());
        if IGNORED.contains(&named) {
            return None;
        }
        Some(match named {
            ("", "pods") => Self::Pods,
            ("", "services") => Self::Services,
            ("", "persistentvolumeclaims") => Self::Claims,
            ("resource.k8s.io", "resourceclaims") => Self::Devices,
            ("", plural) => {
                let old = [
                    "configmaps",
                    "resourcequotas",
                    "replicationcontrollers",
                    "secrets",
                ];
                let old = old.contains(&plural).then(|| plural.to_owned());
                let names = [format!("count/{plural}")].into_iter().chain(old);
                Self::Counted(names.collect())
            }
            (group, plural) => Self::Counted(vec![format!("count/{plural}.{group}")]),
        })
    }

    /// Whether a request may change what is used.
    pub(super) fn handles(&self, admission: &Admission<'_>) -> bool {
        let is_update = admission.operation == AdmissionOperation::Update;
        match (self, admission.subresource()) {
            (Self::Pods, "") if is_update => {
                let ends = |pod: Option<&Value>| pod.is_some_and(scopes::is_terminating);
                ends(admission.object) != ends(admission.old)
            }
            (Self::Pods, "resize") | (Self::Claims, "status") => is_update,
            (Self::Counted(_), "") => !is_update,
            (_, subresource) => subresource.is_empty(),
        }
    }

    /// Whether a quota is about an object.
    pub(super) fn matches(&self, quota: &Value, object: &Value) -> bool {
        let hard = get(get(quota, "status"), "hard").as_object();
        let names = hard.into_iter().flat_map(|hard| hard.keys());
        !self.matching(names).is_empty() && self.is_in_scope(quota, object)
    }

    /// Whether an object is in all scopes of a quota.
    pub(super) fn is_in_scope(&self, quota: &Value, object: &Value) -> bool {
        match self {
            Self::Pods => scopes::have_pod(quota, object),
            Self::Claims => scopes::have_claim(quota, object),
            Self::Services | Self::Devices | Self::Counted(_) => !scopes::are_there(quota),
        }
    }

    /// The names among these that this kind counts under.
    pub(super) fn matching<'a>(&self, names: impl Iterator<Item = &'a String>) -> Vec<String> {
        names.filter(|name| self.counts(name)).cloned().collect()
    }

    fn counts(&self, name: &str) -> bool {
        match self {
            Self::Pods => {
                let is_huge = ["hugepages-", "requests.hugepages-"]
                    .iter()
                    .any(|prefix| name.starts_with(prefix));
                let is_device = name.starts_with("requests.deviceclass.resource.kubernetes.io/");
                let is_extended = name.starts_with("requests.") && (!is_native(name) || is_device);
                OF_PODS.contains(&name) || is_huge || is_extended
            }
            Self::Services => matches!(
                name,
                "count/services" | "services" | "services.nodeports" | "services.loadbalancers"
            ),
            Self::Claims => {
                let plain = [
                    "count/persistentvolumeclaims",
                    "persistentvolumeclaims",
                    "requests.storage",
                ];
                let of_class = name.ends_with(CLASS_STORAGE) || name.ends_with(CLASS_CLAIMS);
                plain.contains(&name) || of_class
            }
            Self::Devices => {
                name == "count/resourceclaims.resource.k8s.io" || name.ends_with(CLASS_DEVICES)
            }
            Self::Counted(names) => names.iter().any(|known| known == name),
        }
    }

    /// What the containers of a pod do not say though they must: `cpu for: a,b; memory for: b`.
    pub(super) fn missing(&self, restricted: &[String], object: &Value) -> Option<String> {
        if *self != Self::Pods || needs::are_said_for_pod(object) {
            return None;
        }
        let spec = get(object, "spec");
        let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for container in list(spec, "containers")
            .iter()
            .chain(list(spec, "initContainers"))
        {
            let said = computed(
                &ResourceSide::Requests.of(container),
                &ResourceSide::Limits.of(container),
            );
            let needed = REQUIRED
                .iter()
                .filter(|name| restricted.iter().any(|one| one == *name));
            for name in needed.filter(|name| !said.contains_key(**name)) {
                missing
                    .entry(name)
                    .or_default()
                    .insert(text(container, "name"));
            }
        }
        let lines = missing.into_iter().map(|(name, containers)| {
            let containers: Vec<&str> = containers.into_iter().collect();
            format!("{name} for: {}", containers.join(","))
        });
        let lines: Vec<String> = lines.collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }

    /// The amounts that an object uses.
    pub(super) fn usage(&self, object: &Value, now: Timestamp) -> Amounts {
        let one = |name: &str| (name.to_owned(), Amount::whole(1));
        match self {
            Self::Pods => {
                let mut all = Amounts::from([one("count/pods")]);
                if is_counted(object, now) {
                    let of = |side| needs::of_pod(object, side, Basis::Status);
                    let own = computed(&of(ResourceSide::Requests), &of(ResourceSide::Limits));
                    amounts::add(&mut all, &own);
                }
                all
            }
            Self::Services => of_service(object),
            Self::Claims => of_claim(object),
            Self::Devices => of_devices(object),
            Self::Counted(names) => names.iter().map(|name| one(name)).collect(),
        }
    }
}

/// Whether a pod has not ended, and is not stuck in its end (`QuotaV1Pod`).
pub(super) fn is_counted(pod: &Value, now: Timestamp) -> bool {
    let has_ended = matches!(text(get(pod, "status"), "phase"), "Failed" | "Succeeded");
    let deletion = meta::text(pod, "deletionTimestamp").parse::<Timestamp>();
    let grace = meta::number(pod, "deletionGracePeriodSeconds");
    let grace = grace.and_then(|seconds| u64::try_from(seconds).ok());
    let ends = deletion.ok().zip(grace);
    let ends = ends.and_then(|(at, grace)| at.checked_add(Duration::from_secs(grace)).ok());
    !has_ended && ends.is_none_or(|ends| now <= ends)
}

/// The names under which requests and limits count (`podComputeUsageHelper`).
fn computed(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut all = Amounts::from([("pods".to_owned(), Amount::whole(1))]);
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(amount) = requests.get(name) {
            all.insert(name.to_owned(), *amount);
            all.insert(format!("requests.{name}"), *amount);
        }
        if let Some(amount) = limits.get(name) {
            all.insert(format!("limits.{name}"), *amount);
        }
    }
    for (name, amount) in requests {
        let is_huge = name.starts_with("hugepages-");
        let is_device = name.starts_with("deviceclass.resource.kubernetes.io/");
        if is_huge {
            all.insert(name.clone(), *amount);
        }
        if is_huge || is_device || is_extended(name) {
            all.insert(format!("requests.{name}"), *amount);
        }
    }
    all
}

fn of_service(service: &Value) -> Amounts {
    let spec = get(service, "spec");
    let ports = list(spec, "ports");
    let count = |count: usize| Amount::whole(i64::try_from(count).unwrap_or(i64::MAX));
    let chosen = ports
        .iter()
        .filter(|port| get(port, "nodePort").as_i64().unwrap_or(0) != 0);
    let allocates = get(spec, "allocateLoadBalancerNodePorts") != &Value::Bool(false);
    let (node_ports, balancers) = match text(spec, "type") {
        "NodePort" => (ports.len(), 0),
        "LoadBalancer" if allocates => (ports.len(), 1),
        "LoadBalancer" => (chosen.count(), 1),
        _ => (0, 0),
    };
    let all = [
        ("count/services", 1),
        ("services", 1),
        ("services.nodeports", node_ports),
        ("services.loadbalancers", balancers),
    ];
    let all = all.into_iter();
    all.map(|(name, number)| (name.to_owned(), count(number)))
        .collect()
}

fn of_claim(claim: &Value) -> Amounts {
    let spec = get(claim, "spec");
    let annotation = "volume.beta.kubernetes.io/storage-class";
    let annotations = get(get(claim, "metadata"), "annotations");
    let class = match get(annotations, annotation).as_str() {
        Some(class) => class,
        None => text(spec, "storageClassName"),
    };
    let of_class = |suffix: &str| (!class.is_empty()).then(|| format!("{class}{suffix}"));
    let plain = ["persistentvolumeclaims", "count/persistentvolumeclaims"].map(str::to_owned);
    let counts = plain.into_iter().chain(of_class(CLASS_CLAIMS));
    let mut all: Amounts = counts.map(|name| (name, Amount::whole(1))).collect();
    let requested = ResourceSide::Requests.of(spec).get("storage").copied();
    let given = amounts::read(get(get(claim, "status"), "allocatedResources"));
    let storage = requested.map(|requested| {
        let requested = requested.rounded_up();
        let given = given
            .get("storage")
            .filter(|given| given.is_above(requested));
        given.map_or(requested, |given| given.rounded_up())
    });
    if let Some(storage) = storage {
        let names = ["requests.storage".to_owned()]
            .into_iter()
            .chain(of_class(CLASS_STORAGE));
        all.extend(names.map(|name| (name, storage)));
    }
    all
}

/// The devices of a ResourceClaim: of alternatives, the most of each class.
fn of_devices(claim: &Value) -> Amounts {
    let mut all = Amounts::from([(
        "count/resourceclaims.resource.k8s.io".to_owned(),
        Amount::whole(1),
    )]);
    let number = |request: &Value| match text(request, "allocationMode") {
        "ExactCount" => get(request, "count").as_i64().unwrap_or(0),
        "All" => MOST_DEVICES,
        _ => 0,
    };
    for request in list(get(get(claim, "spec"), "devices"), "requests") {
        let (alternatives, exactly) = (list(request, "firstAvailable"), get(request, "exactly"));
        let asked = alternatives.iter();
        let asked =
            asked.chain(Some(exactly).filter(|one| alternatives.is_empty() && !one.is_null()));
        let mut most = Amounts::new();
        for one in asked {
            let name = format!("{}{CLASS_DEVICES}", text(one, "deviceClassName"));
            amounts::raise(
                &mut most,
                &Amounts::from([(name, Amount::whole(number(one)))]),
            );
        }
        amounts::add(&mut all, &most);
    }
    all
}
