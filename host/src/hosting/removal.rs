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
use tokio::time::Instant;

use super::roster::Roster;
use super::{Host, carriers};
use windlass_base::seams::watch;
use windlass_controller::metrics::ReconciledKind;
use windlass_kube::api::{Resource, ServedKind, group_of};
use windlass_kube::finalizers::{FinalizerPatch, settle_finalizer};
use windlass_kube::lease::ObservedLease;
use windlass_kube::object::Object;
use windlass_policy::grants::Scope;
use windlass_policy::manifest::{self, DeletionPolicy, Mode, PluginDocument};
use windlass_policy::source::{PluginObjects, plugins};

/// The finalizer of the host on Plugin objects.
pub(super) const FINALIZER: &str = "plugins.windlass.dev/host";

/// How often it is looked whether an object may go.
const LOOK: Duration = Duration::from_secs(5);

/// How long a Lease that is held is waited for at once.
const PATIENCE: Duration = Duration::from_secs(5);

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
    /// Whether the version that runs finalizes; nothing if none is known to run.
    finalizes: Option<bool>,
    /// Whether the plugin of this name runs as a file says.
    is_taken: bool,
}

impl Situation {
    /// Decides what is done.
    fn step(self) -> Step {
        if self.is_taken {
            // The finalizer on objects is that of the other plugin.
            return if self.protected {
                Step::LetGo
            } else {
                Step::Leave
            };
        }
        match (self.deleting, self.protected, self.policy) {
            (false, false, DeletionPolicy::Wait | DeletionPolicy::Release)
                if self.leads && self.finalizes == Some(true) =>
            {
                Step::Protect
            }
            (false, true, DeletionPolicy::Orphan) | (true, true, DeletionPolicy::Orphan) => {
                Step::LetGo
            }
            // The version that runs now finalizes nothing; what an older one left was looked for when it took over.
            (false, true, _) if self.leads && self.finalizes == Some(false) => Step::LetGo,
            (true, true, DeletionPolicy::Wait) => Step::Await,
            (true, true, DeletionPolicy::Release) => Step::Release,
            (_, _, _) => Step::Leave,
        }
    }
}

/// What becomes of the plugin when its object is deleted. A plugin that observes takes no finalizer off: the one of an operator
/// that ran before is that operator's still, and with its own, from when it wrote, objects wait for somebody.
fn policy(document: &PluginDocument) -> DeletionPolicy {
    match (document.mode, &document.finalizer, document.deletion) {
        (Mode::Run, _, policy) => policy,
        (Mode::Observe, Some(_), _) => DeletionPolicy::Orphan,
        (Mode::Observe, None, DeletionPolicy::Orphan) => DeletionPolicy::Orphan,
        (Mode::Observe, None, DeletionPolicy::Wait | DeletionPolicy::Release) => {
            DeletionPolicy::Wait
        }
    }
}

impl Host {
    /// Removes plugins whose objects are deleted.
    pub(super) async fn remove_plugins(
        &self,
        mut objects: PluginObjects,
        roster: Roster,
        removals: Removals,
    ) -> Infallible {
        // When it was looked last for objects that carry a plugin's finalizer.
        let mut looked: BTreeMap<String, Instant> = BTreeMap::new();
        loop {
            objects.mark_seen();
            let held = objects.list();
            for object in &held {
                let Some(name) = object.pointer("/metadata/name").and_then(Value::as_str) else {
                    continue;
                };
                let now = self.seams.clock.now();
                let is_early = looked.get(name).is_some_and(|last| now - *last < LOOK);
                if is_early && removals.why(name).is_some() {
                    continue;
                }
                let why = match Box::pin(self.remove_one(object, &roster)).await {
                    Ok(why) => why,
                    Err(error) => Some(format!("{error:#}")),
                };
                looked.insert(name.to_owned(), self.seams.clock.now());
                removals.say(name, why.as_deref());
            }
            let names = held
                .iter()
                .filter_map(|it| it.pointer("/metadata/name")?.as_str());
            let names: Vec<&str> = names.collect();
            removals.retain(&names);
            looked.retain(|name, _| names.contains(&&**name));
            // That a plugin begins to lead does not change its object.
            tokio::select! {
                biased;
                () = objects.changed() => {}
                () = self.seams.clock.sleep(LOOK) => {}
            }
        }
    }

    /// Does what is to be done about one object; answers why it is still there, if it is deleted.
    async fn remove_one(&self, object: &Value, roster: &Roster) -> anyhow::Result<Option<String>> {
        let Some(held) = Object::new(object) else {
            return Ok(None);
        };
        let (deleting, protected) = (
            held.metadata.deleting,
            held.metadata.has_finalizer(FINALIZER),
        );
        let plugins = plugins();
        let settle =
            |which| settle_finalizer(&self.api, &plugins, &held.metadata, FINALIZER, which);
        let document = match manifest::of_object(object) {
            Ok((document, _)) => document,
            Err(_) if !(deleting && protected) => return Ok(None),
            Err(_) if object.pointer("/spec/deletionPolicy") == Some(&"Orphan".into()) => {
                settle(FinalizerPatch::Release).await?;
                return Ok(None);
            }
            Err(error) => {
                return Ok(Some(format!(
                    "{error}: correct it, or set spec.deletionPolicy to Orphan"
                )));
            }
        };
        let name = &document.name;
        let runs_as_object = roster.has_object(name);
        let running = runs_as_object.then(|| self.metrics.of(name));
        let situation = Situation {
            policy: policy(&document),
            deleting,
            protected,
            leads: running.as_ref().is_some_and(|it| it.leads.get() > 0),
            finalizes: running
                .as_ref()
                .and_then(|it| it.about())
                .map(|about| about.finalizes),
            is_taken: !runs_as_object && roster.origin(name).is_some(),
        };
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
                if !situation.leads && self.lease(name).is_held_elsewhere().await? {
                    return Ok(None);
                }
                let carried = match self.carried(object, &document).await? {
                    Some(carried) => carried,
                    None => {
                        return Ok(Some(
                            "it is not known yet what the plugin reconciles: it stays until a version of it has run. Or set spec.deletionPolicy to Orphan".to_owned(),
                        ));
                    }
                };
                let Some((resource, example)) = carried.first() else {
                    settle(FinalizerPatch::Release).await?;
                    return Ok(None);
                };
                let carry = match carried.len() {
                    1 => "1 object carries".to_owned(),
                    count => format!("{count} objects carry"),
                };
                let example = format!("{resource} {}", example.metadata.key);
                let finalizer = document.finalizer();
                if document.mode == Mode::Observe {
                    return Ok(Some(format!(
                        "{carry} the finalizer {finalizer}, such as {example}, and the plugin observes: set spec.mode to Run, or spec.deletionPolicy to Orphan"
                    )));
                }
                Ok(Some(format!(
                    "{carry} the finalizer {finalizer}, such as {example}: the plugin runs on until none does. Delete them, or set spec.deletionPolicy to Release or Orphan"
                )))
            }
            Step::Release if runs_as_object => {
                Ok(Some("the plugin stops: its passes have to end".to_owned()))
            }
            Step::Release => {
                let lease = self.lease(name);
                // Held meanwhile, so that no host starts the plugin under our hands.
                let acquired = lease.acquire(ObservedLease::default(), |_| {});
                if self.seams.clock.within(PATIENCE, acquired).await.is_none() {
                    return Ok(Some("a host still runs the plugin".to_owned()));
                }
                let released = self.release_all(object, &document).await;
                lease.release().await;
                let Some(count) = released? else {
                    return Ok(Some(
                        "it is not known what the plugin reconciles: run `windlass release`, and set spec.deletionPolicy to Orphan".to_owned(),
                    ));
                };
                tracing::info!(
                    plugin = name,
                    count,
                    "its finalizer was taken off all objects"
                );
                settle(FinalizerPatch::Release).await?;
                Ok(None)
            }
        }
    }

    /// The objects that carry the plugin's finalizer, where the plugin may watch; nothing if it is not known which kinds it
    /// reconciles.
    async fn carried(
        &self,
        object: &Value,
        document: &PluginDocument,
    ) -> anyhow::Result<Option<Vec<(Resource, Object)>>> {
        let mut kinds = reconciled(object);
        for kind in self.metrics.of(&document.name).reconciles() {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        if kinds.is_empty() {
            return Ok(None);
        }
        let document = &Box::pin(self.in_selected_namespaces(document)).await?;
        let mut resources: Vec<Resource> = Vec::new();
        for ReconciledKind { api_version, kind } in kinds {
            if kind == "*" {
                let catalog = self.discovery.catalog().await?;
                let serves = |it: &ServedKind, verb: &str| it.verbs.iter().any(|one| one == verb);
                let kinds = catalog
                    .iter()
                    .filter(|it| serves(it, "list") && serves(it, "patch"));
                resources.extend(kinds.map(|it| it.resource.clone()));
            } else {
                // Objects of a version that is not served can be there in another version. A kind that is not served
                // at all has none.
                let mut found = self.discovery.by_kind(&api_version, &kind).await?;
                if found.is_none() {
                    let group = group_of(&api_version);
                    found = self.discovery.in_any_version(group, &kind).await?;
                }
                resources.extend(found);
            }
        }
        let (finalizer, api) = (document.finalizer(), self.api_for(document));
        let mut all = Vec::new();
        for resource in resources {
            let scope = document
                .grants
                .watch_scope(&resource.group, &resource.plural, None);
            let places = match scope {
                Scope::All => vec![None],
                Scope::Namespaces(_) if !resource.namespaced => Vec::new(),
                Scope::Namespaces(names) => names.into_iter().map(Some).collect(),
            };
            for place in places {
                let found = carriers(&api, &resource, place.as_deref(), &finalizer).await?;
                all.extend(found.into_iter().map(|it| (resource.clone(), it)));
            }
        }
        Ok(Some(all))
    }

    /// Takes the plugin's finalizer off all objects; answers off how many, if it is known where they are.
    async fn release_all(
        &self,
        object: &Value,
        document: &PluginDocument,
    ) -> anyhow::Result<Option<usize>> {
        let (finalizer, api) = (document.finalizer(), self.api_for(document));
        let Some(carried) = self.carried(object, document).await? else {
            return Ok(None);
        };
        for (resource, carrier) in &carried {
            let release = FinalizerPatch::Release;
            settle_finalizer(&api, resource, &carrier.metadata, &finalizer, release).await?;
        }
        Ok(Some(carried.len()))
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
            ((Wait, false, false, true, Some(true)), Step::Protect),
            ((Release, false, false, true, Some(true)), Step::Protect),
            ((Orphan, false, false, true, Some(true)), Step::Leave),
            ((Wait, false, false, false, Some(true)), Step::Leave),
            ((Wait, false, false, true, Some(false)), Step::Leave),
            ((Wait, false, true, true, Some(true)), Step::Leave),
            ((Wait, false, true, true, Some(false)), Step::LetGo),
            ((Wait, false, true, true, None), Step::Leave),
            ((Wait, false, true, false, None), Step::Leave),
            ((Orphan, false, true, true, Some(true)), Step::LetGo),
            ((Wait, true, true, true, Some(true)), Step::Await),
            ((Wait, true, true, false, None), Step::Await),
            ((Release, true, true, false, None), Step::Release),
            ((Orphan, true, true, false, None), Step::LetGo),
            ((Wait, true, false, true, Some(true)), Step::Leave),
        ];
        for ((policy, deleting, protected, leads, finalizes), want) in rows {
            let situation = Situation {
                policy,
                deleting,
                protected,
                leads,
                finalizes,
                is_taken: false,
            };
            assert_eq!(situation.step(), want, "{situation:?}");
            let is_taken = true;
            let taken = Situation {
                is_taken,
                ..situation
            };
            let want = if protected { Step::LetGo } else { Step::Leave };
            assert_eq!(taken.step(), want, "{taken:?}");
        }
    }
}
