//! The spans of a pass: one for the pass, a child for each import that reaches out, and below that one for each
//! request to the API server.
//!
//! - They are made for `windlass_kube::telemetry::Traces` alone: where no collector is named their
//!   target is off, and they cost next to nothing.
//! - Attributes have the names of the log's fields; those of requests are
//!   [OpenTelemetry's](https://opentelemetry.io/docs/specs/semconv/http/http-spans/).

use std::fmt::Display;

use http::{Method, StatusCode};
use opentelemetry::trace::TraceContextExt;
use tracing::field::{Empty, display};
use tracing::{Span, record_all, trace_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::text::clean;

/// The longest error.
const TEXT: usize = 2 << 10;

/// What spans are filtered by. Whole numbers in them are `i64`, the one kind that OpenTelemetry has.
pub const TARGET: &str = "span";

/// What the span of an import is called here.
const IMPORT: &str = "import";

/// Begins the span of a pass of `plugin` over `primary`, which is to make `step` and has failed `attempt` times before.
pub fn pass(
    plugin: &str,
    primary: &dyn Display,
    uid: &str,
    step: &'static str,
    attempt: u32,
) -> Span {
    trace_span!(target: TARGET, parent: None, "pass",
        otel.name = step,
        otel.status_code = Empty,
        otel.status_description = Empty,
        plugin,
        object = %primary,
        uid,
        attempt = i64::from(attempt),
        outcome = Empty,
        why = Empty,
        cpu_ms = Empty,
        memory = Empty,
        requests = Empty,
    )
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
    // A component that describes itself makes no pass.
    if Span::current().is_disabled() {
        return Span::none();
    }
    trace_span!(target: TARGET, IMPORT,
        otel.name = name,
        otel.status_code = Empty,
        otel.status_description = Empty,
        object = Empty,
        answer = Empty,
    )
}

/// Says in the span that is current which object an import is about; with no key, that it is about many.
pub fn names(kind: &str, key: Option<&dyn Display>) {
    let span = Span::current();
    // Of a call that has no more spans it is the pass's.
    let is_import = span.metadata().is_some_and(|it| it.name() == IMPORT);
    match key {
        _ if !is_import => {}
        Some(key) => drop(span.record("object", display(format_args!("{kind}/{key}")))),
        None => drop(span.record("object", kind)),
    }
}

/// Says in the span of an import how it was answered, in the contract's word; `stopped` if it was not.
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
    let (path, _) = uri.split_once('?').unwrap_or((uri, ""));
    trace_span!(target: TARGET, "request",
        otel.name = method.as_str(),
        otel.kind = "client",
        otel.status_code = Empty,
        otel.status_description = Empty,
        http.request.method = method.as_str(),
        url.path = path,
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

/// Says in the span that is current why there is no answer.
pub fn broken(error: &impl Display) {
    let span = Span::current();
    if !span.is_disabled() {
        failed(&span, &clean(&error.to_string(), TEXT));
    }
}

/// Says in a span that it failed, and why.
pub fn failed(span: &Span, why: &str) {
    record_all!(
        span,
        otel.status_code = "ERROR",
        otel.status_description = why
    );
}
