//! The newest version of a plugin at work, and how it follows the one before it.

use std::sync::Arc;
use std::time::Duration;

use super::Host;
use super::plugin::{Accepted, news};
use super::version::Version;
use crate::controller::{Controller, Parts, Prepared};
use crate::lease::Gate;
use crate::seams::{Either, first};
use crate::shutdown::{Phase, Phases, reached};
use crate::view::finalizer_of;

/// How often it is asked whether the last pass has ended.
const DRAIN_LOOK: Duration = Duration::from_millis(10);

/// How long the host waits for passes that were told to stop.
const ABORT: Duration = Duration::from_secs(3);

/// One plugin's controller, for as long as the host holds its lease.
pub(super) struct Reign<'a> {
    host: &'a Host,
    plugin: &'a str,
    /// For the plugin's writes.
    gate: Gate,
    running: Option<(Arc<Version>, Controller)>,
}

impl<'a> Reign<'a> {
    pub(super) fn new(host: &'a Host, plugin: &'a str, gate: Gate) -> Self {
        Self {
            host,
            plugin,
            gate,
            running: None,
        }
    }

    /// Runs the newest version that was accepted, until it is asked to stop.
    pub(super) async fn run(&mut self, mut accepted: Accepted, phases: &Phases) {
        let asked = reached(phases, Phase::Drain);
        let follow = async {
            loop {
                self.follow(&mut accepted).await;
                let moved = first(news(&mut accepted), self.moved()).await;
                if let Either::Right(()) = moved {
                    self.start_anew().await;
                }
            }
        };
        first(follow, asked).await;
    }

    /// Waits until the primary kind of what runs is served as something else.
    async fn moved(&self) {
        match &self.running {
            Some((_, controller)) => controller.moved().await,
            None => std::future::pending().await,
        }
    }

    /// Ends what runs. The same version is next, with the kind as it is served now.
    async fn start_anew(&mut self) {
        if let Some((_, old)) = self.running.take() {
            let plugin = self.plugin;
            tracing::warn!(
                plugin,
                "its kind is served as something else: starting anew"
            );
            self.end(old).await;
        }
    }

    /// Puts the newest version in the place of the one that runs.
    async fn follow(&mut self, accepted: &mut Accepted) {
        let newest = accepted.borrow_and_update().clone();
        let Some(newest) = newest else { return };
        if let Some((running, controller)) = &mut self.running
            && running.takes_over(&newest)
        {
            controller.swap(newest.plugin.clone());
            let before = std::mem::replace(running, newest.clone());
            self.say(&newest, Some(&before));
            return;
        }
        // What is new in it may need other informers: they fill while the old version works on.
        let (version, prepared) = loop {
            let (version, primary) = self.host.startable(accepted).await;
            let prepared = Prepared::watch(self.parts(&version), primary);
            // A version whose lists never come in may have a successor that is better.
            match first(prepared, news(accepted)).await {
                Either::Left(prepared) => break (version, prepared),
                Either::Right(()) => {}
            }
        };
        if let Some((_, old)) = &self.running {
            old.drain();
            let drained = self.drained(old);
            self.host.seams.clock.within(self.host.grace, drained).await;
        }
        let mut before = None;
        if let Some((version, old)) = self.running.take() {
            self.end(old).await;
            before = Some(version);
        }
        self.say(&version, before.as_ref());
        self.running = Some((version, prepared.start()));
    }

    fn parts(&self, version: &Version) -> Parts {
        Parts {
            plugin: version.plugin.clone(),
            grants: version.candidate.document.grants.clone(),
            api: self.host.api.gated(self.gate.clone()),
            discovery: self.host.discovery.clone(),
            informers: self.host.informers.clone(),
            events: self.host.events.clone(),
            resync: version.candidate.document.resync,
            records: self.host.records.of(self.plugin),
            seams: self.host.seams.clone(),
        }
    }

    fn say(&self, version: &Version, before: Option<&Arc<Version>>) {
        let plugin = self.plugin;
        let (digest, number) = (
            version.digest.to_string(),
            &version.plugin.description.version,
        );
        match before {
            Some(before) => {
                let old = before.digest.to_string();
                tracing::info!(
                    plugin,
                    version = number,
                    digest,
                    old,
                    "swapped: every key runs again"
                );
                tracing::debug!(plugin, reached = "swapped", "loading");
            }
            None => tracing::info!(plugin, version = number, digest, "running"),
        }
    }

    /// Hands out no more keys, and waits for the passes that run as long as there is patience. Says
    /// what stays behind.
    pub(super) async fn stop(&mut self, phases: &Phases) {
        let Some((version, controller)) = &self.running else {
            return;
        };
        controller.drain();
        let impatient = first(
            reached(phases, Phase::Abort),
            self.host.seams.clock.sleep(self.host.grace),
        );
        if let Either::Left(()) = first(self.drained(controller), impatient).await {
            tracing::debug!(plugin = self.plugin, "all passes have ended");
        }
        let left = controller.finalizers();
        if version.plugin.description.finalizes && left > 0 {
            let finalizer = finalizer_of(self.plugin);
            tracing::info!(
                plugin = self.plugin,
                left,
                "stopped; {left} objects keep the finalizer {finalizer} until the plugin runs again: `windlass release {}` takes it off",
                self.plugin
            );
        }
    }

    /// Tells the calls that run to stop.
    pub(super) async fn abort(&mut self) {
        if let Some((_, controller)) = self.running.take() {
            self.end(controller).await;
        }
    }

    async fn end(&self, controller: Controller) {
        controller.abort();
        let clock = self.host.seams.clock;
        clock.within(ABORT, controller.ended()).await;
    }

    /// Waits until no pass runs.
    async fn drained(&self, controller: &Controller) {
        while controller.running() > 0 {
            self.host.seams.clock.sleep(DRAIN_LOOK).await;
        }
    }
}
