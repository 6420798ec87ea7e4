//! One call's sandbox: a store with its limits, its WASI, and what the imports work on.

use std::sync::Arc;

use jiff::Timestamp;
use wasmtime::component::ResourceTable;
use wasmtime::{Engine, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::bounds::{COPY, SPANS};
use super::cancel::{Cancel, Stop};
use super::cluster::Call;
use super::cluster::slices::Slices;
use super::cpu_meter::Cpu;
use super::engine::{Interruption, refuel};
use super::limiter::Limiter;
use super::redact::Redactor;
use super::shares::VersionShare;
use super::transcript::Player;
use super::waited::Waited;
use super::wasi::{self, Output, Sleeper, Sleeps, WasiStore};
use windlass_base::memory::Account;
use windlass_policy::manifest::{Limits, PluginConfig};

/// Resources that a guest can hold.
const HANDLES: usize = 1_000;

/// Log lines that a call can write.
const LOG_LINES: u32 = 200;

/// The data of one call's store.
pub(super) struct SandboxState {
    pub(super) wasi: WasiCtx,
    pub(super) table: ResourceTable,
    pub(super) sleeps: Sleeps,
    pub(super) limiter: Limiter,
    pub(super) cancel: Cancel,
    /// The access to the cluster; none while the guest describes itself.
    pub(super) call: Option<Call>,
    /// Answers in place of the cluster, if it is there.
    pub(super) player: Option<Player>,
    /// The plugin's name.
    pub(super) plugin: Arc<str>,
    /// The primary that the call is about, for the log; empty while the guest describes itself.
    pub(super) object: String,
    pub(super) config: Arc<str>,
    pub(super) now: Timestamp,
    /// Hides the Secrets that the call sees in what it says.
    pub(super) redactor: Redactor,
    pub(super) log_lines_left: u32,
    /// What the plugin may do over time.
    pub(super) share: Arc<VersionShare>,
    pub(super) spans_left: u32,
}

impl WasiView for SandboxState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl WasiStore for SandboxState {
    fn sleeper(&mut self) -> Sleeper<'_> {
        Sleeper {
            table: &mut self.table,
            sleeps: &mut self.sleeps,
            cancel: &self.cancel,
        }
    }
}

/// Who answers a guest.
pub(super) enum ImportBackend {
    /// Nobody: it describes itself.
    Nobody,
    /// The cluster itself.
    Cluster(Box<Call>),
    /// A recording of an earlier call.
    Recording(Player),
}

/// What a call starts with.
pub(super) struct CallSetup {
    /// Who answers.
    pub backend: ImportBackend,
    /// The plugin's name.
    pub plugin: Arc<str>,
    /// The plugin's configuration, as JSON.
    pub config: PluginConfig,
    /// When the call began.
    pub now: Timestamp,
    /// Where WASI random begins.
    pub seed: [u8; 32],
    /// How much the call may use.
    pub limits: Limits,
    /// Where the plugin's memory counts.
    pub account: Account,
    /// Stops the call.
    pub cancel: Cancel,
    /// Counts the call's CPU time.
    pub cpu: Cpu,
    /// What interrupts the call.
    pub interruption: Interruption,
    /// What the plugin may do over time.
    pub share: Arc<VersionShare>,
    /// How long the call waits for its host.
    pub waited: Waited,
}

/// Makes the store of one call.
///
/// # Errors
/// The engine is interrupted by something else.
pub(super) fn sandbox(
    engine: &Engine,
    start: CallSetup,
) -> wasmtime::Result<(Store<SandboxState>, Output)> {
    let (wasi, output) = wasi::context(start.now, start.seed);
    let redactor = Redactor::on(&start.account);
    if let Some(secrets) = start.config.secrets() {
        redactor.sees(secrets);
    }
    let (call, player) = match start.backend {
        ImportBackend::Nobody => (None, None),
        ImportBackend::Cluster(call) => {
            let call = call.limited_to(start.limits.api_calls);
            let call = call.of_share(start.share.clone());
            let call = call.hiding(redactor.clone());
            let call = call.sliced(Slices::new(start.cpu.clone(), start.limits.cpu));
            (Some(call.waiting(start.waited)), None)
        }
        ImportBackend::Recording(player) => (None, Some(player)),
    };
    let object = call
        .as_ref()
        .map(|call| call.primary().to_string())
        .unwrap_or_default();
    let state = SandboxState {
        wasi,
        table: ResourceTable::new(),
        sleeps: Sleeps::default(),
        limiter: Limiter::new(start.limits.memory, &start.account),
        cancel: start.cancel.clone(),
        call,
        player,
        plugin: start.plugin,
        object,
        config: start.config.json,
        now: start.now,
        redactor,
        log_lines_left: LOG_LINES,
        share: start.share,
        spans_left: SPANS,
    };
    let mut store = Store::new(engine, state);
    store.data_mut().table.set_max_capacity(HANDLES);
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(COPY);
    store.set_max_component_handles(HANDLES);
    match start.interruption {
        Interruption::Fuel => refuel(&mut store, start.limits.cpu)?,
        Interruption::Epochs => stop_at_epochs(&mut store, start.cancel, start.cpu, start.limits),
    }
    Ok((store, output))
}

/// Epochs are points to be stopped at: whether CPU time is left is asked of the thread's clock.
fn stop_at_epochs(store: &mut Store<SandboxState>, cancel: Cancel, cpu: Cpu, limits: Limits) {
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        cancel.check()?;
        if cpu.used_now() > limits.cpu {
            return Err(Stop::Cpu.into());
        }
        cpu.end_slice();
        Ok(UpdateDeadline::YieldCustom(
            1,
            Box::pin(tokio::task::yield_now()),
        ))
    });
}
