//! The `windlass` command.

use std::process::ExitCode;

use windlass::args::Windlass;
use windlass::{cli, telemetry};

fn main() -> ExitCode {
    cli::main(Windlass::read(), |windlass| {
        telemetry::start(windlass.log_format, windlass.filter(), windlass.holds_log())
    })
}
