//! A component's compiled code: mapped when a call needs it, let go after a minute without one.
//!
//! A hundred idle plugins cost next to nothing, and the first call after idleness a fraction of a
//! millisecond.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};
use windlass_code_cache::Code;

use super::admission;
use super::bindings::PluginPre;
use super::sandbox::SandboxState;
use windlass_base::digest::Digest;
use windlass_base::seams::{Clock, Spawn, Task};

/// How long code stays mapped without a call.
pub(super) const IDLE: Duration = Duration::from_secs(60);

/// How often it is asked whose code is idle.
const LOOK: Duration = Duration::from_secs(10);

/// Compiled code. A call that runs holds what is mapped, whatever happens to it here.
pub(super) struct CompiledComponent {
    code: Code,
    engine: Engine,
    linker: Arc<Linker<SandboxState>>,
    clock: Clock,
    /// Whether it is called for primaries that are being deleted.
    reconciles_going: bool,
    mapped: Mutex<Option<Mapped>>,
}

struct Mapped {
    pre: PluginPre<SandboxState>,
    used: Instant,
}

impl CompiledComponent {
    /// The image of `code`, which is mapped as `component`.
    ///
    /// # Errors
    /// It is not a plugin: what it imports or exports is not what [`Linker`] has.
    pub(super) fn new(
        code: Code,
        component: &Component,
        engine: Engine,
        linker: Arc<Linker<SandboxState>>,
        clock: Clock,
    ) -> wasmtime::Result<Self> {
        let pre = PluginPre::new(linker.instantiate_pre(component)?)?;
        let used = clock.now();
        Ok(Self {
            code,
            reconciles_going: admission::has_going(&engine, component),
            engine,
            linker,
            clock,
            mapped: Mutex::new(Some(Mapped { pre, used })),
        })
    }

    /// Whether it is called for primaries that are being deleted and do not wait for it.
    pub(super) fn reconciles_going(&self) -> bool {
        self.reconciles_going
    }

    /// The code, ready to be instantiated; mapped if it is not.
    pub(super) fn pre(&self) -> wasmtime::Result<PluginPre<SandboxState>> {
        let used = self.clock.now();
        let mut mapped = self.mapped.lock();
        if let Some(mapped) = mapped.as_mut() {
            mapped.used = used;
            return Ok(mapped.pre.clone());
        }
        let component = self.code.map(&self.engine)?;
        let pre = PluginPre::new(self.linker.instantiate_pre(&component)?)?;
        *mapped = Some(Mapped {
            pre: pre.clone(),
            used,
        });
        Ok(pre)
    }

    /// Lets the code go if nobody has called it for so long.
    fn rest(&self, idle: Duration) {
        let now = self.clock.now();
        let mut mapped = self.mapped.lock();
        if mapped
            .as_ref()
            .is_some_and(|mapped| now - mapped.used >= idle)
        {
            *mapped = None;
        }
    }

    /// Whether the code is mapped now.
    fn is_mapped(&self) -> bool {
        self.mapped.lock().is_some()
    }
}

/// The images that somebody uses, by the digests of their components: plugins of the same component share
/// one.
#[derive(Clone, Default)]
pub(super) struct CodeMap(Arc<Mutex<BTreeMap<Digest, Weak<CompiledComponent>>>>);

impl CodeMap {
    pub(super) fn add(&self, component: Digest, image: &Arc<CompiledComponent>) {
        self.0.lock().insert(component, Arc::downgrade(image));
    }

    /// The image of a component, if there is one.
    pub(super) fn of(&self, component: &Digest) -> Option<Arc<CompiledComponent>> {
        self.0.lock().get(component)?.upgrade()
    }

    /// How many are mapped now.
    pub(super) fn mapped(&self) -> usize {
        let images = self.0.lock();
        let live = images.values().filter_map(Weak::upgrade);
        live.filter(|image| image.is_mapped()).count()
    }

    /// Lets idle code go, for as long as the task lives.
    pub(super) fn keep_tidy(&self, spawn: &Spawn, clock: Clock) -> Task {
        let images = self.clone();
        spawn.task(async move {
            loop {
                clock.sleep(LOOK).await;
                images.0.lock().retain(|_, image| match image.upgrade() {
                    Some(image) => {
                        image.rest(IDLE);
                        true
                    }
                    None => false,
                });
            }
        })
    }
}
