//! The spans of a pass: one for the pass, a child for each import that reaches out, and below that one for each
//! request to the API server.
//!
//! - They are made for [`telemetry::Traces`](crate::telemetry::Traces) alone: where no collector is named their
//!   target is off, and they cost a load of an atomic each.
//! - Names and attributes are those of OpenTelemetry's semantic conventions where it has one.

use http::{Method, StatusCode};
use opentelemetry::trace::TraceContextExt;
use tracing::field::{Empty, display};
use tracing::{Span, trace_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::controller::Record;
use crate::plugin::cluster::Primary;
use crate::view::Key;

/// What spans are filtered by. Whole numbers in them are `i64`, the one kind that OpenTelemetry has.
pub const TARGET: &str = "span";

/// Begins the span of a pass of `plugin` over `primary`, which is to make `step`.
pub fn pass(plugin: &str, primary: &Primary, step: &'static str) -> Span {
    let span = trace_span!(target: TARGET, parent: None, "pass",
        otel.name = step,
        otel.status_code = Empty,
        otel.status_description = Empty,
        plugin,
        k8s.kind = Empty,
        k8s.namespace.name = Empty,
        k8s.object.name = Empty,
        k8s.object.uid = primary.uid,
        outcome = Empty,
        why = Empty,
        attempt = Empty,
        cpu_ms = Empty,
        memory = Empty,
        requests = Empty,
    );
    about(&span, &primary.resource.kind, Some(&primary.key));
    span
}

/// Says in the span of a pass what has become of it.
pub fn passed(span: &Span, record: &Record) {
    if span.is_disabled() {
        return;
    }
    span.record("outcome", record.outcome);
    if let Some(why) = record.whys.first.first() {
        span.record("why", display(why));
    }
    span.record("attempt", i64::from(record.attempt));
    span.record("cpu_ms", record.cpu.as_secs_f64() * 1000.0);
    span.record("memory", i64::try_from(record.memory).unwrap_or(i64::MAX));
    span.record("requests", i64::from(record.requests));
    if let Some(error) = &record.error {
        failed(span, error);
    }
}

/// The identity of the trace that `span` belongs to, if it is to be sent: 32 hexadecimal digits.
pub fn trace_id(span: &Span) -> Option<String> {
    if span.is_disabled() {
        return None;
    }
    let context = span.context();
    let context = context.span().span_context().clone();
    context.is_sampled().then(|| context.trace_id().to_string())
}

/// Begins the span of an import.
pub fn import(name: &'static str) -> Span {
    trace_span!(target: TARGET, "import",
        otel.name = name,
        otel.status_code = Empty,
        otel.status_description = Empty,
        k8s.kind = Empty,
        k8s.namespace.name = Empty,
        k8s.object.name = Empty,
        answer = Empty,
    )
}

/// Says in the span that is current which object an import is about; with no key, that it is about many.
pub fn names(kind: &str, key: Option<&Key>) {
    about(&Span::current(), kind, key);
}

/// Says in the span of an import how it was answered, in the contract's word.
pub fn answered(span: &Span, word: &'static str) {
    span.record("answer", word);
    // To look for what is not there is no error.
    if !matches!(word, "ok" | "not-found") {
        failed(span, word);
    }
}

/// Begins the span of a request to the API server, if it is made for a pass.
pub fn request(method: &Method, uri: &str) -> Span {
    if Span::current().is_disabled() {
        return Span::none();
    }
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    trace_span!(target: TARGET, "request",
        otel.name = method.as_str(),
        otel.kind = "client",
        otel.status_code = Empty,
        otel.status_description = Empty,
        http.request.method = method.as_str(),
        url.path = path,
        url.query = query,
        http.response.status_code = Empty,
    )
}

/// Says in the span that is current what the API server answered.
pub fn status(status: StatusCode) {
    let span = Span::current();
    span.record("http.response.status_code", i64::from(status.as_u16()));
    if !status.is_success() {
        failed(&span, status.as_str());
    }
}

fn about(span: &Span, kind: &str, key: Option<&Key>) {
    span.record("k8s.kind", kind);
    let Some(key) = key else {
        return;
    };
    span.record("k8s.object.name", &*key.name);
    if let Some(namespace) = &key.namespace {
        span.record("k8s.namespace.name", &**namespace);
    }
}

fn failed(span: &Span, why: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("otel.status_description", why);
}
