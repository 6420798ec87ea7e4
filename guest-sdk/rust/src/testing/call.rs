//! The cluster as one call sees it: what the host checks before it asks the API server.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use serde_json::Value;

use super::bulk::in_batches;
use super::parts::{name_of, text};
use super::store::FakeCluster;
use crate::cluster::Cluster;
use crate::failed::{Code, Context, Error, SetError};
use crate::fetch::{FetchError, FetchOptions, FetchRequest, FetchResponse};
use crate::host::title;
use crate::needs::Needs;
use crate::query::{
    Adoption, ChildrenQuery, Consistency, DeleteOptions, ListQuery, ObjectRef, Patch, Served,
};
use crate::report::{Event, Level, Metric};

/// One call for one primary, on a [`FakeCluster`].
pub(super) struct Call<'a> {
    pub(super) cluster: RefCell<&'a mut FakeCluster>,
    pub(super) primary: ObjectRef,
    pub(super) uid: String,
    /// Whether the call has applied its set.
    pub(super) set_applied: Cell<bool>,
    needs: Needs,
    events: RefCell<Vec<Event>>,
    logs: RefCell<Vec<String>>,
    metrics: RefCell<Vec<Metric>>,
    requests: RefCell<Vec<FetchRequest>>,
    wake_at: RefCell<Option<String>>,
    kept: RefCell<Option<Vec<u8>>>,
}

/// The host drops a larger one.
const LARGEST_HINT: usize = 16 << 10;

impl<'a> Call<'a> {
    /// Begins a call for `primary`, of which the UID is `uid`, by a plugin with these `needs`.
    pub(super) fn new(
        cluster: &'a mut FakeCluster,
        primary: ObjectRef,
        uid: String,
        needs: Needs,
    ) -> Self {
        Self {
            cluster: RefCell::new(cluster),
            primary,
            uid,
            set_applied: Cell::new(false),
            needs,
            events: RefCell::default(),
            logs: RefCell::default(),
            metrics: RefCell::default(),
            requests: RefCell::default(),
            wake_at: RefCell::default(),
            kept: RefCell::default(),
        }
    }

    /// When the plugin wants to be called again, if it said so.
    pub(super) fn wake_time(&self) -> Option<String> {
        self.wake_at.borrow().clone()
    }

    /// The HTTP requests that were sent.
    pub(super) fn requests(&self) -> Vec<FetchRequest> {
        self.requests.borrow().clone()
    }

    /// What was told during the call.
    pub(super) fn told(self) -> (Vec<Event>, Vec<String>, Vec<Metric>) {
        (
            self.events.into_inner(),
            self.logs.into_inner(),
            self.metrics.into_inner(),
        )
    }

    pub(super) fn may(
        &self,
        verbs: &[&str],
        target: &ObjectRef,
        subresource: &str,
    ) -> Result<(), Code> {
        let may = |verb: &&str| self.needs.cover(verb, target, subresource);
        if verbs.iter().all(may) {
            Ok(())
        } else {
            Err(Code::Denied)
        }
    }

    /// Whether `object` names the primary as its owner; an error if it names anything else, or
    /// finalizers.
    pub(super) fn owned(&self, object: &Value) -> Result<bool, Code> {
        let list = |pointer| {
            object
                .pointer(pointer)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        if list("/metadata/finalizers").next().is_some() {
            return Err(Code::Denied);
        }
        let mut owned = false;
        for owner in list("/metadata/ownerReferences") {
            if text(owner, "/uid") != Some(&self.uid) {
                return Err(Code::Denied);
            }
            owned = true;
        }
        Ok(owned)
    }

    /// The primary is the same and stays.
    pub(super) fn check_alive(&self) -> Result<(), Code> {
        match self.cluster.borrow().get(&self.primary) {
            Ok(primary)
                if text(&primary, "/metadata/uid") == Some(&self.uid)
                    && primary.pointer("/metadata/deletionTimestamp").is_none() =>
            {
                Ok(())
            }
            _ => Err(Code::Gone),
        }
    }

    /// Field managers are as the host's: apart for each primary where objects may be shared.
    pub(super) fn manager(&self, owned: bool) -> String {
        match self.uid.get(..8) {
            Some(uid) if !owned => format!("windlass/plugin/{uid}"),
            _ => "windlass/plugin".to_owned(),
        }
    }

    fn try_apply(&self, object: &Value) -> Result<Value, Code> {
        let target = name_of(object)?;
        self.may(&["create", "patch"], &target, "")?;
        let owned = self.owned(object)?;
        if owned {
            self.check_alive()?;
        }
        self.cluster
            .borrow_mut()
            .apply(&self.manager(owned), object)
    }

    fn try_apply_status(&self, object: &Value) -> Result<Value, Code> {
        let target = name_of(object)?;
        self.may(&["patch"], &target, "/status")?;
        let manager = self.manager(target == self.primary);
        self.cluster.borrow_mut().apply_status(&manager, object)
    }
}

impl Cluster for Call<'_> {
    fn get_json(
        &self,
        target: &ObjectRef,
        subresource: Option<&str>,
        _: Consistency,
    ) -> Result<Value, Error> {
        let below = subresource
            .map(|name| format!("/{name}"))
            .unwrap_or_default();
        self.may(&["get"], target, &below)
            .and_then(|()| match subresource {
                None => self.cluster.borrow().get(target),
                Some(_) => Err(Code::Other("FakeCluster has no subresources".into())),
            })
            .doing(|| format!("get {target}"))
    }

    fn list_json(&self, query: &ListQuery) -> Result<Vec<Value>, Error> {
        let any = ObjectRef::cluster_scoped(&query.api_version, &query.kind, "");
        self.may(&["list"], &any, "")
            .and_then(|()| self.cluster.borrow().list(query))
            .doing(|| format!("list {}", query.kind))
    }

    fn select(&self, query: &ListQuery, paths: &[&str]) -> Result<Vec<Vec<Value>>, Error> {
        self.try_select(query, paths)
            .doing(|| format!("select fields of {}", query.kind))
    }

    fn list_children_json(&self, query: &ChildrenQuery) -> Result<Vec<Value>, Error> {
        self.try_list_children(query)
            .doing(|| format!("list children of kind {}", query.kind))
    }

    fn kinds(&self) -> Result<Vec<Served>, Error> {
        Err(Code::Other(
            "FakeCluster does not know which kinds are served".into(),
        ))
        .doing(|| "list the kinds that are served".to_owned())
    }

    /// Each call is the first one that sees it.
    fn unchanged_for(&self, target: &ObjectRef) -> Result<Duration, Error> {
        self.may(&["watch"], target, "")
            .and_then(|()| self.cluster.borrow().get(target))
            .map(|_| Duration::ZERO)
            .doing(|| format!("look since when {target} is unchanged"))
    }

    fn adopt_json(
        &self,
        target: &ObjectRef,
        uid: &str,
        adoption: &Adoption,
    ) -> Result<Value, Error> {
        self.try_adopt(target, uid, adoption)
            .doing(|| format!("adopt {target}"))
    }

    fn disown_with(
        &self,
        target: &ObjectRef,
        uid: &str,
        owners: &[String],
        finalizer: Option<&str>,
    ) -> Result<(), Error> {
        self.try_disown(target, uid, owners, finalizer)
            .doing(|| format!("disown {target}"))
    }

    fn hold(&self, target: &ObjectRef, uid: &str, finalizer: &str) -> Result<Value, Error> {
        self.try_hold(target, uid, finalizer)
            .doing(|| format!("hold {target}"))
    }

    fn release(&self, target: &ObjectRef, uid: &str, finalizer: &str) -> Result<(), Error> {
        self.try_release(target, uid, finalizer)
            .doing(|| format!("release {target}"))
    }

    fn release_many(
        &self,
        targets: &[(ObjectRef, String)],
        finalizer: &str,
    ) -> Vec<Result<(), Error>> {
        let release = |(target, uid): &(ObjectRef, String)| self.release(target, uid, finalizer);
        in_batches(targets, "release objects", release, |_| true)
    }

    fn protect(&self) -> Result<(), Error> {
        self.try_protect()
            .doing(|| "protect the primary".to_owned())
    }

    fn apply_json(&self, object: &Value) -> Result<Value, Error> {
        self.try_apply(object)
            .doing(|| format!("apply {}", title(object)))
    }

    fn apply_status_json(&self, object: &Value) -> Result<Value, Error> {
        let target = name_of(object);
        let undeclared = |target: &ObjectRef| {
            *target == self.primary && self.may(&["patch"], target, "/status").is_err()
        };
        let why = if target.as_ref().is_ok_and(undeclared) {
            " (WRITES_STATUS of the reconciler is not true)"
        } else {
            ""
        };
        self.try_apply_status(object)
            .doing(|| format!("apply the status of {}{why}", title(object)))
    }

    fn apply_set_json(&self, children: &[Value]) -> Result<Vec<Value>, SetError> {
        self.try_apply_set(children)
    }

    fn create_json(&self, object: &Value) -> Result<Value, Error> {
        self.try_create(object)
            .doing(|| format!("create {}", title(object)))
    }

    fn create_many_json(&self, objects: &[Value]) -> Vec<Result<Value, Error>> {
        let create = |object: &Value| self.create_json(object);
        in_batches(objects, "create objects", create, |_| true)
    }

    fn create_subresource_json(
        &self,
        parent: &ObjectRef,
        subresource: &str,
        _: &Value,
    ) -> Result<Value, Error> {
        self.may(&["create"], parent, &format!("/{subresource}"))
            .and_then(|()| Err(Code::Other("FakeCluster has no subresources".into())))
            .doing(|| format!("post to {subresource} of {parent}"))
    }

    fn update_subresource_json(
        &self,
        target: &ObjectRef,
        subresource: &str,
        _: &Value,
    ) -> Result<Value, Error> {
        self.may(&["update"], target, &format!("/{subresource}"))
            .and_then(|()| Err(Code::Other("FakeCluster has no subresources".into())))
            .doing(|| format!("update {subresource} of {target}"))
    }

    fn patch_json(
        &self,
        target: &ObjectRef,
        subresource: Option<&str>,
        patch: &Patch,
    ) -> Result<Value, Error> {
        self.try_patch(target, subresource, patch)
            .doing(|| format!("patch {target}"))
    }

    fn delete_with(&self, target: &ObjectRef, options: &DeleteOptions) -> Result<(), Error> {
        self.may(&["delete"], target, "")
            .and_then(|()| self.cluster.borrow_mut().delete(target, options))
            .doing(|| format!("delete {target}"))
    }

    fn delete_many_with(&self, targets: &[(ObjectRef, DeleteOptions)]) -> Vec<Result<(), Error>> {
        let delete =
            |(target, options): &(ObjectRef, DeleteOptions)| self.delete_with(target, options);
        let stops = |error: &Error| !error.is_not_found();
        in_batches(targets, "delete objects", delete, stops)
    }

    fn delete_all_with(&self, query: &ListQuery, options: &DeleteOptions) -> Result<(), Error> {
        let any = ObjectRef::cluster_scoped(&query.api_version, &query.kind, "");
        let delete_all = || {
            let matching = self.cluster.borrow().list(query)?;
            for object in &matching {
                let target = name_of(object)?;
                self.cluster.borrow_mut().delete(&target, options)?;
            }
            Ok(())
        };
        self.may(&["deletecollection"], &any, "")
            .and_then(|()| delete_all())
            .doing(|| format!("delete all {}", query.kind))
    }

    fn fetch_with(
        &self,
        request: &FetchRequest,
        _: &FetchOptions,
    ) -> Result<FetchResponse, FetchError> {
        self.requests.borrow_mut().push(request.clone());
        let server = self.cluster.borrow().server.clone();
        server.answer(request)
    }

    /// Each call is the first one, or the host has forgotten what an earlier one kept.
    fn recall(&self) -> Option<Vec<u8>> {
        let kept = self.kept.borrow().clone();
        kept.filter(|kept| !kept.is_empty())
    }

    fn keep(&self, what: &[u8]) {
        if what.len() <= LARGEST_HINT {
            *self.kept.borrow_mut() = Some(what.to_vec());
        }
    }

    /// There is a token.
    fn take_token(&self, _: &str, _: u32, _: u32) -> Option<Duration> {
        None
    }

    fn event(&self, event: Event) {
        self.events.borrow_mut().push(event);
    }

    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        let fields: String = fields
            .iter()
            .map(|(key, value)| format!(" {key}={value}"))
            .collect();
        self.logs
            .borrow_mut()
            .push(format!("{level:?}: {message}{fields}"));
    }

    fn metric(&self, metric: &Metric) {
        self.metrics.borrow_mut().push(metric.clone());
    }

    fn config_json(&self) -> Value {
        self.cluster.borrow().config.clone()
    }

    fn now(&self) -> String {
        self.cluster.borrow().clock.clone()
    }

    fn wake_at(&self, time: &str) {
        let mut held = self.wake_at.borrow_mut();
        // Times in UTC of the same form are in the order of their texts.
        if held.as_deref().is_none_or(|held| time < held) {
            *held = Some(time.to_owned());
        }
    }

    fn attempt(&self) -> u32 {
        self.cluster.borrow().attempt
    }
}
