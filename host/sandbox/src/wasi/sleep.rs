//! Waiting for time to pass, which it does not do during a call: who waits for nothing else traps.
//!
//! - A guest may ask for a timer, and poll it together with what is ready.

use std::collections::HashSet;

use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi_io::bindings::wasi::io::poll;

use super::super::cancel::Cancel;
use super::{STANDS, WasiStore};

/// Why a guest traps that waits for time to pass.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("time does not advance during a call; return requeue-after")]
pub(crate) struct OnlyWaits;

/// The timers of a call that are not over, by their handles.
#[derive(Debug, Default)]
pub(crate) struct Sleeps(HashSet<u32>);

/// Links the monotonic clock and `poll`.
///
/// # Errors
/// Two definitions of the same name.
pub(super) fn link<S: WasiStore>(linker: &mut Linker<S>) -> wasmtime::Result<()> {
    monotonic_clock::add_to_linker::<S, Sleeping>(linker, S::sleeper)?;
    poll::add_to_linker::<S, Sleeping>(linker, S::sleeper)
}

struct Sleeping;

impl HasData for Sleeping {
    type Data<'a> = Sleeper<'a>;
}

/// The timers of a call, and what can end its wait.
pub(crate) struct Sleeper<'a> {
    pub(crate) table: &'a mut ResourceTable,
    pub(crate) sleeps: &'a mut Sleeps,
    pub(crate) cancel: &'a Cancel,
}

impl Sleeper<'_> {
    fn sleep(&mut self, over: bool) -> wasmtime::Result<Resource<DynPollable>> {
        let sleep = self.table.push(Sleep {
            over,
            cancel: self.cancel.clone(),
        })?;
        let pollable = subscribe(self.table, sleep)?;
        if !over {
            self.sleeps.0.insert(pollable.rep());
        }
        Ok(pollable)
    }

    fn check(&self, pollables: &[Resource<DynPollable>]) -> wasmtime::Result<()> {
        let mut all = pollables.iter().map(Resource::rep);
        if !pollables.is_empty() && all.all(|one| self.sleeps.0.contains(&one)) {
            Err(wasmtime::Error::new(OnlyWaits))
        } else {
            Ok(())
        }
    }
}

impl monotonic_clock::Host for Sleeper<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(STANDS)
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(1_000_000)
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.sleep(when <= STANDS)
    }

    fn subscribe_duration(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.sleep(when == 0)
    }
}

impl poll::Host for Sleeper<'_> {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        self.check(&pollables)?;
        <ResourceTable as poll::Host>::poll(self.table, pollables).await
    }
}

impl poll::HostPollable for Sleeper<'_> {
    async fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        <ResourceTable as poll::HostPollable>::ready(self.table, pollable).await
    }

    async fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        self.check(std::slice::from_ref(&pollable))?;
        <ResourceTable as poll::HostPollable>::block(self.table, pollable).await
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        self.sleeps.0.remove(&pollable.rep());
        <ResourceTable as poll::HostPollable>::drop(self.table, pollable)
    }
}

struct Sleep {
    over: bool,
    cancel: Cancel,
}

#[async_trait]
impl Pollable for Sleep {
    async fn ready(&mut self) {
        if !self.over {
            self.cancel.stopped().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use wasmtime_wasi_io::bindings::wasi::io::poll::{Host, HostPollable};

    use super::*;

    /// A thing that is ready.
    struct Ready;

    #[async_trait]
    impl Pollable for Ready {
        async fn ready(&mut self) {}
    }

    #[tokio::test]
    async fn who_waits_for_time_alone_traps() {
        let (mut table, mut sleeps) = (ResourceTable::new(), Sleeps::default());
        let cancel = Cancel::default();
        let ready = table.push(Ready).unwrap();
        let ready = subscribe(&mut table, ready).unwrap();
        let mut sleeper = Sleeper {
            table: &mut table,
            sleeps: &mut sleeps,
            cancel: &cancel,
        };
        let hour = sleeper.sleep(false).unwrap();
        let over = sleeper.sleep(true).unwrap();
        let again = |one: &Resource<DynPollable>| Resource::<DynPollable>::new_borrow(one.rep());
        let is_trap = |error: wasmtime::Error| error.downcast_ref::<OnlyWaits>().is_some();

        let polled = sleeper.poll(vec![again(&hour)]).await;
        assert!(is_trap(polled.unwrap_err()));
        let polled = sleeper.poll(vec![again(&hour), again(&hour)]).await;
        assert!(is_trap(polled.unwrap_err()));
        assert!(is_trap(sleeper.block(again(&hour)).await.unwrap_err()));
        assert!(!sleeper.ready(again(&hour)).await.unwrap());

        let polled = sleeper.poll(vec![again(&hour), again(&ready)]).await;
        assert_eq!(polled.unwrap(), [1]);
        let polled = sleeper.poll(vec![again(&over), again(&hour)]).await;
        assert_eq!(polled.unwrap(), [0]);
        sleeper.block(again(&over)).await.unwrap();
        HostPollable::drop(&mut sleeper, hour).unwrap();
        HostPollable::drop(&mut sleeper, over).unwrap();
        assert!(sleeps.0.is_empty());
    }
}
