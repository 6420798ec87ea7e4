//! A proxy before the API server that counts, matches and breaks requests on purpose.
//!
//! - A kill point is reached by counting requests: no request of the host overtakes it, and none of
//!   its requests is served again until the kill callback has returned.
//! - It ends TLS and speaks HTTP/1.1, on a thread of its own: a test that blocks does not block it.
//! - Watches are passed on event by event.
//!
//! ```no_run
//! # use windlass_controlplane::{ControlPlane, Fault, FaultProxy, Identity, Rule};
//! # fn kill_the_host() {}
//! # fn example(control_plane: &ControlPlane) -> anyhow::Result<()> {
//! let proxy = FaultProxy::start(control_plane, &Identity::Admin)?;
//! proxy.on_kill(|| kill_the_host());
//! proxy.set_rules([Rule::new("writes", |r| r.is_write(), Fault::KillAfterApplied).nth(3)]);
//! let kubeconfig = proxy.kubeconfig(); // for the host
//! # Ok(()) }
//! ```
//!
//! `serve` takes connections; `handle` asks `state` what a request meets and does it, with `upstream`
//! and `answer`; `stream` passes bodies on.

mod answer;
mod handle;
mod rule;
mod serve;
mod state;
mod stream;
mod upstream;

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::sync::oneshot;

pub use rule::{Fault, Rule};
pub use state::{RequestHead, RequestRecord};

use crate::controlplane::ControlPlane;
use crate::kubeconfig::{Credentials, Identity};
use serve::Server;
use state::Shared;
use upstream::Target;

/// A proxy before one API server, for one identity. It ends when it is dropped.
#[derive(Debug)]
pub struct FaultProxy {
    url: String,
    kubeconfig: PathBuf,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FaultProxy {
    /// Starts a proxy that shows the credentials of `identity` to the API server, for every client.
    /// With [`Identity::Anonymous`] clients show their own bearer tokens.
    ///
    /// # Errors
    /// If there is no port to listen on.
    pub fn start(control_plane: &ControlPlane, identity: &Identity) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
        listener.set_nonblocking(true)?;
        let url = format!("https://{}", listener.local_addr()?);
        let kubeconfig = control_plane.write_kubeconfig(&url, &Credentials::None)?;
        let authority = &control_plane.authority;
        let target = Target::new(
            control_plane.port(),
            control_plane.credentials(identity)?,
            authority,
        )?;
        let shared = Arc::new(Shared::default());
        let server = Server::new(listener, &authority.server()?, target, Arc::clone(&shared))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("fault-proxy".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        _ = stopped => {}
                        ended = server.run() => if let Err(error) = ended {
                            eprintln!("the fault proxy has ended: {error:#}");
                        },
                    }
                });
                // A kill callback may still run; it is not waited for.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            url,
            kubeconfig,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The address of the proxy.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A kubeconfig that leads through the proxy, without credentials of its own.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Sets what the `Kill` faults call. It runs on a thread where it may block, and returns when
    /// the host is dead: only then are requests served again.
    pub fn on_kill(&self, kill: impl Fn() + Send + Sync + 'static) {
        self.shared.set_kill(Arc::new(kill));
    }

    /// Replaces all rules; counting starts at zero.
    pub fn set_rules(&self, rules: impl IntoIterator<Item = Rule>) {
        self.shared.set_rules(rules.into_iter().collect());
    }

    /// Removes all rules, and lets go what is held.
    pub fn clear(&self) {
        self.set_rules([]);
        self.release();
    }

    /// How many requests matched the rule `name` since the rules were set.
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        self.shared.count(name)
    }

    /// How often a `Kill` fault has called the kill callback and it has returned.
    #[must_use]
    pub fn kills(&self) -> usize {
        self.shared.kills()
    }

    /// All requests so far, in the order in which they came.
    #[must_use]
    pub fn log(&self) -> Vec<RequestRecord> {
        self.shared.log()
    }

    /// Lets go all that is held, by rules and by [`FaultProxy::hold_watches`].
    pub fn release(&self) {
        self.shared.gates.send_modify(|gates| {
            gates.released += 1;
            gates.held = false;
        });
    }

    /// Holds the events of all watches, open or to come, until [`FaultProxy::release`].
    pub fn hold_watches(&self) {
        self.shared.gates.send_modify(|gates| gates.held = true);
    }

    /// Cuts the connection of every open watch.
    pub fn cut_watches(&self) {
        self.shared.gates.send_modify(|gates| gates.cuts += 1);
    }

    /// Cuts every connection and takes no others until [`FaultProxy::heal`].
    pub fn partition(&self) {
        self.shared.partition();
    }

    /// Takes connections again.
    pub fn heal(&self) {
        self.shared.heal();
    }

    /// Waits until `condition` holds for the log. It is looked at whenever the log changes.
    ///
    /// # Errors
    /// If `deadline` passes; the message has the last requests.
    pub async fn wait_until(
        &self,
        deadline: Duration,
        what: &str,
        mut condition: impl FnMut(&[RequestRecord]) -> bool,
    ) -> anyhow::Result<()> {
        self.wait(deadline, what, |shared| shared.with_log(&mut condition))
            .await
    }

    /// Waits until the kill callback has returned `times` times in all.
    ///
    /// # Errors
    /// If `deadline` passes; the message has the last requests.
    pub async fn wait_for_kills(&self, deadline: Duration, times: usize) -> anyhow::Result<()> {
        self.wait(deadline, "the host is killed", |shared| {
            shared.kills() >= times
        })
        .await
    }

    async fn wait(
        &self,
        deadline: Duration,
        what: &str,
        mut condition: impl FnMut(&Shared) -> bool,
    ) -> anyhow::Result<()> {
        let mut changes = self.shared.changes.subscribe();
        let reached = changes.wait_for(|_| condition(&self.shared));
        match tokio::time::timeout(deadline, reached).await {
            Ok(reached) => Ok(reached.map(drop).context("the proxy has ended")?),
            Err(_) => bail!(
                "not within {deadline:?}: {what}; {}",
                self.shared.last_requests()
            ),
        }
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
