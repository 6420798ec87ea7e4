//! Watches one resource in one scope, and tells the view what it sees.
//!
//! - It never waits for a plugin: its only consumers are the store and the queue's `add`.
//! - A failure is logged when its text changes, and repeated with growing delays: 0.8 s to 30 s.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use kube::core::{ApiResource, DynamicObject, DynamicResourceScope, PartialObjectMeta};
use kube::runtime::watcher::{self, Event};
use serde::Serialize;
use tokio::sync::watch::Sender;

use super::finalizer::finalizer_of;
use super::object::Object;
use super::view::View;
use crate::api::Resource;
use crate::error::Chain;
use crate::seams::Seams;

const FIRST_DELAY: Duration = Duration::from_millis(800);
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// One watch.
#[derive(Clone)]
pub(super) struct Informer {
    pub(super) plugin: Arc<str>,
    pub(super) resource: Resource,
    /// None for all namespaces, or a cluster-scoped resource.
    pub(super) namespace: Option<String>,
    pub(super) label_selector: Option<String>,
    pub(super) field_selector: Option<String>,
    pub(super) view: Arc<View>,
    pub(super) seams: Seams,
}

impl Informer {
    /// Keeps the view up to date, for ever. Says when the first list is in.
    pub(super) async fn run(self, client: kube::Client, synced: Sender<bool>) {
        let api = self.api::<DynamicObject>(client);
        let events = watcher::watcher(api, self.config());
        self.follow(events, synced).await;
    }

    /// Looks for primaries that carry the plugin's finalizer, wherever their labels have gone.
    pub(super) async fn run_strays(self, client: kube::Client, synced: Sender<bool>) {
        let api = self.api::<PartialObjectMeta<DynamicObject>>(client);
        let finalizer = finalizer_of(&self.plugin);
        let events = watcher::watcher(api, watcher::Config::default());
        pin_mut!(events);
        let mut delay = FIRST_DELAY;
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Apply(object) | Event::InitApply(object)) => {
                    delay = FIRST_DELAY;
                    if let Some(object) = self.object(&object) {
                        self.view.stray_shown(object, &finalizer);
                    }
                }
                Ok(Event::Delete(object)) => {
                    if let Some(object) = self.object(&object) {
                        self.view.stray_gone(&object);
                    }
                }
                Ok(Event::Init) => {}
                Ok(Event::InitDone) => {
                    synced.send_replace(true);
                }
                Err(error) => delay = self.wait(&error, delay, &mut None).await,
            }
        }
    }

    async fn follow(
        &self,
        events: impl futures::Stream<Item = watcher::Result<Event<DynamicObject>>>,
        synced: Sender<bool>,
    ) {
        pin_mut!(events);
        let mut list = Vec::new();
        let (mut delay, mut last_error) = (FIRST_DELAY, None);
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => list.clear(),
                Ok(Event::InitApply(object)) => list.extend(self.object(&object)),
                Ok(Event::InitDone) => {
                    let objects = std::mem::take(&mut list);
                    self.view
                        .listed(&self.resource, self.namespace.as_deref(), objects);
                    synced.send_replace(true);
                    (delay, last_error) = (FIRST_DELAY, None);
                }
                Ok(Event::Apply(object)) => {
                    if let Some(object) = self.object(&object) {
                        self.view.shown(&self.resource, object);
                    }
                    (delay, last_error) = (FIRST_DELAY, None);
                }
                Ok(Event::Delete(object)) => {
                    if let Some(object) = self.object(&object) {
                        self.view.gone(&self.resource, &object);
                    }
                }
                Err(error) => delay = self.wait(&error, delay, &mut last_error).await,
            }
        }
    }

    /// Waits after a failure; answers the next delay.
    async fn wait(
        &self,
        error: &watcher::Error,
        delay: Duration,
        last: &mut Option<String>,
    ) -> Duration {
        let text = Chain(error).to_string();
        // A watch that has grown too old is everyday business: the next list mends it.
        if last.as_ref() != Some(&text) && !text.contains("too old resource version") {
            let (plugin, resource) = (&*self.plugin, self.resource.to_string());
            tracing::warn!(
                plugin,
                resource,
                "cannot watch {resource}, trying again: {text}"
            );
        }
        *last = Some(text);
        self.seams
            .clock
            .sleep(self.seams.rng.spread(delay, 1.0))
            .await;
        (delay * 2).min(LONGEST_DELAY)
    }

    fn api<K>(&self, client: kube::Client) -> kube::Api<K>
    where
        K: kube::Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        let resource = self.resource.as_kube();
        match &self.namespace {
            Some(namespace) => kube::Api::namespaced_with(client, namespace, &resource),
            None => kube::Api::all_with(client, &resource),
        }
    }

    fn config(&self) -> watcher::Config {
        let mut config = watcher::Config::default();
        if let Some(selector) = &self.label_selector {
            config = config.labels(selector);
        }
        if let Some(selector) = &self.field_selector {
            config = config.fields(selector);
        }
        config
    }

    /// Items of a list do not say what they are; objects in the store do.
    fn object(&self, object: &impl Serialize) -> Option<Object> {
        let mut value = serde_json::to_value(object).ok()?;
        let fields = value.as_object_mut()?;
        fields.insert("apiVersion".into(), self.resource.api_version().into());
        fields.insert("kind".into(), self.resource.kind.clone().into());
        Object::new(value)
    }
}
