//! What people and machines may ask a running host: its metrics, whether it is well, and why.
//!
//! - Nothing here changes anything, and nothing here waits for a plugin.
//! - Each port has a limit of connections of its own, and a client that is slow is cut off: see `listener`.
//! - The status port speaks plain HTTP to this machine alone: a page of another site that a browser was led
//!   to cannot ask it by a name of its own (DNS rebinding), since the Host header is checked.

mod address;
pub mod client;
pub mod folder;
mod health;
mod listener;
mod page;
mod status;

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;
use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

pub use address::BindAddress;

use crate::status::StatusCollector;
use crate::why::Finder;
use health::{Probe, ProbeQuery};
use windlass_base::seams::{Clock, Seams, Task};
use windlass_controller::metrics::{Metrics, STEP};

/// The media type of a scrape (OpenMetrics 1.0).
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Where the status is served, unless something else has the port.
const STATUS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8082);

/// Where each port is opened.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// `/metrics`.
    pub metrics: BindAddress,
    /// `/livez` and `/readyz`.
    pub probes: BindAddress,
    /// The status; none is 127.0.0.1:8082, or any free port.
    pub status: Option<BindAddress>,
}

/// What is served, for as long as this is held.
pub struct Served {
    /// Where the status is.
    pub status: Option<SocketAddr>,
    _tasks: Vec<Task>,
}

/// Serves each port until what it answers is dropped.
///
/// # Errors
/// An address cannot be had.
pub async fn serve(
    ports: Ports,
    finder: Finder,
    board: StatusCollector,
    seams: &Seams,
) -> anyhow::Result<Served> {
    let metrics = &finder.metrics;
    let mut tasks = vec![seams.spawn.task(tick_on(metrics.clone(), seams.clock))];
    let mut all = Vec::new();
    let port = listen(ports.metrics, "--metrics-bind-address").await?;
    all.push(("metrics", port, scrapes(metrics)));
    let port = listen(ports.probes, "--health-probe-bind-address").await?;
    all.push(("probes", port, probes(metrics)));
    let port = match ports.status {
        Some(address) => listen(address, "--admin-bind-address").await?,
        None => Some(listen_somewhere().await?),
    };
    let is_local = |port: &TcpListener| port.local_addr().is_ok_and(|at| at.ip().is_loopback());
    let local = port.as_ref().is_none_or(is_local);
    let status = port.as_ref().and_then(|port| port.local_addr().ok());
    all.push(("status", port, status::router(finder, board, local)));
    for (what, port, router) in all {
        let Some(listener) = port else { continue };
        tracing::info!(address = %listener.local_addr()?, "serving {what}");
        tasks.push(
            seams
                .spawn
                .task(listener::serve(listener, router, seams.clone())),
        );
    }
    Ok(Served {
        status,
        _tasks: tasks,
    })
}

/// Ends the steps of the plugins' histories, forever.
async fn tick_on(metrics: Metrics, clock: Clock) {
    loop {
        clock.sleep(STEP).await;
        metrics.ticks();
    }
}

async fn listen(address: BindAddress, flag: &str) -> anyhow::Result<Option<TcpListener>> {
    let BindAddress::At(socket) = address else {
        return Ok(None);
    };
    let listener = TcpListener::bind(socket).await;
    let listener = listener.with_context(|| {
        format!("cannot listen on {socket}: name another address with {flag}, or 0 for none")
    })?;
    Ok(Some(listener))
}

/// The usual port of the status, or any other: two hosts on one machine are nothing unusual.
async fn listen_somewhere() -> anyhow::Result<TcpListener> {
    let listener = match TcpListener::bind(STATUS).await {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            TcpListener::bind((STATUS.ip(), 0)).await
        }
        listener => listener,
    };
    listener.context(
        "cannot listen on this machine: name an address with --admin-bind-address, or 0 for none",
    )
}

fn scrapes(metrics: &Metrics) -> Router {
    let router = Router::new().route("/metrics", get(scrape));
    router.with_state(metrics.clone())
}

async fn scrape(State(metrics): State<Metrics>) -> Response {
    match metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

fn probes(metrics: &Metrics) -> Router {
    let mut router = Router::new();
    for (path, probe) in [
        ("/livez", Probe::Live),
        ("/healthz", Probe::Live),
        ("/readyz", Probe::Ready),
    ] {
        let whole = move |State(metrics): State<Metrics>, RawQuery(query): RawQuery| async move {
            health(probe, None, query.as_deref(), &metrics)
        };
        let one = move |State(metrics): State<Metrics>,
                        Path(check): Path<String>,
                        RawQuery(query): RawQuery| async move {
            health(probe, Some(&check), query.as_deref(), &metrics)
        };
        router = router.route(path, get(whole));
        router = router.route(&format!("{path}/{{*check}}"), get(one));
    }
    router.with_state(metrics.clone())
}

fn health(probe: Probe, check: Option<&str>, query: Option<&str>, metrics: &Metrics) -> Response {
    let asked = ProbeQuery::parse(check, query.unwrap_or_default());
    let verdict = health::answer(probe, &asked, metrics);
    let plain = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (verdict.code, plain, verdict.text).into_response()
}
