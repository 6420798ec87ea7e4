//! The `windlass` command, but for its log: threads, subcommands, exit code.

mod command_line;
mod examples;

use std::io::{stdin, stdout};
use std::process::ExitCode;
use std::thread::available_parallelism;

use crate::commands::annotate::{Mark, annotate};
use crate::commands::{inspect, release, why};
use crate::error::Chain;
use crate::plugin::compiler::{CompileError, REFUSED, compile_child};
use crate::replay::Different;
use crate::seams::{Clock, Rng, Seams, Spawn, guest_threads};
use crate::text::clean_lines;
use crate::{apiserver, dev, fixtures, project, rbac, replay, runtime, top};
use command_line::Command;
pub use command_line::{Windlass, command};

/// The exit code of what has failed.
const FAILED: u8 = 1;
/// That of a comparison that cannot be made.
const BROKEN: u8 = 2;
/// The longest line of an error.
const LONGEST: usize = 64 << 10;

/// Does what the command line says. `log` is started for commands that log, and dropped when they have ended; tests
/// bring their own.
pub fn main<T>(
    windlass: Windlass,
    log: impl FnOnce(&Windlass, &Seams) -> anyhow::Result<T>,
) -> ExitCode {
    let failed = match windlass.command {
        // As `diff` does: 1 is an answer.
        Command::Replay(_) => BROKEN,
        _ => FAILED,
    };
    // What reads its log reads its last words there.
    let is_daemon = matches!(windlass.command, Command::Run(_));
    match start(windlass, log) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref::<CompileError>() {
            // The host that started this says the rest.
            Some(CompileError::Refused(refused)) => {
                eprintln!("{refused}");
                ExitCode::from(REFUSED)
            }
            _ => {
                // Some of it may be what a guest or a server said.
                let said = clean_lines(&Chain(&*error).to_string(), LONGEST);
                match is_daemon && tracing::enabled!(tracing::Level::ERROR) {
                    true => tracing::error!("{said}"),
                    false => eprintln!("error: {said}"),
                }
                let is_answer = error.is::<Different>();
                ExitCode::from(if is_answer { FAILED } else { failed })
            }
        },
    }
}

fn start<T>(
    windlass: Windlass,
    log: impl FnOnce(&Windlass, &Seams) -> anyhow::Result<T>,
) -> anyhow::Result<()> {
    if matches!(windlass.command, Command::Compile) {
        return Ok(compile_child(&mut stdin().lock(), &mut stdout().lock())?);
    }
    if let Command::Completion(flags) = &windlass.command {
        let mut command = command();
        clap_complete::generate(flags.shell, &mut command, "windlass", &mut stdout().lock());
        return Ok(());
    }
    let asked = match &windlass.command {
        Command::Run(flags) => flags.guest_threads.map(usize::from),
        _ => None,
    };
    let threads = asked.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
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
    let logged = log(&windlass, &seams)?;
    let ended = host.block_on(async {
        match windlass.command {
            Command::Run(flags) => runtime::run(*flags, threads, seams).await,
            Command::Release(flags) => release::release(flags, seams).await,
            Command::Pause(flags) => annotate(&flags, Mark::Pause, seams).await,
            Command::Resume(flags) => annotate(&flags, Mark::Resume, seams).await,
            Command::Reconcile(flags) => annotate(&flags, Mark::Reconcile, seams).await,
            Command::Rbac(flags) => rbac::print(flags, threads, seams).await,
            Command::Top(flags) => top::top(flags, seams).await,
            Command::Why(flags) => why::ask(flags, seams).await,
            Command::Apiserver(flags) => apiserver::serve(flags, seams).await,
            Command::Dev(flags) => dev::run(*flags, threads, seams).await,
            Command::Render(flags) => dev::render(flags, threads, seams).await,
            Command::Test(flags) => fixtures::test(flags, threads, seams).await,
            Command::Replay(flags) => replay::replay(flags, threads, seams).await,
            Command::Doctor(flags) => project::doctor(flags, threads, seams).await,
            Command::New(flags) => project::new(&flags, &seams),
            Command::Build(flags) => project::build(flags, threads, seams).await,
            Command::Grants(flags) => project::grants(flags, threads, seams).await,
            Command::Inspect(flags) => inspect::print(flags, threads, seams).await,
            Command::Completion(_) | Command::Compile => Ok(()),
        }
    });
    // What is still to be sent needs the host's threads.
    drop(logged);
    // Whatever still blocks is not waited for.
    guests.shutdown_background();
    host.shutdown_background();
    ended
}
