//! A plugin, ready to be called: describe, reconcile, finalize, each in a fresh sandbox.
//!
//! - Nothing that a guest does outlives its call.
//! - A call ends by its answer, by a trap, or by being told to stop; it is dropped only if it does
//!   not obey.

pub mod admission;
mod bindings;
mod cancel;
pub mod cluster;
mod description;
mod engine;
mod imports;
mod limiter;
mod meter;
mod outcome;
mod sandbox;
mod turns;
mod wasi;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::{Component, HasSelf, Linker};
use windlass_code_cache::CodeCache;

pub use bindings::types::{Action, Failure, Progress, Request};
pub use cancel::Cancel;
pub use description::Description;
pub use engine::{SLICE, SLOTS};
pub use limiter::Budget;
pub use outcome::{CallError, Called};
pub use turns::Turns;

use crate::manifest::Limits;
use crate::seams::{Either, Seams, first};
use admission::Refused;
use cluster::Call;
use meter::{Cpu, Metered};
use outcome::{Asked, Report};
use sandbox::{Start, State, sandbox};

/// How long a call that was told to stop has for it before it is dropped.
const GRACE: Duration = Duration::from_secs(1);

/// What all plugins of a host share: the engine, its imports, threads, slots and memory.
pub struct Sandboxes {
    engine: Engine,
    linker: Linker<State>,
    seams: Seams,
    turns: Turns,
    budget: Budget,
    slots: Arc<Semaphore>,
    /// Compiling takes hundreds of megabytes for a large component: one at a time.
    compiling: Semaphore,
}

/// A compiled plugin.
pub struct Plugin {
    /// `metadata.name` of its document.
    pub name: Arc<str>,
    /// What it says about itself.
    pub description: Description,
    sandboxes: Arc<Sandboxes>,
    pre: bindings::PluginPre<State>,
    config: Arc<str>,
    limits: Limits,
}

/// Why a component is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It is not let in.
    #[error(transparent)]
    Refused(#[from] Refused),
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
    /// Makes the engine and starts its clock. Guests share `threads` threads and `budget` bytes.
    ///
    /// # Errors
    /// The machine cannot run it.
    pub fn new(seams: Seams, threads: usize, budget: usize) -> wasmtime::Result<Arc<Self>> {
        let engine = engine::engine(&seams.spawn)?;
        let mut linker = Linker::new(&engine);
        wasi::link(&mut linker)?;
        bindings::Plugin::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
        Ok(Arc::new(Self {
            engine,
            linker,
            seams,
            turns: Turns::new(threads),
            budget: Budget::new(budget),
            // Below the pool's slots: a call waits here rather than fail there.
            compiling: Semaphore::new(1),
            slots: Arc::new(Semaphore::new(usize::try_from(SLOTS).unwrap_or(1) - 4)),
        }))
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The bytes that all guests together hold now.
    pub fn memory_in_use(&self) -> usize {
        self.budget.used()
    }

    /// Judges, compiles and describes a component.
    ///
    /// # Errors
    /// Why it cannot be used, for a person.
    pub async fn load(
        self: &Arc<Self>,
        name: &str,
        bytes: Vec<u8>,
        config: &str,
        limits: Limits,
        cache: Arc<CodeCache>,
    ) -> Result<Plugin, LoadError> {
        let this = self.clone();
        let turn = self.compiling.acquire().await;
        let compiled = self
            .seams
            .spawn
            .blocking(move || this.prepare(&bytes, &cache))
            .await;
        drop(turn);
        let pre = compiled.map_err(|error| Refused::Damaged(error.to_string()))??;
        let name: Arc<str> = name.into();
        let config: Arc<str> = config.into();
        let ask = Asked::Describe;
        let called = self
            .call(&name, &pre, &config, limits, ask, None, &Cancel::default())
            .await;
        let description = called.answer.map_err(LoadError::Describe)?.description();
        let description =
            description.ok_or_else(|| LoadError::Description("none was given".into()))?;
        let description = Description::read(description).map_err(LoadError::Description)?;
        Ok(Plugin {
            name,
            description,
            sandboxes: self.clone(),
            pre,
            config,
            limits,
        })
    }

    fn prepare(
        &self,
        bytes: &[u8],
        cache: &CodeCache,
    ) -> Result<bindings::PluginPre<State>, LoadError> {
        admission::judge_bytes(bytes)?;
        let component = match cache.load(&self.engine, bytes).map_err(LoadError::Cache)? {
            Some(component) => component,
            None => {
                let compiled = Component::new(&self.engine, bytes);
                let component = compiled.map_err(|error| Refused::Damaged(format!("{error:#}")))?;
                cache.keep(bytes, &component).map_err(LoadError::Cache)?;
                component
            }
        };
        admission::judge_component(&self.engine, &component)?;
        let mismatch = |error: wasmtime::Error| Refused::Mismatch(format!("{error:#}"));
        let instance = self.linker.instantiate_pre(&component).map_err(mismatch)?;
        Ok(bindings::PluginPre::new(instance).map_err(mismatch)?)
    }

    /// Makes one call in a sandbox of its own, bounded by `limits`.
    #[expect(
        clippy::too_many_arguments,
        reason = "everything that one call consists of, gathered from its two callers"
    )]
    async fn call(
        &self,
        name: &Arc<str>,
        pre: &bindings::PluginPre<State>,
        config: &Arc<str>,
        limits: Limits,
        ask: Asked,
        call: Option<Call>,
        cancel: &Cancel,
    ) -> Called<outcome::Answer> {
        let Ok(slot) = self.slots.clone().acquire_owned().await else {
            return Called::never(CallError::Host("the host is shutting down".into()));
        };
        let cpu = Cpu::new(self.seams.clock);
        // This call's own: `cancel` is shared by all calls of the plugin.
        let stop = Cancel::default();
        let describing = matches!(ask, Asked::Describe);
        let start = Start {
            call,
            plugin: name.clone(),
            config: config.clone(),
            // A description must not depend on time or chance.
            now: if describing {
                jiff::Timestamp::UNIX_EPOCH
            } else {
                self.seams.clock.wall()
            },
            seed: if describing {
                [7; 32]
            } else {
                self.seams.rng.seed()
            },
            limits,
            budget: self.budget.clone(),
            cancel: stop.clone(),
            cpu: cpu.clone(),
        };
        let (store, output) = sandbox(&self.engine, start);
        let guest = Metered::new(
            outcome::ask(pre.clone(), store, ask),
            cpu.clone(),
            self.turns.clone(),
            name.clone(),
        );
        // The slot goes with the sandbox, however the call ends.
        let mut task = self.seams.spawn.guest(async move {
            let report = guest.await;
            drop(slot);
            report
        });
        let in_time = self.seams.clock.within(limits.deadline, &mut task);
        let (late, report) = match first(in_time, cancel.stopped()).await {
            Either::Left(report) => (report.is_none(), report),
            Either::Right(()) => (false, None),
        };
        let report = match report {
            Some(report) => Some(report),
            None => {
                stop.stop();
                self.seams.clock.within(GRACE, &mut task).await
            }
        };
        let report = match report {
            Some(Ok(report)) => report,
            Some(Err(error)) => Report::lost(format!("the call was lost: {error}")),
            None => Report::lost("the call did not stop when it was told to".into()),
        };
        report.judge(late, cpu.used(), &limits, &output)
    }
}

impl Plugin {
    /// Calls `reconcile`.
    pub async fn reconcile(&self, request: Request, call: Call, cancel: &Cancel) -> Called<Action> {
        let called = self.call(Asked::Reconcile(request), call, cancel).await;
        called.narrow(outcome::Answer::action)
    }

    /// Calls `finalize`.
    pub async fn finalize(
        &self,
        request: Request,
        call: Call,
        cancel: &Cancel,
    ) -> Called<Progress> {
        let called = self.call(Asked::Finalize(request), call, cancel).await;
        called.narrow(outcome::Answer::progress)
    }

    /// What it may use.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    async fn call(&self, ask: Asked, call: Call, cancel: &Cancel) -> Called<outcome::Answer> {
        let Self {
            name,
            sandboxes,
            pre,
            config,
            limits,
            ..
        } = self;
        sandboxes
            .call(name, pre, config, *limits, ask, Some(call), cancel)
            .await
    }
}
