//! The cluster as a reconciler sees it: one trait for all effects, and typed methods on it.

mod many;

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::failed::{Code, Context, Error, SetError};
use crate::fetch::{FetchError, FetchOptions, FetchRequest, FetchResponse};
use crate::object::Object;
use crate::query::{
    Adoption, ChildrenQuery, Consistency, DeleteOptions, ListQuery, ObjectRef, Patch, Served,
};
use crate::report::{Event, Level, Metric};

/// Everything that a reconciler can do beyond computing. The host implements it, and so does `testing::FakeCluster`.
/// Plugins call the methods of `dyn Cluster`, which have types.
pub trait Cluster {
    /// Reads one object, or a subresource of it.
    ///
    /// # Errors
    /// [`Code::NotFound`] if it is not there; its absence is tracked.
    fn get_json(
        &self,
        target: &ObjectRef,
        subresource: Option<&str>,
        consistency: Consistency,
    ) -> Result<Value, Error>;

    /// Reads the objects that match, in no particular order. Each is JSON.
    ///
    /// # Errors
    /// [`Code::Other`] with the reason `NoKindMatch` if the cluster does not serve the kind.
    fn list_text(&self, query: &ListQuery) -> Result<Vec<String>, Error>;

    /// As [`Cluster::list_text`], but gives only these fields of each object: a row with a value for each path, in the given
    /// order. Paths are simple JSONPaths: `.spec.nodeName`, `.metadata.labels['app']`, `.spec.containers[*].image`. A value is
    /// null if the field is absent, or the plugin did not declare it. For many objects, this costs much less than a list.
    ///
    /// # Errors
    /// [`Code::Invalid`] for a path that is something else, and for the values of Secrets.
    fn select(&self, query: &ListQuery, paths: &[&str]) -> Result<Vec<Vec<Value>>, Error>;

    /// Reads the objects that have this owner, whatever their labels, in no particular order. Each is JSON.
    ///
    /// # Errors
    /// [`Code::Other`] with the reason `NoKindMatch` if the cluster does not serve the kind.
    fn list_children_text(&self, query: &ChildrenQuery) -> Result<Vec<String>, Error>;

    /// The kinds that the cluster serves, of those that the grants name. It is tracked: if one comes or goes, the primary runs
    /// again.
    ///
    /// # Errors
    /// [`Code::Unavailable`] if the cluster does not say what all its groups serve.
    fn kinds(&self) -> Result<Vec<Served>, Error>;

    /// For how long this host has seen the object in its present version, by its own clock. It is tracked, and needs `watch`.
    /// After a restart, and on another host, it begins at zero.
    ///
    /// # Errors
    /// [`Code::NotFound`] if it is not there.
    fn unchanged_for(&self, target: &ObjectRef) -> Result<Duration, Error>;

    /// Sets the named fields, and removes fields that are no longer named.
    ///
    /// # Errors
    /// [`Code::Denied`] for an owner reference to another object than the primary.
    fn apply_json(&self, object: &Value) -> Result<Value, Error>;

    /// As [`Cluster::apply_json`], for the status.
    ///
    /// # Errors
    /// [`Code::NotFound`] if the object is not there.
    fn apply_status_json(&self, object: &Value) -> Result<Value, Error>;

    /// Makes these the primary's children, and returns them in the given order.
    ///
    /// # Errors
    /// [`SetError`], which says what failed: [`Code::Conflict`] for a child whose name somebody else's object has.
    fn apply_set_json(&self, children: &[Value]) -> Result<Vec<Value>, SetError>;

    /// Makes the primary, or what it controls, the controlling owner of the object with this UID. The grant must say
    /// `adopt: true`.
    ///
    /// # Errors
    /// [`Code::Gone`] if the owner is being deleted, [`Code::Conflict`] if the object is another one, is being deleted, or
    /// has another controller.
    fn adopt_json(
        &self,
        target: &ObjectRef,
        uid: &str,
        adoption: &Adoption,
    ) -> Result<Value, Error>;

    /// Removes owners, by their UIDs, of the object with this UID; none means the primary. In the same write, it can remove
    /// a finalizer that a grant names. If the object is gone, this is a success.
    ///
    /// # Errors
    /// [`Code::Denied`] for other owners than the primary, without a grant with `owners: any`.
    fn disown_with(
        &self,
        target: &ObjectRef,
        uid: &str,
        owners: &[String],
        finalizer: Option<&str>,
    ) -> Result<(), Error>;

    /// Adds a finalizer that a grant names to the object with this UID.
    ///
    /// # Errors
    /// [`Code::Gone`] if it is being deleted, [`Code::Conflict`] if another object has its name.
    fn hold(&self, target: &ObjectRef, uid: &str, finalizer: &str) -> Result<Value, Error>;

    /// Removes a finalizer that a grant names from the object with this UID. If the object is gone, this is a success.
    ///
    /// # Errors
    /// [`Code::Denied`] if no grant names the finalizer; [`Code::Conflict`] if the pass has read the object, and
    /// somebody else has changed it since then.
    fn release(&self, target: &ObjectRef, uid: &str, finalizer: &str) -> Result<(), Error>;

    /// As [`Cluster::release`], for many objects with their UIDs. The calls are made as in [`Cluster::create_many_json`],
    /// but a conflict does not stop them.
    fn release_many(
        &self,
        targets: &[(ObjectRef, String)],
        finalizer: &str,
    ) -> Vec<Result<(), Error>>;

    /// Adds the plugin's finalizer to the primary, of a kind that is finalized on request
    /// ([`Watch::finalize_on_request`](crate::Watch::finalize_on_request)). Call it before the first side effect that
    /// `finalize` undoes.
    ///
    /// # Errors
    /// [`Code::Gone`] if the primary is being deleted without it, [`Code::Invalid`] if the kind is never finalized.
    fn protect(&self) -> Result<(), Error>;

    /// Creates an object.
    ///
    /// # Errors
    /// [`Code::Conflict`] if it is there already.
    fn create_json(&self, object: &Value) -> Result<Value, Error>;

    /// As [`Cluster::create_json`], for many objects that are alike: one, then two, four and so on at a time, and at most
    /// 32. It stops after the batch in which one failed. Objects that were not tried are absent from the answer.
    fn create_many_json(&self, objects: &[Value]) -> Vec<Result<Value, Error>>;

    /// Posts to a subresource of an object: an `Eviction` or `Binding` of a pod.
    ///
    /// # Errors
    /// [`Code::NotFound`] if the object is not there.
    fn create_subresource_json(
        &self,
        parent: &ObjectRef,
        subresource: &str,
        object: &Value,
    ) -> Result<Value, Error>;

    /// Replaces a subresource of an object, such as a whole `status`, or `finalize` of a Namespace. `object` carries a
    /// `metadata.resourceVersion`: the version that it was made from. All other metadata stays as it is.
    ///
    /// # Errors
    /// [`Code::Conflict`] if the object has another version by now, [`Code::NotFound`] if it is not there.
    fn update_subresource_json(
        &self,
        target: &ObjectRef,
        subresource: &str,
        object: &Value,
    ) -> Result<Value, Error>;

    /// Changes part of an object, or of a subresource of it, without owning the fields.
    ///
    /// # Errors
    /// [`Code::NotFound`] if it is not there, [`Code::Denied`] if finalizers, owner references or managed
    /// fields would be touched.
    fn patch_json(
        &self,
        target: &ObjectRef,
        subresource: Option<&str>,
        patch: &Patch,
    ) -> Result<Value, Error>;

    /// Deletes an object.
    ///
    /// # Errors
    /// [`Code::NotFound`] if it is gone already, [`Code::Conflict`] if another object has its name.
    fn delete_with(&self, target: &ObjectRef, options: &DeleteOptions) -> Result<(), Error>;

    /// As [`Cluster::delete_with`], for many objects. The calls are made as in [`Cluster::create_many_json`]. An object that
    /// is gone already is [`Code::NotFound`], but does not stop the host.
    fn delete_many_with(&self, targets: &[(ObjectRef, DeleteOptions)]) -> Vec<Result<(), Error>>;

    /// Deletes all objects that match, in one request. It needs the verb `deletecollection`. A namespaced kind needs a
    /// namespace. A query with a limit, and options with a UID or a version, are [`Code::Invalid`].
    ///
    /// # Errors
    /// On an error, some of the objects may be deleted.
    fn delete_all_with(&self, query: &ListQuery, options: &DeleteOptions) -> Result<(), Error>;

    /// Sends one HTTP request to a server outside the cluster, and waits for the whole answer. Every status is an answer.
    /// The host sends it once; a call of the plugin may be repeated.
    ///
    /// # Errors
    /// There is no answer: [`FetchCode`](crate::FetchCode) says why.
    fn fetch_with(
        &self,
        request: &FetchRequest,
        options: &FetchOptions,
    ) -> Result<FetchResponse, FetchError>;

    /// What this call has kept, or else the last call over this primary that succeeded. It is a hint, never a state: the host
    /// may forget it at any time, and `windlass test` does so at random.
    fn recall(&self) -> Option<Vec<u8>>;

    /// Keeps this for the next call over this primary, if this one succeeds. An empty list forgets it. The host drops more
    /// than 16 KiB.
    fn keep(&self, what: &[u8]);

    /// Takes a token of a bucket that the calls over all primaries share. None means that there was one: go on. Otherwise the
    /// answer is when there will be one. A bucket is full at first, holds `burst` tokens, and gets `per_hour` tokens each
    /// hour.
    fn take_token(&self, bucket: &str, per_hour: u32, burst: u32) -> Option<Duration>;

    /// Records an Event.
    fn event(&self, event: Event);

    /// Writes one line into the host's log.
    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]);

    /// Changes a metric of the plugin, on `/metrics` of the host.
    fn metric(&self, metric: &Metric);

    /// The operator's configuration: a JSON object, `{}` if there is none.
    fn config_json(&self) -> Value;

    /// When this call began: RFC 3339 in UTC, with milliseconds. The clock stands still during the call.
    fn now(&self) -> String;

    /// Calls for this object again at this time, in UTC as RFC 3339, if nothing does before: never earlier, and not spread
    /// like [`Action::RequeueAfter`](crate::Action::RequeueAfter). It counts if this call succeeds, and until the next one.
    fn wake_at(&self, time: &str);

    /// How often this object has failed since it last succeeded, since its generation changed, or since the host
    /// started. Use it for logs, or to give up. The host computes the delay of the next try.
    fn attempt(&self) -> u32;
}

impl dyn Cluster + '_ {
    /// Reads one object.
    ///
    /// # Errors
    /// As [`Cluster::get_json`]; an answer that does not fit `T` is [`Code::Other`].
    pub fn get<T: DeserializeOwned>(&self, target: &ObjectRef) -> Result<T, Error> {
        let value = self.get_json(target, None, Consistency::Stored)?;
        typed(value).doing(|| format!("read {target}"))
    }

    /// Reads one object that may be absent.
    ///
    /// # Errors
    /// As [`Cluster::get_json`], except that absence is `None`.
    pub fn find<T: DeserializeOwned>(&self, target: &ObjectRef) -> Result<Option<T>, Error> {
        match self.get(target) {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.code == Code::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the objects that match.
    ///
    /// # Errors
    /// As [`Cluster::list_text`]; an item that does not fit `T` is [`Code::Other`].
    pub fn list<T: DeserializeOwned>(&self, query: &ListQuery) -> Result<Vec<T>, Error> {
        items(&self.list_text(query)?).doing(|| format!("list {}", query.kind))
    }

    /// Reads the objects that have this owner, whatever their labels.
    ///
    /// # Errors
    /// As [`Cluster::list_children_text`]; an item that does not fit `T` is [`Code::Other`].
    pub fn list_children<T: DeserializeOwned>(
        &self,
        query: &ChildrenQuery,
    ) -> Result<Vec<T>, Error> {
        items(&self.list_children_text(query)?)
            .doing(|| format!("list children of kind {}", query.kind))
    }

    /// Makes the primary the controlling owner of the object with this UID.
    ///
    /// # Errors
    /// As [`Cluster::adopt_json`].
    pub fn adopt(&self, target: &ObjectRef, uid: &str) -> Result<Value, Error> {
        self.adopt_json(target, uid, &Adoption::default())
    }

    /// Removes the primary from the owners of the object with this UID.
    ///
    /// # Errors
    /// As [`Cluster::disown_with`].
    pub fn disown(&self, target: &ObjectRef, uid: &str) -> Result<(), Error> {
        self.disown_with(target, uid, &[], None)
    }

    /// Sets the named fields of an object: a [`Manifest`](crate::Manifest), or another value that serialises as an
    /// object.
    ///
    /// # Errors
    /// As [`Cluster::apply_json`].
    pub fn apply(&self, object: impl Serialize) -> Result<Value, Error> {
        self.apply_json(&json_of(object)?)
    }

    /// Sets the status of `object`.
    ///
    /// # Errors
    /// As [`Cluster::apply_status_json`].
    pub fn apply_status<Spec, Status>(
        &self,
        object: &Object<Spec, Status>,
        status: impl Serialize,
    ) -> Result<(), Error> {
        let target = object.reference();
        let status = serde_json::to_value(status)
            .map_err(|error| Code::Invalid(error.to_string()))
            .doing(|| format!("serialise the status of {target}"))?;
        let mut body = target.skeleton();
        if let Value::Object(fields) = &mut body {
            fields.insert("status".into(), status);
        }
        self.apply_status_json(&body).map(drop)
    }

    /// Makes these the primary's children. The host applies each with the primary as its owner, and then deletes the
    /// objects of an earlier set that this set does not name. A call may apply one set. Use `apply` or `create` for
    /// other objects.
    ///
    /// # Errors
    /// As [`Cluster::apply_set_json`].
    pub fn apply_set<T: Serialize>(
        &self,
        children: impl IntoIterator<Item = T>,
    ) -> Result<Vec<Value>, SetError> {
        let children: Result<Vec<_>, _> = children.into_iter().map(json_of).collect();
        self.apply_set_json(&children.map_err(SetError::whole)?)
    }

    /// Creates an object. Use it if the object must not be overwritten, or for `metadata.generateName`. With
    /// `generateName`, each call creates another object, so look for it first.
    ///
    /// # Errors
    /// As [`Cluster::create_json`].
    pub fn create(&self, object: impl Serialize) -> Result<Value, Error> {
        self.create_json(&json_of(object)?)
    }

    /// Posts to a subresource of an object: an `Eviction` or `Binding` of a pod.
    ///
    /// # Errors
    /// As [`Cluster::create_subresource_json`].
    pub fn create_subresource(
        &self,
        parent: &ObjectRef,
        subresource: &str,
        object: impl Serialize,
    ) -> Result<Value, Error> {
        self.create_subresource_json(parent, subresource, &json_of(object)?)
    }

    /// Replaces a subresource of an object, as [`Cluster::update_subresource_json`] says.
    ///
    /// # Errors
    /// As [`Cluster::update_subresource_json`].
    pub fn update_subresource(
        &self,
        target: &ObjectRef,
        subresource: &str,
        object: impl Serialize,
    ) -> Result<Value, Error> {
        self.update_subresource_json(target, subresource, &json_of(object)?)
    }

    /// Changes a part of an object without owning the fields. Use `apply` if you can.
    ///
    /// # Errors
    /// As [`Cluster::patch_json`].
    pub fn patch(&self, target: &ObjectRef, patch: &Patch) -> Result<Value, Error> {
        self.patch_json(target, None, patch)
    }

    /// As [`Cluster::fetch_with`], without options.
    ///
    /// # Errors
    /// As [`Cluster::fetch_with`].
    pub fn fetch(&self, request: &FetchRequest) -> Result<FetchResponse, FetchError> {
        self.fetch_with(request, &FetchOptions::default())
    }

    /// As `patch`, for a subresource such as `scale`.
    ///
    /// # Errors
    /// As [`Cluster::patch_json`].
    pub fn patch_subresource(
        &self,
        target: &ObjectRef,
        subresource: &str,
        patch: &Patch,
    ) -> Result<Value, Error> {
        self.patch_json(target, Some(subresource), patch)
    }

    /// Deletes an object. If it is gone already, this is a success.
    ///
    /// # Errors
    /// As [`Cluster::delete_with`], except that absence is success.
    pub fn delete(&self, target: &ObjectRef) -> Result<(), Error> {
        match self.delete_with(target, &DeleteOptions::default()) {
            Err(error) if error.code == Code::NotFound => Ok(()),
            other => other,
        }
    }

    /// As [`Cluster::recall`], as JSON. What does not fit `T`, such as what an earlier version kept, is forgotten.
    pub fn recall_json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.recall()?).ok()
    }

    /// As [`Cluster::keep`], as JSON. What cannot be serialised is not kept.
    pub fn keep_json(&self, what: impl Serialize) {
        self.keep(&serde_json::to_vec(&what).unwrap_or_default());
    }

    /// Writes one line for the operator of the plugin.
    pub fn info(&self, message: impl fmt::Display) {
        self.log(Level::Info, &message.to_string(), &[]);
    }

    /// One setting of the operator as text, or `default` where it is absent.
    pub fn config(&self, key: &str, default: &str) -> String {
        match self.config_json().get(key) {
            None | Some(Value::Null) => default.to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// All settings of the operator as one type.
    ///
    /// # Errors
    /// If they do not fit `T`; as a [`Failure`](crate::Failure), that is terminal.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_value(self.config_json())
    }
}

/// An object as JSON.
fn json_of(object: impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(object)
        .map_err(|error| Code::Invalid(error.to_string()))
        .doing(|| "serialise an object".to_owned())
}

/// Reads each text as a `T`. A value in between would cost as much again.
fn items<T: DeserializeOwned>(texts: &[String]) -> Result<Vec<T>, Code> {
    let items = texts.iter().map(|text| serde_json::from_str(text));
    let items: Result<_, serde_json::Error> = items.collect();
    items.map_err(|error| Code::Other(error.to_string()))
}

/// Reads `value` as `T`.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Code> {
    serde_json::from_value(value).map_err(|error| Code::Other(error.to_string()))
}

impl ObjectRef {
    /// The object's name and kind and nothing else, as JSON.
    pub(crate) fn skeleton(&self) -> Value {
        let mut metadata = json!({ "name": self.name });
        if let (Value::Object(fields), Some(namespace)) = (&mut metadata, &self.namespace) {
            fields.insert("namespace".into(), json!(namespace));
        }
        json!({ "apiVersion": self.api_version, "kind": self.kind, "metadata": metadata })
    }
}
