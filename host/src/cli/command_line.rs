//! The command line: each command with its flags.

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::examples;
use crate::apiserver::ApiServerFlags;
use crate::commands::annotate::AnnotateFlags;
use crate::commands::inspect::InspectFlags;
use crate::commands::release::ReleaseFlags;
use crate::commands::why::WhyFlags;
use crate::dev::{DevFlags, RenderFlags};
use crate::fixtures::TestFlags;
use crate::project::{BuildFlags, DoctorFlags, GrantsFlags, NewFlags};
use crate::rbac::RbacFlags;
use crate::replay::ReplayFlags;
use crate::runtime::RunFlags;
use crate::telemetry::{Endpoint, LogFormat, LogSettings};
use crate::top::TopFlags;

/// Runs Kubernetes controllers whose logic lives in sandboxed WebAssembly plugins.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, max_term_width = 100)]
pub struct Windlass {
    /// How the log is written: text or json [default: text on a terminal, json elsewhere]
    #[arg(
        long,
        global = true,
        env = "WINDLASS_LOG_FORMAT",
        value_name = "FORMAT",
        help_heading = "Global options"
    )]
    pub log_format: Option<LogFormat>,
    /// What is logged: a level, or a filter such as info,plugin=debug [default: info; dev and test log only what their own output does not show]
    #[arg(
        long,
        global = true,
        env = "WINDLASS_LOG",
        value_name = "FILTER",
        value_parser = crate::telemetry::filter,
        help_heading = "Global options"
    )]
    pub log: Option<String>,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The command line with its help.
pub fn command() -> clap::Command {
    examples::explained(Windlass::command())
}

impl Windlass {
    /// Reads the command line; what is wrong with it, or asked of it, is said, and ends the process.
    pub fn read() -> Self {
        let mut command = command();
        let matches = command.get_matches_mut();
        let read = Self::from_arg_matches(&matches);
        let checked = read.and_then(|read| match read.traces() {
            Ok(_) => Ok(read),
            Err(wrong) => Err(command.error(ErrorKind::ValueValidation, wrong)),
        });
        checked.unwrap_or_else(|error| error.exit())
    }

    /// How the log is written, and where traces go.
    ///
    /// # Errors
    /// That is no address; [`Windlass::read`] has said so.
    pub fn log_settings(&self) -> Result<LogSettings<'_>, &'static str> {
        let usual = match self.command {
            // What a plugin does is told, and not logged as well.
            Command::Dev(_) => "error,windlass::hosting=off,windlass::controller=off",
            Command::Test(_) => "warn,plugin=info",
            _ => "info",
        };
        Ok(LogSettings {
            format: self.log_format,
            filter: self.log.as_deref().unwrap_or(usual),
            is_held_back: self.log.is_none() && matches!(self.command, Command::Test(_)),
            traces: self.traces()?,
        })
    }

    fn traces(&self) -> Result<Option<Endpoint>, &'static str> {
        match &self.command {
            Command::Run(flags) => flags.traces.endpoint(),
            Command::Dev(flags) => flags.traces.endpoint(),
            _ => Ok(None),
        }
    }
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
    /// Run every plugin of a config folder against a cluster
    Run(Box<RunFlags>),
    /// Check whether this machine can build and run plugins, and list what is missing
    Doctor(DoctorFlags),
    /// Print what a plugin would write for objects, and write nothing
    Render(RenderFlags),
    /// Replay a recorded pass, and show where its decisions differ
    Replay(ReplayFlags),
    /// Remove a plugin's finalizers from all objects, when no host runs it any more
    Release(ReleaseFlags),
    /// Stop reconciling and finalizing an object, until it is resumed
    Pause(AnnotateFlags),
    /// Resume the reconciling and finalizing of a paused object
    Resume(AnnotateFlags),
    /// Reconcile an object now, and reset its backoff
    Reconcile(AnnotateFlags),
    /// Print the roles that the grants of a config folder need, for `kubectl apply -f -`
    Rbac(RbacFlags),
    /// Explain why an object was reconciled or not: what woke it, what it read and wrote, what it waits for
    Why(WhyFlags),
    /// Show what each plugin of a host does, refreshed every two seconds
    Top(TopFlags),
    /// Describe a component: what it reconciles, and which access it needs
    Inspect(InspectFlags),
    /// Print the completions of a shell, for example `source <(windlass completion bash)`
    Completion(CompletionFlags),
    /// Serve an in-memory Kubernetes API on this machine, to try plugins; not for production
    Apiserver(ApiServerFlags),
    /// Compile a component from standard input to standard output, for a host that started this
    #[command(hide = true)]
    Compile,
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
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
