//! Plugins that run natively, and not in a sandbox: their author's code in a unit test or a debugger.
//!
//! - Everything else is as for a component: passes, finalizers, grants, checks, requests to the API server.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use super::bindings::types::{Action, Failure, Progress, Request};
use super::bindings::{clock, config, memory};
use super::code_map::CompiledComponent;
use super::guest_call::{GuestCall, GuestResult};
use super::import::Reply;
use super::imports;
use super::sandbox::SandboxState;

/// Code that answers the calls of a plugin.
pub trait NativeGuest: Send + Sync {
    /// Whether it is called for objects that are being deleted and do not wait for the plugin's finalizer.
    fn reconciles_going(&self) -> bool;

    /// Answers a call; `imports` are what a component could call meanwhile.
    ///
    /// # Errors
    /// Why there is no answer. The call counts as trapped.
    fn call<'a>(
        &'a self,
        call: NativeCall,
        imports: NativeImports<'a>,
    ) -> BoxFuture<'a, Result<NativeAnswer, String>>;
}

/// A call of a native plugin.
#[derive(Clone, Debug)]
pub enum NativeCall {
    /// `reconcile`.
    Reconcile(Request),
    /// `reconcile` of the optional interface `going`.
    ReconcileGoing(Request),
    /// `finalize`.
    Finalize(Request),
}

/// What a native plugin answers.
#[derive(Clone, Debug)]
pub enum NativeAnswer {
    /// `reconcile` has ended well, that of `going` too.
    Action(Action),
    /// `finalize` has ended well.
    Progress(Progress),
    /// It reports a failure.
    Failed(Failure),
}

/// What a native plugin can call during its call.
pub struct NativeImports<'a>(&'a mut SandboxState);

impl NativeImports<'_> {
    /// Calls the import `name`, as recordings name it and its `arguments`.
    ///
    /// # Errors
    /// There is no such import, it does not take such arguments, or the call has to stop.
    pub async fn call(&mut self, name: &str, arguments: Value) -> Result<Reply, String> {
        imports::by_name(self.0, name, arguments).await
    }

    /// The plugin's configuration: JSON.
    ///
    /// # Errors
    /// The call has to stop.
    pub async fn config(&mut self) -> Result<String, String> {
        said(config::Host::get(self.0).await)
    }

    /// When the call began.
    ///
    /// # Errors
    /// The call has to stop.
    pub async fn now(&mut self) -> Result<String, String> {
        said(clock::Host::now(self.0).await)
    }

    /// The plugin wants to be called again at this time.
    ///
    /// # Errors
    /// The call has to stop.
    pub async fn wake_at(&mut self, time: String) -> Result<(), String> {
        said(clock::Host::wake_at(self.0, time).await)
    }

    /// Keeps a hint for the next call over this primary.
    ///
    /// # Errors
    /// The call has to stop.
    pub async fn keep(&mut self, what: Vec<u8>) -> Result<(), String> {
        said(memory::Host::keep(self.0, what).await)
    }
}

fn said<T>(answer: wasmtime::Result<T>) -> Result<T, String> {
    answer.map_err(|error| format!("{error:#}"))
}

/// The code of a plugin.
#[derive(Clone)]
pub(super) enum GuestCode {
    /// A component's.
    Compiled(Arc<CompiledComponent>),
    /// Somewhere else.
    Native(Arc<dyn NativeGuest>),
}

impl GuestCode {
    /// Whether it is called for objects that are being deleted.
    pub(super) fn reconciles_going(&self) -> bool {
        match self {
            Self::Compiled(image) => image.reconciles_going(),
            Self::Native(guest) => guest.reconciles_going(),
        }
    }
}

/// Makes a call of `guest`, whose imports work on `state`.
pub(super) async fn call(
    guest: &dyn NativeGuest,
    state: &mut SandboxState,
    call: GuestCall,
) -> wasmtime::Result<Result<GuestResult, Failure>> {
    let call = match call {
        GuestCall::Reconcile(request) => NativeCall::Reconcile(request),
        GuestCall::ReconcileGoing(request) => NativeCall::ReconcileGoing(request),
        GuestCall::Finalize(request) => NativeCall::Finalize(request),
        GuestCall::Describe => {
            return Err(wasmtime::Error::msg("a native plugin is described already"));
        }
    };
    let answer = guest.call(call, NativeImports(state)).await;
    Ok(match answer.map_err(wasmtime::Error::msg)? {
        NativeAnswer::Action(action) => Ok(GuestResult::Action(action)),
        NativeAnswer::Progress(progress) => Ok(GuestResult::Progress(progress)),
        NativeAnswer::Failed(failure) => Err(failure),
    })
}
