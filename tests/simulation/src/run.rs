//! One run: a script and faults, then healing, then rest, then judgement.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::runtime::Builder;
use tokio::time::Instant;
use windlass_apiserver::history::Record;
use windlass_base::bugs::{self, Bug};

use crate::deeds;
use crate::fault::Fault;
use crate::kit::Kit;
use crate::logs::Logs;
use crate::network::Class;
use crate::panics;
use crate::replica;
use crate::script::{self, Action};
use crate::trace::{Line, What};
use crate::user;
use crate::which::Which;
use crate::world::{Passes, World};

/// How soon after healing everything is to be stable.
const STABLE: Duration = Duration::from_secs(60);

/// How soon if only the audit can find what is missing: its period, a bookmark, and a second look.
const AUDITED: Duration = Duration::from_secs(300);

/// The same for workloads: a pod of a Job is replaced the later, the more have failed.
const COUNTED: Duration = Duration::from_secs(180);

/// How long the longest fault lasts, and a host waits for the Lease of a dead one.
const PATIENCE: Duration = Duration::from_secs(900);

/// Twice the resync of a run.
const RESYNCS: Duration = Duration::from_secs(2 * 5 * 60);

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Draws latencies, uids and everything else.
    pub seed: u64,
    /// The plugin.
    pub which: Which,
    /// What the user does.
    pub script: Vec<Action>,
    /// How many hosts there are.
    pub hosts: usize,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// What is wrong with the hosts, if the oracle is judged.
    pub bug: Option<Bug>,
}

/// What is known of a run when it is over.
#[derive(Debug)]
pub struct Evidence {
    /// The plugin.
    pub which: Which,
    /// Every write that the server accepted.
    pub history: Vec<Record>,
    /// Everything else that happened.
    pub trace: Vec<Line>,
    /// The faults that there were.
    pub faults: Vec<Fault>,
    /// How many times a host came up.
    pub lives: usize,
    /// The revision of the last write before everything was to be stable.
    pub stable: u64,
    /// When that was.
    pub stable_at: Timestamp,
    /// The tasks of all hosts at rest.
    pub tasks_at_rest: usize,
    /// Tasks of hosts that have stopped.
    pub tasks_left: usize,
    /// Bytes on the accounts of plugins in hosts that have stopped.
    pub bytes_left: usize,
    /// Hosts that did not stop when they were told to.
    pub hosts_left: usize,
    /// What the plugin is granted.
    pub grants: Value,
    /// What panicked.
    pub panics: Vec<String>,
    /// How many requests of each class the hosts sent before everything was healed.
    pub sent: BTreeMap<Class, u64>,
    /// The faults that met a request.
    pub hit: Vec<Fault>,
    /// What each host that came up says of its passes, in the order in which they came up.
    pub passes: Passes,
    /// The same of the other plugins that ran.
    pub others: Vec<(Which, Passes)>,
}

impl Case {
    /// The life of one Greeting with one host.
    pub fn life(faults: &[Fault]) -> Self {
        Self::life_with(Which::Greeter, faults)
    }

    /// The life of one primary with one host.
    pub fn life_with(which: Which, faults: &[Fault]) -> Self {
        Self {
            seed: 1,
            which,
            script: match which {
                Which::Greeter => script::life(),
                _ => script::life_of_a_bookcase(),
            },
            hosts: 1,
            faults: faults.to_vec(),
            bug: None,
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// It could not be run.
    pub fn run(&self) -> anyhow::Result<Evidence> {
        // Made outside of any runtime, since it has its own.
        Kit::get()?.plugin(self.which)?;
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .context("cannot make a runtime")?;
        panics::take();
        bugs::choose(self.bug);
        let played = runtime.block_on(self.play());
        bugs::choose(None);
        let mut evidence = played?;
        evidence.panics = panics::take();
        Ok(evidence)
    }

    async fn play(&self) -> anyhow::Result<Evidence> {
        let world = World::new(self)?;
        let _logs = tracing::subscriber::set_default(Logs::new(world.trace.clone()));
        let controllers = tokio::spawn(world.server.controllers());
        let places: Vec<_> = (0..self.hosts)
            .map(|index| tokio::spawn(replica::keep(world.clone(), index)))
            .collect();
        let (meanwhile, afterwards) = script::halves(&self.script);
        self.trouble(&world, meanwhile).await;
        world.heal();
        let audited = self.faults.iter().any(|fault| fault.what.loses_events());
        let soon = match audited {
            true => AUDITED,
            false if self.which.is_of_workloads() => COUNTED,
            false => STABLE,
        };
        has_leader(&world).await;
        let work = user::follow(&world, afterwards);
        if world.clock.within(PATIENCE, work).await.is_none() {
            world.trace.deed("user", "gives up");
        }
        world.clock.sleep(soon).await;
        world.trace.deed("chance", "wants no more writes");
        let stable = world.server.store().revision();
        let stable_at = world.clock.wall();
        world.clock.sleep(RESYNCS).await;
        let mut evidence = Evidence {
            stable,
            stable_at,
            tasks_at_rest: tasks_at_rest(&world).await,
            faults: self.faults.clone(),
            which: self.which,
            grants: world.kit.grants(self.which)?,
            sent: Class::ALL
                .map(|class| (class, world.network.seen(class)))
                .into(),
            hit: world.network.hit(),
            history: Vec::new(),
            trace: Vec::new(),
            passes: Vec::new(),
            others: Vec::new(),
            panics: Vec::new(),
            lives: 0,
            tasks_left: 0,
            bytes_left: 0,
            hosts_left: 0,
        };
        end(&world, &mut evidence).await;
        for place in places {
            place.abort();
        }
        controllers.abort();
        evidence.passes = world.passes();
        let others = self.which.company().into_iter();
        let others = others.filter(|which| *which != self.which);
        evidence.others = others
            .map(|which| (which, world.passes_of(which)))
            .collect();
        evidence.history = world.server.history().records();
        evidence.trace = world.trace.lines();
        let starts = |line: &&Line| matches!(&line.what, What::Deed(deed) if deed == "starts");
        evidence.lives = evidence.trace.iter().filter(starts).count();
        Ok(evidence)
    }

    /// The first phase: the user works while things go wrong.
    async fn trouble(&self, world: &Arc<World>, script: &[Action]) {
        let happening: Vec<_> = world
            .network
            .timed()
            .into_iter()
            .map(|fault| tokio::spawn(deeds::happen(world.clone(), fault)))
            .collect();
        let work = user::follow(world, script);
        if world.clock.within(PATIENCE, work).await.is_none() {
            world.trace.deed("user", "gives up");
        }
        for fault in happening {
            // One that panicked is over as well.
            drop(fault.await);
        }
    }
}

/// Waits until a host has the Lease, and keeps it.
async fn has_leader(world: &World) {
    let begin = Instant::now();
    // A host that is to die because of an earlier fault has done so by then.
    let mut held = 0;
    while held < 5 && begin.elapsed() < PATIENCE {
        world.clock.sleep(Duration::from_secs(1)).await;
        let mut company = world.which.company().into_iter();
        held = if company.all(|which| world.leader_of(which).is_some()) {
            held + 1
        } else {
            0
        };
    }
    world.trace.deed("chance", "has given the hosts a leader");
}

/// The fewest of some looks: a host renews its Lease also at rest.
pub(crate) async fn tasks_at_rest(world: &World) -> usize {
    let mut fewest = usize::MAX;
    for _ in 0..5 {
        let hosts: Vec<_> = world.hosts().iter().flatten().cloned().collect();
        fewest = fewest.min(hosts.iter().map(|alive| alive.process.tasks()).sum());
        world.clock.sleep(Duration::from_millis(700)).await;
    }
    fewest
}

/// Stops all hosts, and counts what stays behind.
async fn end(world: &World, evidence: &mut Evidence) {
    world.close();
    let all: Vec<_> = world.hosts().iter().flatten().cloned().collect();
    for alive in &all {
        let stopped = world.clock.within(STABLE, alive.stop(world)).await;
        evidence.hosts_left += usize::from(stopped.is_none());
    }
    for alive in &all {
        evidence.tasks_left += alive.process.tasks();
        evidence.bytes_left += alive.sandboxes.memory_in_use();
    }
}

impl Evidence {
    /// A digest of everything that happened: the trace, and every write.
    pub fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for line in &self.trace {
            hash.update(line.to_string());
        }
        for record in &self.history {
            hash.update(format!(
                "{} {:?} {} {} {}",
                record.time, record.verb, record.place.plural, record.revision, record.user
            ));
            hash.update(record.after.as_ref().map_or(&[][..], |entry| &entry.json));
        }
        hash.finalize().into()
    }
}

impl Display for Case {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "seed {}, {} hosts, {}",
            self.seed, self.hosts, self.which
        )?;
        match self.bug {
            Some(bug) => writeln!(out, ", whose bug is {bug:?}")?,
            None => writeln!(out)?,
        }
        let faults: Vec<_> = self.faults.iter().map(ToString::to_string).collect();
        writeln!(out, "faults: {}", faults.join(","))?;
        let script: Vec<_> = self.script.iter().map(ToString::to_string).collect();
        writeln!(out, "script: {}", script.join("; "))
    }
}
