//! The `windlass-host` command: what runs in a pod.

use std::process::ExitCode;

#[cfg(feature = "jemalloc")]
use tikv_jemallocator::Jemalloc;
use windlass_host::cli::{self, HostArgs};
use windlass_kube::telemetry;

/// What the host's threads hand to each other is freed by another thread than made it: glibc's allocator makes them wait
/// for one another.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

#[cfg(all(release, not(feature = "jemalloc")))]
compile_error!("a release has its own allocator: build it with --features jemalloc");

fn main() -> ExitCode {
    cli::main(HostArgs::read(), telemetry::start)
}
