//! What the API server saw of the objects, judged.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use futures::stream::{StreamExt, TryStreamExt};
use kube::api::{DynamicObject, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use windlass_e2e::Cluster;

/// Something to end the history with: the last event is this change.
pub(super) async fn mark(cluster: &Cluster) -> Result<()> {
    let api = cluster.api("Greeting", &cluster.namespace)?;
    let mark = Patch::Merge(json!({ "metadata": { "labels": { "history": "ends" } } }));
    api.patch("g-0", &PatchParams::default(), &mark).await?;
    Ok(())
}

/// Everything that the API server saw of the Greetings since a moment. It is read while it happens: the
/// server keeps little more than a minute of it.
pub(super) struct History {
    since: String,
}

impl History {
    pub(super) async fn record(cluster: &Cluster) -> Result<Self> {
        let api = cluster.api("Greeting", &cluster.namespace)?;
        let list = api.list(&kube::api::ListParams::default().limit(1)).await?;
        let since = list
            .metadata
            .resource_version
            .context("a list has a version")?;
        Ok(Self { since })
    }

    /// Reads the history up to the mark, and judges each object's: every call that began ended before
    /// the next one began, in the version in which it began. Answers how many calls there were.
    ///
    /// The server may end a watch at any time, and does so if its client is slow: the next watch starts after the last
    /// event that was read.
    pub(super) async fn judge(mut self, cluster: &Cluster) -> Result<usize> {
        let api = cluster.api("Greeting", &cluster.namespace)?;
        let parameters = WatchParams::default().disable_bookmarks();
        let mut events = api.watch(&parameters, &self.since).await?.boxed();
        let mut running: BTreeMap<String, (String, String)> = BTreeMap::new();
        let mut last: BTreeMap<String, String> = BTreeMap::new();
        let mut calls = 0;
        loop {
            let Some(event) = events.try_next().await? else {
                events = api.watch(&parameters, &self.since).await?.boxed();
                continue;
            };
            let WatchEvent::Modified(greeting) = event else {
                bail!("the history has something else in it: {event:?}");
            };
            let version = greeting.metadata.resource_version.clone();
            self.since = version.context("an event has a version")?;
            let labels = greeting.metadata.labels.as_ref();
            if labels.is_some_and(|labels| labels.contains_key("history")) {
                return Ok(calls);
            }
            let name = greeting.metadata.name.clone().unwrap_or_default();
            let text = said(&greeting);
            if last.insert(name.clone(), text.clone()).as_ref() == Some(&text) {
                continue;
            }
            let words: Vec<&str> = text.split(' ').collect();
            match words.as_slice() {
                ["begin", version, number] => {
                    let begun = ((*version).to_owned(), (*number).to_owned());
                    let open = running.insert(name.clone(), begun);
                    ensure!(
                        open.is_none(),
                        "{name}: {text:?} while {open:?} had not ended"
                    );
                }
                ["end", version, number] => {
                    let open = running.remove(&name);
                    let fits = open
                        .as_ref()
                        .is_none_or(|(by, of)| by == version && of == number);
                    ensure!(fits, "{name}: {text:?} ended {open:?}");
                    calls += 1;
                }
                _ => bail!("{name}: {text:?}"),
            }
        }
    }
}

fn said(greeting: &DynamicObject) -> String {
    let text = greeting
        .data
        .pointer("/status/text")
        .and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
