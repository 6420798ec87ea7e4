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

use crate::api::Resource;
use crate::error::Chain;
use crate::seams::Seams;
use crate::text::clean;
use crate::view::Object;
use crate::view::View;

const FIRST_DELAY: Duration = Duration::from_millis(800);
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// The longest error that is shown: something between us and the API server may answer with a page.
const TEXT: usize = 500;

/// What an informer looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// Objects, whole.
    Whole,
    /// Primaries that carry the plugin's finalizer, by their metadata, wherever their labels have
    /// gone.
    Strays,
}

/// One watch.
#[derive(Clone)]
pub(super) struct Informer {
    pub(super) plugin: Arc<str>,
    pub(super) resource: Resource,
    /// None for all namespaces, or a cluster-scoped resource.
    pub(super) namespace: Option<String>,
    pub(super) label_selector: Option<String>,
    pub(super) field_selector: Option<String>,
    pub(super) sight: Sight,
    pub(super) view: Arc<View>,
    pub(super) seams: Seams,
}

impl Informer {
    /// Keeps the view up to date, for ever. Says when the first list is in.
    pub(super) async fn run(self, client: kube::Client, synced: Sender<bool>) {
        match self.sight {
            Sight::Whole => {
                let events = watcher::watcher(self.api::<DynamicObject>(client), self.config());
                self.follow(events, synced).await;
            }
            Sight::Strays => {
                let api = self.api::<PartialObjectMeta<DynamicObject>>(client);
                let events = watcher::watcher(api, watcher::Config::default());
                self.follow(events, synced).await;
            }
        }
    }

    async fn follow<K: Serialize>(
        &self,
        events: impl futures::Stream<Item = watcher::Result<Event<K>>>,
        synced: Sender<bool>,
    ) {
        pin_mut!(events);
        let (mut list, mut since) = (Vec::new(), 0);
        let (mut delay, mut last_error) = (FIRST_DELAY, None);
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => {
                    list.clear();
                    since = self.view.listing();
                }
                Ok(Event::InitApply(object)) => list.extend(self.object(&object)),
                Ok(Event::InitDone) => {
                    self.listed(since, std::mem::take(&mut list));
                    synced.send_replace(true);
                    (delay, last_error) = (FIRST_DELAY, None);
                }
                Ok(Event::Apply(object)) => {
                    if let Some(object) = self.object(&object) {
                        self.shown(object);
                    }
                    (delay, last_error) = (FIRST_DELAY, None);
                }
                Ok(Event::Delete(object)) => {
                    if let Some(object) = self.object(&object) {
                        self.gone(&object);
                    }
                }
                Err(error) => delay = self.wait(&error, delay, &mut last_error).await,
            }
        }
    }

    fn listed(&self, since: u64, objects: Vec<Object>) {
        let namespace = self.namespace.as_deref();
        match self.sight {
            Sight::Whole => self.view.listed(&self.resource, namespace, since, objects),
            Sight::Strays => self.view.strays_listed(namespace, objects),
        }
    }

    fn shown(&self, object: Object) {
        match self.sight {
            Sight::Whole => self.view.shown(&self.resource, object),
            Sight::Strays => self.view.stray_shown(object),
        }
    }

    fn gone(&self, object: &Object) {
        match self.sight {
            Sight::Whole => self.view.gone(&self.resource, object),
            Sight::Strays => self.view.stray_gone(object),
        }
    }

    /// Waits after a failure; answers the next delay.
    async fn wait(
        &self,
        error: &watcher::Error,
        delay: Duration,
        last: &mut Option<String>,
    ) -> Duration {
        let text = explain(error);
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

/// What went wrong, in a sentence: kube shows an answer of the API server with all its fields.
fn explain(error: &watcher::Error) -> String {
    let status = match error {
        watcher::Error::WatchError(status)
        | watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => status,
        watcher::Error::InitialListFailed(_)
        | watcher::Error::WatchStartFailed(_)
        | watcher::Error::WatchFailed(_)
        | watcher::Error::NoResourceVersion => return clean(&Chain(error).to_string(), TEXT),
    };
    let (code, reason, message) = (status.code, &status.reason, clean(&status.message, TEXT));
    let lacks = match code {
        401 | 403 => "; `windlass` itself lacks the right",
        _ => "",
    };
    format!("API server answered {code} {reason}: {message}{lacks}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::response::Status;

    #[test]
    fn an_answer_of_the_api_server_is_shown_as_a_sentence() {
        let status = Status {
            code: 403,
            reason: "Forbidden".into(),
            message: "pods is forbidden".into(),
            ..Status::default()
        };
        let error = kube::Error::Api(status.boxed());
        assert_eq!(
            explain(&watcher::Error::InitialListFailed(error)),
            "API server answered 403 Forbidden: pods is forbidden; `windlass` itself lacks the right"
        );
    }
}
