//! A plugin, ready to be called: describe, reconcile, finalize, each in a fresh sandbox.
//!
//! - Nothing that a guest does outlives its call.
//! - A call ends by its answer, by a trap, or by being told to stop; it is dropped only if it does
//!   not obey.
//!
//! ```layers
//! describe  what a component says about itself
//! functions, load  a component becomes a plugin; its exports
//! outcome  the guest's answer, or why there is none
//! native  plugins without a sandbox, for tests
//! code_map, imports  code of components, shared; the imports of the contract
//! sandbox  the store of one call
//! cluster  the calls of a guest to the cluster
//! executor, redact, setup  guests in turns; Secrets in texts; what a call starts with
//! compiler, cpu_meter, shares, transcript  the compiler's process; CPU time; what a plugin may use; recorded calls
//! admission, fair_scheduler, import  when a call may begin; whose turn it is; records of the contract
//! calls, custom_metrics, description, engine, guest_call, hints, refusal, served, wasi  one job each, for all above
//! bindings, bounds, cancel, http, interfaces, limiter, primary, proposals, rates, slots, waited  limits and types
//! ```
// `screen` prints everything.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod admission;
mod bindings;
mod bounds;
mod calls;
mod cancel;
pub mod cluster;
mod code_map;
pub mod compiler;
mod cpu_meter;
mod custom_metrics;
mod describe;
mod description;
mod engine;
mod executor;
mod fair_scheduler;
mod functions;
mod guest_call;
mod hints;
pub mod http;
pub mod import;
mod imports;
mod interfaces;
mod limiter;
mod load;
pub mod native;
mod outcome;
mod primary;
mod proposals;
mod rates;
mod redact;
mod refusal;
mod sandbox;
pub mod served;
mod setup;
mod shares;
mod slots;
pub mod transcript;
mod waited;
mod wasi;

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;
use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Engine, Store};

pub use bindings::types::{Action, Failure, Progress, Request};
pub use calls::HostCalls;
pub use cancel::Cancel;
pub use compiler::Compiler;
pub use custom_metrics::{BUCKETS, CustomFamily, CustomMetrics, MetricKind, Number};
pub use describe::Describe;
pub use description::{
    Description, DescriptionDocument, Finalizes, Need, PrimaryWatch, ServedPrimary,
};
pub use engine::{SLICE, SLOTS};
pub use hints::Hints;
pub use http::{Answering, HttpAccess, HttpMeans, HttpRequests, ServerAddresses, StandIn};
pub use interfaces::interfaces;
pub use load::{CodeSource, LoadError};
pub use outcome::is_own_time;
pub use outcome::{CallError, CallFailure, Called};
pub use rates::Rates;
pub use setup::{code_cache, sandboxes};
pub use shares::Maxima;

use code_map::CodeMap;
use compiler::CompileTurns;
use cpu_meter::{Cpu, Metered};
use engine::Interruption;
use executor::{Execution, InlineBudget};
use guest_call::{GuestCall, GuestResult};
use native::GuestCode;
use outcome::{ReadyCode, Report};
use sandbox::{CallSetup, ImportBackend, SandboxState, sandbox};
use shares::{Shares, VersionShare};
use waited::Waited;
use wasi::Output;
use windlass_base::digest::Digest;
use windlass_base::flowcontrol::RateLimiter;
use windlass_base::memory::{Account, Accounts, Budget};
use windlass_base::seams::{Seams, Task};
use windlass_kube::crashes::InFlight;
use windlass_policy::manifest::{Limits, PluginConfig};

/// How long a call that was told to stop has for it before it is dropped.
const GRACE: Duration = Duration::from_secs(1);

/// What all plugins of a host share: the engine and its code, threads, slots and memory.
pub struct Sandboxes {
    workshop: WasmRuntime,
    seams: Seams,
    shares: Arc<Shares>,
    accounts: Accounts,
    compiler: Compiler,
    compile_turns: CompileTurns,
    in_flight: InFlight,
    _tidy: Option<Task>,
}

/// The engine, its imports, and the code that is ready to run.
#[derive(Clone)]
struct WasmRuntime {
    engine: Engine,
    interruption: Interruption,
    linker: Arc<Linker<SandboxState>>,
    images: CodeMap,
}

/// A compiled plugin.
pub struct Plugin {
    /// `metadata.name` of its document.
    pub name: Arc<str>,
    /// What it says about itself.
    pub description: Description,
    /// Where its code came from.
    pub code_source: CodeSource,
    sandboxes: Arc<Sandboxes>,
    guest: Guest,
}

/// What a call needs of its plugin.
struct Guest {
    name: Arc<str>,
    digest: Digest,
    code: GuestCode,
    config: PluginConfig,
    limits: Limits,
    account: Account,
    /// Decides where its calls run.
    trust: InlineBudget,
    share: Arc<VersionShare>,
}

/// What a call is stopped and measured by.
struct CallControl {
    /// This call's own: that of the caller is shared by all calls of the plugin.
    stop: Cancel,
    waited: Waited,
    cpu: Cpu,
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
        bindings::Plugin::add_to_linker::<SandboxState, HasSelf<SandboxState>>(
            &mut linker,
            |state| state,
        )?;
        let workshop = WasmRuntime {
            engine,
            interruption: Interruption::of(&seams.spawn),
            linker: Arc::new(linker),
            images: CodeMap::default(),
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
        workshop: WasmRuntime,
        seams: Seams,
        threads: usize,
        budget: usize,
        compiler: Compiler,
    ) -> Self {
        Self {
            workshop,
            shares: Shares::new(threads, &seams),
            compile_turns: CompileTurns::new(seams.clock),
            seams,
            accounts: Accounts::new(Budget::new(budget)),
            compiler,
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

    /// The limiter of all requests to the API server.
    pub fn request_limiter(&self) -> &RateLimiter {
        self.shares.requests()
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

    /// Makes one call in a sandbox of its own, bounded by the guest's limits.
    async fn call(
        &self,
        guest: &Guest,
        ask: GuestCall,
        backend: ImportBackend,
        cancel: &Cancel,
    ) -> Called<GuestResult> {
        let throttled = match &backend {
            ImportBackend::Cluster(call) => Some(call.throttled()),
            ImportBackend::Nobody | ImportBackend::Recording(_) => None,
        };
        let hint = match &backend {
            ImportBackend::Cluster(call) => call.hint(),
            ImportBackend::Nobody | ImportBackend::Recording(_) => None,
        };
        let slot = guest.share.slot(throttled).await;
        let code = match self.ready_code(guest, &ask) {
            Ok(code) => code,
            Err(error) => return Called::never(error),
        };
        let control = CallControl {
            stop: Cancel::default(),
            waited: Waited::new(self.seams.clock),
            cpu: Cpu::new(self.seams.clock),
        };
        let start = self.call_setup(guest, backend, &control);
        let (store, output) = match sandbox(self.engine(), start) {
            Ok(made) => made,
            Err(error) => return Called::never(CallError::Host(format!("{error:#}"))),
        };
        let redactor = store.data().redactor.clone();
        let call = self.guest_call(guest, (code, ask), (store, output.clone()), &control);
        // The slot goes with the sandbox, however the call ends.
        let call = async move {
            let report = call.await;
            drop(slot);
            report
        };
        let call = call.in_current_span();
        let (trust, cpu, limits) = (&guest.trust, &control.cpu, &guest.limits);
        let mut placed = Execution::begin(call, trust, cpu.clone(), &self.seams.spawn);
        let (late, report) = self
            .wait_for(&mut placed, limits.deadline, cancel, &control)
            .await;
        trust.note(cpu.used());
        let spawn = &self.seams.spawn;
        let report = report
            .with_output(late.is_some(), (output, redactor), spawn)
            .await;
        let called = report.judge(late, cpu.used(), limits);
        if let Some(hint) = hint {
            hint.ends(called.answer.is_ok());
        }
        called
    }

    /// The guest's code, ready for `ask`.
    fn ready_code(&self, guest: &Guest, ask: &GuestCall) -> Result<ReadyCode, CallError> {
        let image = match &guest.code {
            GuestCode::Compiled(image) => image,
            GuestCode::Native(guest) => return Ok(ReadyCode::Native(guest.clone())),
        };
        let mapping = self.in_flight.begins(guest.digest, ask.activity());
        let pre = image.pre();
        drop(mapping);
        pre.map(ReadyCode::Component).map_err(|error| {
            CallError::Host(format!("its compiled code cannot be mapped: {error:#}"))
        })
    }

    /// What a call of `guest` starts with. If the cluster answers and the call is recorded, the recording begins here.
    fn call_setup(
        &self,
        guest: &Guest,
        backend: ImportBackend,
        control: &CallControl,
    ) -> CallSetup {
        let (now, seed) = match &backend {
            // A description must not depend on time or chance.
            ImportBackend::Nobody => (jiff::Timestamp::UNIX_EPOCH, [7; 32]),
            ImportBackend::Cluster(call) => {
                let (now, seed) = (self.seams.clock.wall(), call.seed());
                if let Some(recorder) = call.recorder() {
                    recorder.begins(now, seed);
                }
                (now, seed)
            }
            ImportBackend::Recording(player) => player.moment(),
        };
        CallSetup {
            backend,
            plugin: guest.name.clone(),
            config: guest.config.clone(),
            now,
            seed,
            limits: guest.limits,
            account: guest.account.clone(),
            cancel: control.stop.clone(),
            cpu: control.cpu.clone(),
            interruption: self.workshop.interruption,
            share: guest.share.clone(),
            waited: control.waited.clone(),
        }
    }

    /// Asks the guest in its sandbox, in turns with other guests, and counted as at work.
    fn guest_call(
        &self,
        guest: &Guest,
        (code, ask): (ReadyCode, GuestCall),
        sandbox: (Store<SandboxState>, Output),
        control: &CallControl,
    ) -> Metered<Report> {
        let activity = ask.activity();
        let asked = outcome::ask(code, sandbox, ask);
        Metered::new(
            self.in_flight.during(guest.digest, activity, asked),
            control.cpu.clone(),
            (guest.share.line(), control.waited.clone()),
            control.stop.clone(),
        )
    }

    /// Waits until the call has ended: by itself, or told to stop at its deadline or by `cancel`. If it was late,
    /// also answers how long it had waited for its host.
    async fn wait_for(
        &self,
        placed: &mut Execution<Report>,
        deadline: Duration,
        cancel: &Cancel,
        control: &CallControl,
    ) -> (Option<Duration>, Report) {
        let in_time = self.seams.clock.within(deadline, &mut *placed);
        let (late, report) = tokio::select! {
            biased;
            report = in_time => (report.is_none().then(|| control.waited.total()), report),
            () = cancel.stopped() => (None, None),
        };
        let report = match report {
            Some(report) => Some(report),
            None => {
                control.stop.stop();
                self.seams.clock.within(GRACE, placed).await
            }
        };
        let report = match report {
            Some(Some(report)) => report,
            Some(None) => Report::lost("the call was lost: the host panicked in it".into()),
            None => Report::lost("the call did not stop when it was told to".into()),
        };
        (late, report)
    }
}
