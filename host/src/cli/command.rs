//! The commands of a host and of its operators.

use std::io::{stdin, stdout};

use clap::Subcommand;

use crate::commands::annotate::{AnnotateFlags, Mark, annotate};
use crate::commands::release::{ReleaseFlags, release};
use crate::commands::why::{WhyFlags, ask};
use crate::rbac::{self, RbacFlags};
use crate::runtime::{self, RunFlags};
use windlass_base::seams::Seams;
use windlass_kube::telemetry::Endpoint;
use windlass_sandbox::compiler::{MEMORY, compile_child};

/// What to do.
#[derive(Debug, Subcommand)]
pub enum HostCommand {
    /// Run every plugin of a config folder against a cluster
    Run(Box<RunFlags>),
    /// Remove a plugin's finalizers from all objects, when no host runs it any more
    Release(ReleaseFlags),
    /// Stop reconciling and finalizing an object, until it is resumed
    Pause(AnnotateFlags),
    /// Resume the reconciling and finalizing of a paused object
    Resume(AnnotateFlags),
    /// Reconcile an object now
    Reconcile(AnnotateFlags),
    /// Print the roles that the grants of a config folder need, for `kubectl apply -f -`
    Rbac(RbacFlags),
    /// Explain why an object was reconciled or not: what woke it, what it read and wrote, what it waits for
    Why(WhyFlags),
    /// Compile a component from standard input to standard output, for a host that started this
    #[command(hide = true)]
    Compile {
        /// Its address space, in bytes
        #[arg(long, default_value_t = MEMORY)]
        memory: u64,
    },
}

impl HostCommand {
    /// Does it; `threads` run guests.
    ///
    /// # Errors
    /// What has failed.
    pub async fn run(self, threads: usize, seams: Seams) -> anyhow::Result<()> {
        match self {
            Self::Run(flags) => runtime::run(*flags, threads, seams).await,
            Self::Release(flags) => release(flags, seams).await,
            Self::Pause(flags) => annotate(&flags, Mark::Pause, seams).await,
            Self::Resume(flags) => annotate(&flags, Mark::Resume, seams).await,
            Self::Reconcile(flags) => annotate(&flags, Mark::Reconcile, seams).await,
            Self::Rbac(flags) => rbac::print(flags, threads, seams).await,
            Self::Why(flags) => ask(flags, seams).await,
            Self::Compile { .. } => Ok(()),
        }
    }

    /// Does it without threads, a log and time, if it needs none of them.
    #[expect(clippy::disallowed_methods, reason = "a host reads it, and no person")]
    pub fn run_alone(&self) -> Option<anyhow::Result<()>> {
        match self {
            Self::Compile { memory } => {
                let (mut input, mut output) = (stdin().lock(), stdout().lock());
                let compiled = compile_child(*memory, &mut input, &mut output);
                Some(compiled.map_err(anyhow::Error::from))
            }
            _ => None,
        }
    }

    /// How many threads run guests, if a flag says so.
    pub fn threads(&self) -> Option<usize> {
        match self {
            Self::Run(flags) => flags.guest_threads.map(usize::from),
            _ => None,
        }
    }

    /// Where traces go, if they do.
    ///
    /// # Errors
    /// That is not an address.
    pub fn traces(&self) -> Result<Option<Endpoint>, &'static str> {
        match self {
            Self::Run(flags) => flags.traces.endpoint(),
            _ => Ok(None),
        }
    }

    /// Whether what reads its log reads its last words there.
    pub fn is_daemon(&self) -> bool {
        matches!(self, Self::Run(_))
    }
}
