//! The `windlass-host` command: what runs in a pod.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;
use windlass_host::cli::{self, HostArgs};
use windlass_host::telemetry;

/// What the host's threads hand to each other is freed by another thread than made it: glibc's allocator makes them wait
/// for one another.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    cli::main(HostArgs::read(), telemetry::start)
}
