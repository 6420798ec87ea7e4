//! Objects that are given, not made: with the UID, the generation, the times and the status that they are to
//! have. For tests of programs that use the server.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};

use crate::meta;
use crate::patch;
use crate::registry::Resource;
use crate::request::query::Query;
use crate::request::route::{Route, Target};
use crate::request::{Request, User};
use crate::server::Server;
use crate::status::Refusal;
use crate::store::{NamespacedName, Write};

/// The client that puts objects there, and the one that changes them.
const AGENT: &str = "given";
/// What a client cannot set, and the giver of an object can.
const GIVEN: [&str; 5] = [
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

impl Server {
    /// Puts an object there as somebody else's: valid, with defaults, and with what it says of itself where a
    /// client has no say. Its namespace is made if it is absent; an object of that name is replaced.
    ///
    /// # Errors
    /// It is not valid, or its kind is not served.
    pub fn give(&self, object: &Value) -> Result<(), Refusal> {
        let mut given = object.clone();
        for field in ["resourceVersion", "managedFields"] {
            meta::set(&mut given, field, None);
        }
        let mut says = given.clone();
        // What it does not say, it does not have, also if it is there already.
        meta::set(
            &mut says,
            "deletionTimestamp",
            meta::get(&given, "deletionTimestamp")
                .cloned()
                .or(Some(Value::Null)),
        );
        if let Some(fields) = says.as_object_mut() {
            if fields.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition") {
                // What is served follows from the status that the server writes.
                fields.remove("status");
            } else {
                fields.entry("status").or_insert(Value::Null);
            }
        }
        self.give_as(&given, &says)
    }

    /// The same, of an object that `says` of itself no more than that.
    fn give_as(&self, object: &Value, says: &Value) -> Result<(), Refusal> {
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or("");
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let Some(resource) = self.registry().of_kind(api_version, kind).cloned() else {
            let message = format!("no kind {kind:?} of {api_version:?} is served");
            return Err(Refusal::bad_request(message));
        };
        let namespace = match (resource.namespaced, meta::text(object, "namespace")) {
            (false, _) => "",
            (true, "") => "default",
            (true, namespace) => namespace,
        };
        if !namespace.is_empty() {
            self.give_namespace(namespace)?;
        }
        let account = object.pointer("/spec/serviceAccountName");
        match account.and_then(Value::as_str) {
            Some(account) => self.give_account_called(namespace, account),
            None if (api_version, kind) == ("v1", "Pod") => self.give_account(namespace),
            None => {}
        }
        let key = NamespacedName::new(namespace, meta::text(object, "name"));
        let mut body = object.clone();
        match self.store().get(&resource.place(), &key) {
            None => {
                if (&*resource.group, &*resource.plural) == ("batch", "jobs") {
                    leave_out_uid(&mut body);
                }
                self.by_client(Method::POST, &resource, &key, &body)?;
            }
            Some(held) => {
                let held = held.value();
                for field in ["uid", "resourceVersion"] {
                    meta::set(&mut body, field, meta::get(&held, field).cloned());
                }
                self.by_client(Method::PUT, &resource, &key, &body)?;
            }
        }
        self.say_of_itself(&resource, &key, says);
        if (api_version, kind) == ("v1", "Namespace") {
            self.give_account(&key.name);
        }
        Ok(())
    }

    /// Makes the service account that pods of a namespace run as, as a controller does soon in a cluster.
    pub fn give_account(&self, namespace: &str) {
        self.give_account_called(namespace, "default");
    }

    fn give_account_called(&self, namespace: &str, name: &str) {
        let registry = self.registry();
        let Some(accounts) = registry.of_kind("v1", "ServiceAccount") else {
            return;
        };
        let key = NamespacedName::new(namespace, name);
        let object = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": name, "namespace": namespace },
        });
        // It may be there already, or its namespace be going.
        let _ = self.by_client(Method::POST, accounts, &key, &object);
    }

    /// Changes an object by a JSON merge patch, as somebody else would, its status too.
    ///
    /// # Errors
    /// It is absent, or not valid then.
    pub fn edit(
        &self,
        resource: &Resource,
        key: &NamespacedName,
        with: &Value,
    ) -> Result<(), Refusal> {
        let object = patch::merge(&self.stored(resource, key)?, with)?;
        let mut says = with.clone();
        if let (Some(status), Some(fields)) = (object.get("status"), says.as_object_mut())
            && fields.contains_key("status")
        {
            fields.insert("status".to_owned(), status.clone());
        }
        self.give_as(&object, &says)
    }

    /// Deletes an object as somebody else would: it stays while it has finalizers.
    ///
    /// # Errors
    /// It is absent.
    pub fn take_away(&self, resource: &Resource, key: &NamespacedName) -> Result<(), Refusal> {
        let options = json!({ "propagationPolicy": "Background" });
        self.by_client(Method::DELETE, resource, key, &options)
    }

    /// An object as it is kept.
    ///
    /// # Errors
    /// It is absent.
    pub fn stored(&self, resource: &Resource, key: &NamespacedName) -> Result<Value, Refusal> {
        let held = self.store().get(&resource.place(), key).ok_or_else(|| {
            Refusal::bad_request(format!("{} {} is not there", resource.kind, &*key.name))
        })?;
        Ok(held.value())
    }

    fn give_namespace(&self, name: &str) -> Result<(), Refusal> {
        let registry = self.registry();
        let Some(namespaces) = registry.of_kind("v1", "Namespace") else {
            return Ok(());
        };
        let key = NamespacedName::new("", name);
        if self.store().get(&namespaces.place(), &key).is_some() {
            return Ok(());
        }
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name },
        });
        self.by_client(Method::POST, namespaces, &key, &object)?;
        self.give_account(name);
        Ok(())
    }

    /// Sets what only the server sets otherwise.
    fn say_of_itself(&self, resource: &Resource, key: &NamespacedName, given: &Value) {
        let Some(entry) = self.store().get(&resource.place(), key) else {
            return;
        };
        let mut object = entry.value();
        let before = object.clone();
        let uid = given.pointer("/metadata/uid").and_then(Value::as_str);
        if let Some(uid) = uid {
            // What was made of the UID that it had at first follows.
            rename(&mut object, meta::text(&before, "uid"), uid);
        }
        for field in GIVEN {
            // A null takes it away, so it is asked for as it stands.
            let metadata = given.get("metadata");
            if let Some(value) = metadata.and_then(|metadata| metadata.get(field)) {
                let value = (!value.is_null()).then(|| value.clone());
                meta::set(&mut object, field, value);
            }
        }
        if let (Some(status), Some(fields)) = (given.get("status"), object.as_object_mut()) {
            match status {
                Value::Null => fields.remove("status"),
                status => fields.insert("status".to_owned(), status.clone()),
            };
        }
        if object != before {
            // Nobody else writes while objects are given; who does has written last.
            let expected = Some(entry.revision);
            let _ =
                self.store()
                    .write(&resource.place(), key.clone(), expected, Write::Put(object));
        }
    }

    fn by_client(
        &self,
        method: Method,
        resource: &Resource,
        key: &NamespacedName,
        body: &Value,
    ) -> Result<(), Refusal> {
        let target = Target {
            group: resource.group.clone(),
            version: resource.version.clone(),
            namespace: resource.namespaced.then(|| key.namespace.to_string()),
            plural: resource.plural.clone(),
            name: (method != Method::POST).then(|| key.name.to_string()),
            ..Target::default()
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::USER_AGENT, HeaderValue::from_static(AGENT));
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let path = target.path();
        let request = Request {
            method,
            route: Route::parse(&path),
            path,
            query: Query::parse("fieldValidation=Strict"),
            headers,
            body: Bytes::from(body.to_string()),
            user: User::admin(),
        };
        match self.ask(&request)?.code {
            code if code.is_success() => Ok(()),
            code => Err(Refusal::new(
                code,
                "",
                StatusCode::canonical_reason(&code).unwrap_or("refused"),
            )),
        }
    }

    /// The resource and the name of the object that is called `kind`, `namespace` and `name`: one that is there,
    /// if several groups have that kind.
    pub fn called(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Option<(Arc<Resource>, NamespacedName)> {
        let registry = self.registry();
        let key = NamespacedName::new(namespace, name);
        let of_kind = registry.all().iter().filter(|one| one.kind == kind);
        let held = of_kind.into_iter().find(|resource| {
            let key_fits = resource.namespaced != namespace.is_empty();
            key_fits && self.store().get(&resource.place(), &key).is_some()
        });
        held.map(|resource| (Arc::clone(resource), key))
    }
}

/// Takes out of a job what the server makes of the UID: it makes it again, of the UID that the job gets.
fn leave_out_uid(job: &mut Value) {
    let uid = meta::text(job, "uid").to_owned();
    let is_by_hand = job.pointer("/spec/manualSelector") == Some(&json!(true));
    if uid.is_empty() || is_by_hand {
        return;
    }
    for labels in [
        "/spec/selector/matchLabels",
        "/spec/template/metadata/labels",
        "/metadata/labels",
    ] {
        if let Some(labels) = job.pointer_mut(labels).and_then(Value::as_object_mut) {
            labels.retain(|_, value| value.as_str() != Some(&uid));
        }
    }
}

/// Replaces a text wherever it is a whole value.
fn rename(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text == from => to.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, from, to)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| rename(field, from, to)),
        _ => {}
    }
}
