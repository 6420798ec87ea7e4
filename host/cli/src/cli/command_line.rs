//! The command line: each command with its flags.

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use windlass_host::cli::{HostCommand, explained};
use windlass_kube::telemetry::{Endpoint, LogFlags, LogSettings};

use super::examples;
use crate::apiserver::ApiServerFlags;
use crate::cluster::LocalClusterFlags;
use crate::dev::{DevFlags, RenderFlags};
use crate::fixtures::{FakeFlags, TestFlags};
use crate::inspect::InspectFlags;
use crate::project::{BuildFlags, DoctorFlags, GrantsFlags, ManifestFlags, NewFlags, PushFlags};
use crate::replay::ReplayFlags;
use crate::top::TopFlags;

/// Runs Kubernetes controllers whose logic lives in sandboxed WebAssembly plugins.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, max_term_width = 100)]
pub struct Windlass {
    /// What is logged
    #[command(flatten)]
    pub log: LogFlags,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The command line with its help.
pub fn command() -> clap::Command {
    explained(Windlass::command(), &examples::all())
}

impl Windlass {
    /// Reads the command line; what is wrong with it, or asked of it, is said, and ends the process.
    pub fn read() -> Self {
        let mut command = command();
        let matches = command.get_matches_mut();
        let read = Self::from_arg_matches(&matches);
        let checked = read.and_then(|read| match read.command.traces() {
            Ok(_) => Ok(read),
            Err(wrong) => Err(command.error(ErrorKind::ValueValidation, wrong)),
        });
        checked.unwrap_or_else(|error| error.exit())
    }
}

/// How the log of a command is written, and where its traces go.
///
/// # Errors
/// That is not an address; [`Windlass::read`] has said so.
pub(super) fn log_settings(log: &LogFlags, command: &Command) -> Result<LogSettings, &'static str> {
    let usual = match command {
        // What a plugin does is told, and not logged as well.
        Command::Dev(_) => "error,windlass_host::hosting=off,windlass_controller::controller=off",
        Command::Test(_) | Command::Fake(_) => "warn,plugin=info",
        Command::Cluster(_) => "warn",
        _ => "info",
    };
    let mut settings = log.settings(usual, command.traces()?);
    let is_held_back = matches!(command, Command::Test(_) | Command::Fake(_));
    // A collector reads the log of a host; people and scripts read what other commands say.
    if !matches!(command, Command::Host(command) if command.is_daemon()) {
        settings = settings.for_people();
    }
    settings.is_held_back = log.filter.is_none() && is_held_back;
    Ok(settings)
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create a project for a new plugin, in a folder with its name
    New(NewFlags),
    /// Run projects or components on an embedded API server, and again when a file changes
    Dev(Box<DevFlags>),
    /// Build the component of a project, and check that a host would load it
    Build(BuildFlags),
    /// Print the grants that a plugin needs and its plugin.yaml lacks, or add them
    Grants(GrantsFlags),
    /// Run a project's fixtures on its component, and again with each write failing once
    Test(TestFlags),
    /// Serve the cluster of `windlass test` on standard input and output, for the unit tests of an SDK
    Fake(FakeFlags),
    /// Check whether this machine can build and run plugins, and list what is missing
    Doctor(DoctorFlags),
    /// Print what a plugin would write for objects, and write nothing
    Render(RenderFlags),
    /// Replay a recorded pass, and show where its decisions differ
    Replay(ReplayFlags),
    /// What a host and its operators do
    #[command(flatten)]
    Host(HostCommand),
    /// Show what each plugin of a host does, refreshed every two seconds
    Top(TopFlags),
    /// Describe a component: what it reconciles, and which access it needs
    Inspect(InspectFlags),
    /// Print the Plugin document of a component, with the grants to review
    Manifest(ManifestFlags),
    /// Push a component to a registry as an OCI artifact, and print its digest
    Push(PushFlags),
    /// Print the completions of a shell, for example `source <(windlass completion bash)`
    Completion(CompletionFlags),
    /// Serve an in-memory Kubernetes API on this machine, to try plugins; not for production
    Apiserver(ApiServerFlags),
    /// Run a small cluster in this process: that API, simulated nodes, and Kubernetes' controllers as plugins
    Cluster(LocalClusterFlags),
}

impl Command {
    fn traces(&self) -> Result<Option<Endpoint>, &'static str> {
        match self {
            Self::Host(command) => command.traces(),
            Self::Dev(flags) => flags.traces.endpoint(),
            _ => Ok(None),
        }
    }
}

/// Print the completions of a shell.
#[derive(Debug, Args)]
pub struct CompletionFlags {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use windlass_kube::telemetry::LogFormat;

    use super::*;

    #[test]
    fn only_a_host_logs_json_without_being_asked() {
        let rows: [(&[&str], Option<LogFormat>); 4] = [
            (&["run", "--config", "x"], None),
            (&["pause", "greeting/ada"], Some(LogFormat::Text)),
            (&["doctor"], Some(LogFormat::Text)),
            (
                &["pause", "greeting/ada", "--log-format", "json"],
                Some(LogFormat::Json),
            ),
        ];
        for (line, want) in rows {
            let line = [&["windlass"], line].concat();
            let read = Windlass::try_parse_from(&line).unwrap();
            let settings = log_settings(&read.log, &read.command).unwrap();
            assert_eq!(settings.format, want, "{line:?}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
