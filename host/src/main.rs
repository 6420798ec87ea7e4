//! The `windlass` command.

use std::process::ExitCode;

use windlass::args::Windlass;
use windlass::{cli, telemetry};

fn main() -> ExitCode {
    cli::main(Windlass::read(), telemetry::start)
}
