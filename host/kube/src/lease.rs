//! One Lease for each plugin: who runs it. Two hosts never run the same plugin at once.
//!
//! ```text
//! host a ──renews each 2 s──> Lease windlass-session-a-1234      its session
//!      └───writes once──────> Lease windlass-greeter             holder a, by session windlass-session-a-1234
//! host b ──lists each 2 s──> all of them: has the session of a moved?
//! ```
//! - A host renews one Lease, its session. The Lease of a plugin names the session of its holder, and is written when it
//!   changes hands, and every 20 minutes.
//! - Whether another holder is alive is judged by local time: its session must not move for a whole lease duration,
//!   whatever the clocks say (client-go's rule). A Lease without a session is of a host from before sessions: its own
//!   `renewTime` counts.
//! - Who takes over ends the session of the dead holder first. So a holder that comes back cannot renew it, and finds out
//!   who has its Leases before its gates open.
//! - Clients promise no fencing: a host that cannot renew in time stops its calls and ends, and no write
//!   of the plugin is sent any more.

mod acquire;
mod flags;
mod handover;
mod hold;
mod observed;
mod published;
mod record;
mod session;

use std::time::Duration;

use http::Method;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use crate::api::Gate;
use crate::api::{Accept, Api, ApiError, Request};
use crate::crashes::Crashes;
pub use flags::LeaderElectionFlags;
pub use observed::ObservedLease;
use record::{LeaderElectionRecord, LeaseWrite, PLUGIN};
pub use session::Session;
use session::{PluginLeases, Renewal};
use windlass_base::bugs::bug;
use windlass_base::seams::{Seams, watch};

/// How often a Lease is given up again, when something else was written first.
const RELEASES: usize = 3;

/// How long a plugin's Lease lasts for hosts from before sessions, at least: they go by its `renewTime`.
const LASTS: Duration = Duration::from_secs(3600);

/// The times of a lease, with the names of client-go's flags.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// How long others wait after the last renewal before they take over.
    pub lease_duration: Duration,
    /// How long the holder tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// How long to wait between tries.
    pub retry_period: Duration,
}

impl Default for Times {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            lease_duration: seconds(15),
            renew_deadline: seconds(10),
            retry_period: seconds(2),
        }
    }
}

impl Times {
    /// How long a plugin's Lease lasts for hosts that know no sessions.
    fn lasts(&self) -> Duration {
        LASTS.max(4 * self.lease_duration)
    }
}

/// The Lease of one plugin.
pub struct Lease {
    session: Session,
    name: String,
    gate: Gate,
    crashes: Crashes,
    /// What was published of crashes when it was looked at last.
    heard: Mutex<String>,
    written: Mutex<Written>,
    /// Whether another host has asked for it since this one holds it.
    asked: watch::Sender<bool>,
}

/// What this host has written into a Lease last.
#[derive(Clone, Debug, Default)]
struct Written {
    /// The `renewTime`.
    renewed: String,
    /// When it was sent.
    sent: Option<Instant>,
    /// How many heartbeats had begun when it was answered: what they list may not show it.
    begun: u64,
}

fn name_of(plugin: &str) -> String {
    format!("windlass-{plugin}")
}

fn collection(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")
}

/// The time, as a Lease has it.
fn now(seams: &Seams) -> String {
    format!("{:.6}", seams.clock.wall())
}

impl Lease {
    /// The Lease of `plugin`, wanted by the host of `session`.
    pub fn new(session: &Session, plugin: &str) -> Self {
        let times = session.times();
        let clock = session.seams().clock;
        Self {
            session: session.clone(),
            name: name_of(plugin),
            gate: Gate::new(clock, times.renew_deadline, times.lease_duration),
            crashes: Crashes::default(),
            heard: Mutex::default(),
            written: Mutex::default(),
            asked: watch::Sender::default(),
        }
    }

    /// The same, which takes in what others publish of crashes whenever it is read or written.
    #[must_use]
    pub fn listening(self, crashes: Crashes) -> Self {
        Self { crashes, ..self }
    }

    /// The gate for the plugin's writes: open while the Lease is certainly ours.
    pub fn gate(&self) -> Gate {
        self.gate.clone()
    }

    /// Where the Lease of `plugin` is.
    pub fn path(namespace: &str, plugin: &str) -> String {
        format!("{}/{}", collection(namespace), name_of(plugin))
    }

    /// The namespaces that have a Lease of `plugin`.
    ///
    /// # Errors
    /// The API server could not be asked, or may not be.
    pub async fn namespaces(api: &Api, plugin: &str) -> Result<Vec<String>, ApiError> {
        let path = "/apis/coordination.k8s.io/v1/leases";
        let query = format!("{path}?fieldSelector=metadata.name%3D{}", name_of(plugin));
        let list = api.send(Request::list(query, Accept::Metadata)).await?;
        let items = list
            .get("items")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let namespace =
            |lease: &Value| Some(lease.pointer("/metadata/namespace")?.as_str()?.to_owned());
        Ok(items.filter_map(namespace).collect())
    }

    /// Gives the Lease up, so that another host need not wait; takes the request for it off, if another host has it.
    ///
    /// A write that was under way when [`Lease::hold`] was dropped may land in between, so a write
    /// that comes too late is made again.
    pub async fn release(&self) {
        bug!(TheLeaseIsReleasedFirst, self.gate.close(), ());
        for _ in 0..RELEASES {
            let released = match self.read().await {
                Ok(Some(record)) if self.is_own(&record) => self.write(Some(&record), None).await,
                Ok(Some(record)) if self.has_asked(&record) => self.withdraw(&record).await,
                _ => return,
            };
            match released {
                Err(error) if error.is_race() => {}
                Ok(()) => return,
                Err(error) => {
                    let name = &self.name;
                    tracing::warn!(lease = name, "cannot give the lease up: {error}");
                    return;
                }
            }
        }
    }

    /// Whether this host holds it, and not another one of the same name.
    fn is_own(&self, record: &LeaderElectionRecord) -> bool {
        let session = record.session();
        record.holder == self.session.identity() && session.is_none_or(|it| self.session.was(it))
    }

    async fn read(&self) -> Result<Option<LeaderElectionRecord>, ApiError> {
        let record = self.session.read(&self.name).await?;
        if let Some(record) = &record {
            self.listen(record.crashes());
        }
        Ok(record)
    }

    /// The Lease as it was listed, or else as it is now: hosts from before sessions make Leases without the label.
    async fn look(
        &self,
        listed: Option<&PluginLeases>,
    ) -> Result<Option<LeaderElectionRecord>, ApiError> {
        match listed.and_then(|leases| leases.get(&self.name)) {
            Some(record) => {
                self.listen(record.crashes());
                Ok(Some(record.clone()))
            }
            None => self.read().await,
        }
    }

    /// Writes the Lease, if it is still as `before` says: held by this host and its session, or by nobody.
    async fn write(
        &self,
        before: Option<&LeaderElectionRecord>,
        session: Option<&str>,
    ) -> Result<(), ApiError> {
        let (times, seams) = (self.session.times(), self.session.seams());
        let keeps_request = match before {
            // If it is not known, the request stays.
            Some(before) => self.is_wanted(before).await.unwrap_or(true),
            None => false,
        };
        let (sent, renewed) = (seams.clock.now(), now(seams));
        let write = LeaseWrite {
            namespace: self.session.namespace(),
            name: &self.name,
            purpose: PLUGIN,
            holder: session.map_or("", |_| self.session.identity()),
            session,
            duration: session.map_or(times.lease_duration, |_| times.lasts()),
            now: &renewed,
            keeps_request,
            before,
        };
        let collection = collection(self.session.namespace());
        let (method, uri) = match before {
            Some(_) => (Method::PUT, format!("{collection}/{}", self.name)),
            None => (Method::POST, collection),
        };
        let request = Request::json(method, uri, &write.object());
        let answer: Value = self.session.api().send(request).await?;
        self.listen(LeaderElectionRecord::of(&answer).crashes());
        *self.written.lock() = Written {
            renewed,
            sent: Some(sent),
            begun: self.session.begun(),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests;
