//! The command line: each command, and what it does.

mod command_line;
mod examples;

use std::process::ExitCode;

use windlass_base::screen::print_document;
use windlass_base::seams::Seams;
use windlass_host::cli::{FAILED, exit, run};
use windlass_kube::telemetry;

use crate::replay::Different;
use crate::{apiserver, cluster, dev, fixtures, inspect, project, replay, top};
use command_line::Command;
pub use command_line::{Windlass, command};

/// The exit code of a comparison that cannot be made.
const BROKEN: u8 = 2;

/// Does what the command line says.
pub fn main(windlass: Windlass) -> ExitCode {
    let is_replay = matches!(windlass.command, Command::Replay(_));
    let is_daemon = matches!(&windlass.command, Command::Host(command) if command.is_daemon());
    let ended = start(windlass);
    // As `diff` does: 1 is an answer.
    let is_answer = matches!(&ended, Err(error) if error.is::<Different>());
    let failed = if is_replay && !is_answer {
        BROKEN
    } else {
        FAILED
    };
    exit(ended, failed, is_daemon)
}

fn start(windlass: Windlass) -> anyhow::Result<()> {
    if let Command::Completion(flags) = &windlass.command {
        let (mut command, mut script) = (command(), Vec::new());
        clap_complete::generate(flags.shell, &mut command, "windlass", &mut script);
        return Ok(print_document(&String::from_utf8(script)?)?);
    }
    let mut threads = None;
    if let Command::Host(command) = &windlass.command {
        if let Some(ended) = command.run_alone() {
            return ended;
        }
        threads = command.threads();
    }
    let Windlass { log, command } = windlass;
    let settings = command_line::log_settings(&log, &command);
    let log = |seams: &Seams| telemetry::start(&settings.map_err(anyhow::Error::msg)?, seams);
    run(threads, log, |threads, seams| done(command, threads, seams))
}

async fn done(command: Command, threads: usize, seams: Seams) -> anyhow::Result<()> {
    match command {
        Command::Host(command) => command.run(threads, seams).await,
        Command::Top(flags) => top::top(flags, seams).await,
        Command::Apiserver(flags) => apiserver::serve(flags, seams).await,
        Command::Cluster(flags) => cluster::run(flags, threads, seams).await,
        Command::Dev(flags) => dev::run(*flags, threads, seams).await,
        Command::Render(flags) => dev::render(flags, threads, seams).await,
        Command::Test(flags) => fixtures::test(flags, threads, seams).await,
        Command::Fake(flags) => fixtures::fake(flags, threads, seams).await,
        Command::Replay(flags) => replay::replay(flags, threads, seams).await,
        Command::Doctor(flags) => project::doctor(flags, threads, seams).await,
        Command::New(flags) => project::new(&flags, &seams),
        Command::Build(flags) => project::build(flags, threads, seams).await,
        Command::Grants(flags) => project::grants(flags, threads, seams).await,
        Command::Manifest(flags) => project::manifest(flags, threads, seams).await,
        Command::Push(flags) => project::push(flags, threads, seams).await,
        Command::Inspect(flags) => inspect::print(flags, threads, seams).await,
        Command::Completion(_) => Ok(()),
    }
}
