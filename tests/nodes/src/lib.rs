//! Simulated nodes as a client of any API server: they take the pods that nobody has scheduled, run them without containers, and end
//! them.
//!
//! The rules are those of the simulated nodes of the embedded API server: a pod runs after a short delay, and pods of Jobs end by
//! themselves. The annotation `nodes.windlass.dev/simulate` says otherwise: a pod that is `stuck` never runs, one of a Job that is to
//! `fail` does so, and a node that is `down` does nothing.

mod lives;
mod requests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use kube::api::DynamicObject;
use kube::{Api, Client};
use kube_runtime::{WatchStreamExt, watcher};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use windlass_apiserver::controllers::node::machine::SIMULATE;
use windlass_apiserver::controllers::node::pods::PodStep;
use windlass_apiserver::controllers::node::{machine, name_of};
use windlass_apiserver::options::Options;
use windlass_apiserver::seams::{Clock, Rng, Seams};

use lives::Lives;
use requests::Requests;

/// How often a node says that it lives.
const BEAT: Duration = Duration::from_secs(10);
/// How many requests are under way at a time.
const AT_ONCE: usize = 64;

/// What the nodes are like.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many there are.
    pub nodes: u32,
    /// How long a pod takes to start, and to end.
    pub pod_delay: Duration,
    /// How long a pod of a Job runs.
    pub job_duration: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            nodes: 3,
            pod_delay: Duration::from_millis(200),
            job_duration: Duration::from_millis(200),
        }
    }
}

/// The nodes, which do not run yet.
pub struct Nodes {
    requests: Arc<Requests>,
    options: Options,
    seams: Seams,
}

impl Nodes {
    /// Makes the objects of the nodes.
    ///
    /// # Errors
    /// The API server refuses one.
    pub async fn register(client: Client, settings: Settings) -> anyhow::Result<Self> {
        let seams = Seams {
            clock: Clock::new(Timestamp::now),
            rng: Rng::seeded(fastrand::u64(..)),
        };
        let requests = Arc::new(Requests::new(client));
        let numbers = futures::stream::iter(1..=settings.nodes);
        let made = numbers.map(Ok).try_for_each_concurrent(AT_ONCE, |number| {
            let (requests, node) = (requests.clone(), machine::node(number, &seams));
            async move { requests.register(node).await }
        });
        made.await?;
        let options = Options {
            nodes: settings.nodes,
            pod_delay: settings.pod_delay,
            job_duration: settings.job_duration,
            ..Options::default()
        };
        Ok(Self {
            requests,
            options,
            seams,
        })
    }

    /// Runs the nodes.
    ///
    /// # Errors
    /// A watch has ended for good.
    pub async fn run(self) -> anyhow::Result<()> {
        let room = Arc::new(Semaphore::new(AT_ONCE));
        let pods = watch(self.requests.pods());
        let nodes = watch(self.requests.nodes());
        let mut seen = std::pin::pin!(futures::stream::select(pods, nodes));
        let mut lives = Lives::new(self.options.clone());
        let mut beat = tokio::time::interval(BEAT);
        let (send, mut done) = tokio::sync::mpsc::unbounded_channel::<String>();
        loop {
            let due = lives.due();
            tokio::select! {
                event = seen.next() => match event {
                    Some(event) => match event? {
                        Seen::Applied(object) => lives.see(object),
                        Seen::Deleted(object) => lives.forget(&object),
                    },
                    None => anyhow::bail!("the watches have ended"),
                },
                Some(uid) = done.recv() => lives.done(&uid),
                _ = beat.tick() => self.beat(lives.down()),
                () = sleep_until(due) => {}
            }
            let now = Instant::now();
            while let Some((uid, step, pod, node)) = lives.next(now) {
                let (requests, room, send) = (self.requests.clone(), room.clone(), send.clone());
                let seams = self.seams.clone();
                let address = lives.address(&pod, step);
                tokio::spawn(async move {
                    let _room = room.acquire_owned().await;
                    requests.take(step, pod, &node, &address, &seams).await;
                    drop(send.send(uid));
                });
            }
        }
    }

    /// The nodes that are not down say that they live.
    fn beat(&self, down: &BTreeSet<String>) {
        let names = (1..=self.options.nodes).map(name_of);
        for name in names.filter(|name| !down.contains(name)) {
            let requests = self.requests.clone();
            tokio::spawn(async move { requests.renew(&name).await });
        }
    }
}

/// What a watch has shown.
enum Seen {
    Applied(Value),
    Deleted(Value),
}

fn watch(
    api: Api<DynamicObject>,
) -> impl futures::Stream<Item = anyhow::Result<Seen>> + Send + 'static {
    let events = watcher(api, watcher::Config::default()).default_backoff();
    events.filter_map(|event| async move {
        match event {
            Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => {
                Some(Ok(Seen::Applied(serde_json::to_value(object).ok()?)))
            }
            Ok(watcher::Event::Delete(object)) => {
                Some(Ok(Seen::Deleted(serde_json::to_value(object).ok()?)))
            }
            Ok(watcher::Event::Init | watcher::Event::InitDone) => None,
            // The watch begins again by itself.
            Err(error) => {
                tracing::debug!("{error}");
                None
            }
        }
    })
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Whether a node is down.
pub(crate) fn is_down(node: &Value) -> bool {
    node.pointer(SIMULATE).and_then(Value::as_str) == Some("down")
}

/// A step of a pod that is to be taken: its UID, the step, the pod, and the node for it if it has none.
pub(crate) type Taken = (String, PodStep, Value, String);
