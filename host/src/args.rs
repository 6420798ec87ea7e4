//! Flags and environment: the only place that reads either.

mod apiserver;
mod ask;
mod author;
mod environment;
mod examples;
mod objects;
mod shares;
mod traces;

use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::admin::BindAddress;
use crate::lease::Times;
use crate::manifest::is_dns_label;

pub use apiserver::ApiServer;
pub use ask::{AskedHost, Top, WhyFlags, WhyOutput};
pub use author::*;
pub use environment::{Proxies, proxies, user_code_cache};
pub use objects::{AnnotateFlags, Release, named};
pub use shares::ShareFlags;
pub use traces::{Endpoint, TraceFlags};

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
        let checked = read.and_then(|read| match read.traces_to() {
            Ok(_) => Ok(read),
            Err(wrong) => Err(command.error(ErrorKind::ValueValidation, wrong)),
        });
        checked.unwrap_or_else(|error| error.exit())
    }

    /// What is logged.
    pub fn filter(&self) -> &str {
        let usual = match self.command {
            // What a plugin does is told, and not logged as well.
            Command::Dev(_) => "error,windlass::hosting=off,windlass::controller=off",
            Command::Test(_) => "warn,plugin=info",
            _ => "info",
        };
        self.log.as_deref().unwrap_or(usual)
    }

    /// Where traces go, if they do.
    ///
    /// # Errors
    /// That is no address; [`Windlass::read`] has said so.
    pub fn traces_to(&self) -> Result<Option<Endpoint>, &'static str> {
        match &self.command {
            Command::Run(flags) => flags.traces.endpoint(),
            Command::Dev(flags) => flags.traces.endpoint(),
            _ => Ok(None),
        }
    }

    /// Whether the log is held back until something has failed.
    pub fn holds_log(&self) -> bool {
        self.log.is_none() && matches!(self.command, Command::Test(_))
    }
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create a project for a new plugin, in a folder with its name
    New(New),
    /// Run projects or components on an embedded API server, and again when a file changes
    Dev(Box<Dev>),
    /// Build the component of a project, and check that a host would load it
    Build(BuildFlags),
    /// Print the grants that a plugin needs and its plugin.yaml lacks, or add them
    Grants(GrantsFlags),
    /// Run a project's fixtures on its component, and again with each write failing once
    Test(Test),
    /// Run every plugin of a config folder against a cluster
    Run(Box<Run>),
    /// Check whether this machine can build and run plugins, and list what is missing
    Doctor(Doctor),
    /// Print what a plugin would write for objects, and write nothing
    Render(Render),
    /// Replay a recorded pass, and show where its decisions differ
    Replay(Replay),
    /// Remove a plugin's finalizers from all objects, when no host runs it any more
    Release(Release),
    /// Stop reconciling and finalizing an object, until it is resumed
    Pause(AnnotateFlags),
    /// Resume the reconciling and finalizing of a paused object
    Resume(AnnotateFlags),
    /// Reconcile an object now, and reset its backoff
    Reconcile(AnnotateFlags),
    /// Print the roles that the grants of a config folder need, for `kubectl apply -f -`
    Rbac(Rbac),
    /// Explain why an object was reconciled or not: what woke it, what it read and wrote, what it waits for
    Why(WhyFlags),
    /// Show what each plugin of a host does, refreshed every two seconds
    Top(Top),
    /// Describe a component: what it reconciles, and which access it needs
    Inspect(Inspect),
    /// Print the completions of a shell, for example `source <(windlass completion bash)`
    Completion(Completion),
    /// Serve an in-memory Kubernetes API on this machine, to try plugins; not for production
    Apiserver(ApiServer),
    /// Compile a component from standard input to standard output, for a host that started this
    #[command(hide = true)]
    Compile,
}

/// Run every plugin of a config folder against a cluster.
#[derive(Debug, Args)]
pub struct Run {
    /// Folder with Plugin documents (*.yaml) and their components (*.wasm, *.wasm.gz)
    #[arg(long, env = "WINDLASS_CONFIG", value_name = "DIR")]
    pub config: PathBuf,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
    /// Private folder that keeps the last good version of each plugin, for a restart that refuses the config folder's version, and a record of crashes [default: nothing is kept]
    #[arg(long, env = "WINDLASS_STATE_DIR", value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Private folder for recordings of failed passes, for `windlass replay`; created if absent [default: nothing is recorded]
    #[arg(long, env = "WINDLASS_RECORD_FAILURES", value_name = "DIR")]
    pub record_failures: Option<PathBuf>,
    /// Threads that run plugins [default: one for each processor]
    #[arg(long, env = "WINDLASS_GUEST_THREADS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub guest_threads: Option<u16>,
    /// How long running passes may take to end after SIGTERM, for example 30s
    #[arg(long, env = "WINDLASS_GRACEFUL_SHUTDOWN_TIMEOUT", default_value = "30s", value_parser = duration, value_name = "DURATION")]
    pub graceful_shutdown_timeout: Duration,
    /// Name of this host in Leases and Events [default: host name and a random suffix]
    #[arg(long, env = "WINDLASS_IDENTITY", value_name = "NAME")]
    pub identity: Option<String>,
    /// Address that serves /metrics, such as :8080; 0 to turn it off
    #[arg(
        long,
        env = "WINDLASS_METRICS_BIND_ADDRESS",
        default_value = "0",
        value_name = "ADDRESS"
    )]
    pub metrics_bind_address: BindAddress,
    /// Address that serves /livez and /readyz, such as :8081; 0 to turn them off
    #[arg(
        long,
        env = "WINDLASS_HEALTH_PROBE_BIND_ADDRESS",
        default_value = "0",
        value_name = "ADDRESS"
    )]
    pub health_probe_bind_address: BindAddress,
    /// Address that serves the status of this host, which `windlass why` asks; 0 to turn it off [default: 127.0.0.1:8082, or any free port if that is taken]
    #[arg(long, env = "WINDLASS_ADMIN_BIND_ADDRESS", value_name = "ADDRESS")]
    pub admin_bind_address: Option<BindAddress>,
    /// Which cluster
    #[command(flatten)]
    pub cluster: Cluster,
    /// Times of the Leases
    #[command(flatten)]
    pub leases: Leases,
    /// What plugins may do
    #[command(flatten)]
    pub shares: ShareFlags,
    /// Where traces go
    #[command(flatten)]
    pub traces: TraceFlags,
}

/// Print the roles that the grants of a config folder need.
#[derive(Debug, Args)]
pub struct Rbac {
    /// Folder with Plugin documents (*.yaml) and their components (*.wasm, *.wasm.gz)
    #[arg(long, env = "WINDLASS_CONFIG", value_name = "DIR")]
    pub config: PathBuf,
    /// Namespace of the service account that the host runs as
    #[arg(long, short, env = "WINDLASS_NAMESPACE", default_value = "windlass-system", value_parser = dns_label, value_name = "NAMESPACE")]
    pub namespace: String,
    /// Name of that service account
    #[arg(long, default_value = "windlass", value_parser = dns_subdomain, value_name = "NAME")]
    pub service_account: String,
    /// How the roles are written
    #[arg(long, short, default_value = "yaml", value_name = "FORMAT")]
    pub output: Output,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// Print the completions of a shell.
#[derive(Debug, Args)]
pub struct Completion {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// How objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// One document for each, with comments.
    Yaml,
    /// One List.
    Json,
}

/// Which cluster.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub struct Cluster {
    /// Kubeconfig file [default: KUBECONFIG, then ~/.kube/config, then the pod's service account]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Namespace of the Leases [default: the context's, or the pod's]
    #[arg(long, short, env = "WINDLASS_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}

/// Times of the Leases, as kube-controller-manager names them.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Leader election")]
pub struct Leases {
    /// How long other hosts wait after the last renewal before they take over
    #[arg(long, default_value = "15s", value_parser = duration, value_name = "DURATION")]
    pub leader_elect_lease_duration: Duration,
    /// How long the holder tries to renew before it gives up
    #[arg(long, default_value = "10s", value_parser = duration, value_name = "DURATION")]
    pub leader_elect_renew_deadline: Duration,
    /// How long a host waits between tries
    #[arg(long, default_value = "2s", value_parser = duration, value_name = "DURATION")]
    pub leader_elect_retry_period: Duration,
}

impl Leases {
    /// The times, if they fit together.
    ///
    /// # Errors
    /// They do not.
    pub fn times(self) -> Result<Times, String> {
        let times = Times {
            lease_duration: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
        };
        if times.lease_duration <= times.renew_deadline {
            return Err(
                "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline"
                    .into(),
            );
        }
        if times.renew_deadline <= times.retry_period || times.retry_period.is_zero() {
            return Err("--leader-elect-renew-deadline must be longer than --leader-elect-retry-period, and that longer than 0".into());
        }
        Ok(times)
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed = text
        .parse::<kube::core::Duration>()
        .map_err(|error| error.to_string())?;
    if parsed.is_negative() {
        Err("must not be negative".into())
    } else {
        Ok(parsed.into())
    }
}

fn dns_label(text: &str) -> Result<String, String> {
    if is_dns_label(text) {
        Ok(text.to_owned())
    } else {
        Err("must be a DNS label, such as windlass-system".into())
    }
}

fn dns_subdomain(text: &str) -> Result<String, String> {
    if text.split('.').all(is_dns_label) {
        Ok(text.to_owned())
    } else {
        Err("must be DNS labels with dots between them, such as windlass".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn lease_times_must_fit_together() {
        let seconds = Duration::from_secs;
        let times = |lease, renew, retry| Leases {
            leader_elect_lease_duration: seconds(lease),
            leader_elect_renew_deadline: seconds(renew),
            leader_elect_retry_period: seconds(retry),
        };
        assert!(times(15, 10, 2).times().is_ok());
        assert!(times(10, 10, 2).times().is_err());
        assert!(times(15, 2, 2).times().is_err());
        assert!(times(15, 10, 0).times().is_err());
    }
}
