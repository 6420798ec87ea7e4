//! The `windlass` command.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;
use windlass::cli::{self, Windlass};

/// What the host's threads hand to each other is freed by another thread than made it: glibc's allocator makes them wait
/// for one another.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    cli::main(Windlass::read())
}
