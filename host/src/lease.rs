//! One Lease for each plugin: who runs it. Two hosts never run the same plugin at once.
//!
//! - Whether another holder is alive is judged by local time: its `renewTime` must not move for a
//!   whole lease duration, whatever the clocks say (client-go's rule).
//! - Clients promise no fencing: a host that cannot renew in time stops its calls and ends, and no write
//!   of the plugin is sent any more.

mod flags;
mod observed;
mod published;
mod record;

use std::time::Duration;

use http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::api::Gate;
use crate::api::{Accept, Api, ApiError, Request, object};
use crate::bugs::bug;
use crate::crashes::Crashes;
use crate::seams::Seams;
use crate::text::LogOnce;
pub use flags::LeaderElectionFlags;
pub use observed::ObservedLease;
use record::LeaderElectionRecord;

/// How often a Lease is given up again, when something else was written first.
const RELEASES: usize = 3;

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

/// The Lease of one plugin.
pub struct Lease {
    api: Api,
    seams: Seams,
    namespace: String,
    name: String,
    identity: String,
    times: Times,
    gate: Gate,
    crashes: Crashes,
    /// What was published of crashes when it was looked at last.
    heard: Mutex<String>,
}

fn name_of(plugin: &str) -> String {
    format!("windlass-{plugin}")
}

fn collection(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")
}

impl Lease {
    /// The Lease of `plugin` in `namespace`, wanted by `identity`.
    pub fn new(
        api: Api,
        seams: Seams,
        namespace: &str,
        plugin: &str,
        identity: &str,
        times: Times,
    ) -> Self {
        Self {
            gate: Gate::new(seams.clock, times.renew_deadline, times.lease_duration),
            api,
            seams,
            namespace: namespace.to_owned(),
            name: name_of(plugin),
            identity: identity.to_owned(),
            times,
            crashes: Crashes::default(),
            heard: Mutex::default(),
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

    /// Waits until the Lease is ours. Says once whom it waits for. Calls `waits` when it cannot be had at once, with its
    /// holder, if that is another one.
    /// `watched` is what is known of the Lease from before: a holder that was watched once need not be watched again.
    pub async fn acquire(&self, mut watched: ObservedLease, waits: impl Fn(Option<&str>)) {
        let mut logged = LogOnce::default();
        loop {
            match self.try_acquire(&mut watched).await {
                Ok(None) => return,
                Ok(Some(holder)) => {
                    waits(Some(&holder));
                    if logged.is_new(holder.clone()) {
                        tracing::info!(
                            lease = self.name,
                            holder,
                            "waiting: another host runs this plugin"
                        );
                    }
                }
                Err(error) => {
                    waits(None);
                    let text = error.to_string();
                    if logged.is_new(text.clone()) {
                        tracing::warn!(
                            lease = self.name,
                            "cannot take the lease, trying again: {text}"
                        );
                    }
                }
            }
            let pause = self.seams.rng.spread(self.times.retry_period, 0.2);
            self.seams.clock.sleep(pause).await;
        }
    }

    /// Renews until that fails for too long; then it is lost. Costs one request each time.
    pub async fn hold(&self) {
        self.renew_on().await;
        self.gate.close();
    }

    async fn renew_on(&self) {
        let mut renewed = self.seams.clock.now();
        let mut last = None;
        loop {
            self.seams.clock.sleep(self.times.retry_period).await;
            let (sent, opened) = (self.seams.clock.now(), self.gate.now());
            let renewal = Box::pin(self.renew(last.take()));
            let renewal = self
                .seams
                .clock
                .within(self.times.renew_deadline, renewal)
                .await;
            let late = || Err(ApiError::Unreachable("no answer in time".to_owned()));
            match renewal.unwrap_or_else(late) {
                Ok(Ok(record)) => {
                    renewed = sent;
                    self.gate.open(opened);
                    last = Some(record);
                }
                Ok(Err(holder)) => {
                    let lease = &self.name;
                    tracing::error!(lease, holder, "another host has taken the lease");
                    return;
                }
                Err(error) => {
                    tracing::warn!(lease = self.name, "cannot renew the lease: {error}");
                    if self.seams.clock.now() - renewed > self.times.renew_deadline {
                        tracing::error!(
                            lease = self.name,
                            "the lease could not be renewed in time"
                        );
                        return;
                    }
                }
            }
        }
    }

    /// Gives the Lease up, so that another host need not wait.
    ///
    /// A renewal that was under way when [`Lease::hold`] was dropped may land in between, so a write
    /// that comes too late is made again.
    pub async fn release(&self) {
        bug!(TheLeaseIsReleasedFirst, self.gate.close(), ());
        for _ in 0..RELEASES {
            let released = match self.read().await {
                Ok(Some(record)) if record.holder == self.identity => self.write(&record, "").await,
                _ => return,
            };
            match released {
                Err(error) if error.is_race() => {}
                Ok(_) => return,
                Err(error) => {
                    let name = &self.name;
                    tracing::warn!(lease = name, "cannot give the lease up: {error}");
                    return;
                }
            }
        }
    }

    /// Who runs the plugin now, if anybody does. Watches a lease that is not renewed for as long as
    /// its duration, before it calls its holder dead; `watched` keeps what was seen.
    ///
    /// # Errors
    /// The API server could not be asked.
    pub async fn holder(&self, watched: &mut ObservedLease) -> Result<Option<String>, ApiError> {
        loop {
            let Some(record) = self.read().await? else {
                return Ok(None);
            };
            let before = watched.record().cloned();
            if before.as_ref().is_some_and(|before| !before.is_as(&record)) {
                return Ok((!record.holder.is_empty()).then_some(record.holder));
            }
            if watched.is_free(&record, self.seams.clock.now(), self.times.lease_duration) {
                return Ok(None);
            }
            if before.is_none() {
                let (holder, seconds) = (&record.holder, record.duration.as_secs());
                tracing::info!(
                    lease = self.name,
                    holder,
                    "waiting for up to {seconds} s to see whether its holder is alive"
                );
            }
            self.seams.clock.sleep(self.times.retry_period / 2).await;
        }
    }

    /// `None` if the Lease is ours now, otherwise whose it is.
    async fn try_acquire(&self, watched: &mut ObservedLease) -> Result<Option<String>, ApiError> {
        let there = self.read().await?;
        let sent = self.gate.now();
        let written = match there {
            // Somebody has deleted it, and its holder may not know that yet.
            None if let Some(holder) = watched.alive(self.seams.clock.now(), &self.identity) => {
                return Ok(Some(holder));
            }
            None => self.create().await,
            Some(record)
                if record.holder == self.identity
                    || watched.is_free(
                        &record,
                        self.seams.clock.now(),
                        self.times.lease_duration,
                    ) =>
            {
                self.write(&record, &self.identity).await
            }
            Some(record) => return Ok(Some(record.holder)),
        };
        match written {
            Ok(_) => {
                self.gate.open(sent);
                Ok(None)
            }
            Err(error) if error.is_race() => {
                let now = self.seams.clock.now();
                Ok(Some(watched.was_beaten(now, self.times.lease_duration)))
            }
            Err(error) => Err(error),
        }
    }

    /// Renews from what the last renewal left; reads first if that is not known, or not so any
    /// more. A Lease that nobody holds, since somebody has emptied it, is taken again, as client-go does. Answers
    /// the holder if that is another one.
    async fn renew(
        &self,
        last: Option<LeaderElectionRecord>,
    ) -> Result<Result<LeaderElectionRecord, String>, ApiError> {
        if let Some(last) = last {
            match self.write(&last, &self.identity).await {
                Err(error) if error.is_race() || error.is_not_found() => {}
                written => return written.map(Ok),
            }
        }
        match self.read().await? {
            None => self.create().await.map(Ok),
            Some(record) if record.holder == self.identity || record.holder.is_empty() => {
                self.write(&record, &self.identity).await.map(Ok)
            }
            Some(record) => Ok(Err(record.holder)),
        }
    }

    async fn read(&self) -> Result<Option<LeaderElectionRecord>, ApiError> {
        let uri = format!("{}/{}", self.collection(), self.name);
        let read: Option<Value> = self.api.read(uri).await?;
        Ok(read.as_ref().map(|read| self.record(read)))
    }

    async fn create(&self) -> Result<LeaderElectionRecord, ApiError> {
        let lease = self.lease(&self.identity, 0, None, None);
        let request = Request::json(Method::POST, self.collection(), &lease);
        Ok(self.record(&self.api.send(request).await?))
    }

    /// Writes the lease for `holder`, if it is still as `record` says.
    async fn write(
        &self,
        record: &LeaderElectionRecord,
        holder: &str,
    ) -> Result<LeaderElectionRecord, ApiError> {
        let changes = i64::from(record.holder != holder && !holder.is_empty());
        let acquired = (record.holder == holder).then_some(record.acquired.as_str());
        let transitions = record.transitions + changes;
        let lease = self.lease(holder, transitions, Some(record), acquired);
        let uri = format!("{}/{}", self.collection(), self.name);
        let request = Request::json(Method::PUT, uri, &lease);
        Ok(self.record(&self.api.send(request).await?))
    }

    /// What a Lease says that was read or written just now.
    fn record(&self, lease: &Value) -> LeaderElectionRecord {
        let record = LeaderElectionRecord::of(lease);
        self.listen(record.crashes());
        record
    }

    fn lease(
        &self,
        holder: &str,
        transitions: i64,
        before: Option<&LeaderElectionRecord>,
        acquired: Option<&str>,
    ) -> Value {
        let now = format!("{:.6}", self.seams.clock.wall());
        let metadata = object([
            ("name", Some(self.name.clone().into())),
            ("namespace", Some(self.namespace.clone().into())),
            (
                "resourceVersion",
                before.map(|it| Value::from(&*it.version)),
            ),
            ("labels", before.and_then(|it| it.labels.clone())),
            ("annotations", before.and_then(|it| it.annotations.clone())),
        ]);
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": self.times.lease_duration.as_secs().max(1),
                "acquireTime": acquired.unwrap_or(&now),
                "renewTime": now,
                "leaseTransitions": transitions,
            },
        })
    }

    fn collection(&self) -> String {
        collection(&self.namespace)
    }
}

#[cfg(test)]
mod tests;
