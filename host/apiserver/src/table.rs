//! Objects as a `meta.k8s.io/v1` Table: what `kubectl get` shows.
//!
//! - Custom kinds have the columns of their definition, filled by JSON paths; built-in kinds have the real
//!   server's columns, filled by one function of the object for each kind.
//! - Nothing here reads the clock: ages are counted from the `now` that is handed in.

mod admission;
mod age;
mod cluster;
mod custom;
mod devices;
mod fairness;
mod network;
mod part;
mod pods;
mod scale;
mod storage;
mod workloads;

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub use age::human;
pub use custom::AGE;

use crate::builtin::{self, convert};
use crate::meta;
use crate::registry::{Origin, Resource};
use part::TimedValue;

/// Fills the cells of an object's row.
type Cells<'a> = Box<dyn Fn(&Value) -> Vec<Value> + 'a>;

/// What stands beside the cells of a row (`includeObject`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    None,
    /// The object's metadata.
    #[default]
    Metadata,
    /// The whole object.
    Object,
}

impl Include {
    /// Reads the parameter `includeObject`; nothing if it is none of its words.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "Metadata" => Some(Self::Metadata),
            "None" => Some(Self::None),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// A Table of objects. `metadata` is that of the list (or the object) that it stands for.
pub fn table(
    resource: &Resource,
    objects: &[&Value],
    metadata: &Value,
    now: Timestamp,
    include: Include,
) -> Value {
    let rows = rows(resource, objects, now, include);
    of(metadata, columns(resource), rows)
}

/// A Table of the scale of an object.
pub fn scale(
    origin: &Origin,
    scale: &Value,
    metadata: &Value,
    now: Timestamp,
    include: Include,
) -> Value {
    let rows = scale::rows(scale, now, include);
    of(metadata, scale::columns(origin), rows)
}

fn of(metadata: &Value, columns: Value, rows: Value) -> Value {
    let mut table = json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
    });
    meta::put(&mut table, "columnDefinitions", columns);
    meta::put(&mut table, "rows", rows);
    table
}

/// The `columnDefinitions` of a Table.
pub fn columns(resource: &Resource) -> Value {
    let shown = match resource.origin {
        Origin::BuiltIn => resource.columns.iter().collect(),
        Origin::Custom { .. } => custom::columns(resource),
    };
    let columns = shown.into_iter().map(|column| {
        json!({
            "name": column.name, "type": column.kind, "format": column.format,
            "description": column.description, "priority": column.priority,
        })
    });
    let name = json!({
        "name": "Name", "type": "string", "format": "name", "description": custom::NAME, "priority": 0,
    });
    let name = matches!(resource.origin, Origin::Custom { .. }).then_some(name);
    name.into_iter().chain(columns).collect()
}

/// The `rows` of a Table.
pub fn rows(resource: &Resource, objects: &[&Value], now: Timestamp, include: Include) -> Value {
    let cells: Cells<'_> = match resource.origin {
        Origin::BuiltIn => Box::new(|object| {
            let object = as_printed(resource, object);
            built_in(resource, TimedValue::new(&object, now))
        }),
        Origin::Custom { .. } => custom::cells(resource, now),
    };
    let rows = objects.iter().map(|object| {
        let mut row = Map::new();
        row.insert("cells".to_owned(), cells(object).into());
        if let Some(conditions) = conditions(resource, object) {
            row.insert("conditions".to_owned(), conditions);
        }
        row.insert("object".to_owned(), beside(object, include));
        Value::Object(row)
    });
    let rows: Vec<Value> = rows.collect();
    if rows.is_empty() && !has_printer(resource) {
        return Value::Null;
    }
    rows.into()
}

/// Whether the real server has a printer of its own for a kind; otherwise no rows are `null`, and the columns are
/// `Name` and `Created At`.
fn has_printer(resource: &Resource) -> bool {
    !resource
        .columns
        .iter()
        .any(|column| column.name == "Created At")
        || matches!(resource.origin, Origin::Custom { .. })
}

/// Printers know autoscalers as they are kept.
fn as_printed<'a>(resource: &Resource, object: &'a Value) -> Cow<'a, Value> {
    if resource.plural != "horizontalpodautoscalers" {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    convert(&mut object, "autoscaling/v2");
    Cow::Owned(object)
}

fn beside(object: &Value, include: Include) -> Value {
    match include {
        Include::None => Value::Null,
        Include::Object => object.clone(),
        Include::Metadata => json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": builtin::metadata(object),
        }),
    }
}

/// Pods that have ended say so beside their cells.
fn conditions(resource: &Resource, object: &Value) -> Option<Value> {
    if resource.group.is_empty() && resource.plural == "pods" {
        pods::conditions(object)
    } else {
        None
    }
}

fn built_in(resource: &Resource, object: TimedValue<'_>) -> Vec<Value> {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => pods::cells(object),
        ("", "replicationcontrollers") => workloads::replication_controller(object),
        ("", "podtemplates") => workloads::pod_template(object),
        ("apps", "deployments") => workloads::deployment(object),
        ("apps", "replicasets") => workloads::replica_set(object),
        ("apps", "statefulsets") => workloads::stateful_set(object),
        ("apps", "daemonsets") => workloads::daemon_set(object),
        ("apps", "controllerrevisions") => workloads::controller_revision(object),
        ("batch", "jobs") => workloads::job(object),
        ("batch", "cronjobs") => workloads::cron_job(object),
        ("autoscaling", "horizontalpodautoscalers") => workloads::autoscaler(object),
        ("policy", "poddisruptionbudgets") => workloads::disruption_budget(object),
        ("", "services") => network::service(object),
        ("", "endpoints") => network::endpoints(object),
        ("discovery.k8s.io", "endpointslices") => network::endpoint_slice(object),
        ("networking.k8s.io", "ingresses") => network::ingress(object),
        ("networking.k8s.io", "ingressclasses") => network::ingress_class(object),
        ("networking.k8s.io", "networkpolicies") => network::policy(object),
        ("", "persistentvolumes") => storage::volume(object),
        ("", "persistentvolumeclaims") => storage::claim(object),
        ("storage.k8s.io", "storageclasses") => storage::class(object),
        ("storage.k8s.io", "csidrivers") => storage::driver(object),
        ("storage.k8s.io", "csinodes") => storage::node(object),
        ("storage.k8s.io", "volumeattachments") => storage::attachment(object),
        ("storage.k8s.io", "volumeattributesclasses") => storage::attributes_class(object),
        ("", "configmaps") => cluster::config_map(object),
        ("", "secrets") => cluster::secret(object),
        ("", "namespaces") => cluster::namespace(object),
        ("", "nodes") => cluster::node(object),
        ("", "events") | ("events.k8s.io", "events") => cluster::event(object),
        ("", "resourcequotas") => cluster::resource_quota(object),
        ("coordination.k8s.io", "leases") => cluster::lease(object),
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => {
            cluster::role_binding(object)
        }
        ("scheduling.k8s.io", "priorityclasses") => cluster::priority_class(object),
        ("apiregistration.k8s.io", "apiservices") => cluster::api_service(object),
        ("certificates.k8s.io", "certificatesigningrequests") => cluster::signing_request(object),
        ("node.k8s.io", "runtimeclasses") => cluster::runtime_class(object),
        (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations" | "validatingwebhookconfigurations",
        ) => cluster::webhooks(object),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => {
            admission::policy(object, "/spec/validations")
        }
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies") => {
            admission::policy(object, "/spec/mutations")
        }
        (
            "admissionregistration.k8s.io",
            "validatingadmissionpolicybindings" | "mutatingadmissionpolicybindings",
        ) => admission::binding(object),
        ("networking.k8s.io", "servicecidrs") => network::service_cidr(object),
        ("networking.k8s.io", "ipaddresses") => network::address(object),
        ("resource.k8s.io", "resourceclaims") => devices::claim(object),
        ("resource.k8s.io", "resourceslices") => devices::slice(object),
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => fairness::flow_schema(object),
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => {
            fairness::priority_level(object)
        }
        _ => by_name(resource, object),
    }
}

/// Kinds without a printer have a name and a time; what else a column may ask for stays empty.
fn by_name(resource: &Resource, object: TimedValue<'_>) -> Vec<Value> {
    let cells = resource
        .columns
        .iter()
        .map(|column| match column.name.as_str() {
            "Name" => object.name(),
            "Age" => object.age(),
            "Created At" => object.text("/metadata/creationTimestamp").into(),
            _ => Value::Null,
        });
    cells.collect()
}

#[cfg(test)]
mod tests;
