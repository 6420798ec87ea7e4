//! Informers whose watches break all the time, while many clients write: in the end their stores are as the
//! server's lists, and nobody ever heard of an older version after a newer one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::stream::{self, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use parking_lot::Mutex;
use serde_json::json;
use tokio::runtime::Handle;
use windlass_base::memory::Account;
use windlass_base::seams::{Clock, Rng, Seams, Spawn};
use windlass_e2e::{
    Cluster, Fault, FaultProxy, Identity, RequestHead, Rule, control_plane, eventually,
};
use windlass_kube::api::{Discovery, Resource};
use windlass_kube::connect::ClusterFlags;
use windlass_kube::connect::connect;
use windlass_kube::informer::{
    EventHandler, InformerKey, Informers, Notification, Settings, Subscription,
};
use windlass_kube::object::{Fields, Key, Object};
use windlass_kube::selector::LabelSelector;

const WRITES: usize = 10_000;
const CLIENTS: usize = 12;
const SEED: u64 = 6;
/// The names that all clients write to.
const NAMES: usize = 150;
const LABEL: &str = "team";

/// The informers wait up to a minute after many failures in a row.
const PATIENCE: Duration = Duration::from_secs(180);

/// Which object it is, and its version.
type Seen = BTreeMap<Key, (String, u64)>;

/// What a subscriber was told, taken at its word.
#[derive(Debug, Default)]
struct Told {
    held: Seen,
    /// What could not be.
    wrong: Vec<String>,
}

/// An informer, and what it is to hold.
pub(crate) struct Informed {
    selector: String,
    pub(crate) subscription: Subscription,
    told: Arc<Mutex<Told>>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_ten_thousand_writes_under_broken_watches_stores_are_as_the_servers_lists()
-> Result<()> {
    let cluster = Cluster::bare("stores").await?;
    let namespace = &cluster.namespace;
    let proxy = FaultProxy::start(control_plane()?, &Identity::Admin)?;
    let informers = informers(proxy.kubeconfig()).await?;
    let selectors = ["", "team=1", "team in (0,2)", "!team"];
    let informed = selectors.map(|selector| Informed::start(&informers, namespace, selector));
    for it in &informed {
        it.subscription.synced().await;
    }
    proxy.set_rules(breaks(fastrand::Rng::with_seed(SEED)));
    proxy.cut_watches();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), namespace);
    write_all(&maps, WRITES, |written| hold_some(&proxy, written)).await?;
    let broken = proxy.count("watch");
    proxy.clear();
    ensure!(broken > 40, "only {broken} watches were opened");
    for it in &informed {
        it.is_as(&maps)
            .await
            .with_context(|| format!("{:?}", it.selector))?;
    }
    Ok(())
}

/// Informers as a host has them.
pub(crate) async fn informers(kubeconfig: &Path) -> Result<Informers> {
    let seams = Seams {
        clock: Clock::system(),
        rng: Rng::from_system(),
        spawn: Spawn::on_threads(Handle::current(), Handle::current()),
    };
    let flags = ClusterFlags {
        kubeconfig: Some(kubeconfig.to_owned()),
        context: None,
        namespace: None,
    };
    let (api, _) = connect(&flags, &seams).await?;
    let discovery = Arc::new(Discovery::new(api.clone(), seams.clock));
    Ok(Informers::new(api, discovery, seams, Settings::default()))
}

/// Each watch breaks in another way. Streamed lists are watches too.
fn breaks(mut dice: fastrand::Rng) -> Vec<Rule> {
    let mut rules = Vec::new();
    for nth in 1..2000 {
        let status = |code| Fault::Status {
            code,
            retry_after: None,
        };
        let fault = match dice.u32(..20) {
            0..=10 => Fault::CutBody(dice.usize(..100_000)),
            11 | 12 => Fault::CutWatch(dice.usize(..100)),
            13 | 14 => Fault::EndWatch(dice.usize(..100)),
            15 => Fault::Delay(Duration::from_millis(dice.u64(..500))),
            16 => Fault::Disconnect,
            17 => Fault::LoseAnswer,
            18 => status(410),
            _ => status(500),
        };
        rules.push(Rule::new("watch", RequestHead::is_watch, fault).nth(nth));
    }
    rules
}

/// Many clients write so often, straight to the server. After each write `trouble` may come.
pub(crate) async fn write_all(
    maps: &Api<ConfigMap>,
    writes: usize,
    trouble: impl Fn(usize),
) -> Result<()> {
    let written = AtomicUsize::new(0);
    let client = async |number: usize| {
        let mut dice = fastrand::Rng::with_seed(SEED + 1 + number as u64);
        while written.load(Ordering::Relaxed) < writes {
            if write(maps, &mut dice).await? {
                let number = written.fetch_add(1, Ordering::Relaxed) + 1;
                trouble(number);
            }
        }
        anyhow::Ok(())
    };
    let clients = stream::iter(0..CLIENTS).map(client);
    clients.buffer_unordered(CLIENTS).try_collect::<()>().await
}

/// From time to time no watch moves for a while.
fn hold_some(proxy: &FaultProxy, written: usize) {
    match written % 1000 {
        400 => proxy.hold_watches(),
        600 => proxy.release(),
        900 => proxy.cut_watches(),
        _ => {}
    }
}

/// Whether a write was accepted, and not too late or too early for what it wanted.
async fn write(maps: &Api<ConfigMap>, dice: &mut fastrand::Rng) -> Result<bool> {
    let name = format!("m{}", dice.usize(..NAMES));
    let team = dice.u32(..4).to_string();
    // One of four teams is none.
    let team = (team != "3").then_some(team);
    let data = json!({ "k": dice.u64(..).to_string(), "long": "x".repeat(dice.usize(..2000)) });
    let outcome = match dice.u32(..10) {
        0 | 1 => {
            let deleted = maps.delete(&name, &DeleteParams::default()).await;
            deleted.map(drop)
        }
        2 | 3 => {
            let patch = Patch::Merge(json!({ "metadata": { "labels": { LABEL: team } } }));
            let patched = maps.patch(&name, &PatchParams::default(), &patch).await;
            patched.map(drop)
        }
        4 | 5 => {
            let patch = Patch::Merge(json!({ "data": data }));
            let patched = maps.patch(&name, &PatchParams::default(), &patch).await;
            patched.map(drop)
        }
        _ => {
            let labels = team.map(|team| json!({ LABEL: team }));
            let map = json!({ "metadata": { "name": name, "labels": labels }, "data": data });
            let map: ConfigMap = serde_json::from_value(map)?;
            let created = maps.create(&PostParams::default(), &map).await;
            created.map(drop)
        }
    };
    match outcome {
        Ok(()) => Ok(true),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

struct Handler(Arc<Mutex<Told>>);

impl EventHandler for Handler {
    fn on_notification(&self, news: Notification<'_>) {
        self.0.lock().hear(news);
    }
}

impl Informed {
    pub(crate) fn start(informers: &Informers, namespace: &str, selector: &str) -> Self {
        let watched = InformerKey {
            resource: Resource {
                group: String::new(),
                version: "v1".to_owned(),
                kind: "ConfigMap".to_owned(),
                plural: "configmaps".to_owned(),
                namespaced: true,
            },
            namespace: Some(namespace.to_owned()),
            label_selector: (!selector.is_empty()).then(|| selector.to_owned()),
            field_selector: None,
            finalizer: None,
            metadata_only: false,
        };
        let told = Arc::<Mutex<Told>>::default();
        let handler = Box::new(Handler(Arc::clone(&told)));
        let subscription =
            informers.subscribe(watched, Fields::default(), handler, &Account::unlimited());
        Self {
            selector: selector.to_owned(),
            subscription,
            told,
        }
    }

    /// Waits until the store is as the server's list, and judges what was told on the way.
    pub(crate) async fn is_as(&self, maps: &Api<ConfigMap>) -> Result<()> {
        let listed = maps
            .list(&ListParams::default().labels(&self.selector))
            .await?;
        let listed = listed.items.iter().map(|map| {
            let key = Key::new(map.namespace().as_deref(), &map.name_any());
            let version = map.resource_version().unwrap_or_default().parse()?;
            anyhow::Ok((key, (map.uid().unwrap_or_default(), version)))
        });
        let listed: Seen = listed.collect::<Result<_>>()?;
        eventually(PATIENCE, "the store is as the list", async || {
            let objects = self.subscription.list(None, &LabelSelector::default());
            let held: Seen = objects.iter().map(seen).collect();
            let only = |one: &Seen, other: &Seen| -> Vec<_> {
                let missing = one
                    .iter()
                    .filter(|(key, what)| other.get(*key) != Some(*what));
                missing
                    .map(|(key, what)| (key.to_string(), what.clone()))
                    .collect()
            };
            let (extra, missing) = (only(&held, &listed), only(&listed, &held));
            ensure!(
                extra.is_empty() && missing.is_empty(),
                "only in the store: {extra:?}; only in the list: {missing:?}"
            );
            Ok(Some(()))
        })
        .await?;
        let told = self.told.lock();
        ensure!(told.wrong.is_empty(), "what was told: {:#?}", told.wrong);
        ensure!(told.held == listed, "what was told does not add up");
        ensure!(listed.len() > 10, "there are only {} objects", listed.len());
        Ok(())
    }
}

fn seen(object: &Object) -> (Key, (String, u64)) {
    let metadata = &object.metadata;
    (
        metadata.key.clone(),
        (metadata.uid.to_string(), metadata.version()),
    )
}

impl Told {
    fn hear(&mut self, news: Notification<'_>) {
        let Notification::Changed(change, origin) = news else {
            return;
        };
        let (old, new) = (change.old.as_ref().map(seen), change.new.as_ref().map(seen));
        let Some((key, _)) = old.clone().or(new.clone()) else {
            self.wrong
                .push(format!("a change of nothing, by {origin:?}"));
            return;
        };
        let before = match new.clone() {
            Some((key, what)) => self.held.insert(key, what),
            None => self.held.remove(&key),
        };
        let (old, new) = (old.map(|(_, what)| what), new.map(|(_, what)| what));
        if before != old {
            self.wrong.push(format!(
                "{key} was {before:?}, and is said to have been {old:?}"
            ));
        }
        if let (Some((_, before)), Some((_, now))) = (before, new)
            && now <= before
        {
            self.wrong.push(format!(
                "{key} goes back from {before} to {now}, by {origin:?}"
            ));
        }
    }
}
