//! One plugin, from the first version that is admitted to its last pass.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::runner::PluginRunner;
use super::trial::Trials;
use super::version::Version;
use super::{Asked, Host};
use windlass_base::bugs::bug;
use windlass_base::seams::watch;
use windlass_base::shutdown::{Phases, ShutdownPhase, reached};
use windlass_controller::metrics::{PluginMetrics, PluginStage};
use windlass_kube::api::Gate;
use windlass_kube::lease::{Lease, ObservedLease};
use windlass_policy::grants::split_subresource;
use windlass_sandbox::Need;

/// How long a plugin that holds too much has until it is looked at again.
const EMPTIED: Duration = Duration::from_secs(5);

/// Why a plugin has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It was told to.
    Asked,
    /// Another host has asked for its Lease, and is given it.
    HandedOver,
    /// Another host has its lease.
    LostLease,
}

impl Ended {
    /// Whether its Lease is released: it is held since `elected`, or the host `insists` on it and has perhaps asked for it,
    /// and nobody else has taken it.
    fn releases(self, elected: Option<Instant>, insists: bool) -> bool {
        matches!(self, Self::Asked | Self::HandedOver) && (elected.is_some() || insists)
    }
}

/// Versions that were admitted; the newest counts.
pub(super) type Accepted = watch::Receiver<Option<Arc<Version>>>;

/// Waits until something newer is there. Who could send it ends with the plugin.
pub(super) async fn news<T>(channel: &mut watch::Receiver<T>) {
    if channel.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

impl Host {
    /// Runs the plugin `name` in the versions that are asked for, until it is told to stop.
    pub(super) async fn host_plugin(&self, name: &str, asked: Asked, phases: &Phases) -> Ended {
        let (accept, accepted) = watch::channel(None);
        let trials = Trials::default();
        let admissions = self.admissions(name, asked, (&accept, &trials));
        tokio::select! {
            biased;
            ended = self.control(name, accepted, &trials, phases) => ended,
            never = admissions => match never {},
            never = self.stop_above_hard_limit(name) => match never {},
        }
    }

    /// Quarantines the plugin `name` whenever it makes the host hold more than its hard limit.
    async fn stop_above_hard_limit(&self, name: &str) -> Infallible {
        let account = self.sandboxes.accounts().of(name);
        loop {
            let (used, limit) = account.exceeded().await;
            let (used, limit) = (used >> 20, limit >> 20);
            self.quarantine(
                name,
                &format!("the host holds {used} MiB for it, more than its limit of {limit} MiB: watch less, declare fewer fields, or raise spec.limits.hostMemoryMax"),
            );
            // What it holds goes with its informers.
            self.seams.clock.sleep(EMPTIED).await;
        }
    }

    /// Waits for a version, its kind and its lease, and then runs the newest version. A host that waits for the
    /// lease stands by: only the last changes are missing when it comes.
    async fn control(
        &self,
        name: &str,
        mut accepted: Accepted,
        trials: &Trials,
        phases: &Phases,
    ) -> Ended {
        let asked = || reached(phases, ShutdownPhase::Drain);
        // One after the other, so that a host that waits for a kind does not want a lease.
        let lease = self.lease(name);
        let gate = lease.gate();
        let ready = Box::pin(self.ready(name, &mut accepted, &gate));
        tokio::select! {
            biased;
            () = ready => {}
            () = asked() => return Ended::Asked,
        }
        let (elect, elected) = watch::channel(None);
        let (say, mut tried) = watch::channel(false);
        let meters = self.metrics.of(name);
        let mut lost = pin!(self.lead(&lease, &meters, &elect, &say));
        let mut runner = PluginRunner::new(self, name, lease.gate(), elected, trials.clone());
        let run = async {
            // Who gets the Lease at once lists after that, and need not ask how far the lists are.
            let tried = tried.wait_for(|tried| *tried);
            let patience = self
                .seams
                .clock
                .within(self.session.times().retry_period, tried);
            tokio::select! {
                biased;
                _ = patience => {}
                () = asked() => {}
            }
            runner.run(accepted, phases).await;
        };
        let stops = tokio::select! {
            biased;
            () = lost.as_mut() => None,
            () = lease.wanted() => Some(Ended::HandedOver),
            () = run => Some(Ended::Asked),
        };
        let mut ended = Ended::LostLease;
        if let Some(stops) = stops {
            bug!(TheLeaseIsReleasedFirst, Box::pin(lease.release()).await);
            tokio::select! {
                biased;
                () = lost => {}
                () = Box::pin(runner.stop(phases)) => ended = stops,
            }
        }
        meters.leads.set(0);
        Box::pin(runner.abort()).await;
        Box::pin(self.events.flush()).await;
        let elected = *elect.borrow();
        if ended.releases(elected, self.session.insists()) && !self.api.is_read_only() {
            // Last of all: until here nobody else could begin.
            Box::pin(lease.release()).await;
        }
        ended
    }

    /// Waits for a version that can start, and asks what the cluster serves of its needs.
    async fn ready(&self, name: &str, accepted: &mut Accepted, gate: &Gate) {
        let version = self.startable(name, accepted, gate).await;
        self.check_needs(&version).await;
    }

    /// Takes the lease and holds it until it is lost. Says through `say` that it has tried to, and through `elect` since
    /// when it is held.
    async fn lead(
        &self,
        lease: &Lease,
        meters: &PluginMetrics,
        elect: &watch::Sender<Option<Instant>>,
        say: &watch::Sender<bool>,
    ) {
        if self.api.is_read_only() {
            // Readers harm nobody: it needs no Lease, and could write none.
            elect.send_replace(Some(self.seams.clock.now()));
            say.send_replace(true);
            return std::future::pending().await;
        }
        let waits = |holder: Option<&str>| {
            meters.held_by(holder);
            say.send_replace(true);
        };
        Box::pin(lease.acquire(ObservedLease::default(), waits)).await;
        elect.send_replace(Some(self.seams.clock.now()));
        waits(None);
        meters.leads.set(1);
        lease.hold().await;
    }

    /// The newest version, once its primary kinds are served and granted; at once if the host that has the Lease is to
    /// install them.
    async fn startable(&self, name: &str, accepted: &mut Accepted, gate: &Gate) -> Arc<Version> {
        loop {
            let version = accepted.borrow_and_update().clone();
            let found = async {
                match &version {
                    Some(version) if version.installs() => Ok(Vec::new()),
                    Some(version) => {
                        Box::pin(self.defined(version, gate)).await;
                        self.primaries(version).await
                    }
                    None => std::future::pending().await,
                }
            };
            let found = tokio::select! {
                biased;
                found = found => found,
                () = news(accepted) => continue,
            };
            match (found, version) {
                (Ok(_), Some(version)) => return version,
                (Err(problem), Some(version)) => {
                    tracing::error!(plugin = &*version.plugin.name, "{problem}");
                    self.waits(name, &problem);
                    news(accepted).await;
                }
                (_, None) => {}
            }
        }
    }

    /// The plugin waits, unless it runs in another version.
    pub(super) fn waits(&self, plugin: &str, why: &str) {
        let meters = self.metrics.of(plugin);
        let stage = meters.stage();
        if !stage.is_running() && stage != PluginStage::StandingBy {
            meters.reached(PluginStage::Waiting(why.to_owned()));
        }
    }

    /// Warns of needs that the cluster does not serve: a wrong plural is easily written.
    async fn check_needs(&self, version: &Version) {
        // Whatever the plugin may touch of the core group, it may be told by name what it may not.
        let _ = self.discovery.by_plural("", "configmaps").await;
        let watched = |verbs: &[String]| verbs.iter().any(|verb| verb == "watch");
        let description = &version.plugin.description;
        let needs = description.needs.iter();
        let of_one = |need: &&Need| !watched(&need.verbs) && !description.is_of_every_kind(need);
        for need in needs.filter(of_one) {
            let (group, plural) = (&need.group, split_subresource(&need.resource).0);
            if let Ok(None) = self.discovery.by_plural(group, plural).await {
                let hint = self.discovery.hint(group, plural).await;
                let plugin = &*version.plugin.name;
                tracing::warn!(
                    plugin,
                    "the cluster does not serve {plural} of group {group:?}{hint}"
                );
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test hands in its own time")]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_released_by_who_has_it() {
        let now = Some(Instant::now());
        let rows = [
            (Ended::Asked, now, [true, true]),
            (Ended::Asked, None, [false, true]),
            (Ended::HandedOver, now, [true, true]),
            (Ended::HandedOver, None, [false, true]),
            (Ended::LostLease, now, [false, false]),
            (Ended::LostLease, None, [false, false]),
        ];
        for (ended, elected, wants) in rows {
            for (insists, want) in [false, true].into_iter().zip(wants) {
                let released = ended.releases(elected, insists);
                assert_eq!(released, want, "{ended:?} {elected:?} {insists}");
            }
        }
    }
}
