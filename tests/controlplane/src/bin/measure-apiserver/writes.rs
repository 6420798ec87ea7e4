//! Writes per second, by several clients at once: on a real server, on the port of an embedded one, and
//! on an embedded one in this process.
//!
//! - The three take turns, so that what else runs on the machine hits all alike.
//! - Clients are the same, one for each task. They use the same processors as the servers, and may use
//!   more: what a write cost the servers alone is shown beside, but for the one in this process.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hyper::Request;
use kube::Client;
use serde_json::json;
use tokio::task::JoinSet;
use windlass_controlplane::table::row;
use windlass_controlplane::{ControlPlane, client};

use crate::process::Process;
use crate::serve;

const CLIENTS: usize = 16;
const ROUNDS: usize = 3;
const WARM_UP: Duration = Duration::from_millis(500);
const TIME: Duration = Duration::from_secs(2);
/// Of a processor, as the kernel counts time in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

pub(crate) async fn measure(real: &ControlPlane) -> Result<()> {
    let process = Process::start(&["--rbac"])?;
    process.ready().await?;
    let server = serve::server(serve::with_rbac())?;
    let inside = (0..CLIENTS).map(|_| Client::new(server.clone(), "default"));
    let sides = [
        Side::on_port(
            "real, on its port",
            &real.kubeconfig_admin(),
            real.process_ids(),
        )
        .await?,
        Side::on_port(
            "embedded, on its port",
            &process.kubeconfig(),
            vec![process.id()?],
        )
        .await?,
        Side::new("embedded, in process", inside.collect(), Vec::new()).await?,
    ];
    for kind in [Kind::Create, Kind::Apply, Kind::Status] {
        let mut rounds = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            for (side, figures) in sides.iter().zip(&mut rounds) {
                figures.push(side.round(kind).await?);
            }
        }
        let medians = rounds.map(median);
        let first = medians.first().map_or(f64::NAN, |first| first.per_second);
        for (side, median) in sides.iter().zip(&medians) {
            let label = format!("{}: {}", kind.label(), side.name);
            let (rate, times) = (median.per_second, median.per_second / first);
            row(
                &label,
                format!("{rate:.0} /s, {times:.1} x; {}", median.processor()),
            );
        }
    }
    Ok(())
}

/// What is written.
#[derive(Clone, Copy)]
enum Kind {
    /// A new ConfigMap.
    Create,
    /// A change of one by server-side apply.
    Apply,
    /// A change of the status of a Deployment by merge patch.
    Status,
}

impl Kind {
    fn label(self) -> &'static str {
        match self {
            Self::Create => "creates",
            Self::Apply => "applies",
            Self::Status => "status patches",
        }
    }

    /// The write with this number, each another one, to an object that no other client writes.
    fn request(self, client: usize, number: u64) -> Result<Request<Vec<u8>>> {
        let maps = "/api/v1/namespaces/default/configmaps";
        let (request, kind, body) = match self {
            Self::Create => (
                Request::post(maps),
                "application/json",
                config_map(&format!("made-{number}"), number),
            ),
            Self::Apply => (
                Request::patch(format!(
                    "{maps}/applied-{client}?fieldManager=bench&force=true"
                )),
                "application/apply-patch+yaml",
                config_map(&format!("applied-{client}"), number),
            ),
            Self::Status => (
                Request::patch(format!("{DEPLOYMENTS}/bench-{client}/status")),
                "application/merge-patch+json",
                json!({ "status": { "observedGeneration": number, "replicas": number % 10 } }),
            ),
        };
        let request = request.header("content-type", kind);
        Ok(request.body(body.to_string().into_bytes())?)
    }
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn config_map(name: &str, number: u64) -> serde_json::Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "labels": { "app": "bench" } },
        "data": { "number": number.to_string(), "text": "some text that does not change" },
    })
}

fn deployment(client: usize) -> serde_json::Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": format!("bench-{client}") },
        "spec": {
            "selector": { "matchLabels": { "app": "bench" } },
            "template": {
                "metadata": { "labels": { "app": "bench" } },
                "spec": { "containers": [{ "name": "main", "image": "nothing" }] },
            },
        },
    })
}

/// A server and its clients.
struct Side {
    name: &'static str,
    clients: Vec<Client>,
    /// Its processes, unless it is in this one.
    processes: Vec<u32>,
    written: Arc<AtomicU64>,
}

/// What a round came to.
#[derive(Clone, Copy)]
struct Figures {
    per_second: f64,
    /// Processor time of a write in the server's processes; 0 for the server in this one.
    server_micros: f64,
    /// The same in this process, where the clients are.
    own_micros: f64,
}

impl Figures {
    fn processor(&self) -> String {
        let all = self.server_micros + self.own_micros;
        match self.server_micros {
            0.0 => format!("processor time {all:.0} us, with clients"),
            alone => format!("processor time {all:.0} us, {alone:.0} of it in servers"),
        }
    }
}

impl Side {
    async fn on_port(name: &'static str, kubeconfig: &Path, processes: Vec<u32>) -> Result<Self> {
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            clients.push(client(kubeconfig).await?);
        }
        Self::new(name, clients, processes).await
    }

    async fn new(name: &'static str, clients: Vec<Client>, processes: Vec<u32>) -> Result<Self> {
        for (number, client) in clients.iter().enumerate() {
            let body = deployment(number).to_string().into_bytes();
            let request = Request::post(DEPLOYMENTS).header("content-type", "application/json");
            client.request_text(request.body(body)?).await?;
        }
        Ok(Self {
            name,
            clients,
            processes,
            written: Arc::default(),
        })
    }

    /// Writes for a while.
    async fn round(&self, kind: Kind) -> Result<Figures> {
        self.write(kind, WARM_UP).await?;
        let own = || ticks(std::process::id());
        let (servers, clients, began) = (self.ticks()?, own()?, Instant::now());
        let count = self.write(kind, TIME).await? as f64;
        let took = began.elapsed().as_secs_f64();
        let micros = |ticks: f64| ticks / TICKS_PER_SECOND * 1e6 / count;
        Ok(Figures {
            per_second: count / took,
            server_micros: micros(self.ticks()? - servers),
            own_micros: micros(own()? - clients),
        })
    }

    /// Lets all clients write for as long, and counts.
    async fn write(&self, kind: Kind, time: Duration) -> Result<u64> {
        let end = Instant::now() + time;
        let mut tasks = JoinSet::new();
        for (number, client) in self.clients.iter().cloned().enumerate() {
            let written = Arc::clone(&self.written);
            tasks.spawn(async move {
                let mut count = 0;
                while Instant::now() < end {
                    let next = written.fetch_add(1, Ordering::Relaxed);
                    client.request_text(kind.request(number, next)?).await?;
                    count += 1;
                }
                anyhow::Ok(count)
            });
        }
        tasks.join_all().await.into_iter().sum()
    }

    /// The time of processors that its processes have had.
    fn ticks(&self) -> Result<f64> {
        self.processes.iter().map(|process| ticks(*process)).sum()
    }
}

fn ticks(process: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program, in parentheses, may have anything in it.
    let (_, fields) = stat.rsplit_once(") ").context("the kernel says nothing")?;
    let fields = fields.split(' ').skip(11).take(2);
    fields.map(|field| Ok(field.parse::<f64>()?)).sum()
}

/// The round that is neither the fastest nor the slowest.
fn median(mut rounds: Vec<Figures>) -> Figures {
    rounds.sort_by(|one, other| one.per_second.total_cmp(&other.per_second));
    let none = Figures {
        per_second: f64::NAN,
        server_micros: f64::NAN,
        own_micros: f64::NAN,
    };
    rounds.get(rounds.len() / 2).copied().unwrap_or(none)
}
