//! Compares an informer's store with the server from time to time, and repairs it.
//!
//! - A watch that loses an event says nothing of it, and etcd has lost some: client-go's resync never
//!   asks the server, so what is lost there stays lost.
//! - An event that is still coming is not a difference, and neither is an answer that is ahead of the
//!   watch: only what the store should know by now counts, and it is looked at twice.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::shared::SharedInformer;
use super::version_snapshot::{NameHash, VersionSnapshot};
use super::{InformerDependencies, InformerKey, InformerPhase};
use crate::api::ApiError;
use windlass_base::error::Chain;
use windlass_base::text::{LogOnce, clean};

/// How much longer than asked for it may be from one audit to the next.
const SPREAD: f64 = 0.2;
/// How long events may take: a quiet watch says how far it is once a minute.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long before a second look.
const AGAIN: Duration = Duration::from_secs(10);
/// How often it is asked how far the watch is.
const LOOK: Duration = Duration::from_millis(100);
/// How long before a server that gave no answer is asked again.
const RETRY: Duration = Duration::from_secs(1);
/// A watch that does not get to a barrier within this time may be dead.
const LATE: Duration = Duration::from_secs(30);
/// The longest error that is shown.
const TEXT: usize = 500;

/// How far a store is behind the server.
enum Lag {
    /// It is not.
    There,
    /// Its watch is late.
    Late,
    /// Its watch is not, but so many objects are.
    Lost(usize),
}

/// Audits the store of one informer.
#[derive(Clone)]
pub(super) struct Auditor {
    watched: InformerKey,
    shared: Arc<SharedInformer>,
    means: InformerDependencies,
    /// When the server was asked for the last barrier that was passed.
    barrier: Arc<Mutex<Option<Instant>>>,
}

impl Auditor {
    pub(super) fn new(
        watched: InformerKey,
        shared: Arc<SharedInformer>,
        means: InformerDependencies,
    ) -> Self {
        Self {
            watched,
            shared,
            means,
            barrier: Arc::default(),
        }
    }

    /// Audits once in each resync period, forever.
    pub(super) async fn run(self) {
        let seams = &self.means.seams;
        loop {
            let period = seams.rng.spread(self.means.settings.resync, SPREAD);
            seams.clock.sleep(period).await;
            if self.shared.phase() != InformerPhase::Synced {
                continue;
            }
            let resource = self.watched.resource.to_string();
            match self.audit().await {
                Ok(0) => {}
                Ok(different) => {
                    tracing::error!(
                        different,
                        "the watch of {resource} has lost events: listing everything again"
                    );
                    self.shared.diverged(different);
                }
                Err(error) => tracing::debug!("cannot compare {resource} with the server: {error}"),
            }
        }
    }

    /// How many objects are not as on the server, though the watch should have shown it.
    async fn audit(&self) -> Result<usize, ApiError> {
        let before = self.look().await?;
        if before.is_empty() {
            return Ok(0);
        }
        self.means.seams.clock.sleep(AGAIN).await;
        let after = self.look().await?;
        Ok(before.intersection(&after).count())
    }

    async fn look(&self) -> Result<HashSet<NameHash>, ApiError> {
        let snapshot = VersionSnapshot::take(&self.watched, &self.means).await?;
        let passed = self.passes(&snapshot);
        self.means.seams.clock.within(PATIENCE, passed).await;
        Ok(self.shared.suspects(&snapshot))
    }

    /// The time.
    pub(super) fn now(&self) -> Instant {
        self.means.seams.clock.now()
    }

    /// Waits until the store has all that the server had at `wanted`. A server that gives no answer is asked again,
    /// and what a watch does not show in time is listed. Those who wait at the same time ask once, and nobody asks who
    /// has a list that was asked for later.
    pub(super) async fn barrier(&self, wanted: Instant) {
        let clock = self.means.seams.clock;
        if self.shared.listed_at().is_some_and(|asked| asked > wanted) {
            return;
        }
        let mut passed = self.barrier.lock().await;
        if passed.is_some_and(|asked| asked > wanted) {
            return;
        }
        let resource = &self.watched.resource;
        let mut logged = LogOnce::default();
        while !self.is_absent().await {
            let asked = clock.now();
            match self.level().await {
                Ok(Lag::There) => {
                    *passed = Some(asked);
                    return;
                }
                Ok(Lag::Lost(different)) => {
                    tracing::error!(
                        different,
                        "the watch of {resource} has lost events: listing everything again"
                    );
                    let mut state = self.shared.state();
                    self.shared.diverged(different);
                    let _ = clock.within(LATE, state.changed()).await;
                }
                Ok(Lag::Late) => {
                    let seconds = LATE.as_secs();
                    tracing::warn!(
                        "the watch of {resource} is more than {seconds} s late: listing everything again before a plugin goes on that reads them"
                    );
                    self.shared.list_again();
                }
                Err(error) => {
                    let text = clean(&Chain(&error).to_string(), TEXT);
                    if logged.is_new(text.clone()) {
                        tracing::warn!(
                            "a plugin that reads {resource} waits until it is known how far they are: {text}"
                        );
                    }
                    clock
                        .sleep(RETRY.max(error.slow_down().unwrap_or_default()))
                        .await;
                }
            }
        }
    }

    /// Whether the store has all that the server has now, if the watch comes so far in time. One that has come so
    /// far without an object has lost it, unless that has gone meanwhile: so it is looked at twice.
    async fn level(&self) -> Result<Lag, ApiError> {
        let mut lost: Option<HashSet<NameHash>> = None;
        loop {
            let snapshot = VersionSnapshot::take(&self.watched, &self.means).await?;
            let passed = self.passes(&snapshot);
            if self.means.seams.clock.within(LATE, passed).await.is_none() {
                return Ok(Lag::Late);
            }
            let suspects = self.shared.suspects(&snapshot);
            match &lost {
                _ if suspects.is_empty() => return Ok(Lag::There),
                Some(before) => match suspects.intersection(before).count() {
                    0 => return Ok(Lag::There),
                    different => return Ok(Lag::Lost(different)),
                },
                None => lost = Some(suspects),
            }
        }
    }

    /// Whether the kind is not served, or is another one by now.
    async fn is_absent(&self) -> bool {
        let resource = &self.watched.resource;
        self.shared.phase() == InformerPhase::Absent
            && matches!(self.means.discovery.serves(resource).await, Ok(false))
    }

    /// Waits until the store is as the snapshot says, or the watch has come past it.
    async fn passes(&self, snapshot: &VersionSnapshot) {
        while self.shared.passed() < snapshot.version() && !self.shared.meets(snapshot) {
            self.means.seams.clock.sleep(LOOK).await;
        }
    }
}
