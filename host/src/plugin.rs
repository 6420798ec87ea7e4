//! A plugin, ready to be called: describe, reconcile, finalize, each in a fresh sandbox.
//!
//! - Nothing that a guest does outlives its call.
//! - A call ends by its answer, by a trap, or by being told to stop; it is dropped only if it does
//!   not obey.

pub mod admission;
mod bindings;
mod calls;
mod cancel;
pub mod cluster;
pub mod compiler;
mod description;
mod engine;
mod functions;
mod image;
mod imports;
mod limiter;
mod measures;
mod meter;
mod outcome;
mod place;
mod proposals;
mod redact;
mod sandbox;
mod shares;
mod slots;
pub mod tape;
mod turns;
mod wasi;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tracing::Instrument;
use wasmtime::Engine;
use wasmtime::component::{Component, HasSelf, Linker};
use windlass_code_cache::{CacheError, Code, CodeCache};

pub use bindings::types::{Action, Failure, Progress, Request};
pub use calls::HostCalls;
pub use cancel::Cancel;
pub use compiler::Compiler;
pub use description::{Description, Need};
pub use engine::{SLICE, SLOTS};
pub use measures::{BUCKETS, Family, Kind, Measures, Number};
pub use outcome::{CallError, Called};
pub use shares::Maxima;

use crate::crashes::{Activity, InFlight};
use crate::manifest::Limits;
use crate::memory::{Account, Accounts, Budget};
use crate::seams::{Either, Seams, Task, first};
use crate::source::{Digest, digest};
use admission::Refused;
use compiler::CompileError;
use engine::Interruption;
use image::{Image, Images};
use meter::{Cpu, Metered};
use outcome::{Asked, Report};
use place::{Placed, Trust};
use sandbox::{Party, Start, State, sandbox};
use shares::{Share, Shares};

/// How long a call that was told to stop has for it before it is dropped.
const GRACE: Duration = Duration::from_secs(1);

/// What all plugins of a host share: the engine and its code, threads, slots and memory.
pub struct Sandboxes {
    workshop: Workshop,
    seams: Seams,
    shares: Arc<Shares>,
    accounts: Accounts,
    compiler: Compiler,
    /// Compiling takes hundreds of megabytes for a large component: one at a time.
    compiling: Semaphore,
    in_flight: InFlight,
    _tidy: Option<Task>,
}

/// The engine, its imports, and the code that is ready to run.
#[derive(Clone)]
struct Workshop {
    engine: Engine,
    interruption: Interruption,
    linker: Arc<Linker<State>>,
    images: Images,
}

/// A compiled plugin.
pub struct Plugin {
    /// `metadata.name` of its document.
    pub name: Arc<str>,
    /// What it says about itself.
    pub description: Description,
    sandboxes: Arc<Sandboxes>,
    guest: Guest,
}

/// What a call needs of its plugin.
struct Guest {
    name: Arc<str>,
    digest: Digest,
    image: Arc<Image>,
    config: Arc<str>,
    limits: Limits,
    account: Account,
    /// Decides where its calls run.
    trust: Trust,
    share: Arc<Share>,
}

/// Why a component is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It is not let in.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// There is no code for it.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The code cache cannot be used.
    #[error("cannot use the code cache")]
    Cache(#[source] windlass_code_cache::CacheError),
    /// `describe` gave no answer.
    #[error("its `describe` failed")]
    Describe(#[source] CallError),
    /// `describe` gave an answer that cannot be used.
    #[error("its description cannot be used: {0}")]
    Description(String),
}

impl Sandboxes {
    /// Makes the engine and starts its clock. Guests share `threads` threads and `budget` bytes, and
    /// are compiled by `compiler`.
    ///
    /// # Errors
    /// The machine cannot run it.
    pub fn new(
        seams: Seams,
        threads: usize,
        budget: usize,
        compiler: Compiler,
    ) -> wasmtime::Result<Arc<Self>> {
        let engine = engine::engine(&seams.spawn)?;
        let mut linker = Linker::new(&engine);
        wasi::link(&mut linker)?;
        bindings::Plugin::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
        let workshop = Workshop {
            engine,
            interruption: Interruption::of(&seams.spawn),
            linker: Arc::new(linker),
            images: Images::default(),
        };
        let tidy = workshop.images.keep_tidy(&seams.spawn, seams.clock);
        let sandboxes = Self::of(workshop, seams, threads, budget, compiler);
        Ok(Arc::new(Self {
            _tidy: Some(tidy),
            ..sandboxes
        }))
    }

    /// Sandboxes for another host in this process, which run what these have made ready and share
    /// nothing else: simulations have many hosts, one after the other and at once. `seams` must start
    /// tasks as these do.
    pub fn for_another_host(&self, seams: Seams, threads: usize, budget: usize) -> Arc<Self> {
        let workshop = self.workshop.clone();
        Arc::new(Self::of(workshop, seams, threads, budget, self.compiler))
    }

    fn of(
        workshop: Workshop,
        seams: Seams,
        threads: usize,
        budget: usize,
        compiler: Compiler,
    ) -> Self {
        Self {
            workshop,
            shares: Shares::new(threads, &seams),
            seams,
            accounts: Accounts::new(Budget::new(budget)),
            compiler,
            compiling: Semaphore::new(1),
            in_flight: InFlight::default(),
            _tidy: None,
        }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.workshop.engine
    }

    /// From now on all plugins together may do so much over time; none: they, and each of them, may do as much as
    /// they like, since nobody else is there.
    pub fn limit(&self, maxima: Option<Maxima>) {
        self.shares.limit(maxima);
    }

    /// Which components are at work.
    pub fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }

    /// The bytes that all plugins together make the host hold now.
    pub fn memory_in_use(&self) -> usize {
        self.accounts.budget().used()
    }

    /// What each plugin makes the host hold.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// How many components have their code in memory now: those that were called within a minute.
    pub fn mapped(&self) -> usize {
        self.workshop.images.mapped()
    }

    /// Judges, compiles and describes a component.
    ///
    /// # Errors
    /// Why it cannot be used, for a person.
    pub async fn load(
        self: &Arc<Self>,
        name: &str,
        bytes: &[u8],
        config: &str,
        limits: Limits,
        cache: &CodeCache,
    ) -> Result<Plugin, LoadError> {
        let digest = digest(bytes);
        let image = match self.workshop.images.of(&digest) {
            Some(image) => image,
            None => self.image(digest, bytes, cache).await?,
        };
        tracing::debug!(plugin = name, reached = "compiled", "loading");
        let name: Arc<str> = name.into();
        // Beside the calls of a version that runs: it may be the one that is to be replaced. No plugin has such a name.
        let describes = format!("{name} (describe)").into();
        let guest = Guest {
            account: self.accounts.of(&name),
            name,
            digest,
            image,
            config: config.into(),
            limits,
            trust: Trust::default(),
            share: Arc::new(self.shares.join(describes, &limits)),
        };
        let cancel = Cancel::default();
        let called = self
            .call(&guest, Asked::Describe, Party::Nobody, &cancel)
            .await;
        let described = called.answer.map_err(LoadError::Describe)?;
        let described = described.description();
        let described = described.ok_or_else(|| LoadError::Description("none was given".into()))?;
        let description = Description::read(described).map_err(LoadError::Description)?;
        tracing::debug!(plugin = &*guest.name, reached = "described", "loading");
        let share = Arc::new(self.shares.join(guest.name.clone(), &limits));
        Ok(Plugin {
            name: guest.name.clone(),
            description,
            sandboxes: self.clone(),
            guest: Guest { share, ..guest },
        })
    }

    /// Judges a component and makes its code ready to run.
    async fn image(
        &self,
        digest: Digest,
        bytes: &[u8],
        cache: &CodeCache,
    ) -> Result<Arc<Image>, LoadError> {
        let loading = self.in_flight.begins(digest, Activity::Loading);
        admission::judge_bytes(bytes)?;
        drop(loading);
        let (code, component) = self.code(digest, bytes, cache).await?;
        let _loading = self.in_flight.begins(digest, Activity::Loading);
        let engine = self.engine();
        admission::judge_component(engine, &component)?;
        let linker = self.workshop.linker.clone();
        let image = Image::new(code, &component, engine.clone(), linker, self.seams.clock);
        let mismatch = |error: wasmtime::Error| Refused::Mismatch(format!("{error:#}"));
        let image = Arc::new(image.map_err(mismatch)?);
        self.workshop.images.add(digest, &image);
        Ok(image)
    }

    /// The compiled code of the component `bytes`, from the cache or from the compiler; and mapped.
    async fn code(
        &self,
        digest: Digest,
        bytes: &[u8],
        cache: &CodeCache,
    ) -> Result<(Code, Component), LoadError> {
        let kept = || {
            let _loading = self.in_flight.begins(digest, Activity::Loading);
            cache.load(self.engine(), bytes).map_err(LoadError::Cache)
        };
        if let Some(code) = kept()? {
            return Ok(code);
        }
        let _turn = self.compiling.acquire().await;
        // Somebody may have compiled the same meanwhile.
        if let Some(code) = kept()? {
            return Ok(code);
        }
        let draft = cache
            .draft(self.engine(), bytes)
            .map_err(LoadError::Cache)?;
        let output = draft.file().map_err(LoadError::Cache)?;
        // The kernel kills a container as a whole: a compiler that takes too much can take the host with it.
        let _compiling = self.in_flight.begins(digest, Activity::Compiling);
        self.compiler.compile(bytes, output, &self.seams).await?;
        draft.keep(self.engine()).map_err(|error| match error {
            // Compiled for this engine a moment ago: it is whole, and the engine's pool has no room for it.
            CacheError::Damaged(why) => Refused::TooDemanding(why).into(),
            error => LoadError::Cache(error),
        })
    }

    /// Makes one call in a sandbox of its own, bounded by the guest's limits.
    async fn call(
        &self,
        guest: &Guest,
        ask: Asked,
        party: Party,
        cancel: &Cancel,
    ) -> Called<outcome::Answer> {
        let Guest {
            name,
            digest,
            image,
            config,
            limits,
            account,
            trust,
            share,
        } = guest;
        let limits = *limits;
        let throttled = match &party {
            Party::Cluster(call) => Some(call.throttled()),
            Party::Nobody | Party::Recording(_) => None,
        };
        let slot = share.slot(throttled).await;
        let activity = ask.activity();
        let mapping = self.in_flight.begins(*digest, activity);
        let pre = image.pre();
        drop(mapping);
        let pre = match pre {
            Ok(pre) => pre,
            Err(error) => {
                let problem = format!("its compiled code cannot be mapped: {error:#}");
                return Called::never(CallError::Host(problem));
            }
        };
        let cpu = Cpu::new(self.seams.clock);
        // This call's own: `cancel` is shared by all calls of the plugin.
        let stop = Cancel::default();
        let (now, seed) = match &party {
            // A description must not depend on time or chance.
            Party::Nobody => (jiff::Timestamp::UNIX_EPOCH, [7; 32]),
            Party::Cluster(call) => {
                let (now, seed) = (self.seams.clock.wall(), self.seams.rng.seed());
                if let Some(tape) = call.tape() {
                    tape.begins(now, seed);
                }
                (now, seed)
            }
            Party::Recording(player) => player.moment(),
        };
        let start = Start {
            party,
            plugin: name.clone(),
            config: config.clone(),
            now,
            seed,
            limits,
            account: account.clone(),
            cancel: stop.clone(),
            cpu: cpu.clone(),
            interruption: self.workshop.interruption,
            share: share.clone(),
        };
        let (store, output) = match sandbox(self.engine(), start) {
            Ok(made) => made,
            Err(error) => return Called::never(CallError::Host(format!("{error:#}"))),
        };
        let redactor = store.data().redactor.clone();
        let asked = outcome::ask(pre, store, ask);
        let guest = Metered::new(
            self.in_flight.during(*digest, activity, asked),
            cpu.clone(),
            share.line(),
            stop.clone(),
        );
        // The slot goes with the sandbox, however the call ends.
        let call = async move {
            let report = guest.await;
            drop(slot);
            report
        };
        let call = call.in_current_span();
        let mut placed = Placed::begin(call, trust, cpu.clone(), &self.seams.spawn);
        let in_time = self.seams.clock.within(limits.deadline, &mut placed);
        let (late, report) = match first(in_time, cancel.stopped()).await {
            Either::Left(report) => (report.is_none(), report),
            Either::Right(()) => (false, None),
        };
        let report = match report {
            Some(report) => Some(report),
            None => {
                stop.stop();
                self.seams.clock.within(GRACE, &mut placed).await
            }
        };
        let report = match report {
            Some(Some(report)) => report,
            Some(None) => Report::lost("the call was lost: the host panicked in it".into()),
            None => Report::lost("the call did not stop when it was told to".into()),
        };
        trust.note(cpu.used());
        report.judge(late, cpu.used(), &limits, (&output, &redactor))
    }
}
