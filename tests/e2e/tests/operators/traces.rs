//! Traces, as a collector gets them.

use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use parking_lot::Mutex;
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use windlass_e2e::{
    Account, Cluster, DEADLINE, Greeter, Host, Line, Plugins, Scene, eventually, host_binary,
    windlass_alone, workspace,
};

/// Takes spans over OTLP, on a port of its own.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Taken>>);

#[derive(Default)]
struct Taken {
    resources: Vec<KeyValue>,
    spans: Vec<Span>,
}

impl Collector {
    /// Starts one; answers its URL as well.
    async fn start() -> Result<(Self, String)> {
        let collector = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let routes = Router::new().route("/v1/traces", post(Self::take));
        let routes = routes.with_state(collector.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok((collector, url))
    }

    async fn take(State(collector): State<Self>, body: Bytes) -> StatusCode {
        // The host logs what it is answered.
        let Ok(request) = ExportTraceServiceRequest::decode(body) else {
            return StatusCode::BAD_REQUEST;
        };
        let mut taken = collector.0.lock();
        for of_resource in request.resource_spans {
            taken.resources = of_resource.resource.unwrap_or_default().attributes;
            for of_scope in of_resource.scope_spans {
                taken.spans.extend(of_scope.spans);
            }
        }
        StatusCode::OK
    }

    fn spans(&self) -> Vec<Span> {
        let taken = self.0.lock();
        taken.spans.clone()
    }

    fn resource(&self, key: &str) -> String {
        let taken = self.0.lock();
        attribute(&taken.resources, key)
    }

    /// Waits for the trace of a pass.
    async fn trace(&self, id: &str) -> Result<Vec<Span>> {
        eventually(DEADLINE, "the whole trace", async || {
            let mut spans = self.spans();
            spans.retain(|span| hex(&span.trace_id) == id);
            let is_whole = spans.iter().any(|span| span.parent_span_id.is_empty());
            Ok(is_whole.then_some(spans))
        })
        .await
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attribute(attributes: &[KeyValue], key: &str) -> String {
    let mut values = attributes.iter().filter(|it| it.key == key);
    let value = values.next().and_then(|it| it.value.clone()?.value);
    assert!(values.next().is_none(), "{key} is there twice");
    match value {
        Some(Any::StringValue(text)) => text,
        Some(Any::IntValue(number)) => number.to_string(),
        Some(Any::DoubleValue(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// What hangs below `parent`, in the order of time.
fn children<'a>(spans: &'a [Span], parent: &Span) -> Vec<&'a Span> {
    let of_parent = |span: &&Span| span.parent_span_id == parent.span_id;
    let mut found: Vec<_> = spans.iter().filter(of_parent).collect();
    found.sort_by_key(|span| span.start_time_unix_nano);
    found
}

/// A span and all below it, a line for each: its name, what it is about, and how it ended.
fn tree(spans: &[Span], of: &Span, depth: usize) -> String {
    let value = |key: &str| attribute(&of.attributes, key);
    let about = [
        of.name.clone(),
        value("object"),
        value("url.path"),
        ["outcome", "answer", "http.response.status_code"]
            .map(value)
            .concat(),
    ];
    let about: Vec<_> = about.into_iter().filter(|word| !word.is_empty()).collect();
    let mut shown = format!("{:1$}{2}\n", "", 2 * depth, about.join(" "));
    for child in children(spans, of) {
        shown.push_str(&tree(spans, child, depth + 1));
    }
    shown
}

const STATUS: &str = "--admin-bind-address=127.0.0.1:0";

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_is_a_trace_with_a_child_for_each_import_and_request() -> Result<()> {
    let (collector, url) = Collector::start().await?;
    let cluster = Cluster::new("traced").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let plugins = plugins.written_in(Greeter::Rust).greeter()?;
    let to = format!("--otlp-endpoint={url}/");
    let scene = Scene::start_with(cluster, plugins, &[&to, STATUS])?;
    let spec = json!({ "name": "Ada", "replicas": 1 });
    scene.cluster.greet("ada", spec).await?;
    scene.cluster.until_ready("ada").await?;
    let object = scene.greeting("ada");
    // Its line comes after what it wrote.
    let is_made = |line: &Line| line.field("object") == object && line.field("step") == "reconcile";
    let made = scene.host.logs("a pass", is_made).await?;
    let spans = collector.trace(made.field("trace_id")).await?;

    let root = spans.iter().find(|span| span.parent_span_id.is_empty());
    let root = root.context("no root")?;
    let namespace = &*scene.cluster.namespace;
    ensure!(root.name == "reconcile", "{root:#?}");
    for (key, want) in [
        ("plugin", "greeter"),
        ("outcome", made.field("outcome")),
        ("attempt", "0"),
    ] {
        let is = attribute(&root.attributes, key);
        ensure!(is == want, "{key}: {is}");
    }
    let shown = tree(&spans, root, 0).replace(namespace, "demo");
    let shown = shown.replace(&attribute(&root.attributes, "uid"), "UID");
    let docs = std::fs::read_to_string(workspace().join("docs/metrics.md"))?;
    ensure!(
        docs.contains(&shown),
        "docs/metrics.md should show:\n{shown}"
    );
    // Nothing is sent but what belongs to passes.
    for span in collector.spans() {
        let is_pass = !attribute(&span.attributes, "plugin").is_empty();
        ensure!(is_pass == span.parent_span_id.is_empty(), "{span:#?}");
    }
    ensure!(collector.resource("service.name") == "windlass");

    // Who asks why is told where to look.
    let address = format!("--admin-url=http://{}", scene.host.serves("status").await?);
    let why = windlass_alone(&["why", "greeting/ada", "-n", namespace, &address])?;
    let why = String::from_utf8(why.stdout)?;
    ensure!(why.contains("\nTRACE      "), "{why}");

    // What waits to be sent is sent before the host ends.
    let last = json!({ "spec": { "name": "Bob" } });
    scene.cluster.patch("Greeting", "ada", last).await?;
    let is_bob = |greeting: &Value| greeting.pointer("/status/text") == Some(&"Hello, Bob!".into());
    let bob = scene.cluster.until("Greeting", "ada", "is Bob", is_bob);
    bob.await?;
    scene.host.terminate()?;
    ensure!(scene.host.ended().await?.success());
    let passes = scene.host.passes(&object);
    let last = passes.last().context("no pass")?.field("trace_id");
    let is_last = |span: &Span| hex(&span.trace_id) == last;
    ensure!(collector.spans().iter().any(is_last), "{last} was not sent");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_that_calls_without_end_has_spans_for_the_first_calls() -> Result<()> {
    let (collector, url) = Collector::start().await?;
    let cluster = Cluster::new("flooded").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let plugins = plugins.hostile("floods", "flood_events", &json!({}), &[])?;
    let to = format!("--otlp-endpoint={url}");
    let scene = Scene::start_with(cluster, plugins, &[&to])?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    let object = scene.greeting("ada");
    let pass = scene.host.logs("a pass", |line| {
        line.field("object") == object && line.is_any_pass()
    });
    let spans = collector.trace(pass.await?.field("trace_id")).await?;
    let calls = spans.iter().filter(|span| span.name == "publish").count();
    ensure!(calls == 200, "{calls}");
    Ok(())
}

#[tokio::test]
async fn a_collector_that_is_away_costs_one_line_and_no_pass() -> Result<()> {
    let cluster = Cluster::new("untraced").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let plugins = plugins.written_in(Greeter::Rust).greeter()?;
    let account = Account::new(&cluster.namespace, plugins.folder())?;
    // Clients that come there are sent away.
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let nobody = listener.local_addr()?;
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let mut command = Command::new("env");
    command.arg(format!("OTEL_EXPORTER_OTLP_ENDPOINT=http://{nobody}"));
    // In milliseconds.
    command.arg("OTEL_BSP_SCHEDULE_DELAY=10");
    command.arg(host_binary()?).arg("run");
    command.arg("--config").arg(plugins.folder());
    command
        .arg("--code-cache")
        .arg(workspace().join("target/code-cache"));
    command.arg("--kubeconfig").arg(account.kubeconfig()?);
    command.args(["--log-format=json", "--namespace", &cluster.namespace]);
    let host = Host::run_command(&command)?;
    for number in 0..5 {
        let name = format!("g{number}");
        let spec = json!({ "name": "Ada", "replicas": 0 });
        cluster.greet(&name, spec).await?;
        cluster.until_ready(&name).await?;
        host.says("cannot send traces to").await?;
    }
    let said = host.log();
    let said: Vec<_> = said
        .iter()
        .filter(|line| line.message.contains("traces"))
        .collect();
    ensure!(
        said.len() == 1 && said.iter().all(|line| line.field("level") == "WARN"),
        "{said:#?}"
    );
    Ok(())
}

#[tokio::test]
async fn without_an_endpoint_there_are_no_traces() -> Result<()> {
    let scene = Scene::greeter(Greeter::Rust, "no-traces").await?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    scene.cluster.until_ready("ada").await?;
    scene.host.logs("a pass", Line::is_any_pass).await?;
    let passes = scene.host.passes(&scene.greeting("ada"));
    let has_trace = |line: &Line| line.fields.get("trace_id").is_some();
    ensure!(!passes.iter().any(has_trace), "{passes:#?}");
    let secret = "--otlp-endpoint=http://me:hunter2@collector:4318";
    for wrong in ["--otlp-endpoint=localhost:4318", secret] {
        let refused = windlass_alone(&["run", "--config=x", wrong])?;
        let error = String::from_utf8(refused.stderr)?;
        ensure!(refused.status.code() == Some(2), "{error}");
        ensure!(
            error.contains("must be the URL of a collector, such as http://localhost:4318"),
            "{error}"
        );
        ensure!(!error.contains("hunter2"), "{error}");
    }
    // It is not even looked at.
    for off in ["OTEL_SDK_DISABLED=true", "OTEL_TRACES_EXPORTER=none"] {
        let mut command = Command::new("env");
        command.arg(off).arg(host_binary()?);
        command.args(["run", "--config=x", secret]);
        let error = String::from_utf8(command.output()?.stderr)?;
        ensure!(!error.contains("collector"), "{off}: {error}");
    }
    Ok(())
}
