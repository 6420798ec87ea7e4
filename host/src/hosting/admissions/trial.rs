//! What follows from the trial of a version, and what is kept of it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::super::Host;
use super::super::last_good::{KeptAs, LastGood};
use super::super::refusal::{Refusal, RefusalReason, RolledBack};
use super::super::trial::{OnTrial, TRIAL, Verdict};
use super::super::version::Version;
use super::Admissions;
use windlass_base::memory::Prepared;
use windlass_policy::source::Candidate;

/// How long a disk may take to keep a version.
const PATIENCE: Duration = Duration::from_secs(30);

impl Host {
    /// Keeps what was admitted, as the last good version or as one on trial.
    pub(super) async fn keep(
        &self,
        candidate: &Arc<Candidate>,
        bytes: Option<Prepared>,
        kept: KeptAs,
    ) {
        let (plugin, candidate) = (&*candidate.document.name, candidate.clone());
        let keep = move |last_good: LastGood| match bytes {
            Some(bytes) => last_good.keep_as(&candidate, bytes.bytes(), kept),
            None => last_good.keep_again(&candidate, kept),
        };
        self.in_state(plugin, keep).await;
        tracing::debug!(plugin, reached = "kept", "loading");
    }

    /// The last version of `plugin` that was rolled back before this host started, if it is known.
    pub(super) fn rolled_back_before(&self, plugin: &str) -> Option<(Arc<Candidate>, Refusal)> {
        let (candidate, why) = self.last_good.as_ref()?.rejected(plugin)?;
        let refusal = RefusalReason::RolledBackBefore(why).into();
        Some((Arc::new(candidate), refusal))
    }

    /// Does something to what is kept of `plugin`, and warns if that fails.
    async fn in_state(
        &self,
        plugin: &str,
        step: impl FnOnce(LastGood) -> io::Result<()> + Send + 'static,
    ) {
        let Some(last_good) = self.last_good.clone() else {
            return;
        };
        let stepping = self.seams.spawn.blocking(move || step(last_good));
        let done = match self.seams.clock.within(PATIENCE, stepping).await {
            Some(done) => done.unwrap_or_else(|lost| Err(io::Error::other(lost))),
            None => Err(io::Error::other("the disk is too slow")),
        };
        if let Err(error) = done {
            tracing::warn!(
                plugin,
                "its last good version cannot be kept in the state folder: {error}"
            );
        }
    }

    /// The trial of `version` has ended well.
    pub(super) async fn proved(&self, version: &Version) {
        let (plugin, digest) = (&*version.plugin.name, version.full_digest());
        let number = &version.plugin.description.version;
        tracing::info!(
            plugin,
            version = number,
            digest,
            "its trial has ended well: it is the last good version"
        );
        self.prove(version).await;
    }

    /// From now on `version` is the last good one.
    async fn prove(&self, version: &Version) {
        let plugin = &*version.plugin.name;
        self.metrics.of(plugin).proves(version.full_digest());
        let name = plugin.to_owned();
        self.in_state(plugin, move |last_good| last_good.promote(&name))
            .await;
    }
}

impl Admissions<'_> {
    /// Does what follows from the trial of what runs, if that is over: it is the last good version from now on, or the
    /// one before it takes its place again.
    pub(super) async fn end_trial(&mut self) {
        let Some(on_trial) = self.trials.take_judged() else {
            return;
        };
        let current = self.current.as_ref();
        let is_current = current.is_some_and(|it| Arc::ptr_eq(it, &on_trial.version));
        match on_trial.verdict {
            Verdict::Good if is_current => self.host.proved(&on_trial.version).await,
            Verdict::RollBack if is_current => self.roll_back(on_trial).await,
            Verdict::Waits | Verdict::GoesOn | Verdict::Good | Verdict::RollBack => {}
        }
    }

    /// Runs the version before the one on trial again, and refuses that one for good.
    async fn roll_back(
        &mut self,
        OnTrial {
            version, before, ..
        }: OnTrial,
    ) {
        let refusal = Refusal::from(RefusalReason::RolledBack(RolledBack::of(&version, &before)));
        let candidate = version.candidate.clone();
        self.stopped.retain(|(it, _)| *it != candidate);
        let meters = self.host.metrics.of(self.name);
        meters.rolled_back.inc();
        // Before it runs: nobody is to think that all is well.
        meters.refuses(Some(refusal.not_running(Some(candidate.text.clone()))));
        let why = refusal.why.clone();
        self.stopped.push((candidate.clone(), refusal));
        self.forget_stopped();
        self.current = Some(before.clone());
        self.accept.send_replace(Some(before));
        let reject = move |last_good: LastGood| last_good.reject(&candidate, &why);
        self.host.in_state(self.name, reject).await;
    }

    /// Puts `version` on trial, which is about to take the place of what runs.
    pub(super) async fn put_on_trial(&self, version: &Arc<Version>) -> KeptAs {
        let Some(current) = self.current.clone() else {
            return KeptAs::LastGood;
        };
        let now = self.host.seams.clock.now();
        let meters = self.host.metrics.of(self.name);
        // What is on trial itself is not the last good one.
        let before = match self.trials.of(&current) {
            // Where it ran, its trial is over.
            Some(held) if meters.leads.get() == 0 && now - held.since >= TRIAL => {
                self.host.prove(&current).await;
                current
            }
            Some(held) => held.before,
            None => current,
        };
        let is_chosen = version.candidate.document.rollback_to.is_some();
        if !self.host.rolls_back || is_chosen || !version.is_reversible_to(&before) {
            self.trials.end();
            meters.proves(version.full_digest());
            return KeptAs::LastGood;
        }
        self.trials.begin(version.clone(), before, now);
        KeptAs::OnTrial
    }
}
