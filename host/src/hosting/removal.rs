//! Removes a plugin whose object is deleted, as the object's policy says.
//!
//! - An object that asks for a plugin which finalizes carries a finalizer of the host, so that it stays until nothing waits
//!   for the plugin any more.
//! - `Wait`: the plugin runs on until no object carries its finalizer. `Release`: the plugin stops, and the host takes the
//!   finalizer off. `Orphan`: the plugin stops, and nothing else happens.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use super::{Host, carriers};
use crate::api::Resource;
use crate::finalizers::{FinalizerPatch, settle_finalizer};
use crate::grants::Scope;
use crate::lease::ObservedLease;
use crate::manifest::{self, DeletionPolicy, PluginDocument};
use crate::metrics::ReconciledKind;
use crate::object::Object;
use crate::source::{PluginObjects, plugins};

/// The finalizer of the host on Plugin objects.
pub(super) const FINALIZER: &str = "plugins.windlass.dev/host";

/// How often it is looked whether an object may go.
const LOOK: Duration = Duration::from_secs(5);

/// How long a Lease that is held is waited for at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why objects that are deleted are still there, by the name of the plugin. Clones are the same.
#[derive(Clone)]
pub(super) struct Removals(Arc<Mutex<BTreeMap<String, String>>>, watch::Sender<()>);

impl Default for Removals {
    fn default() -> Self {
        Self(Arc::default(), watch::Sender::new(()))
    }
}

impl Removals {
    /// Why the object of the plugin `name` is still there.
    pub(super) fn why(&self, name: &str) -> Option<String> {
        self.0.lock().get(name).cloned()
    }

    /// Notices that a reason has changed.
    pub(super) fn news(&self) -> watch::Receiver<()> {
        self.1.subscribe()
    }

    fn retain(&self, names: &[&str]) {
        self.0.lock().retain(|name, _| names.contains(&&**name));
    }

    fn say(&self, name: &str, why: Option<&str>) {
        let mut all = self.0.lock();
        let before = match why {
            Some(why) => all.insert(name.to_owned(), why.to_owned()),
            None => all.remove(name),
        };
        drop(all);
        if before.as_deref() != why {
            if let Some(why) = why {
                tracing::info!(plugin = name, "its object is deleted, and stays: {why}");
            }
            self.1.send_replace(());
        }
    }
}

/// What is done about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing.
    Leave,
    /// It gets the finalizer of the host.
    Protect,
    /// It goes once no object carries the plugin's finalizer.
    Await,
    /// The plugin's finalizer is taken off all objects, and then it goes.
    Release,
    /// It goes.
    LetGo,
}

/// What is known of an object.
#[derive(Clone, Copy, Debug)]
struct Situation {
    policy: DeletionPolicy,
    deleting: bool,
    protected: bool,
    /// Whether this host makes the plugin's passes.
    leads: bool,
    /// Whether the version that runs finalizes.
    finalizes: bool,
}

impl Situation {
    /// Decides what is done.
    fn step(self) -> Step {
        match (self.deleting, self.protected, self.policy) {
            (false, false, DeletionPolicy::Wait | DeletionPolicy::Release)
                if self.leads && self.finalizes =>
            {
                Step::Protect
            }
            (false, true, DeletionPolicy::Orphan) | (true, true, DeletionPolicy::Orphan) => {
                Step::LetGo
            }
            // The version that runs now finalizes nothing; what an older one left was looked for when it took over.
            (false, true, _) if self.leads && !self.finalizes => Step::LetGo,
            (true, true, DeletionPolicy::Wait) => Step::Await,
            (true, true, DeletionPolicy::Release) => Step::Release,
            (_, _, _) => Step::Leave,
        }
    }
}

impl Host {
    /// Removes plugins whose objects are deleted.
    pub(super) async fn remove_plugins(
        &self,
        mut objects: PluginObjects,
        removals: Removals,
    ) -> Infallible {
        loop {
            objects.mark_seen();
            let held = objects.list();
            for object in &held {
                let Ok((document, _)) = manifest::of_object(object) else {
                    continue;
                };
                let name = document.name.clone();
                let why = match Box::pin(self.remove_one(object, &document)).await {
                    Ok(why) => why,
                    Err(error) => Some(format!("{error:#}")),
                };
                removals.say(&name, why.as_deref());
            }
            let names = held
                .iter()
                .filter_map(|it| it.pointer("/metadata/name")?.as_str());
            removals.retain(&names.collect::<Vec<_>>());
            // That a plugin begins to lead does not change its object.
            tokio::select! {
                biased;
                () = objects.changed() => {}
                () = self.seams.clock.sleep(LOOK) => {}
            }
        }
    }

    /// Does what is to be done about one object; answers why it is still there, if it is deleted.
    async fn remove_one(
        &self,
        object: &Value,
        document: &PluginDocument,
    ) -> anyhow::Result<Option<String>> {
        let Some(held) = Object::new(object) else {
            return Ok(None);
        };
        let meters = self.metrics.of(&document.name);
        let situation = Situation {
            policy: document.deletion,
            deleting: held.metadata.deleting,
            protected: held.metadata.has_finalizer(FINALIZER),
            leads: meters.leads.get() > 0,
            finalizes: meters.about().is_some_and(|about| about.finalizes),
        };
        let plugins = plugins();
        let settle =
            |which| settle_finalizer(&self.api, &plugins, &held.metadata, FINALIZER, which);
        match situation.step() {
            Step::Leave => Ok(None),
            Step::Protect => {
                settle(FinalizerPatch::Protect).await?;
                Ok(None)
            }
            Step::LetGo => {
                settle(FinalizerPatch::Release).await?;
                Ok(None)
            }
            Step::Await => {
                let carried = self.carried(object, document).await?;
                let Some((resource, example)) = carried.first() else {
                    settle(FinalizerPatch::Release).await?;
                    return Ok(None);
                };
                let count = carried.len();
                let example = format!("{resource} {}", example.metadata.key);
                let finalizer = document.finalizer();
                Ok(Some(format!(
                    "{count} objects carry the finalizer {finalizer}, such as {example}: the plugin runs on until they are gone. Delete them, or set spec.deletionPolicy to Release or Orphan"
                )))
            }
            Step::Release => {
                let lease = self.lease(&document.name);
                // Held meanwhile, so that no host starts the plugin under our hands.
                let acquired = lease.acquire(ObservedLease::default(), |_| {});
                if self.seams.clock.within(PATIENCE, acquired).await.is_none() {
                    return Ok(Some("a host still runs the plugin".to_owned()));
                }
                let released = self.release_all(object, document).await;
                lease.release().await;
                let count = released?;
                let plugin = &document.name;
                tracing::info!(plugin, count, "its finalizer was taken off all objects");
                settle(FinalizerPatch::Release).await?;
                Ok(None)
            }
        }
    }

    /// The objects that carry the plugin's finalizer, where the plugin may watch.
    async fn carried(
        &self,
        object: &Value,
        document: &PluginDocument,
    ) -> anyhow::Result<Vec<(Resource, Object)>> {
        let finalizer = document.finalizer();
        let mut all = Vec::new();
        for ReconciledKind { api_version, kind } in reconciled(object) {
            // A kind that is not served has no objects.
            let Some(resource) = self.discovery.by_kind(&api_version, &kind).await? else {
                continue;
            };
            let scope = document
                .grants
                .watch_scope(&resource.group, &resource.plural, None);
            let places = match scope {
                Scope::All => vec![None],
                Scope::Namespaces(names) => names.into_iter().map(Some).collect(),
            };
            for place in places {
                let found = carriers(&self.api, &resource, place.as_deref(), &finalizer).await?;
                all.extend(found.into_iter().map(|it| (resource.clone(), it)));
            }
        }
        Ok(all)
    }

    /// Takes the plugin's finalizer off all objects; answers off how many.
    async fn release_all(
        &self,
        object: &Value,
        document: &PluginDocument,
    ) -> anyhow::Result<usize> {
        let finalizer = document.finalizer();
        let carried = self.carried(object, document).await?;
        for (resource, carrier) in &carried {
            let release = FinalizerPatch::Release;
            settle_finalizer(&self.api, resource, &carrier.metadata, &finalizer, release).await?;
        }
        Ok(carried.len())
    }
}

/// The kinds that the status says the plugin reconciles: also after a restart of the host they are known.
fn reconciled(object: &Value) -> Vec<ReconciledKind> {
    let kinds = object.pointer("/status/primaries").cloned();
    kinds
        .and_then(|kinds| serde_json::from_value(kinds).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_stays_as_long_as_its_policy_says() {
        use DeletionPolicy::{Orphan, Release, Wait};
        // (policy, deleting, protected, leads, finalizes)
        let rows = [
            ((Wait, false, false, true, true), Step::Protect),
            ((Release, false, false, true, true), Step::Protect),
            ((Orphan, false, false, true, true), Step::Leave),
            ((Wait, false, false, false, true), Step::Leave),
            ((Wait, false, false, true, false), Step::Leave),
            ((Wait, false, true, true, true), Step::Leave),
            ((Wait, false, true, true, false), Step::LetGo),
            ((Wait, false, true, false, false), Step::Leave),
            ((Orphan, false, true, true, true), Step::LetGo),
            ((Wait, true, true, true, true), Step::Await),
            ((Wait, true, true, false, false), Step::Await),
            ((Release, true, true, false, false), Step::Release),
            ((Orphan, true, true, false, false), Step::LetGo),
            ((Wait, true, false, true, true), Step::Leave),
        ];
        for ((policy, deleting, protected, leads, finalizes), want) in rows {
            let situation = Situation {
                policy,
                deleting,
                protected,
                leads,
                finalizes,
            };
            assert_eq!(situation.step(), want, "{situation:?}");
        }
    }
}
