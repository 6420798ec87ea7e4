//! What came of a call: the guest's answer, or why there is none.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::Instance;
use wasmtime::{Store, Trap};
use wasmtime_wasi::I32Exit;

use super::bindings::types::{Action, Description, Failure, Progress, Request};
use super::bindings::{GOING, Plugin, PluginPre};
use super::cancel::Stop;
use super::cluster::Traffic;
use super::guest_call::{GuestCall, GuestResult};
use super::limiter::Denied;
use super::native::{self, NativeGuest};
use super::redact::Redactor;
use super::sandbox::SandboxState;
use super::wasi::{OnlyWaits, Output};
use windlass_base::memory::Exceeded;
use windlass_base::seams::Spawn;
use windlass_base::text::clean;
use windlass_policy::manifest::Limits;

/// The longest text of a failure or trap that is kept.
const TEXT: usize = 4 << 10;

/// What is said of a guest that left its memory.
const STACK: &str = " (as when its stack overflows: if that is right, link it with a larger one, such as -zstack-size=1048576)";

/// Why a call produced no answer from the plugin.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The plugin answered, and its answer was a failure.
    #[error("plugin reported a {} failure: {}", self.kind().label(), failure_text(.0))]
    Failed(Failure),
    /// The plugin ran past its deadline.
    #[error("plugin ran past its deadline of {deadline:?}{}: raise spec.limits.deadline if that is right", waits_text(*deadline, *waited))]
    DeadlineExceeded {
        /// `spec.limits.deadline`.
        deadline: Duration,
        /// How long the call waited for its host meanwhile: for answers of the API server, and
        /// for its turns to run and to send requests.
        waited: Duration,
    },
    /// The plugin used up its CPU time.
    #[error("plugin used up its CPU time of {0:?}: raise spec.limits.cpu if that is right")]
    CpuExceeded(Duration),
    /// The plugin crashed: unreachable code, out of bounds, out of memory.
    #[error("plugin trapped: {0}")]
    Trapped(String),
    /// The host is shutting down.
    #[error("the call was stopped, since the host is shutting down")]
    Stopped,
    /// A dry run, which ends where the plugin wants to send an HTTP request that may change something.
    #[error(
        "the plugin would send an HTTP request that may change something, and a dry run does not"
    )]
    Undecided,
    /// The host could not run the plugin at all.
    #[error("cannot run plugin: {0}")]
    Host(String),
}

/// The kind of a [`CallError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallFailure {
    /// The plugin answered with a failure that may pass.
    Transient,
    /// The plugin answered with a failure that only a change can fix.
    Terminal,
    /// The plugin crashed.
    Trapped,
    /// The plugin used up its CPU time.
    CpuExceeded,
    /// The plugin ran past its deadline.
    DeadlineExceeded,
    /// The host is shutting down.
    Stopped,
    /// The host could not run the plugin.
    Host,
}

impl CallFailure {
    /// Names it in logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Terminal => "terminal",
            Self::Trapped => "trapped",
            Self::CpuExceeded => "cpu_exceeded",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::Stopped => "stopped",
            Self::Host => "host",
        }
    }
}

impl CallError {
    /// Its kind.
    pub fn kind(&self) -> CallFailure {
        match self {
            Self::Failed(Failure::Transient(_)) => CallFailure::Transient,
            Self::Failed(Failure::Terminal(_)) => CallFailure::Terminal,
            Self::DeadlineExceeded { .. } => CallFailure::DeadlineExceeded,
            Self::CpuExceeded(_) => CallFailure::CpuExceeded,
            Self::Trapped(_) => CallFailure::Trapped,
            Self::Stopped | Self::Undecided => CallFailure::Stopped,
            Self::Host(_) => CallFailure::Host,
        }
    }
}

/// Whether a call took most of the time until its `deadline` itself, and has not `waited` for its host.
pub fn is_own_time(deadline: Duration, waited: Duration) -> bool {
    deadline.saturating_sub(waited) > waited
}

/// No numbers: a text that is the same each time is told once.
fn waits_text(deadline: Duration, waited: Duration) -> &'static str {
    if is_own_time(deadline, waited) {
        ""
    } else {
        ", and waited for the API server or for its turn among the plugins for most of that"
    }
}

fn failure_text(failure: &Failure) -> &str {
    match failure {
        Failure::Transient(text) | Failure::Terminal(text) => text,
    }
}

/// A call that has ended, with what it used.
#[derive(Debug)]
pub struct Called<T> {
    /// The plugin's answer.
    pub answer: Result<T, CallError>,
    /// CPU time.
    pub cpu: Duration,
    /// Peak memory in bytes.
    pub memory: usize,
    /// What it did in the cluster.
    pub traffic: Traffic,
    /// What it wrote to standard output and error; shown only when it failed.
    pub output: String,
}

impl<T> Called<T> {
    pub(super) fn never(error: CallError) -> Self {
        Self {
            answer: Err(error),
            cpu: Duration::ZERO,
            memory: 0,
            traffic: Traffic::default(),
            output: String::new(),
        }
    }

    pub(super) fn narrow<U>(self, answer: impl FnOnce(T) -> Result<U, CallError>) -> Called<U> {
        let Self {
            answer: whole,
            cpu,
            memory,
            traffic,
            output,
        } = self;
        Called {
            answer: whole.and_then(answer),
            cpu,
            memory,
            traffic,
            output,
        }
    }
}

const WRONG_ANSWER: &str = "the sandbox answered another question than was asked";

impl GuestResult {
    pub(super) fn description(self) -> Option<Description> {
        match self {
            Self::Description(description) => Some(*description),
            Self::Action(_) | Self::Progress(_) => None,
        }
    }

    pub(super) fn action(self) -> Result<Action, CallError> {
        match self {
            Self::Action(action) => Ok(action),
            Self::Description(_) | Self::Progress(_) => Err(CallError::Host(WRONG_ANSWER.into())),
        }
    }

    pub(super) fn progress(self) -> Result<Progress, CallError> {
        match self {
            Self::Progress(progress) => Ok(progress),
            Self::Description(_) | Self::Action(_) => Err(CallError::Host(WRONG_ANSWER.into())),
        }
    }
}

/// What a guest's thread brings back.
pub(super) struct Report {
    answer: wasmtime::Result<Result<GuestResult, Failure>>,
    /// What a call has printed that gave no answer, redacted; none if that is still to be done.
    output: Option<String>,
    memory: usize,
    denied: Option<Denied>,
    traffic: Traffic,
}

/// A plugin's code, ready for a call.
pub(super) enum ReadyCode {
    /// To be instantiated.
    Component(PluginPre<SandboxState>),
    /// Somewhere else.
    Native(Arc<dyn NativeGuest>),
}

/// Instantiates the plugin in `store` and asks it. The store ends with the call. What the guest says of a failure is
/// redacted.
pub(super) async fn ask(
    code: ReadyCode,
    (mut store, output): (Store<SandboxState>, Output),
    ask: GuestCall,
) -> Report {
    if let Some(object) = ask.object() {
        store.data().redactor.sees(object);
    }
    let mut answer = exchange(&code, &mut store, ask).await;
    let state = store.data();
    let mistake = state.call.as_ref().and_then(super::cluster::Call::mistake);
    if let (Ok(Ok(_)), Some(mistake)) = (&answer, mistake) {
        answer = Ok(Err(Failure::Transient(mistake.to_owned())));
    }
    // Here, where its processor time is counted: the more a guest says, and the more Secrets it saw, the longer it takes.
    if let Ok(Err(failure)) = &mut answer {
        state.redactor.failure(failure, TEXT);
    }
    let is_shown = !matches!(answer, Ok(Ok(_)));
    let output = is_shown.then(|| state.redactor.lines(&output.text()));
    Report {
        answer,
        output,
        memory: state.limiter.used(),
        denied: state.limiter.denied(),
        traffic: state
            .call
            .as_ref()
            .map(super::cluster::Call::traffic)
            .unwrap_or_default(),
    }
}

async fn exchange(
    code: &ReadyCode,
    store: &mut Store<SandboxState>,
    ask: GuestCall,
) -> wasmtime::Result<Result<GuestResult, Failure>> {
    let pre = match code {
        ReadyCode::Component(pre) => pre,
        ReadyCode::Native(guest) => return native::call(&**guest, store.data_mut(), ask).await,
    };
    let instance = pre.instance_pre().instantiate_async(&mut *store).await?;
    let exports = |store: &mut Store<SandboxState>| Plugin::new(store, &instance);
    Ok(match ask {
        GuestCall::Describe => {
            let plugin = exports(store)?;
            let described = plugin.windlass_plugin_controller().call_describe(store);
            Ok(GuestResult::Description(Box::new(described.await?)))
        }
        GuestCall::Reconcile(request) => {
            let plugin = exports(store)?;
            let called = plugin.windlass_plugin_controller();
            let called = called.call_reconcile(store, &request).await?;
            called.map(GuestResult::Action)
        }
        GuestCall::Finalize(request) => {
            let plugin = exports(store)?;
            let called = plugin.windlass_plugin_controller();
            let called = called.call_finalize(store, &request).await?;
            called.map(GuestResult::Progress)
        }
        GuestCall::ReconcileGoing(request) => {
            let called = reconcile_going(&instance, store, request).await?;
            called.map(GuestResult::Action)
        }
    })
}

/// Calls the optional export, which the component has.
async fn reconcile_going(
    instance: &Instance,
    store: &mut Store<SandboxState>,
    request: Request,
) -> wasmtime::Result<Result<Action, Failure>> {
    let (interface, name) = GOING;
    let interface = instance.get_export_index(&mut *store, None, interface);
    let function = interface
        .and_then(|interface| instance.get_export_index(&mut *store, Some(&interface), name))
        .ok_or_else(|| wasmtime::Error::msg(format!("it exports no function {name}")))?;
    let function = instance
        .get_typed_func::<(Request,), (Result<Action, Failure>,)>(&mut *store, &function)?;
    let (answer,) = function.call_async(&mut *store, (request,)).await?;
    Ok(answer)
}

impl Report {
    /// A call that never reported.
    pub(super) fn lost(why: String) -> Self {
        Self {
            answer: Err(wasmtime::Error::msg(why)),
            output: None,
            memory: 0,
            denied: None,
            traffic: Traffic::default(),
        }
    }

    /// With what the call has printed that never reported, or reported too late: the search for Secrets in it runs on
    /// a guest thread.
    pub(super) async fn with_output(
        mut self,
        late: bool,
        (output, redactor): (Output, Redactor),
        spawn: &Spawn,
    ) -> Self {
        let is_shown = late || !matches!(self.answer, Ok(Ok(_)));
        if is_shown && self.output.is_none() {
            let search = async move { redactor.lines(&output.text()) };
            self.output = Some(spawn.guest(search).await.unwrap_or_default());
        }
        self
    }

    /// Sorts out how the call ended. `late` is how long it had waited for its host when its deadline passed, if it did.
    pub(super) fn judge(
        self,
        late: Option<Duration>,
        cpu: Duration,
        limits: &Limits,
    ) -> Called<GuestResult> {
        let Self {
            answer,
            output,
            memory,
            denied,
            traffic,
        } = self;
        let answer = match (late, answer) {
            // An answer that arrives after the deadline is not an answer: retried like any other.
            (Some(waited), _) => Err(CallError::DeadlineExceeded {
                deadline: limits.deadline,
                waited,
            }),
            (None, Ok(Ok(answer))) => Ok(answer),
            (None, Ok(Err(failure))) => Err(CallError::Failed(failure)),
            (None, Err(error)) => Err(classify(&error, denied, limits)),
        };
        let output = output.unwrap_or_default();
        Called {
            answer,
            cpu,
            memory,
            traffic,
            output,
        }
    }
}

fn classify(error: &wasmtime::Error, denied: Option<Denied>, limits: &Limits) -> CallError {
    match error.downcast_ref::<Stop>() {
        Some(Stop::Cancelled) => return CallError::Stopped,
        Some(Stop::Undecided) => return CallError::Undecided,
        Some(Stop::Cpu) => return CallError::CpuExceeded(limits.cpu),
        None => {}
    }
    if let Some(waits) = error.downcast_ref::<OnlyWaits>() {
        return CallError::Trapped(waits.to_string());
    }
    if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
        return CallError::Trapped(format!("it exited with code {code} instead of answering"));
    }
    let mut text = match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => return CallError::CpuExceeded(limits.cpu),
        // Below a guest's own stack its memory begins: one that overflows leaves it.
        Some(Trap::MemoryOutOfBounds) => format!("{}{STACK}", Trap::MemoryOutOfBounds),
        Some(trap) => trap.to_string(),
        None => format!("{error:#}"),
    };
    match denied {
        Some(Denied::Call) => {
            let limit = limits.memory >> 20;
            text.push_str(&format!(" (after it was refused memory beyond its limit of {limit} MiB: raise spec.limits.memory if that is right)"));
        }
        // What others use is not the plugin's doing.
        Some(Denied::Account(exceeded @ Exceeded::Host(_))) => {
            text.push_str(&format!(" (after it was refused memory: {exceeded})"));
            return CallError::Host(clean(&text, TEXT));
        }
        Some(Denied::Account(exceeded @ Exceeded::Plugin(_))) => {
            text.push_str(&format!(" (after it was refused memory: {exceeded})"));
        }
        None => {}
    }
    CallError::Trapped(clean(&text, TEXT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_not_to_blame_for_what_others_use() {
        let trap = || wasmtime::Error::msg("unreachable");
        let of = |denied| classify(&trap(), Some(denied), &Limits::default());
        let full = of(Denied::Account(Exceeded::Host(1 << 20)));
        assert!(matches!(full, CallError::Host(_)), "{full:?}");
        for own in [Denied::Call, Denied::Account(Exceeded::Plugin(1 << 20))] {
            let own = of(own);
            assert!(matches!(own, CallError::Trapped(_)), "{own:?}");
        }
    }
}
