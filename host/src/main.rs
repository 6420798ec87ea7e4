//! The `windlass` command.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;
use windlass::cli::{self, Windlass};
use windlass::telemetry;

/// What the host's threads hand to each other is freed by another thread than made it: glibc's allocator makes them wait
/// for one another.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    cli::main(Windlass::read(), |windlass, seams| {
        let settings = windlass.log_settings().map_err(anyhow::Error::msg)?;
        telemetry::start(&settings, seams)
    })
}
