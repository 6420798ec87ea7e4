//! `windlass` with the allocator of a release, for tests of memory.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;
use windlass::cli::{self, Windlass};

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    cli::main(Windlass::read())
}
