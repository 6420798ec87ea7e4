//! The command line of a host, which is also a part of the command line of `windlass`.

mod command;
mod examples;
mod process;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser};

pub use command::HostCommand;
pub use examples::{EXAMPLES, Example, explained};
pub use process::{FAILED, exit, run};

use windlass_base::seams::Seams;
use windlass_kube::telemetry::{LogFlags, LogSettings};

/// Runs Kubernetes controllers whose logic lives in sandboxed WebAssembly plugins.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, max_term_width = 100)]
pub struct HostArgs {
    /// What is logged
    #[command(flatten)]
    pub log: LogFlags,
    /// What to do
    #[command(subcommand)]
    pub command: HostCommand,
}

impl HostArgs {
    /// Reads the command line; what is wrong with it, or asked of it, is said, and ends the process.
    pub fn read() -> Self {
        let mut command = explained(Self::command(), &EXAMPLES);
        let matches = command.get_matches_mut();
        let read = Self::from_arg_matches(&matches);
        let checked = read.and_then(|read| match read.command.traces() {
            Ok(_) => Ok(read),
            Err(wrong) => Err(command.error(ErrorKind::ValueValidation, wrong)),
        });
        checked.unwrap_or_else(|error| error.exit())
    }
}

/// Does what the command line says; `log` starts the log.
pub fn main<T>(
    flags: HostArgs,
    log: impl FnOnce(&LogSettings, &Seams) -> anyhow::Result<T>,
) -> ExitCode {
    let command = flags.command;
    let is_daemon = command.is_daemon();
    let ended = command.run_alone().unwrap_or_else(|| {
        let traces = command.traces().map_err(anyhow::Error::msg)?;
        let mut settings = flags.log.settings("info", traces);
        if !is_daemon {
            settings = settings.for_people();
        }
        let log = |seams: &Seams| log(&settings, seams);
        run(command.threads(), log, |threads, seams| {
            command.run(threads, seams)
        })
    });
    exit(ended, FAILED, is_daemon)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_examples_and_the_command_line_is_consistent() {
        let command = explained(HostArgs::command(), &EXAMPLES);
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        for sub in shown {
            let has = EXAMPLES.iter().any(|(of, _)| *of == sub.get_name());
            assert!(has, "{}", sub.get_name());
        }
        command.debug_assert();
    }
}
