//! The `windlass` command.

use std::process::ExitCode;

use clap::Parser;
use windlass::args::Windlass;
use windlass::{cli, telemetry};

fn main() -> ExitCode {
    cli::main(Windlass::parse(), |windlass| {
        telemetry::start(windlass.log_format, windlass.filter(), windlass.holds_log())
    })
}
