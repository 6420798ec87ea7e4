//! The real cluster: the host's imports, in the crate's own types.

mod words;

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::bindings::windlass::plugin::{
    clock, cluster as wit, config, events, http, log, memory, metrics, rates, types,
};
use crate::cluster::Cluster;
use crate::failed::{Code, Context, Error, Refused, SetError, SetFailure};
use crate::fetch::{FetchCode, FetchError, FetchOptions, FetchRequest, FetchResponse};
use crate::query::{
    Adoption, ChildrenQuery, Consistency, DeleteOptions, ListQuery, ObjectRef, Patch, Served,
};
use crate::report::{Event, Level, Measure, Metric, Severity};

/// The cluster behind the host's imports.
pub(crate) struct Host {
    /// What the request says.
    pub(crate) attempt: u32,
}

impl Cluster for Host {
    fn get_json(
        &self,
        target: &ObjectRef,
        subresource: Option<&str>,
        consistency: Consistency,
    ) -> Result<Value, Error> {
        answered(wit::get(&target.into(), subresource, consistency.into()))
            .doing(|| format!("get {target}"))
    }

    fn list_text(&self, query: &ListQuery) -> Result<Vec<String>, Error> {
        wit::list(&query.into())
            .map_err(Refused::from)
            .doing(|| format!("list {}", query.kind))
    }

    fn select(&self, query: &ListQuery, paths: &[&str]) -> Result<Vec<Vec<Value>>, Error> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        wit::select(&query.into(), &paths)
            .map_err(Refused::from)
            .and_then(|rows| Ok(parse(&rows)?))
            .doing(|| format!("select fields of {}", query.kind))
    }

    fn list_children_text(&self, query: &ChildrenQuery) -> Result<Vec<String>, Error> {
        wit::list_children(&query.into())
            .map_err(Refused::from)
            .doing(|| format!("list children of kind {}", query.kind))
    }

    fn kinds(&self) -> Result<Vec<Served>, Error> {
        let served = wit::kinds().map_err(Refused::from);
        served
            .map(|served| served.into_iter().map(Served::from).collect())
            .doing(|| "list the kinds that are served".to_owned())
    }

    fn unchanged_for(&self, target: &ObjectRef) -> Result<Duration, Error> {
        wit::unchanged_for(&target.into())
            .map(|millis| Duration::from_millis(millis.into()))
            .map_err(Refused::from)
            .doing(|| format!("look since when {target} is unchanged"))
    }

    fn adopt_json(
        &self,
        target: &ObjectRef,
        uid: &str,
        adoption: &Adoption,
    ) -> Result<Value, Error> {
        let owner = adoption.owner.as_ref().map(types::ObjectRef::from);
        let finalizer = adoption.finalizer.as_deref();
        answered(wit::adopt(&target.into(), uid, owner.as_ref(), finalizer))
            .doing(|| format!("adopt {target}"))
    }

    fn disown_with(
        &self,
        target: &ObjectRef,
        uid: &str,
        owners: &[String],
        finalizer: Option<&str>,
    ) -> Result<(), Error> {
        wit::disown(&target.into(), uid, owners, finalizer)
            .map_err(Refused::from)
            .doing(|| format!("disown {target}"))
    }

    fn hold(&self, target: &ObjectRef, uid: &str, finalizer: &str) -> Result<Value, Error> {
        answered(wit::hold(&target.into(), uid, finalizer)).doing(|| format!("hold {target}"))
    }

    fn release(&self, target: &ObjectRef, uid: &str, finalizer: &str) -> Result<(), Error> {
        wit::release(&target.into(), uid, finalizer)
            .map_err(Refused::from)
            .doing(|| format!("release {target}"))
    }

    fn release_many(
        &self,
        targets: &[(ObjectRef, String)],
        finalizer: &str,
    ) -> Vec<Result<(), Error>> {
        let given: Vec<_> = targets
            .iter()
            .map(|(target, uid)| (target.into(), uid.clone()))
            .collect();
        let released = wit::release_many(&given, finalizer).into_iter();
        let released = released.map(|answer| answer.map_err(Refused::from));
        named(released, targets, |(target, _)| format!("release {target}"))
    }

    fn protect(&self) -> Result<(), Error> {
        wit::protect()
            .map_err(Refused::from)
            .doing(|| "protect the primary".to_owned())
    }

    fn apply_json(&self, object: &Value) -> Result<Value, Error> {
        answered(wit::apply(&text(object))).doing(|| format!("apply {}", title(object)))
    }

    fn apply_status_json(&self, object: &Value) -> Result<Value, Error> {
        answered(wit::apply_status(&text(object)))
            .doing(|| format!("apply the status of {}", title(object)))
    }

    fn apply_set_json(&self, children: &[Value]) -> Result<Vec<Value>, SetError> {
        let texts: Vec<String> = children.iter().map(text).collect();
        let kept = wit::apply_set(&texts).map_err(|errors| SetError {
            failures: errors
                .into_iter()
                .map(|error| set_failure(error, children))
                .collect(),
        })?;
        let kept: Result<_, _> = kept.iter().map(|object| parse(object)).collect();
        kept.doing(|| "apply a set".to_owned())
            .map_err(SetError::whole)
    }

    fn create_json(&self, object: &Value) -> Result<Value, Error> {
        answered(wit::create(&text(object))).doing(|| format!("create {}", title(object)))
    }

    fn create_many_json(&self, objects: &[Value]) -> Vec<Result<Value, Error>> {
        let texts: Vec<String> = objects.iter().map(text).collect();
        let created = wit::create_many(&texts).into_iter().map(answered);
        named(created, objects, |object| {
            format!("create {}", title(object))
        })
    }

    fn create_subresource_json(
        &self,
        parent: &ObjectRef,
        subresource: &str,
        object: &Value,
    ) -> Result<Value, Error> {
        answered(wit::create_subresource(
            &parent.into(),
            subresource,
            &text(object),
        ))
        .doing(|| format!("post to {subresource} of {parent}"))
    }

    fn update_subresource_json(
        &self,
        target: &ObjectRef,
        subresource: &str,
        object: &Value,
    ) -> Result<Value, Error> {
        let object = text(object);
        answered(wit::update_subresource(
            &target.into(),
            subresource,
            &object,
        ))
        .doing(|| format!("update {subresource} of {target}"))
    }

    fn patch_json(
        &self,
        target: &ObjectRef,
        subresource: Option<&str>,
        patch: &Patch,
    ) -> Result<Value, Error> {
        let (kind, patch) = match patch {
            Patch::Json(operations) => (wit::PatchType::Json, operations),
            Patch::Merge(fields) => (wit::PatchType::Merge, fields),
        };
        answered(wit::patch(&target.into(), subresource, kind, &text(patch)))
            .doing(|| format!("patch {target}"))
    }

    fn delete_with(&self, target: &ObjectRef, options: &DeleteOptions) -> Result<(), Error> {
        wit::delete(&target.into(), &options.into())
            .map_err(Refused::from)
            .doing(|| format!("delete {target}"))
    }

    fn delete_many_with(&self, targets: &[(ObjectRef, DeleteOptions)]) -> Vec<Result<(), Error>> {
        let given: Vec<_> = targets
            .iter()
            .map(|(target, options)| (target.into(), options.into()))
            .collect();
        let deleted = wit::delete_many(&given).into_iter();
        let deleted = deleted.map(|answer| answer.map_err(Refused::from));
        named(deleted, targets, |(target, _)| format!("delete {target}"))
    }

    fn delete_all_with(&self, query: &ListQuery, options: &DeleteOptions) -> Result<(), Error> {
        wit::delete_all(&query.into(), &options.into())
            .map_err(Refused::from)
            .doing(|| format!("delete all {}", query.kind))
    }

    fn fetch_with(
        &self,
        request: &FetchRequest,
        options: &FetchOptions,
    ) -> Result<FetchResponse, FetchError> {
        let failed = |code| FetchError {
            code,
            call: format!("{} {}", request.method(), request.uri()),
        };
        let text =
            |value: &::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = request.headers().iter().map(|(name, value)| http::Header {
            name: name.as_str().to_owned(),
            value: text(value),
        });
        let timeout = options.timeout.map(|timeout| timeout.as_millis());
        let sent = http::fetch(&http::Request {
            method: request.method().as_str().to_owned(),
            url: request.uri().to_string(),
            headers: headers.collect(),
            body: request.body().clone(),
            timeout_ms: timeout.map(|millis| u32::try_from(millis).unwrap_or(u32::MAX)),
            credential: options.credential.clone(),
        });
        let answer = sent.map_err(|error| failed(error.into()))?;
        let mut response = ::http::Response::builder().status(answer.status);
        for header in answer.headers {
            response = response.header(header.name, header.value);
        }
        response
            .body(answer.body)
            .map_err(|error| failed(FetchCode::Other(error.to_string())))
    }

    fn recall(&self) -> Option<Vec<u8>> {
        memory::recall()
    }

    fn keep(&self, what: &[u8]) {
        memory::keep(what);
    }

    fn take_token(&self, bucket: &str, per_hour: u32, burst: u32) -> Option<Duration> {
        let millis = rates::take(bucket, per_hour, burst)?;
        Some(Duration::from_millis(millis.into()))
    }

    fn event(&self, event: Event) {
        events::publish(&events::Event {
            regarding: event.regarding.as_ref().map(Into::into),
            related: event.related.as_ref().map(Into::into),
            severity: match event.severity {
                Severity::Normal => events::Severity::Normal,
                Severity::Warning => events::Severity::Warning,
            },
            reason: event.reason,
            action: event.action,
            note: event.note,
        });
    }

    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        let level = match level {
            Level::Trace => log::Level::Trace,
            Level::Debug => log::Level::Debug,
            Level::Info => log::Level::Info,
            Level::Warn => log::Level::Warn,
            Level::Error => log::Level::Error,
        };
        let field = |(key, value): &(&str, &str)| log::Field {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        log::log(
            level,
            message,
            &fields.iter().map(field).collect::<Vec<_>>(),
        );
    }

    fn metric(&self, metric: &Metric) {
        let label = |(name, value): &(String, String)| metrics::Label {
            name: name.clone(),
            value: value.clone(),
        };
        let labels: Vec<_> = metric.labels.iter().map(label).collect();
        match metric.measure {
            Measure::Add(by) => metrics::add(&metric.name, &labels, by),
            Measure::Set(to) => metrics::set(&metric.name, &labels, to),
            Measure::Observe(value) => metrics::observe(&metric.name, &labels, value),
        }
    }

    fn config_json(&self) -> Value {
        // The host hands over what it has checked to be an object.
        serde_json::from_str(&config::get()).unwrap_or_default()
    }

    fn now(&self) -> String {
        clock::now()
    }

    fn wake_at(&self, time: &str) {
        clock::wake_at(time);
    }

    fn attempt(&self) -> u32 {
        self.attempt
    }
}

/// What the host says of a part of a set, with the name of the child.
fn set_failure(failed: wit::SetError, children: &[Value]) -> SetFailure {
    let index = failed.index.and_then(|index| usize::try_from(index).ok());
    let call = match index.and_then(|index| children.get(index)) {
        Some(child) => format!("apply {}", title(child)),
        None => "apply the set".to_owned(),
    };
    let Refused { code, status } = failed.error.into();
    let error = Error {
        status,
        ..Error::new(call, code)
    };
    SetFailure { index, error }
}

/// The answers of a call for many objects, each with what was tried.
fn named<T, A>(
    answers: impl Iterator<Item = Result<A, Refused>>,
    given: &[T],
    call: impl Fn(&T) -> String,
) -> Vec<Result<A, Error>> {
    let answers = answers.zip(given);
    answers
        .map(|(answer, given)| answer.doing(|| call(given)))
        .collect()
}

/// Reads what the host answers to a call that gives an object.
fn answered(answer: Result<String, wit::Error>) -> Result<Value, Refused> {
    Ok(parse(&answer.map_err(Refused::from)?)?)
}

/// `object` as JSON.
fn text(object: &Value) -> String {
    // It cannot fail: all keys of a value are texts. Its `to_string` writes the same through a formatter.
    serde_json::to_string(object).unwrap_or_default()
}

/// Reads an answer of the host.
fn parse<T: DeserializeOwned>(answer: &str) -> Result<T, Code> {
    serde_json::from_str(answer).map_err(|error| Code::Other(error.to_string()))
}

/// `ConfigMap/default/ada`, as far as `object` says. An object without a name goes by what its name begins with.
pub(crate) fn title(object: &Value) -> String {
    let metadata = object.get("metadata");
    let name = |field| metadata.and_then(|metadata| metadata.get(field));
    let parts = [
        object.get("kind"),
        metadata.and_then(|metadata| metadata.get("namespace")),
        name("name").or_else(|| name("generateName")),
    ];
    let mut title = String::new();
    for part in parts.into_iter().flatten().filter_map(Value::as_str) {
        if !title.is_empty() {
            title.push('/');
        }
        title.push_str(part);
    }
    title
}
