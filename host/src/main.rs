//! The `windlass` command: flags, threads, exit code.

use std::process::ExitCode;
use std::thread::available_parallelism;

use clap::Parser;
use windlass::args::{Command, Run, Windlass};
use windlass::error::Chain;
use windlass::seams::{Clock, Rng, Seams, Spawn, guest_threads};
use windlass::{release, runtime, telemetry};

fn main() -> ExitCode {
    match start(Windlass::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", Chain(&*error));
            ExitCode::FAILURE
        }
    }
}

fn start(windlass: Windlass) -> anyhow::Result<()> {
    telemetry::start(windlass.log_format, &windlass.log)?;
    let threads = match &windlass.command {
        Command::Run(Run {
            guest_threads: Some(count),
            ..
        }) => usize::from(*count),
        _ => available_parallelism().map_or(1, usize::from),
    };
    let host = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let guests = guest_threads(threads)?;
    let spawn = Spawn::on_threads(host.handle().clone(), guests.handle().clone());
    let seams = Seams {
        clock: Clock::system(),
        rng: Rng::from_system(),
        spawn,
    };
    let ended = host.block_on(async {
        match windlass.command {
            Command::Run(flags) => runtime::run(flags, threads, seams).await,
            Command::Release(flags) => release::release(flags, seams).await,
        }
    });
    // Whatever still blocks is not waited for.
    guests.shutdown_background();
    host.shutdown_background();
    ended
}
