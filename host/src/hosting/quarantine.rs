//! Which versions may not run, and why: they are suspected of crashing hosts, killed the compiler, or were stopped.
//!
//! - A component that was in flight in two crashes within ten minutes does not run before its quarantine ends.
//! - A plugin that was stopped at run time does not run before another version or another document is asked for.
//! - Both are of the plugin alone: its neighbours do not notice.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::plugin::news;
use super::refusal::{Refusal, RefusalReason, Retry};
use super::version::Version;
use super::{Asked, Host};
use windlass_base::digest::Digest;
use windlass_base::memory::memory_limit;
use windlass_base::seams::watch;
use windlass_kube::crashes::Crashes;
use windlass_kube::lease::Lease;
use windlass_policy::source::Candidate;
use windlass_sandbox::LoadError;

/// How long a plugin waits for what other hosts have published, before it starts.
const PATIENCE: Duration = Duration::from_secs(5);

/// The plugins that may not run. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Quarantine {
    crashes: Crashes,
    /// The plugins that are to be stopped, and why.
    orders: Arc<Mutex<BTreeMap<String, String>>>,
    ordered: watch::Sender<()>,
}

/// The versions that ran and were stopped, and why; the newest last.
pub(super) type Stopped = Vec<(Arc<Candidate>, Refusal)>;

/// Why `candidate` was stopped, if it was. Another configuration of a version that was rolled back is another version; one
/// that is suspected of harm stays so.
pub(super) fn refusal_of<'a>(stopped: &'a Stopped, candidate: &Candidate) -> Option<&'a Refusal> {
    let mut all = stopped.iter();
    let found = all.find(|(it, refusal)| match refusal.is_quarantine() {
        true => it.is_same_version(candidate),
        false => **it == *candidate,
    });
    found.map(|(_, refusal)| refusal)
}

impl Quarantine {
    /// One that is guided by these `crashes`.
    pub fn of(crashes: Crashes) -> Self {
        Self {
            crashes,
            ..Self::default()
        }
    }

    /// The order to stop `plugin`, if there is one. It is gone then.
    pub(super) fn order(&self, plugin: &str) -> Option<String> {
        let mut orders = self.orders.lock();
        orders.remove(plugin)
    }

    /// Notices of crashes that others have published, and of orders.
    pub(super) fn news(&self) -> (watch::Receiver<()>, watch::Receiver<()>) {
        (self.crashes.news(), self.ordered.subscribe())
    }
}

/// Waits for news of either channel.
async fn either(published: &mut watch::Receiver<()>, ordered: &mut watch::Receiver<()>) {
    tokio::select! {
        biased;
        () = news(published) => {}
        () = news(ordered) => {}
    }
}

impl Host {
    /// Stops `plugin` now, because of `why`: its calls end, it has no informers any more, and it does not run again
    /// before another version or another document of it is asked for, or the host is started again. Its neighbours
    /// run on. Nothing happens to a plugin that does not run.
    pub fn quarantine(&self, plugin: &str, why: &str) {
        let mut orders = self.quarantine.orders.lock();
        orders.insert(plugin.to_owned(), why.to_owned());
        drop(orders);
        self.quarantine.ordered.send_replace(());
    }

    /// Refuses a component that is in quarantine.
    pub(super) fn check_quarantine(&self, digest: &Digest) -> Result<(), Refusal> {
        let now = self.seams.clock.wall();
        match self.quarantine.crashes.quarantine(digest, now) {
            Some(sentence) => Err(RefusalReason::CrashedHosts {
                digest: *digest,
                sentence,
                now,
            }
            .into()),
            None => Ok(()),
        }
    }

    /// The version of plugin `name` that runs and may not any more, and why.
    pub(super) fn to_stop(
        &self,
        name: &str,
        current: Option<&Arc<Version>>,
    ) -> Option<(Arc<Candidate>, Refusal)> {
        // Of a plugin that does not run there is nothing to stop.
        let order = self.quarantine.order(name);
        let version = current?;
        let refusal = match order {
            Some(why) => {
                let plugin = name.to_owned();
                RefusalReason::Stopped { plugin, why }.into()
            }
            None => self.check_quarantine(&version.digest).err()?,
        };
        Some((version.candidate.clone(), refusal))
    }

    /// Waits until `current` may not run any more.
    pub(super) async fn stops(
        &self,
        current: Option<&Arc<Version>>,
        (published, ordered): &mut (watch::Receiver<()>, watch::Receiver<()>),
    ) {
        let Some(version) = current else {
            return std::future::pending().await;
        };
        while !self.is_to_stop(version) {
            either(published, ordered).await;
        }
    }

    /// Waits until something else is asked for, or until `refused` is to be tried again; or until `current` must stop.
    pub(super) async fn wait_for_news(
        &self,
        asked: &mut Asked,
        current: Option<&Arc<Version>>,
        refused: Option<&Refusal>,
        (published, ordered): &mut (watch::Receiver<()>, watch::Receiver<()>),
    ) {
        let retry = refused.map_or(Retry::OnChange, |refusal| refusal.retry);
        let due = retry.delay().map(|delay| self.seams.clock.now() + delay);
        let candidate = match retry {
            Retry::WhenReleased(_) => asked.borrow().clone(),
            Retry::OnChange | Retry::After(_) => None,
        };
        let digest = candidate.and_then(|candidate| candidate.component.digest());
        let again = async {
            match due {
                Some(due) => self.seams.clock.sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        let moves = async {
            let is_free = |digest: &Digest| self.check_component(digest).is_ok();
            while !current.is_some_and(|version| self.is_to_stop(version))
                && !digest.as_ref().is_some_and(is_free)
            {
                either(published, ordered).await;
            }
        };
        tokio::select! {
            biased;
            () = news(asked) => {}
            () = again => {}
            () = moves => {}
        }
    }

    /// Whether `version`, which runs, may not any more.
    pub(super) fn is_to_stop(&self, version: &Version) -> bool {
        let is_ordered = self
            .quarantine
            .orders
            .lock()
            .contains_key(&*version.plugin.name);
        is_ordered || self.check_quarantine(&version.digest).is_err()
    }

    /// Refuses a component that is in quarantine, or has killed the compiler too often.
    pub(super) fn check_component(&self, digest: &Digest) -> Result<(), Refusal> {
        self.check_quarantine(digest)?;
        let (crashes, now) = (&self.quarantine.crashes, self.seams.clock.wall());
        match crashes.has_killed_the_compiler(&self.compiler(), digest, now) {
            Some(killed) => Err(RefusalReason::KilledCompiler {
                digest: *digest,
                killed,
                now,
            }
            .into()),
            None => Ok(()),
        }
    }

    /// Remembers that loading `digest` killed the compiler, if that is why it failed.
    pub(super) fn note_load_error(&self, digest: Digest, error: &LoadError) {
        let LoadError::Compile(error) = error else {
            return;
        };
        if let Some(kill) = error.killed() {
            let (crashes, now) = (&self.quarantine.crashes, self.seams.clock.wall());
            crashes.killed_the_compiler(&self.compiler(), digest, kill, now);
        }
    }

    /// Tells other hosts in which crashes `component` and those that are kept of plugin `name` were at work, and takes in what they tell. If
    /// the API server gives no answer the plugin starts with what is known.
    pub(super) async fn exchange_crashes(&self, name: &str, component: Option<Digest>) {
        let crashes = &self.quarantine.crashes;
        if !crashes.are_shared() {
            return;
        }
        let kept = self.last_good.as_ref();
        let mut digests = kept.map(|kept| kept.components(name)).unwrap_or_default();
        digests.extend(component);
        let lease = self.lease(name);
        let published = lease.publish(&digests);
        match self.seams.clock.within(PATIENCE, published).await {
            Some(Ok(())) => {}
            Some(Err(error)) => tracing::warn!(
                plugin = name,
                "cannot exchange with other hosts who is to blame for crashes: {error}"
            ),
            None => tracing::warn!(
                plugin = name,
                "cannot exchange with other hosts who is to blame for crashes: no answer in time"
            ),
        }
    }

    /// The Lease of plugin `name`.
    pub(super) fn lease(&self, name: &str) -> Lease {
        Lease::new(&self.session, name).listening(self.quarantine.crashes.clone())
    }

    /// The host, its compiler and the memory that it has.
    fn compiler(&self) -> String {
        let mut engine = DefaultHasher::new();
        let compatible = self.sandboxes.engine().precompile_compatibility_hash();
        compatible.hash(&mut engine);
        let memory = memory_limit(Path::new("/")) >> 20;
        let (version, engine) = (env!("CARGO_PKG_VERSION"), engine.finish());
        format!("windlass {version}, engine {engine:016x}, {memory} MiB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_policy::manifest::{Origin, PluginConfig, parse};
    use windlass_policy::source::Component;

    #[test]
    fn what_is_suspected_of_harm_stays_stopped_in_any_configuration() {
        let text = "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: { name: p }\nspec: { source: { oci: r.example/p:v1 } }\n";
        let document = parse(&Origin::Object("p".into()), text).unwrap().remove(0);
        let component = Component::Known(windlass_base::digest::digest(b"code"));
        let plain = Candidate::listed(document, text.into(), component);
        let config = |json| plain.with_config(PluginConfig::with_secrets(json, &[]));
        let stopped_for = |reason: RefusalReason| vec![(Arc::new(config("{}")), reason.into())];
        let stopped = stopped_for(RefusalReason::Stopped {
            plugin: "p".into(),
            why: "it holds too much".into(),
        });
        for other in [&plain, &config("{}"), &config(r#"{"a":1}"#)] {
            assert!(refusal_of(&stopped, other).is_some(), "{other:?}");
        }
        let another = plain.with_digest(windlass_base::digest::digest(b"other code"));
        assert!(refusal_of(&stopped, &another).is_none());
        let rolled_back = stopped_for(RefusalReason::RolledBackBefore("it fails".into()));
        assert!(refusal_of(&rolled_back, &config("{}")).is_some());
        assert!(refusal_of(&rolled_back, &config(r#"{"a":1}"#)).is_none());
    }
}
