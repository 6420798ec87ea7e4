//! Traces: the spans of each pass, sent to a collector over OTLP (HTTP, protobuf).
//!
//! - `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`,
//!   `OTEL_TRACES_SAMPLER` and `OTEL_BSP_*` mean what
//!   [OpenTelemetry](https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/) says.
//! - Spans wait in a bounded queue on a thread of OpenTelemetry's: a collector that is slow or away costs spans,
//!   and never a pass.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{Key, KeyValue};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{
    EnvResourceDetector, ResourceDetector, SdkProvidedResourceDetector, TelemetryResourceDetector,
};
use opentelemetry_sdk::trace::{SdkTracerProvider, Tracer};

use super::Endpoint;
use windlass_base::error::Chain;
use windlass_base::seams::Seams;

/// How long the last spans may take to be sent.
const LAST: Duration = Duration::from_secs(5);

/// How long one request to the collector may take.
const REQUEST: Duration = Duration::from_secs(10);

/// The largest answer of a collector that is read.
const ANSWER: usize = 64 << 10;

/// Where spans go. When it is dropped, those that wait are sent first.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Sends spans to the collector at `endpoint` from now on.
    ///
    /// # Errors
    /// A variable of OpenTelemetry's says what cannot be, or the machine has no certificates to know the collector by.
    pub fn start(endpoint: &Endpoint, seams: &Seams) -> anyhow::Result<Self> {
        let endpoint = endpoint.traces();
        let sender = Sender {
            send: sender(&endpoint)?,
            seams: seams.clone(),
            endpoint: endpoint.clone().into(),
            is_broken: Arc::default(),
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(sender)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint)
            .build()
            .context("cannot send traces")?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource())
            .build();
        Ok(Self(provider))
    }

    /// What makes spans.
    pub fn tracer(&self) -> Tracer {
        self.0.tracer("windlass")
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        // What cannot be sent has been said by the sender.
        drop(self.0.shutdown_with_timeout(LAST));
    }
}

/// Who sends spans: `windlass` and its version, unless the environment says otherwise.
fn resource() -> Resource {
    let name = SdkProvidedResourceDetector
        .detect()
        .get(&Key::new("service.name"));
    let name = name.map_or_else(String::new, |name| name.to_string());
    // What OpenTelemetry calls who was given no name.
    let is_unknown = name.is_empty() || name.starts_with("unknown_service");
    let resource = Resource::builder_empty()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_detectors(&[
            Box::new(TelemetryResourceDetector),
            Box::new(EnvResourceDetector::new()),
        ]);
    resource
        .with_service_name(if is_unknown { "windlass".into() } else { name })
        .build()
}

type SendTraces = Arc<
    dyn Fn(Request<Full<Bytes>>) -> BoxFuture<'static, Result<Response<Incoming>, Error>>
        + std::marker::Send
        + Sync,
>;

fn sender(endpoint: &str) -> anyhow::Result<SendTraces> {
    if !endpoint.to_ascii_lowercase().starts_with("https:") {
        return Ok(with(HttpConnector::new()));
    }
    let tls = HttpsConnectorBuilder::new().with_native_roots();
    let tls = tls.with_context(|| {
        format!("cannot send traces to {endpoint}: no certificate authority is trusted here; install ca-certificates")
    })?;
    Ok(with(tls.https_only().enable_http1().build()))
}

fn with<C: Connect + Clone + std::marker::Send + Sync + 'static>(connector: C) -> SendTraces {
    let client = Client::builder(TokioExecutor::new()).build(connector);
    Arc::new(move |request| client.request(request).boxed())
}

/// Sends requests as tasks of the host: OpenTelemetry's thread has neither I/O nor timers.
struct Sender {
    send: SendTraces,
    seams: Seams,
    endpoint: Arc<str>,
    /// Whether the last request failed, which is said once.
    is_broken: Arc<AtomicBool>,
}

impl fmt::Debug for Sender {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Sender")
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (send, clock) = (self.send.clone(), self.seams.clock);
        let exchange = async move {
            let response = send(request.map(Full::new)).await?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, ANSWER).collect().await?;
            Ok::<_, HttpError>(Response::from_parts(head, body.to_bytes()))
        };
        let task = self.seams.spawn.task(async move {
            let answer = clock.within(REQUEST, exchange).await;
            answer
                .unwrap_or_else(|| Err(format!("no answer within {} s", REQUEST.as_secs()).into()))
        });
        let answer = task.await.unwrap_or_else(|lost| Err(lost.into()));
        self.log_problem(match &answer {
            Ok(answer) => refusal(answer.status()),
            Err(error) => Some(Chain(&**error).to_string()),
        });
        answer
    }
}

impl Sender {
    /// Says once that spans are lost, and once that they are not any more.
    fn log_problem(&self, problem: Option<String>) {
        let was_broken = self.is_broken.swap(problem.is_some(), Ordering::Relaxed);
        let endpoint = &*self.endpoint;
        match problem {
            Some(problem) if !was_broken => tracing::warn!(
                "cannot send traces to {endpoint}: {problem}; is it a collector of OTLP over HTTP? Spans are dropped until it is"
            ),
            None if was_broken => tracing::info!("traces are sent to {endpoint} again"),
            Some(_) | None => {}
        }
    }
}

fn refusal(status: StatusCode) -> Option<String> {
    (!status.is_success()).then(|| format!("it answers {status}"))
}
