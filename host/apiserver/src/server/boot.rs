//! What every cluster has from the beginning.

mod own;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::dispatch;
use crate::meta;
use crate::options::Authorization;
use crate::rbac::bootstrap;
use crate::request::query::Query;
use crate::request::route::{Route, Target};
use crate::request::{Request, User};
use crate::state::State;

/// The priority classes that every cluster has.
const PRIORITIES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if \
         necessary.",
    ),
];

/// Puts what every cluster has into an empty server.
pub(super) fn fill(state: &State) {
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": name },
        });
        post(state, "/api/v1/namespaces", &namespace);
    }
    for (name, value, description) in PRIORITIES {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": { "name": name },
            "value": value,
            "description": description,
        });
        post(state, "/apis/scheduling.k8s.io/v1/priorityclasses", &class);
    }
    post(state, "/api/v1/namespaces/default/services", &own_service());
    fill_roles(state);
    if state.options().bootstrap {
        own::fill(state);
    }
}

/// The service by which pods find the server. Nothing listens at its address here.
fn own_service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "labels": { "component": "apiserver", "provider": "kubernetes" },
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "10.0.0.1",
            "ipFamilyPolicy": "SingleStack",
            "sessionAffinity": "None",
            "ports": [{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443 }],
        },
    })
}

/// Puts the roles of every cluster into a server that asks them.
fn fill_roles(state: &State) {
    if state.options().authorization != Authorization::Rbac {
        return;
    }
    let registry = state.registry();
    for object in bootstrap::objects() {
        let text = |field: &str| {
            object
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let Some(resource) = registry.of_kind(text("apiVersion"), text("kind")) else {
            continue;
        };
        let namespace = meta::text(&object, "namespace");
        let target = Target {
            group: resource.group.clone(),
            version: resource.version.clone(),
            namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
            plural: resource.plural.clone(),
            ..Target::default()
        };
        post(state, &target.path(), &object);
    }
}

/// Creates an object as the server itself.
fn post(state: &State, path: &str, object: &Value) {
    send(state, Method::POST, path, Query::default(), object);
}

/// Applies an object as one of the server's own controllers.
fn apply(state: &State, path: &str, manager: &str, object: &Value) {
    let mut query = Query::default();
    query.put("fieldManager", manager);
    query.put("force", "true");
    send(state, Method::PATCH, path, query, object);
}

fn send(state: &State, method: Method, path: &str, query: Query, object: &Value) {
    let mut headers = HeaderMap::new();
    headers.insert(
        http::header::USER_AGENT,
        http::HeaderValue::from_static("kube-apiserver"),
    );
    if method == Method::PATCH {
        headers.insert(
            http::header::CONTENT_TYPE,
            http::HeaderValue::from_static("application/apply-patch+yaml"),
        );
    }
    let request = Request {
        method,
        path: path.to_owned(),
        route: Route::parse(path),
        query,
        headers,
        body: Bytes::from(object.to_string()),
        user: User::admin(),
    };
    // What it writes here is valid, and nobody else has written yet.
    drop(dispatch::answer(state, &request));
}
