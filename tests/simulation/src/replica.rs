//! A place for a host: when the host there dies, another follows.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use windlass_base::memory::Preparations;
use windlass_base::seams::{Process, Rng, Seams, Spawn, watch};
use windlass_base::shutdown::{ShutdownPhase, advance};
use windlass_controller::controller::{Archive, ControllerHandles};
use windlass_controller::metrics::Metrics;
use windlass_host::hosting::{Causes, Host, Quarantine, Sources};
use windlass_kube::api::{Api, Discovery};
use windlass_kube::crashes::Crashes;
use windlass_kube::events::Recorder;
use windlass_kube::informer::{Informers, Settings};
use windlass_kube::lease::Session;
use windlass_policy::rights::Rights;
use windlass_policy::source::{FolderWatch, Wanted};
use windlass_sandbox::Sandboxes;

use crate::kit::{Kit, folder};
use crate::logs;
use crate::wire::Wire;
use crate::world::{NAMESPACE, World};

/// How often the stores are compared with the server: what a watch has lost is repaired while the run heals.
const AUDIT: Duration = Duration::from_secs(60);

/// How long a host that stops waits for its passes.
const GRACE: Duration = Duration::from_secs(20);

/// A host that is alive.
#[derive(Clone)]
pub struct Alive {
    /// Its name: who it is to the server, and to other hosts.
    pub name: Arc<str>,
    /// Its tasks.
    pub process: Process,
    /// Its config folder.
    pub folder: mpsc::UnboundedSender<Wanted>,
    /// Stops it.
    pub phase: watch::Sender<ShutdownPhase>,
    /// Where its guests run.
    pub sandboxes: Arc<Sandboxes>,
    /// The host, once it is made.
    pub host: Arc<OnceLock<Weak<Host>>>,
}

/// Keeps the place `index` filled, until its host is told to stop.
pub async fn keep(world: Arc<World>, index: usize) {
    for life in 0_u64.. {
        let name: Arc<str> = format!("host-{index}.{life}").into();
        let (alive, folders) = prepare(&world, name, index as u64 * 1000 + life);
        if let Some(place) = world.hosts().get_mut(index) {
            *place = Some(alive.clone());
        }
        world.trace.deed(&alive.name, "starts");
        let spawn = Spawn::of_process(Handle::current(), alive.process.clone());
        let ended = spawn.task(live(world.clone(), alive.clone(), spawn.clone(), folders));
        let how = match ended.await {
            Ok(Ok(())) => "stops".to_owned(),
            Ok(Err(error)) => format!("ends: {error:#}"),
            Err(error) if error.is_cancelled() => "dies".to_owned(),
            Err(error) => format!("panics: {error}"),
        };
        world.trace.deed(&alive.name, &how);
        alive.process.kill();
        if let Some(place) = world.hosts().get_mut(index) {
            *place = None;
        }
        if *alive.phase.borrow() >= ShutdownPhase::Drain && world.is_closing() {
            return;
        }
        let pause = 1000 + world.below(4000);
        world.clock.sleep(Duration::from_millis(pause)).await;
    }
}

fn prepare(
    world: &Arc<World>,
    name: Arc<str>,
    number: u64,
) -> (Alive, mpsc::UnboundedReceiver<Wanted>) {
    let process = Process::new(logs::span(&name));
    let spawn = Spawn::of_process(Handle::current(), process.clone());
    let seams = Seams {
        clock: world.clock,
        rng: Rng::seeded(world.below(u64::MAX) ^ number),
        spawn,
    };
    let (send, folders) = mpsc::unbounded_channel();
    let (phase, _) = watch::channel(ShutdownPhase::Run);
    let alive = Alive {
        sandboxes: world.kit.sandboxes(seams),
        name,
        process,
        folder: send,
        phase,
        host: Arc::default(),
    };
    (alive, folders)
}

/// A host from its start to its end, as [`windlass_host::runtime`] makes one.
async fn live(
    world: Arc<World>,
    alive: Alive,
    spawn: Spawn,
    mut folders: mpsc::UnboundedReceiver<Wanted>,
) -> anyhow::Result<()> {
    let seams = Seams {
        clock: world.clock,
        rng: Rng::seeded(world.below(u64::MAX)),
        spawn,
    };
    let wire = Wire {
        world: world.clone(),
        process: alive.process.clone(),
        name: alive.name.clone(),
    };
    let client = kube::Client::new(wire, "default");
    let api = Api::new(client, seams.clone());
    let (events, _recorder) = Recorder::start(api.clone(), &seams, &alive.name);
    let discovery = Arc::new(Discovery::new(api.clone(), seams.clock));
    let settings = Settings {
        resync: AUDIT,
        ..Settings::default()
    };
    let session = Session::new(
        api.clone(),
        seams.clone(),
        NAMESPACE,
        &alive.name,
        world.times,
    );
    let records = Archive::default();
    world.comes_up(&alive.name, records.clone());
    let host = Arc::new(Host {
        informers: Informers::new(api.clone(), discovery.clone(), seams.clone(), settings),
        discovery,
        seams: seams.clone(),
        rights: Rights::new(api.clone(), seams.clock),
        api,
        events,
        session,
        sandboxes: alive.sandboxes,
        cache: Kit::code_cache()?,
        last_good: world.last_good(),
        quarantine: if world.shares_crashes() {
            Quarantine::of(Crashes::in_memory())
        } else {
            Quarantine::default()
        },
        namespace: NAMESPACE.to_owned(),
        protected_namespace: None,
        preparations: Preparations::within(1 << 30),
        grace: GRACE,
        records,
        metrics: Metrics::default(),
        handles: ControllerHandles::default(),
        http: None,
        registries: None,
        causes: Causes::default(),
        rolls_back: true,
        failures: None,
    });
    let _ = alive.host.set(Arc::downgrade(&host));
    let (hand, held) = mpsc::channel(1);
    let _hands = seams.spawn.task(async move {
        while let Some(folder) = folders.recv().await {
            if hand.send(folder).await.is_err() {
                return;
            }
        }
        std::future::pending::<()>().await;
    });
    let phases = alive.phase.subscribe();
    let first = folder(world.plugins());
    let sources = Sources::folder(FolderWatch::by_hand(held), first);
    host.run(sources, &alive.phase, &phases).await
}

impl Alive {
    /// Tells it to stop, and waits for it.
    pub async fn stop(&self, world: &World) {
        advance(&self.phase, ShutdownPhase::Drain);
        while world.process(&self.name).is_some() {
            world.clock.sleep(Duration::from_millis(100)).await;
        }
    }
}
