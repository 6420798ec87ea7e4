//! The `windlass` command.

use std::process::ExitCode;

#[cfg(feature = "jemalloc")]
use tikv_jemallocator::Jemalloc;
use windlass::cli::{self, Windlass};

/// What the host's threads hand to each other is freed by another thread than made it: glibc's allocator makes them wait
/// for one another.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

#[cfg(all(release, not(feature = "jemalloc")))]
compile_error!("a release has its own allocator: build it with --features jemalloc");

fn main() -> ExitCode {
    cli::main(Windlass::read())
}
