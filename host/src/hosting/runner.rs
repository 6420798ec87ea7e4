//! The newest version of a plugin at work, and how it follows the one before it, or another host.
//!
//! - While another host has the Lease the newest version stands by: its lists are in and kept up to date. It
//!   makes no pass, so nothing is written; and the gate is closed.
//! - No pass is made before the Lease is ours, and whatever was written by then has been seen.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Host;
use super::next_version::{NextVersion, Versions, next_version};
use super::plugin::{Accepted, news};
use super::rollout::{Moved, Rollout, moved, rollout};
use super::trial::{FIRST_PASSES, OnTrial, Record, TRIAL, Trials, Verdict, verdict};
use super::version::Version;
use windlass_base::bugs::bug;
use windlass_controller::controller::{Controller, Prepared};
use windlass_controller::metrics::{PluginMetrics, PluginStage};
use windlass_kube::api::Gate;

use windlass_base::seams::watch;
use windlass_base::shutdown::{Phases, ShutdownPhase, reached};
use windlass_base::text::counted;

/// How often it is asked whether the last pass has ended.
const DRAIN_LOOK: Duration = Duration::from_millis(10);

/// How long the host waits for passes that were told to stop.
const ABORT: Duration = Duration::from_secs(3);

/// One plugin's controller, from when the host wants its lease until it has it no more.
pub(super) struct PluginRunner<'a> {
    host: &'a Host,
    plugin: &'a str,
    /// For the plugin's writes.
    gate: Gate,
    /// Since when the Lease is ours.
    elected: watch::Receiver<Option<Instant>>,
    /// What begins when it may.
    next: Option<(Arc<Version>, Prepared)>,
    running: Option<(Arc<Version>, Controller)>,
    trials: Trials,
    /// What runs on trial, and since when.
    on_trial: Option<(OnTrial, Instant)>,
}

impl<'a> PluginRunner<'a> {
    pub(super) fn new(
        host: &'a Host,
        plugin: &'a str,
        gate: Gate,
        elected: watch::Receiver<Option<Instant>>,
        trials: Trials,
    ) -> Self {
        Self {
            host,
            plugin,
            gate,
            elected,
            next: None,
            running: None,
            trials,
            on_trial: None,
        }
    }

    /// Runs the newest version that was accepted, or stands by with it, until it is asked to stop.
    pub(super) async fn run(&mut self, mut accepted: Accepted, phases: &Phases) {
        let asked = reached(phases, ShutdownPhase::Drain);
        let follow = async {
            loop {
                self.follow(&mut accepted).await;
            }
        };
        tokio::select! {
            biased;
            () = follow => {}
            () = asked => {}
        }
    }

    /// Puts the newest version in its place as soon as it is ready. What is new in it may need other
    /// informers: they fill while what is here works on, stands by, or begins.
    async fn follow(&mut self, accepted: &mut Accepted) {
        let (host, gate, versions) = (self.host, self.gate.clone(), self.versions());
        let mut next = pin!(next_version(host, &gate, accepted, &versions));
        loop {
            tokio::select! {
                biased;
                next = next.as_mut() => return self.take_in(next).await,
                () = self.moved() => return self.start_again().await,
                lack = self.loses_watch() => return self.wait_for_rights(lack).await,
                // What is here is another version then: whatever follows is compared with that.
                () = self.may_begin() => return Box::pin(self.begin()).await,
                verdict = self.verdict() => self.judge(verdict),
            }
        }
    }

    /// The versions that are here.
    fn versions(&self) -> Versions {
        let running = self.running.as_ref();
        let next = self.next.as_ref();
        let primaries = match (next, running) {
            (Some((_, next)), _) => next.primaries(),
            (None, Some((_, controller))) => controller.primaries(),
            (None, None) => Vec::new(),
        };
        Versions {
            running: running.map(|(version, _)| version.clone()),
            next: next.map(|(version, _)| version.clone()),
            primaries,
        }
    }

    /// Puts the newest version in the place of what wants the same, or next in line.
    async fn take_in(&mut self, newest: NextVersion) {
        match newest {
            NextVersion::Swap(newest) => self.swap(&newest),
            NextVersion::Next(version, prepared) => {
                self.say_standby(&version);
                self.next = Some((version, *prepared));
            }
            NextVersion::Nothing => Box::pin(self.abort()).await,
        }
    }

    fn swap(&mut self, newest: &Arc<Version>) {
        // Asked again: what was next may run by now.
        let here = self.versions().here(Some(newest));
        let on_trial = self.trial_of(newest);
        match (rollout(here), &mut self.running, &mut self.next) {
            (Rollout::SwapRunning, Some((version, controller)), _) => {
                let trial = on_trial.as_ref().map(|_| FIRST_PASSES);
                controller.swap(newest.called(), trial);
                self.on_trial = on_trial;
                let before = std::mem::replace(version, newest.clone());
                self.next = None;
                self.say(newest, Some(&before));
            }
            (Rollout::SwapNext, _, Some((version, prepared))) => {
                prepared.swap(newest.called());
                *version = newest.clone();
                self.say_standby(newest);
            }
            (_, _, _) => {}
        }
    }

    /// Waits until what is next may begin: the Lease is ours, and whatever its last holder wrote has been
    /// seen. A server that does not say how far it is holds that back, and nothing else.
    async fn may_begin(&self) {
        let Some((_, next)) = &self.next else {
            return std::future::pending().await;
        };
        let mut elected = self.elected.clone();
        let since = elected.wait_for(Option::is_some).await;
        if let Ok(Some(since)) = since {
            bug!(TheBarrierIsOff, next.barrier(since).await, ());
            return;
        }
        // Nobody can have the Lease any more.
        std::future::pending().await
    }

    /// Puts what is next in the place of what runs, when its passes have ended.
    async fn begin(&mut self) {
        let Some((version, next)) = self.next.take() else {
            return;
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
        self.on_trial = self.trial_of(&version);
        let trial = self.on_trial.as_ref().map(|_| FIRST_PASSES);
        self.running = Some((version, next.start(trial)));
    }

    /// The trial of `version`, if it is to begin now.
    fn trial_of(&self, version: &Arc<Version>) -> Option<(OnTrial, Instant)> {
        let on_trial = self.trials.of(version)?;
        Some((on_trial, self.host.seams.clock.now()))
    }

    /// Waits until it is said whether what runs on trial is good. It makes passes without bound once its first ones have
    /// ended well enough.
    async fn verdict(&self) -> Verdict {
        let (Some((on_trial, since)), Some((_, controller))) = (&self.on_trial, &self.running)
        else {
            return std::future::pending().await;
        };
        let (clock, version) = (self.host.seams.clock, &on_trial.version);
        let mut passes = version.tally.news();
        loop {
            let (tally, old) = (&version.tally, on_trial.before.tally.recent());
            let new = Record {
                share: tally.all(),
                passes: tally.passes(),
                objects: u64::try_from(controller.objects()).unwrap_or(u64::MAX),
            };
            match verdict(new, old, clock.now() - *since) {
                Verdict::Waits => {}
                Verdict::GoesOn => controller.end_trial(),
                end @ (Verdict::Good | Verdict::RollBack) => return end,
            }
            tokio::select! {
                biased;
                () = news(&mut passes) => {}
                () = clock.sleep_until(*since + TRIAL) => {}
            }
        }
    }

    /// Ends the trial of what runs so, and tells who admits versions.
    fn judge(&mut self, verdict: Verdict) {
        let Some((on_trial, _)) = self.on_trial.take() else {
            return;
        };
        if let Some((_, controller)) = &self.running {
            match verdict {
                Verdict::RollBack => controller.fail_trial(),
                Verdict::Good | Verdict::GoesOn | Verdict::Waits => controller.end_trial(),
            }
        }
        self.trials.judge(&on_trial.version, verdict);
    }

    /// Waits until a primary kind of what is next, or else of what runs, is served as something else.
    async fn moved(&self) {
        match (&self.next, &self.running) {
            (Some((_, next)), _) => next.moved().await,
            (None, Some((_, controller))) => controller.moved().await,
            (None, None) => std::future::pending().await,
        }
    }

    /// Ends what has moved. The same version is next, with the kind as it is served now.
    async fn start_again(&mut self) {
        let plugin = self.plugin;
        tracing::warn!(
            plugin,
            "one of its kinds is served in another way: starting again"
        );
        match moved(self.versions().here(None)) {
            Moved::Nothing => {}
            Moved::Next => self.next = None,
            Moved::Running => {
                if let Some((_, old)) = self.running.take() {
                    self.end(old).await;
                }
            }
        }
    }

    /// Waits until the service account of what is here may not watch its kinds any more: what it lacks.
    async fn loses_watch(&self) -> String {
        match (&self.next, &self.running) {
            (_, Some((version, controller))) => {
                let primaries = controller.primaries();
                self.host.loses_watch(version, &primaries).await
            }
            (Some((version, next)), None) => {
                self.host.loses_watch(version, &next.primaries()).await
            }
            (None, None) => std::future::pending().await,
        }
    }

    /// Ends what is here. It is next again when its service account has its rights.
    async fn wait_for_rights(&mut self, lack: String) {
        tracing::warn!(plugin = self.plugin, "its passes end: {lack}");
        Box::pin(self.abort()).await;
        self.meters().reached(PluginStage::Forbidden(lack));
    }

    fn say_standby(&self, version: &Version) {
        self.meters().is(version.about());
        if self.running.is_none() {
            self.meters().reached(PluginStage::StandingBy);
        }
        if self.elected.borrow().is_some() {
            return;
        }
        let (plugin, number) = (self.plugin, &version.plugin.description.version);
        let digest = version.digest.to_string();
        tracing::info!(plugin, version = number, digest, "standing by");
    }

    fn meters(&self) -> Arc<PluginMetrics> {
        self.host.metrics.of(self.plugin)
    }

    fn say(&self, version: &Arc<Version>, before: Option<&Arc<Version>>) {
        let (plugin, meters) = (self.plugin, self.meters());
        meters.is(version.about());
        meters.reached(PluginStage::Running);
        let (digest, number) = (
            version.digest.to_string(),
            &version.plugin.description.version,
        );
        match before {
            Some(before) if Arc::ptr_eq(before, version) => tracing::info!(
                plugin,
                version = number,
                "it reconciles other kinds now: every key runs again"
            ),
            Some(before) => {
                meters.swapped.inc();
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
        tokio::select! {
            biased;
            () = self.drained(controller) => {
                tracing::debug!(plugin = self.plugin, "all passes have ended");
            }
            () = reached(phases, ShutdownPhase::Abort) => {}
            () = self.host.seams.clock.sleep(self.host.grace) => {}
        }
        let left = controller.finalizers();
        if version.plugin.description.finalizes() && left > 0 {
            let finalizer = version.candidate.document.finalizer();
            tracing::info!(
                plugin = self.plugin,
                left,
                "stopped; the finalizer {finalizer} stays on {} until the plugin runs again: `windlass release {} --finalizer {finalizer}` takes it off",
                counted(left, "object"),
                self.plugin
            );
        }
    }

    /// Tells the calls that run to stop.
    pub(super) async fn abort(&mut self) {
        self.next = None;
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
