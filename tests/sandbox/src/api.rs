//! An API server in memory: a [`FakeCluster`] that is spoken to in HTTP.
//!
//! - Serves a few kinds ([`kinds`]), reads, server-side apply, status, creations, patches, delete with
//!   preconditions, and Events, which it keeps apart from the objects.
//! - No watches: who needs them needs a real API server.

mod answer;
pub mod kinds;
mod route;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response};
use kube::client::Body;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use windlass_sdk::testing::FakeCluster;
use windlass_sdk::{Code, DeleteOptions, ListQuery, Patch};

use answer::{Answer, fail, object, respond, status};
use route::{Place, Query, Route};

/// The API server. Clones share it.
#[derive(Clone, Debug)]
pub struct FakeApi(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    cluster: Mutex<FakeCluster>,
    events: Mutex<Vec<Value>>,
    requests: Mutex<Vec<String>>,
    latency: Duration,
    /// Who has applied the label of a set, by the object's UID.
    labelled: Mutex<BTreeMap<String, String>>,
}

impl FakeApi {
    /// Serves `cluster`.
    pub fn new(cluster: FakeCluster) -> Self {
        Self::slow(cluster, Duration::ZERO)
    }

    /// Serves `cluster`, and lets each request wait for `latency` on tokio's clock.
    pub fn slow(cluster: FakeCluster, latency: Duration) -> Self {
        Self(Arc::new(Inner {
            cluster: Mutex::new(cluster),
            events: Mutex::default(),
            requests: Mutex::default(),
            latency,
            labelled: Mutex::default(),
        }))
    }

    /// The cluster, for the test to look at and to change.
    pub fn cluster(&self) -> MutexGuard<'_, FakeCluster> {
        lock(&self.0.cluster)
    }

    /// The Events that were recorded, repetitions included.
    pub fn events(&self) -> Vec<Value> {
        lock(&self.0.events).clone()
    }

    /// Every request so far: `GET /api/v1/namespaces/default/configmaps/a`.
    pub fn requests(&self) -> Vec<String> {
        lock(&self.0.requests).clone()
    }

    /// A client of it. To be made inside a tokio runtime.
    pub fn client(&self) -> kube::Client {
        let this = self.clone();
        let service = tower::service_fn(move |request| {
            let this = this.clone();
            async move { Ok::<_, Infallible>(this.serve(request).await) }
        });
        kube::Client::new(service, "default")
    }

    async fn serve(&self, request: Request<Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        lock(&self.0.requests).push(format!("{} {}", head.method, head.uri));
        if !self.0.latency.is_zero() {
            tokio::time::sleep(self.0.latency).await;
        }
        let Ok(body) = body.collect_bytes().await else {
            return respond(status(400, "BadRequest", "half a body", None));
        };
        let kind = head.headers.get(http::header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        respond(self.answer(&head.method, &head.uri, kind, &body))
    }

    fn answer(&self, method: &Method, uri: &http::Uri, kind: &str, body: &Value) -> Answer {
        let query = Query::parse(uri.query().unwrap_or_default());
        match route::route(uri.path()) {
            None => status(404, "NotFound", "the server could not find it", None),
            Some(Route::Groups) => object(kinds::groups()),
            Some(Route::Resources(version)) => object(kinds::resources(&version)),
            Some(Route::Objects(place)) if place.kind.kind == "Event" => self.event(method, body),
            Some(Route::Objects(place)) => match (method.as_str(), place.name.is_some()) {
                ("GET", true) => self.get(&place),
                ("GET", false) => self.list(&place, &query),
                ("PATCH", true) => self.patch(&place, kind, &query, body),
                ("POST", false) => self.create(&place, &query, body),
                ("DELETE", true) => self.delete(&place, body),
                _ => status(405, "MethodNotAllowed", "not supported here", None),
            },
        }
    }

    fn get(&self, place: &Place) -> Answer {
        if place.subresource.is_some() {
            return fail(&Code::NotFound);
        }
        match self.cluster().get(&place.target()) {
            Ok(found) => object(self.with_managed_fields(found)),
            Err(code) => fail(&code),
        }
    }

    /// The object with the part of its managedFields that says who has applied the label of a set. The entry is of no
    /// version that there is: what else a manager owns is not known here.
    fn with_managed_fields(&self, mut object: Value) -> Value {
        let labelled = lock(&self.0.labelled);
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
        let manager = uid.and_then(|uid| labelled.get(uid)).cloned();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
            && let Some(manager) = manager
        {
            let fields = json!({ "f:metadata": { "f:labels": { "f:windlass.dev/set": {} } } });
            let entry = json!({
                "manager": manager, "operation": "Apply", "apiVersion": "none/v0",
                "fieldsType": "FieldsV1", "fieldsV1": fields,
            });
            metadata.insert("managedFields".into(), json!([entry]));
        }
        object
    }

    fn list(&self, place: &Place, query: &Query) -> Answer {
        let wanted = ListQuery {
            namespace: place.namespace.clone(),
            label_selector: query.text("labelSelector"),
            field_selector: query.text("fieldSelector"),
            ..ListQuery::all(place.kind.api_version, place.kind.kind)
        };
        let all = match self.cluster().list(&wanted) {
            Ok(all) => all,
            Err(code) => return fail(&code),
        };
        let number = |name| query.text(name).and_then(|text| text.parse::<usize>().ok());
        let start = number("continue").unwrap_or(0);
        let end = start.saturating_add(number("limit").unwrap_or(usize::MAX));
        let token = (end < all.len()).then(|| end.to_string());
        let page = all
            .into_iter()
            .skip(start)
            .take(end - start)
            .map(|item| self.with_managed_fields(item));
        object(kinds::list(&place.kind, page, token))
    }

    fn patch(&self, place: &Place, kind: &str, query: &Query, body: &Value) -> Answer {
        match kind {
            "application/apply-patch+yaml" => self.apply(place, query, body),
            "application/json-patch+json" if place.subresource.is_none() => {
                match query.text("fieldManager").as_deref() {
                    // The host's own, for finalizers.
                    Some("windlass") => self.json_patch(place, body),
                    _ => self.change(place, &Patch::Json(body.clone())),
                }
            }
            "application/merge-patch+json" if place.subresource.is_none() => {
                self.change(place, &Patch::Merge(body.clone()))
            }
            _ => status(415, "UnsupportedMediaType", "not supported here", None),
        }
    }

    fn apply(&self, place: &Place, query: &Query, body: &Value) -> Answer {
        let Some(manager) = query.text("fieldManager") else {
            return status(422, "Invalid", "fieldManager: Required value", None);
        };
        let named = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
        if named("/metadata/name") != place.name.as_deref()
            || named("/metadata/namespace") != place.namespace.as_deref()
            || named("/apiVersion") != Some(place.kind.api_version)
            || named("/kind") != Some(place.kind.kind)
        {
            let text = "the object is not the one in the URL";
            return status(400, "BadRequest", text, None);
        }
        let mut cluster = self.cluster();
        // As the real one has it: an apply with a version changes that version, or makes what is not there.
        let mut body = body.clone();
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut)
            && let Some(version) = metadata.remove("resourceVersion")
            && let Ok(there) = cluster.get(&place.target())
            && there.pointer("/metadata/resourceVersion") != Some(&version)
        {
            return fail(&Code::Conflict);
        }
        let body = &body;
        let applied = match place.subresource.as_deref() {
            None => cluster.apply(&manager, body),
            Some("status") => cluster.apply_status(&manager, body),
            Some(_) => Err(Code::NotFound),
        };
        drop(cluster);
        match applied {
            Ok(applied) => {
                let is_labelled = |object: &Value| {
                    object
                        .pointer("/metadata/labels/windlass.dev~1set")
                        .is_some()
                };
                let uid = applied.pointer("/metadata/uid").and_then(Value::as_str);
                if let Some(uid) = uid.filter(|_| is_labelled(body)) {
                    lock(&self.0.labelled).insert(uid.to_owned(), manager);
                }
                object(self.with_managed_fields(applied))
            }
            Err(code) => fail(&code),
        }
    }

    fn create(&self, place: &Place, query: &Query, body: &Value) -> Answer {
        let manager = query.text("fieldManager").unwrap_or_default();
        let mut body = body.clone();
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("namespace".into(), place.namespace.clone().into());
        }
        match self.cluster().create(&manager, &body) {
            Ok(created) => object(created),
            Err(code) => fail(&code),
        }
    }

    fn change(&self, place: &Place, patch: &Patch) -> Answer {
        match self.cluster().patch(&place.target(), patch) {
            Ok(patched) => object(patched),
            Err(code) => fail(&code),
        }
    }

    fn json_patch(&self, place: &Place, body: &Value) -> Answer {
        let mut cluster = self.cluster();
        let target = place.target();
        let mut patched = match cluster.get(&target) {
            Ok(found) => found,
            Err(code) => return fail(&code),
        };
        let operations: Result<json_patch::Patch, _> = serde_json::from_value(body.clone());
        let Ok(operations) = operations else {
            return status(400, "BadRequest", "this is no JSON patch", None);
        };
        if let Err(error) = json_patch::patch(&mut patched, &operations) {
            return status(422, "Invalid", &error.to_string(), None);
        }
        let goes = patched.pointer("/metadata/deletionTimestamp").is_some();
        match cluster.put(patched.clone()) {
            // It goes with its last finalizer.
            Ok(()) if goes => cluster.remove(&target),
            Ok(()) => {}
            Err(code) => return fail(&code),
        }
        object(cluster.get(&target).unwrap_or(patched))
    }

    fn delete(&self, place: &Place, body: &Value) -> Answer {
        let text = |pointer: &str| body.pointer(pointer)?.as_str().map(str::to_owned);
        let options = DeleteOptions {
            uid: text("/preconditions/uid"),
            resource_version: text("/preconditions/resourceVersion"),
            ..DeleteOptions::default()
        };
        let mut cluster = self.cluster();
        match cluster.delete(&place.target(), &options) {
            Ok(()) => match cluster.get(&place.target()) {
                Ok(waits) => object(waits),
                Err(_) => object(kinds::success()),
            },
            Err(code) => fail(&code),
        }
    }

    fn event(&self, method: &Method, body: &Value) -> Answer {
        match method.as_str() {
            "POST" | "PATCH" => {
                lock(&self.0.events).push(body.clone());
                object(body.clone())
            }
            _ => status(405, "MethodNotAllowed", "not supported here", None),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
