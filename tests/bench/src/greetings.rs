//! What the judge does to Greetings, and what it sees of them on a watch of its own.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{
    DeleteParams, DynamicObject, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::floor::Floor;

/// So many requests of the judge are under way at once.
const AT_ONCE: usize = 16;

/// How long objects may take to get where they are wanted.
const PATIENCE: Duration = Duration::from_secs(180);

/// What is done to Greetings, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// They are made, and are to be greeted.
    Create,
    /// They get another name, and are to be greeted by that.
    Change,
    /// They are deleted, and are to be gone.
    Delete,
}

impl Step {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Create, Self::Change, Self::Delete];

    /// The `spec.name` of the objects then.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "Ada",
            Self::Change | Self::Delete => "Bob",
        }
    }
}

/// The Greetings of one namespace.
pub(crate) struct Greetings {
    api: Api<DynamicObject>,
    seen: Arc<Seen>,
}

/// When which Greeting was first where a step wants it.
#[derive(Default)]
struct Seen {
    when: Mutex<HashMap<(Step, String), Instant>>,
    /// How many these are.
    count: watch::Sender<usize>,
    /// Why nothing more will be seen.
    blind: OnceLock<String>,
}

impl Greetings {
    /// Looks at those of `namespace` from now on.
    ///
    /// # Errors
    /// The API server did not answer.
    pub(crate) async fn new(client: &Client, namespace: &str) -> Result<Self> {
        let api = Api::namespaced_with(client.clone(), namespace, &kind());
        let seen = Arc::new(Seen::default());
        let events = events(&api, "0").await?;
        tokio::spawn(look(api.clone(), events, Arc::clone(&seen)));
        Ok(Self { api, seen })
    }

    /// Does a step to all of `names`, as fast as the API server takes it, with the floor at its heels if it is what is
    /// measured. Answers what each took, in milliseconds: from the request until it was seen where it is wanted.
    ///
    /// # Errors
    /// The API server refused something, or not all got there in time.
    pub(crate) async fn all(
        &self,
        step: Step,
        names: &[String],
        floor: Option<&Floor>,
    ) -> Result<Vec<f64>> {
        let asked = stream::iter(names).map(async |name| {
            let began = Instant::now();
            let object = self.ask(step, name).await?;
            if let Some(floor) = floor {
                floor.follow(step, object).await?;
            }
            anyhow::Ok((name, began))
        });
        let mut asked = pin!(asked.buffer_unordered(AT_ONCE));
        let mut began = Vec::new();
        while let Some(one) = asked.try_next().await? {
            began.push(one);
        }
        self.there(step, names).await?;
        let seen = self.seen.when.lock();
        let took = began.into_iter().map(|(name, began)| {
            let when = seen.get(&(step, name.clone())).context("it was seen")?;
            Ok(when.duration_since(began).as_secs_f64() * 1e3)
        });
        took.collect()
    }

    /// Makes them, and waits for nothing.
    ///
    /// # Errors
    /// The API server refused one.
    pub(crate) async fn make(&self, names: &[String]) -> Result<()> {
        for name in names {
            self.ask(Step::Create, name).await?;
        }
        Ok(())
    }

    /// Waits until all of `names` are where the step wants them, and answers since when each is.
    ///
    /// # Errors
    /// Not all got there in time.
    pub(crate) async fn there(&self, step: Step, names: &[String]) -> Result<Vec<Instant>> {
        let when = || {
            let seen = self.seen.when.lock();
            let all = names.iter();
            let when = all.filter_map(|name| seen.get(&(step, name.clone())).copied());
            when.collect::<Vec<_>>()
        };
        let mut count = self.seen.count.subscribe();
        let mut missing = names.to_vec();
        let all = count.wait_for(|_| {
            let seen = self.seen.when.lock();
            let is_there = |name: &mut String| seen.contains_key(&(step, name.clone()));
            while missing.pop_if(is_there).is_some() {}
            missing.is_empty() || self.seen.blind.get().is_some()
        });
        let is_there = tokio::time::timeout(PATIENCE, all).await.is_ok();
        if let Some(reason) = self.seen.blind.get() {
            bail!("{step:?}: the judge sees no more: {reason}");
        }
        let when = when();
        let there = when.len();
        ensure!(
            is_there && there == names.len(),
            "{step:?}: {there} of {} are there after {PATIENCE:?}",
            names.len()
        );
        Ok(when)
    }

    async fn ask(&self, step: Step, name: &str) -> Result<Value> {
        let spec = json!({ "name": step.name() });
        let answer = match step {
            Step::Create => {
                let object: DynamicObject = serde_json::from_value(json!({
                    "apiVersion": "bench.windlass.dev/v1",
                    "kind": "Greeting",
                    "metadata": { "name": name },
                    "spec": spec,
                }))?;
                self.api.create(&PostParams::default(), &object).await?
            }
            Step::Change => {
                let patch = Patch::Merge(json!({ "spec": spec }));
                self.api
                    .patch(name, &PatchParams::default(), &patch)
                    .await?
            }
            Step::Delete => {
                let answer = self.api.delete(name, &DeleteParams::default()).await?;
                answer.left().context("it waits for its finalizer")?
            }
        };
        Ok(serde_json::to_value(answer)?)
    }
}

/// The kind of `greeting.crd.json`.
pub(crate) fn kind() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        "bench.windlass.dev",
        "v1",
        "Greeting",
    ))
}

type Events = stream::BoxStream<'static, kube::Result<WatchEvent<DynamicObject>>>;

async fn events(api: &Api<DynamicObject>, version: &str) -> kube::Result<Events> {
    let params = WatchParams::default().timeout(290);
    Ok(api.watch(&params, version).await?.boxed())
}

/// Looks until a watch cannot be gone on with.
async fn look(api: Api<DynamicObject>, mut from: Events, seen: Arc<Seen>) {
    let mut version = "0".to_owned();
    let reason = loop {
        if let Err(error) = watched(&mut from, &seen, &mut version).await {
            break error.to_string();
        }
        from = match events(&api, &version).await {
            Ok(events) => events,
            Err(error) => break error.to_string(),
        };
    };
    if seen.blind.set(reason).is_ok() {
        seen.count.send_modify(|_| {});
    }
}

/// Looks until a watch ends, and leaves where the next one begins.
async fn watched(events: &mut Events, seen: &Seen, version: &mut String) -> Result<()> {
    while let Some(event) = events.try_next().await? {
        let (step, object) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (reached(&object), object),
            WatchEvent::Deleted(object) => (Some(Step::Delete), object),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(status) => bail!("{}", status.message),
        };
        if let Some(now) = object.resource_version() {
            *version = now;
        }
        if let Some(step) = step {
            seen.note(step, object.metadata.name);
        }
    }
    Ok(())
}

/// The step that the object is through with, if it is with one.
fn reached(object: &DynamicObject) -> Option<Step> {
    let status = object.data.get("status")?;
    let observed = status.get("observedGeneration")?.as_i64();
    let text = status.get("text")?.as_str()?;
    let steps = [Step::Create, Step::Change].into_iter();
    let mut said = steps.filter(|step| text == format!("Hello, {}!", step.name()));
    said.find(|_| observed == object.metadata.generation)
}

impl Seen {
    fn note(&self, step: Step, name: Option<String>) {
        let now = Instant::now();
        let mut when = self.when.lock();
        when.entry((step, name.unwrap_or_default())).or_insert(now);
        let count = when.len();
        // Who is told looks at what was seen.
        drop(when);
        self.count.send_replace(count);
    }
}
