//! The host is killed at every request of a Greeting's life, and started again: in the end nobody can
//! tell.
//!
//! A life has three parts: made → ready, changed → ready, deleted → gone. A first life without a kill
//! shows the requests and the end state of each part. Every further life has a kill in each of its
//! parts, at the next request that was not struck yet.
#![expect(clippy::indexing_slicing, reason = "JSON that is not there is null")]

mod finalizers;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use finalizers::Finalizers;
use kube::api::{DynamicObject, ListParams};
use parking_lot::Mutex;
use serde_json::{Value, json};
use windlass_e2e::{
    Account, Cluster, DEADLINE, Fault, FaultProxy, Greeter, Host, Plugins, RequestHead,
    RequestRecord, Rule, control_plane, eventually, for_each_greeter,
};

const OURS: &str = "windlass.dev/greeter";

/// The parts of a life, and the host's requests in each of them, in order.
const LIFE: [(Part, &[&str]); 3] = [
    (
        Part::Make,
        &[
            "PATCH greetings/NAME",
            "PATCH configmaps/NAME-greeting",
            "PATCH deployments/NAME-greeting",
            "PATCH configmaps/ENTRY",
            "PATCH greetings/NAME/status",
        ],
    ),
    (
        Part::Change,
        &[
            "PATCH configmaps/NAME-greeting",
            "PATCH deployments/NAME-greeting",
            "PATCH configmaps/ENTRY",
            "PATCH greetings/NAME/status",
        ],
    ),
    (
        Part::Delete,
        &[
            "GET configmaps/ENTRY",
            "DELETE configmaps/ENTRY",
            "PATCH greetings/NAME",
        ],
    ),
];

/// How many lives may be played until each request was struck: a change of the Deployment by its own
/// controller can bring in a pass that moves the others back.
const LIVES: usize = 20;

for_each_greeter!(Result<()> =>
    a_host_killed_before_any_request_of_a_life_loses_nothing_and_leaves_nothing,
    a_host_killed_when_any_request_was_applied_loses_nothing_and_leaves_nothing,
    a_host_killed_after_the_answer_to_any_request_loses_nothing_and_leaves_nothing,
);

async fn a_host_killed_before_any_request_of_a_life_loses_nothing_and_leaves_nothing(
    greeter: Greeter,
) -> Result<()> {
    killed_everywhere(greeter, "before", Fault::KillBefore).await
}

async fn a_host_killed_when_any_request_was_applied_loses_nothing_and_leaves_nothing(
    greeter: Greeter,
) -> Result<()> {
    killed_everywhere(greeter, "applied", Fault::KillAfterApplied).await
}

async fn a_host_killed_after_the_answer_to_any_request_loses_nothing_and_leaves_nothing(
    greeter: Greeter,
) -> Result<()> {
    killed_everywhere(greeter, "answered", Fault::KillAfterAnswer).await
}

/// A part of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Make,
    Change,
    Delete,
}

async fn killed_everywhere(greeter: Greeter, prefix: &str, fault: Fault) -> Result<()> {
    let stage = Stage::new(greeter, prefix).await?;
    let finalizers = Finalizers::watch(&stage.cluster)?;
    let mut expected = BTreeMap::new();
    for (part, requests) in LIFE {
        let undisturbed = stage.play("undisturbed", part, None).await?;
        let sent = &undisturbed.requests;
        let mut rest = sent.iter();
        let in_order = requests
            .iter()
            .all(|wanted| rest.any(|sent| sent == wanted));
        ensure!(in_order, "{part:?}: {sent:#?}");
        expected.insert(part, undisturbed.state);
    }
    let mut struck: BTreeMap<Part, usize> = BTreeMap::new();
    for life in 0.. {
        if LIFE
            .iter()
            .all(|(part, all)| struck.get(part) == Some(&all.len()))
        {
            break;
        }
        ensure!(life < LIVES, "not every request can be struck: {struck:?}");
        let name = format!("life-{life}");
        for (part, requests) in LIFE {
            let done = struck.entry(part).or_default();
            let target = requests.get(*done);
            let kill = target.map(|_| (*done + 1, fault));
            let played = stage.play(&name, part, kill).await?;
            let before = expected.get(&part);
            assert_eq!(
                Some(&played.state),
                before,
                "{part:?}, killed at {target:?}"
            );
            if target.is_some() && played.struck.as_deref() == target.copied() {
                *done += 1;
            }
        }
    }
    stage.nothing_is_left().await?;
    finalizers.never_were_two_of_ours().await
}

/// A namespace with a host that can be killed through its proxy, and started again.
struct Stage {
    host: Arc<Mutex<Option<Host>>>,
    proxy: FaultProxy,
    plugins: Plugins,
    cluster: Cluster,
}

/// How a part went.
struct Played {
    /// Everything that the Greeting stands for, without what must differ between two lives.
    state: Value,
    /// The host's requests about the Greeting and its children, in order.
    requests: Vec<String>,
    /// The request at which the host was killed.
    struck: Option<String>,
}

impl Stage {
    async fn new(greeter: Greeter, prefix: &str) -> Result<Self> {
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?;
        let plugins = plugins.written_in(greeter).greeter()?;
        let account = Account::new(&cluster.namespace, plugins.folder())?;
        let proxy = FaultProxy::start(control_plane()?, account.identity())?;
        let host: Arc<Mutex<Option<Host>>> = Arc::default();
        let victim = host.clone();
        proxy.on_kill(move || {
            // Dropping a host kills it, and waits until it is dead.
            drop(victim.lock().take());
        });
        let stage = Self {
            host,
            proxy,
            plugins,
            cluster,
        };
        stage.start_host()?;
        Ok(stage)
    }

    fn start_host(&self) -> Result<()> {
        let (folder, kubeconfig) = (self.plugins.folder(), self.proxy.kubeconfig());
        // Always the same: the lease is its own already.
        let identity = &["--identity=crash"];
        let host = Host::run(folder, kubeconfig, &self.cluster.namespace, identity)?;
        *self.host.lock() = Some(host);
        Ok(())
    }

    fn host(&self) -> Result<Host> {
        let host = self.host.lock();
        host.clone().context("the host is dead")
    }

    /// Plays one part of the life of the Greeting `name`; the host is killed at the n-th request.
    async fn play(&self, name: &str, part: Part, kill: Option<(usize, Fault)>) -> Result<Played> {
        let uid = match self.cluster.get("Greeting", name).await? {
            Some(greeting) => greeting.metadata.uid.unwrap_or_default(),
            None => String::new(),
        };
        let (begin, kills) = (self.proxy.log().len(), self.proxy.kills());
        let of_life = life_of(&self.cluster.namespace, name);
        self.proxy.set_rules(
            kill.map(|(n, fault)| Rule::new("kill", move |head| of_life(head), fault).nth(n)),
        );
        self.act(name, part).await?;
        let mut restarted = false;
        let what = format!("{name}: {part:?} ends");
        eventually(DEADLINE, &what, async || {
            if !restarted && self.proxy.kills() > kills {
                self.start_host()?;
                restarted = true;
            }
            self.end_state(name, part, &uid).await
        })
        .await?;
        self.proxy.clear();
        let log = self.proxy.log().split_off(begin);
        let struck = log.iter().find(|record| record.rule.is_some());
        if struck.is_some() && !restarted {
            self.proxy.wait_for_kills(DEADLINE, kills + 1).await?;
            self.start_host()?;
        }
        if struck.is_some() && part != Part::Delete {
            // What it does at its start belongs to this part, not to the next one.
            let object = format!("Greeting/{}/{name}", self.cluster.namespace);
            let host = self.host()?;
            host.logs("the new host has made its pass", |line| {
                line.is_pass(&object, "reconcile", "rest")
            })
            .await?;
        }
        let state = self.end_state(name, part, &uid).await?;
        let of_life = life_of(&self.cluster.namespace, name);
        let of_life = log.iter().filter(|record| {
            of_life(&RequestHead {
                method: record.method.clone(),
                path: record.path.clone(),
                query: record.query.clone(),
                headers: Default::default(),
            })
        });
        let told = |record: &RequestRecord| {
            let place = record.path.split_once("/namespaces/");
            let (_, rest) = place
                .and_then(|(_, place)| place.split_once('/'))
                .unwrap_or_default();
            let rest = match rest.strip_prefix("configmaps/greeting-") {
                Some(_) => "configmaps/ENTRY".to_owned(),
                None => rest.replace(name, "NAME"),
            };
            format!("{} {rest}", record.method)
        };
        Ok(Played {
            state: state.context("the end state did not last")?,
            requests: of_life.map(told).collect(),
            struck: struck.map(told),
        })
    }

    async fn act(&self, name: &str, part: Part) -> Result<()> {
        match part {
            Part::Make => {
                let spec = json!({ "name": "Ada", "replicas": 0 });
                self.cluster.greet(name, spec).await?;
            }
            Part::Change => {
                let change = json!({ "spec": { "greeting": "Ahoy", "replicas": 1 } });
                self.cluster.patch("Greeting", name, change).await?;
            }
            Part::Delete => self.cluster.delete("Greeting", name).await?,
        }
        Ok(())
    }

    /// The state of the Greeting `name` and all that belongs to it, once `part` is over.
    async fn end_state(&self, name: &str, part: Part, uid: &str) -> Result<Option<Value>> {
        let greeting = self.cluster.get("Greeting", name).await?;
        if part == Part::Delete {
            ensure!(greeting.is_none(), "the Greeting is still there");
            let entry = self.cluster.entry(uid).await?;
            return Ok(Some(json!({ "entry": entry.is_some() })));
        }
        let greeting = greeting.context("there is no Greeting")?;
        let uid = greeting.metadata.uid.clone().context("no UID")?;
        let generation = greeting.metadata.generation;
        let status = &greeting.data["status"];
        let ready = status["conditions"][0]["status"] == "True";
        ensure!(
            ready && status["observedGeneration"] == json!(generation),
            "the Greeting is {greeting:?}"
        );
        let child = format!("{name}-greeting");
        let state = json!({
            "greeting": told(Some(greeting), &uid, name)?,
            "map": told(self.cluster.get("ConfigMap", &child).await?, &uid, name)?,
            "deployment": told(self.cluster.get("Deployment", &child).await?, &uid, name)?,
            "entry": told(self.cluster.entry(&uid).await?, &uid, name)?,
        });
        Ok(Some(state))
    }

    /// That of all lives nothing remains, once the garbage collector has done its part.
    async fn nothing_is_left(&self) -> Result<()> {
        let namespace = &self.cluster.namespace;
        let count = async |kind: &str, namespace: &str| -> Result<Vec<DynamicObject>> {
            let all = self.cluster.api(kind, namespace)?;
            Ok(all.list(&ListParams::default()).await?.items)
        };
        eventually(DEADLINE, "all children are collected", async || {
            let mut left = count("ConfigMap", namespace).await?;
            left.extend(count("Deployment", namespace).await?);
            left.extend(count("Greeting", namespace).await?);
            left.retain(|object| object.metadata.name.as_deref() != Some("kube-root-ca.crt"));
            let names: Vec<_> = left.iter().map(|left| &left.metadata.name).collect();
            ensure!(names.is_empty(), "{names:?} are left");
            Ok(Some(()))
        })
        .await?;
        let of_ours = format!("/{namespace}/");
        for entry in count("ConfigMap", "greetings").await? {
            let of = entry.data["data"]["of"].as_str().unwrap_or_default();
            ensure!(!of.contains(&of_ours), "the entry of {of} is left");
        }
        Ok(())
    }
}

/// Which requests belong to the life of the Greeting `name`: those about it, its children and its
/// entry, by name. Not leases, Events, discovery, lists and watches.
fn life_of(namespace: &str, name: &str) -> impl Fn(&RequestHead) -> bool + Send + Sync + 'static {
    let greeting = format!("/namespaces/{namespace}/greetings/{name}");
    let child = format!("/{name}-greeting");
    move |head| {
        let path = &head.path;
        path.ends_with(&greeting)
            || path.ends_with(&format!("{greeting}/status"))
            || path.ends_with(&child)
            || path.contains("/namespaces/greetings/configmaps/greeting-")
    }
}

/// An object without what must differ between two lives: names, UIDs, versions, times. A Deployment
/// is without its status, which is not the plugin's.
fn told(object: Option<DynamicObject>, uid: &str, name: &str) -> Result<Value> {
    let object = object.context("an object is missing")?;
    let metadata = &object.metadata;
    let mut told = json!({
        "finalizers": metadata.finalizers,
        "owners": metadata.owner_references,
        "labels": metadata.labels,
        "deleting": metadata.deletion_timestamp.is_some(),
    });
    for field in ["spec", "data"] {
        told[field] = object.data[field].clone();
    }
    let kind = object.types.as_ref().map(|types| &*types.kind);
    if kind == Some("Greeting") {
        told["status"] = object.data["status"].clone();
        told["status"]["conditions"][0]["lastTransitionTime"] = Value::Null;
        told["generation"] = json!(metadata.generation);
    }
    let told = told.to_string().replace(uid, "UID").replace(name, "NAME");
    let namespace = metadata.namespace.clone().unwrap_or_default();
    Ok(serde_json::from_str(
        &told.replace(&namespace, "NAMESPACE"),
    )?)
}
