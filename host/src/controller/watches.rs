//! Everything that one plugin watches: its primary kind, and each kind that it needs to watch.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::watch;

use super::informer::{Informer, Sight};
use crate::api::{Api, Discovery, Resource};
use crate::grants::{Grants, Scope};
use crate::plugin::Plugin;
use crate::seams::{Seams, Task};
use crate::view::View;

/// How often it is asked whether an absent kind is served by now.
const ABSENT: Duration = Duration::from_secs(5);

/// The running informers of one plugin. Dropping them ends them.
pub(super) struct Watches {
    _tasks: Vec<Task>,
    first_lists: Vec<watch::Receiver<bool>>,
}

impl Watches {
    /// Starts an informer for the primary, and one for each need with the verb `watch`.
    pub(super) fn start(
        plugin: &Plugin,
        grants: &Grants,
        primary: &Resource,
        api: &Api,
        discovery: &Arc<Discovery>,
        view: &Arc<View>,
        seams: &Seams,
    ) -> Self {
        let mut watches = Self {
            _tasks: Vec::new(),
            first_lists: Vec::new(),
        };
        let description = &plugin.description;
        let scope = grants.watch_scope(&primary.group, &primary.plural, None);
        let informer = Informer {
            plugin: plugin.name.clone(),
            resource: primary.clone(),
            namespace: None,
            label_selector: description.label_selector.clone(),
            field_selector: description.field_selector.clone(),
            sight: Sight::Whole,
            view: view.clone(),
            seams: seams.clone(),
        };
        for informer in in_scope(&informer, &scope) {
            watches.run(seams, |synced| informer.clone().run(api.client(), synced));
            // Also for a plugin that finalizes no more: what an earlier version left is taken off.
            if description.selects() {
                let strays = Informer {
                    sight: Sight::Strays,
                    ..informer
                };
                watches.run(seams, |synced| strays.run(api.client(), synced));
            }
        }
        view.watch(primary.clone(), scope.clone());
        let needs = description
            .needs
            .iter()
            .filter(|need| need.verbs.iter().any(|verb| verb == "watch"));
        for need in needs {
            if need.group == primary.group && need.resource == primary.plural {
                continue;
            }
            let need = WatchedNeed {
                group: need.group.clone(),
                plural: need.resource.clone(),
                scope: grants.watch_scope(&need.group, &need.resource, Some(&scope)),
                informer: Informer {
                    label_selector: None,
                    field_selector: None,
                    ..informer.clone()
                },
                discovery: discovery.clone(),
                api: api.clone(),
            };
            watches.run(seams, |synced| need.run(synced));
        }
        watches
    }

    /// Waits until everything has been listed once, or is not served.
    pub(super) async fn synced(&self) {
        for first_list in &self.first_lists {
            // The sender is gone only if its task is, and then nothing more will be listed.
            let _ = first_list.clone().wait_for(|synced| *synced).await;
        }
    }

    fn run<F>(&mut self, seams: &Seams, start: impl FnOnce(watch::Sender<bool>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (synced, first_list) = watch::channel(false);
        self._tasks.push(seams.spawn.task(start(synced)));
        self.first_lists.push(first_list);
    }
}

/// One informer, or one for each namespace.
fn in_scope(informer: &Informer, scope: &Scope) -> Vec<Informer> {
    match scope {
        Scope::All => vec![informer.clone()],
        Scope::Namespaces(names) => names
            .iter()
            .map(|name| Informer {
                namespace: Some(name.clone()),
                ..informer.clone()
            })
            .collect(),
    }
}

struct WatchedNeed {
    group: String,
    plural: String,
    scope: Scope,
    informer: Informer,
    discovery: Arc<Discovery>,
    api: Api,
}

impl WatchedNeed {
    /// Waits for the kind to be served, then watches it. Until then it counts as listed and empty.
    async fn run(self, synced: watch::Sender<bool>) {
        let resource = self.served(&synced).await;
        if !resource.namespaced && self.scope != Scope::All {
            let (plugin, plural) = (&*self.informer.plugin, &self.plural);
            tracing::error!(
                plugin,
                "{plural} are cluster-scoped: only a grant with `namespaces: all` lets the plugin watch them; until then its reads are denied"
            );
            synced.send_replace(true);
            return;
        }
        let template = Informer {
            resource: resource.clone(),
            ..self.informer.clone()
        };
        let informers = in_scope(&template, &self.scope);
        let started: Vec<_> = informers
            .into_iter()
            .map(|informer| {
                let (listed, first_list) = watch::channel(false);
                let run = informer.run(self.api.client(), listed);
                (template.seams.spawn.task(run), first_list)
            })
            .collect();
        for (_, first_list) in &started {
            let _ = first_list.clone().wait_for(|listed| *listed).await;
        }
        template.view.watch(resource, self.scope.clone());
        synced.send_replace(true);
        join_all(started.into_iter().map(|(task, _)| task)).await;
    }

    async fn served(&self, synced: &watch::Sender<bool>) -> Resource {
        let plugin = &*self.informer.plugin;
        let mut said = false;
        loop {
            match self.discovery.by_plural(&self.group, &self.plural).await {
                Ok(Some(resource)) => return resource,
                Ok(None) => {
                    if !said {
                        let nearest = self.discovery.nearest(&self.group, &self.plural).await;
                        let hint = nearest.map_or(String::new(), |name| {
                            format!("; did the plugin mean {name}?")
                        });
                        let (group, plural) = (&self.group, &self.plural);
                        tracing::warn!(
                            plugin,
                            "the cluster does not serve {plural} of group {group:?}{hint} It counts as empty until it does"
                        );
                        said = true;
                    }
                    synced.send_replace(true);
                }
                Err(error) => tracing::warn!(plugin, "cannot look up {}: {error}", self.plural),
            }
            self.informer.seams.clock.sleep(ABSENT).await;
        }
    }
}
