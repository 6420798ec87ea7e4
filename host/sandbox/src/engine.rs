//! The one wasmtime engine of the process, and the clock that interrupts its guests.

use std::ops::ControlFlow;
use std::time::Duration;

use wasmtime::{Config, Engine, PoolingAllocationConfig, Store};

use super::proposals;
use windlass_base::seams::Spawn;
use windlass_policy::manifest::MOST_MEMORY;

/// How long a guest runs before it hands back its turn, and by how much it may overdraw its CPU time: what it has
/// used is looked at then. Below 10 ms by what a tick can be late.
pub const SLICE: Duration = Duration::from_millis(8);

/// How many calls can be in flight at once, over all plugins.
pub const SLOTS: u32 = 64;

/// Fuel that a guest burns before it hands back its turn, and for each second of CPU time that it may use:
/// about one instruction each.
const FUEL_SLICE: u64 = 10_000_000;
const FUEL_SECOND: f64 = 1e9;

/// Elements of a table at most. The largest measured has 7,704 (StarlingMonkey).
pub(super) const TABLE_ELEMENTS: usize = 20_000;

/// The stack of a guest, in bytes.
const STACK: usize = 512 << 10;

/// What interrupts guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interruption {
    /// A clock.
    Epochs,
    /// What they have executed: always at the same instruction, for simulations.
    Fuel,
}

impl Interruption {
    /// What fits how tasks are started.
    pub(super) fn of(spawn: &Spawn) -> Self {
        if spawn.has_threads() {
            Self::Epochs
        } else {
            Self::Fuel
        }
    }
}

/// Lets a store that is interrupted by fuel run for as long as `cpu` is worth.
///
/// # Errors
/// Its engine has a clock.
pub(super) fn refuel<T>(store: &mut Store<T>, cpu: Duration) -> wasmtime::Result<()> {
    // A float that is too large becomes the largest number.
    store.set_fuel((cpu.as_secs_f64() * FUEL_SECOND) as u64)?;
    store.fuel_async_yield_interval(Some(FUEL_SLICE))
}

/// Builds the engine that every plugin shares and starts its clock.
///
/// One function does both, so interruption cannot be switched on without something to trigger it.
/// The clock stops when the last engine is dropped.
///
/// # Errors
/// The machine cannot run it: no memory for the pool, no thread for the clock.
pub(super) fn engine(spawn: &Spawn) -> wasmtime::Result<Engine> {
    let mut config = settings(Interruption::of(spawn));
    config.allocation_strategy(pool());
    let engine = Engine::new(&config)?;
    let weak = engine.weak();
    spawn.every(SLICE, "epochs", move || match weak.upgrade() {
        Some(engine) => {
            engine.increment_epoch();
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    })?;
    Ok(engine)
}

/// Builds an engine that compiles for [`engine`], and runs nothing: without its pool and its clock.
///
/// # Errors
/// The machine cannot run it.
pub(super) fn compiler(interruption: Interruption) -> wasmtime::Result<Engine> {
    Engine::new(&settings(interruption))
}

/// What compiled code depends on, and the stacks.
fn settings(interruption: Interruption) -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(interruption == Interruption::Epochs)
        .consume_fuel(interruption == Interruption::Fuel)
        // Component-model async is not compiled in; without its structures calls cost a third.
        .concurrency_support(false)
        .max_wasm_stack(STACK)
        .async_stack_size(2 * STACK)
        // Where in the component each instruction comes from, and what a debugger unwinds by: a fifth of compiled code,
        // for an offset that no operator reads. Traps name their functions without.
        .generate_address_map(false)
        .native_unwind_info(false);
    proposals::configure(&mut config);
    config
}

/// Room for every language measured: Python has 38 core instances, QuickJS 3 memories, JavaScript
/// tables of 7,692 elements. Address space is reserved, memory is not.
fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(SLOTS)
        .total_stacks(SLOTS)
        .total_memories(4 * SLOTS)
        .total_core_instances(60 * SLOTS)
        .max_core_instances_per_component(80)
        .max_memories_per_component(8)
        .total_tables(60 * SLOTS)
        .max_tables_per_component(80)
        .table_elements(TABLE_ELEMENTS)
        .max_core_instance_size(1 << 20)
        .max_component_instance_size(1 << 20)
        .max_memory_size(MOST_MEMORY)
        // All of a guest in Rust, JavaScript on QuickJS, or Go. What lies above goes back to the kernel and comes
        // again page by page, and each of both interrupts all processors: with 256 KiB a call of QuickJS takes half as
        // long again, and one of Go three quarters (make bench-calls). It is held by warm slots alone.
        .linear_memory_keep_resident(4 << 20)
        .table_keep_resident(128 << 10)
        .max_unused_warm_slots(8);
    pool
}
