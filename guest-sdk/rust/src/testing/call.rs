//! A call of a reconciler, whose imports go to the process that plays the cluster.

use std::cell::RefCell;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::pass::{Answer, Pass, Write};
use super::process::{Called, FakeError, Process, RecordedError, Reply};
use crate::adapter::{And, Reconcilers, TypeMeta, nobody};
use crate::answer::{Action, Failure, Progress};
use crate::cluster::Cluster;
use crate::failed::{Code, Context, Error, Refused, SetError, SetFailure, Status};
use crate::fetch::{FetchError, FetchOptions, FetchRequest, FetchResponse};
use crate::host::title;
use crate::query::{
    Adoption, ChildrenQuery, Consistency, DeleteOptions, ListQuery, ObjectRef, Patch, Served,
};
use crate::reconciler::Reconciler;
use crate::report::{Event, Level, Metric, Severity};

/// What a plugin told people in its calls.
#[derive(Default)]
pub(super) struct Told {
    events: Vec<Event>,
    logs: Vec<String>,
    metrics: Vec<Metric>,
    requests: Vec<FetchRequest>,
}

impl Told {
    /// The pass of which `outcome` came.
    pub(super) fn pass(self, outcome: Value) -> Result<Pass, FakeError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Outcome {
            answer: Answer,
            wake_at: Option<String>,
            writes: Vec<Write>,
            log: String,
        }
        let outcome: Outcome =
            serde_json::from_value(outcome).map_err(|error| FakeError(error.to_string()))?;
        Ok(Pass {
            answer: outcome.answer,
            wake_at: outcome.wake_at,
            writes: outcome.writes,
            events: self.events,
            logs: self.logs,
            metrics: self.metrics,
            requests: self.requests,
            host_log: outcome.log,
        })
    }
}

/// Says `message`, and has `make` answer the calls that follow, until it is done.
pub(super) fn answered(
    process: &mut Process,
    make: &dyn Fn(&Call<'_>) -> Value,
    message: &Value,
) -> Result<(Value, Told), FakeError> {
    let mut told = Told::default();
    let mut reply = process.exchange(message)?;
    loop {
        match reply {
            Reply::Ok(value) => return Ok((value, told)),
            Reply::Error(why) => return Err(FakeError(why)),
            Reply::Errors(_) => return Err(FakeError("no import was called".to_owned())),
            Reply::Call(called) => {
                let call = Call {
                    process: RefCell::new(process),
                    told: RefCell::new(&mut told),
                    called,
                };
                let returned = make(&call);
                reply = process.exchange(&json!({ "returned": returned }))?;
            }
        }
    }
}

/// The reconcilers of a plugin, which [`run_dir!`](crate::run_dir) runs: a list of [`And`].
pub trait Tested: Reconcilers {
    /// Whether one of them is called for objects that are being deleted.
    const GOES: bool;

    /// Calls the one for the kind of the object; what it answers.
    fn make(kind: &TypeMeta, call: &Call<'_>) -> Value;
}

impl Tested for () {
    const GOES: bool = false;

    fn make(kind: &TypeMeta, _: &Call<'_>) -> Value {
        failed(nobody(Some(kind)))
    }
}

impl<R: Reconciler, Others: Tested> Tested for And<R, Others> {
    const GOES: bool = R::RECONCILE_GOING.is_some() || Others::GOES;

    fn make(kind: &TypeMeta, call: &Call<'_>) -> Value {
        if kind.is_for::<R, Others>() {
            call.make(&R::default())
        } else {
            Others::make(kind, call)
        }
    }
}

fn failed(failure: Failure) -> Value {
    match failure {
        Failure::Transient(text) => json!({ "transient": text }),
        Failure::Terminal(text) => json!({ "terminal": text }),
    }
}

/// One call.
pub struct Call<'a> {
    process: RefCell<&'a mut Process>,
    told: RefCell<&'a mut Told>,
    called: Called,
}

impl Call<'_> {
    /// Calls the one of `K` for the kind of the object; what it answers.
    pub(super) fn make_of<K: Tested>(&self) -> Value {
        match serde_json::from_value(self.called.object.clone()) {
            Ok(kind) => K::make(&kind, self),
            Err(error) => failed(error.into()),
        }
    }

    /// Calls `reconciler`; what it answers.
    pub(super) fn make<R: Reconciler>(&self, reconciler: &R) -> Value {
        let object = self.called.object.clone();
        let made = || -> Result<Value, Failure> {
            let object = serde_json::from_value(object)?;
            let action = match (&*self.called.function, R::RECONCILE_GOING) {
                ("reconcile", _) => Some(reconciler.reconcile(&object, self)?),
                ("reconcileGoing", Some(going)) => Some(going(reconciler, &object, self)?),
                ("reconcileGoing", None) => Some(Action::AwaitChange),
                _ => None,
            };
            if let Some(action) = action {
                return Ok(match action {
                    Action::AwaitChange => json!("awaitChange"),
                    Action::RequeueAfter(wait) => json!({ "requeueAfter": wait.as_millis() }),
                });
            }
            let Some(finalize) = R::FINALIZE else {
                return Ok(json!("done"));
            };
            Ok(match finalize(reconciler, &object, self)? {
                Progress::Done => json!("done"),
                Progress::Pending(wait) => json!({ "pending": wait.as_millis() }),
            })
        };
        made().unwrap_or_else(failed)
    }

    fn exchange(&self, message: &Value) -> Result<Value, Vec<RecordedError>> {
        let other = |text: String| {
            vec![RecordedError {
                code: "other".to_owned(),
                text,
                ..RecordedError::default()
            }]
        };
        match self.process.borrow_mut().exchange(message) {
            Ok(Reply::Ok(value)) => Ok(value),
            Ok(Reply::Errors(errors)) => Err(errors),
            Ok(Reply::Error(why)) => Err(other(why)),
            Ok(Reply::Call(_)) => Err(other("another call began".to_owned())),
            Err(error) => Err(other(error.to_string())),
        }
    }

    /// Calls the import `name`.
    fn import(&self, name: &str, arguments: &Value) -> Result<Value, Vec<RecordedError>> {
        self.exchange(&json!({ "import": { "name": name, "arguments": arguments } }))
    }

    /// Calls the import `name`, which has one answer.
    fn one<T: DeserializeOwned>(&self, name: &str, arguments: &Value) -> Result<T, Refused> {
        let answer = self.import(name, arguments);
        typed(answer.map_err(|errors| refused(errors.into_iter().next()))?)
    }

    /// Calls the import `name`, which has an answer for each object that was tried.
    fn many<T: DeserializeOwned, G>(
        &self,
        name: &str,
        arguments: &Value,
        given: &[G],
        call: impl Fn(&G) -> String,
    ) -> Vec<Result<T, Error>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        enum Item {
            Ok(Value),
            Error(RecordedError),
        }
        let answer = self.import(name, arguments);
        let answer = answer.map_err(|errors| refused(errors.into_iter().next()));
        let items: Vec<Item> = match answer.and_then(typed) {
            Ok(items) => items,
            Err(refused) => return vec![Err(refused).doing(|| name.to_owned())],
        };
        let items = items.into_iter().zip(given);
        items
            .map(|(item, given)| {
                let answer = match item {
                    Item::Ok(value) => typed(value),
                    Item::Error(error) => Err(refused(Some(error))),
                };
                answer.doing(|| call(given))
            })
            .collect()
    }
}

/// An answer as `T`.
fn typed<T: DeserializeOwned>(answer: Value) -> Result<T, Refused> {
    serde_json::from_value(answer).map_err(|error| Code::Other(error.to_string()).into())
}

/// What a recorded error says.
fn refused(error: Option<RecordedError>) -> Refused {
    let RecordedError {
        code, text, status, ..
    } = error.unwrap_or_default();
    let code = match &*code {
        "not-found" => return Code::NotFound.into(),
        "gone" => return Code::Gone.into(),
        "unavailable" => return Code::Unavailable.into(),
        "denied" => Code::Denied,
        "conflict" => Code::Conflict,
        "invalid" => Code::Invalid(text.clone()),
        _ => Code::Other(text.clone()),
    };
    let status = Status {
        code: status.code,
        reason: status.reason,
        message: text,
        causes: status.causes,
    };
    Refused {
        code,
        status: Some(Box::new(status)),
    }
}

/// `fields` with the field `name` beside them.
fn with(name: &str, value: &impl Serialize, fields: &impl Serialize) -> Value {
    let mut fields = json!(fields);
    if let Value::Object(fields) = &mut fields {
        fields.insert(name.to_owned(), json!(value));
    }
    fields
}

impl Cluster for Call<'_> {
    fn get_json(
        &self,
        target: &ObjectRef,
        subresource: Option<&str>,
        consistency: Consistency,
    ) -> Result<Value, Error> {
        let given =
            json!({ "target": target, "subresource": subresource, "consistency": consistency });
        self.one("get", &given).doing(|| format!("get {target}"))
    }

    fn list_text(&self, query: &ListQuery) -> Result<Vec<String>, Error> {
        self.one("list", &json!(query))
            .map(|items: Vec<Value>| texts(&items))
            .doing(|| format!("list {}", query.kind))
    }

    fn select(&self, query: &ListQuery, paths: &[&str]) -> Result<Vec<Vec<Value>>, Error> {
        self.one("select", &json!({ "query": query, "paths": paths }))
            .doing(|| format!("select fields of {}", query.kind))
    }

    fn list_children_text(&self, query: &ChildrenQuery) -> Result<Vec<String>, Error> {
        self.one("list-children", &json!(query))
            .map(|items: Vec<Value>| texts(&items))
            .doing(|| format!("list children of kind {}", query.kind))
    }

    fn kinds(&self) -> Result<Vec<Served>, Error> {
        self.one("kinds", &json!({}))
            .doing(|| "list the kinds that are served".to_owned())
    }

    fn unchanged_for(&self, target: &ObjectRef) -> Result<Duration, Error> {
        self.one("unchanged-for", &json!({ "target": target }))
            .map(Duration::from_millis)
            .doing(|| format!("look since when {target} is unchanged"))
    }

    fn adopt_json(
        &self,
        target: &ObjectRef,
        uid: &str,
        adoption: &Adoption,
    ) -> Result<Value, Error> {
        let given = with("target", target, &with("uid", &uid, adoption));
        self.one("adopt", &given)
            .doing(|| format!("adopt {target}"))
    }

    fn disown_with(
        &self,
        target: &ObjectRef,
        uid: &str,
        owners: &[String],
        finalizer: Option<&str>,
    ) -> Result<(), Error> {
        let given =
            json!({ "target": target, "uid": uid, "owners": owners, "finalizer": finalizer });
        self.one("disown", &given)
            .doing(|| format!("disown {target}"))
    }

    fn hold(&self, target: &ObjectRef, uid: &str, finalizer: &str) -> Result<Value, Error> {
        let given = json!({ "target": target, "uid": uid, "finalizer": finalizer });
        self.one("hold", &given).doing(|| format!("hold {target}"))
    }

    fn release(&self, target: &ObjectRef, uid: &str, finalizer: &str) -> Result<(), Error> {
        let given = json!({ "target": target, "uid": uid, "finalizer": finalizer });
        self.one("release", &given)
            .doing(|| format!("release {target}"))
    }

    fn release_many(
        &self,
        targets: &[(ObjectRef, String)],
        finalizer: &str,
    ) -> Vec<Result<(), Error>> {
        let all = targets
            .iter()
            .map(|(target, uid)| json!({ "target": target, "uid": uid }));
        let given = json!({ "targets": all.collect::<Vec<_>>(), "finalizer": finalizer });
        let call = |(target, _): &(ObjectRef, String)| format!("release {target}");
        self.many("release-many", &given, targets, call)
    }

    fn protect(&self) -> Result<(), Error> {
        self.one("protect", &json!({}))
            .doing(|| "protect the primary".to_owned())
    }

    fn apply_json(&self, object: &Value) -> Result<Value, Error> {
        self.one("apply", &json!({ "object": object }))
            .doing(|| format!("apply {}", title(object)))
    }

    fn apply_status_json(&self, object: &Value) -> Result<Value, Error> {
        self.one("apply-status", &json!({ "object": object }))
            .doing(|| format!("apply the status of {}", title(object)))
    }

    fn apply_set_json(&self, children: &[Value]) -> Result<Vec<Value>, SetError> {
        let failure = |failed: RecordedError| {
            let index = failed.index;
            let call = match index.and_then(|index| children.get(index)) {
                Some(child) => format!("apply {}", title(child)),
                None => "apply the set".to_owned(),
            };
            let Refused { code, status } = refused(Some(failed));
            let error = Error {
                status,
                ..Error::new(call, code)
            };
            SetFailure { index, error }
        };
        let kept = self.import("apply-set", &json!({ "children": children }));
        let kept = kept.map_err(|errors| SetError {
            failures: errors.into_iter().map(failure).collect(),
        })?;
        let kept = typed(kept).doing(|| "apply a set".to_owned());
        kept.map_err(SetError::whole)
    }

    fn create_json(&self, object: &Value) -> Result<Value, Error> {
        self.one("create", &json!({ "object": object }))
            .doing(|| format!("create {}", title(object)))
    }

    fn create_many_json(&self, objects: &[Value]) -> Vec<Result<Value, Error>> {
        let call = |object: &Value| format!("create {}", title(object));
        self.many("create-many", &json!({ "objects": objects }), objects, call)
    }

    fn create_subresource_json(
        &self,
        parent: &ObjectRef,
        subresource: &str,
        object: &Value,
    ) -> Result<Value, Error> {
        let given = json!({ "parent": parent, "subresource": subresource, "object": object });
        self.one("create-subresource", &given)
            .doing(|| format!("post to {subresource} of {parent}"))
    }

    fn update_subresource_json(
        &self,
        target: &ObjectRef,
        subresource: &str,
        object: &Value,
    ) -> Result<Value, Error> {
        let given = json!({ "target": target, "subresource": subresource, "object": object });
        self.one("update-subresource", &given)
            .doing(|| format!("update {subresource} of {target}"))
    }

    fn patch_json(
        &self,
        target: &ObjectRef,
        subresource: Option<&str>,
        patch: &Patch,
    ) -> Result<Value, Error> {
        let (form, patch) = match patch {
            Patch::Json(operations) => ("json", operations),
            Patch::Merge(fields) => ("merge", fields),
        };
        let given = json!({
            "target": target, "subresource": subresource, "patchType": form, "patch": patch,
        });
        self.one("patch", &given)
            .doing(|| format!("patch {target}"))
    }

    fn delete_with(&self, target: &ObjectRef, options: &DeleteOptions) -> Result<(), Error> {
        self.one("delete", &with("target", target, options))
            .doing(|| format!("delete {target}"))
    }

    fn delete_many_with(&self, targets: &[(ObjectRef, DeleteOptions)]) -> Vec<Result<(), Error>> {
        let all = targets
            .iter()
            .map(|(target, options)| with("target", target, options));
        let given = json!({ "targets": all.collect::<Vec<_>>() });
        let call = |(target, _): &(ObjectRef, DeleteOptions)| format!("delete {target}");
        self.many("delete-many", &given, targets, call)
    }

    fn delete_all_with(&self, query: &ListQuery, options: &DeleteOptions) -> Result<(), Error> {
        self.one("delete-all", &with("query", query, options))
            .doing(|| format!("delete all {}", query.kind))
    }

    fn recall(&self) -> Option<Vec<u8>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        enum Hint {
            Text(String),
            Base64(String),
        }
        let recalled = self.import("recall", &json!({})).ok()?;
        let hint: Option<Hint> = serde_json::from_value(recalled).ok()?;
        match hint? {
            Hint::Text(text) => Some(text.into_bytes()),
            Hint::Base64(text) => STANDARD.decode(text).ok(),
        }
    }

    fn keep(&self, what: &[u8]) {
        // What is too long the host logs, and the plugin goes on.
        let _ = self.exchange(&json!({ "keep": STANDARD.encode(what) }));
    }

    fn take_token(&self, bucket: &str, per_hour: u32, burst: u32) -> Option<Duration> {
        let given = json!({ "bucket": bucket, "perHour": per_hour, "burst": burst });
        let wait: Option<u64> = self.one("take", &given).ok()?;
        wait.map(Duration::from_millis)
    }

    fn fetch_with(
        &self,
        request: &FetchRequest,
        options: &FetchOptions,
    ) -> Result<FetchResponse, FetchError> {
        self.told.borrow_mut().requests.push(request.clone());
        super::fetch::sent(request, options, |given| self.import("fetch", given))
    }

    fn event(&self, event: Event) {
        let severity = match event.severity {
            Severity::Normal => "normal",
            Severity::Warning => "warning",
        };
        let given = json!({
            "regarding": event.regarding, "related": event.related, "severity": severity,
            "reason": event.reason, "action": event.action, "note": event.note,
        });
        // What is wrong with an Event the host logs, and the plugin goes on.
        let _ = self.import("publish", &given);
        self.told.borrow_mut().events.push(event);
    }

    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        let fields: String = fields
            .iter()
            .map(|(key, value)| format!(" {key}={value}"))
            .collect();
        let line = format!("{level:?}: {message}{fields}");
        self.told.borrow_mut().logs.push(line);
    }

    fn metric(&self, metric: &Metric) {
        self.told.borrow_mut().metrics.push(metric.clone());
    }

    fn config_json(&self) -> Value {
        self.called.config.clone()
    }

    fn now(&self) -> String {
        self.called.now.clone()
    }

    fn wake_at(&self, time: &str) {
        // What is not a time the host logs, and the plugin goes on.
        let _ = self.exchange(&json!({ "wakeAt": time }));
    }

    fn attempt(&self) -> u32 {
        self.called.attempt
    }
}

/// Objects, as the host hands them to a plugin.
fn texts(items: &[Value]) -> Vec<String> {
    items.iter().map(Value::to_string).collect()
}
