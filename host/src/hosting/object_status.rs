//! Says in the status of each Plugin object how far the plugin is, and tells each step as an Event.
//!
//! - Nothing is written unless the status changes, and nothing in it changes with each pass.
//! - The host that has the plugin's Lease writes; while nobody has it, any host may: all say the same.

mod conditions;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use futures::future::select_all;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::Host;
use super::plugin::news;
use super::removal::Removals;
use crate::api::{ApiError, Request};
use crate::events::{Event, Regarding, Severity};
use crate::lease::Lease;
use crate::metrics::PluginStage;
use crate::object::Key;
use crate::source::{PluginObjects, Wanted, plugins};
use crate::text::LogOnce;
use conditions::{Situation, Told, status};

/// The field manager of the status.
const MANAGER: &str = "windlass";

/// When a status is written again that could not be.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(5);

/// What is known of the objects whose status was written.
#[derive(Default)]
struct Writing {
    /// What cannot be written was said, by name.
    said: BTreeMap<String, LogOnce<String>>,
    /// The plugins whose objects were there.
    names: BTreeSet<String>,
    /// What was told last of each object, by UID.
    told: BTreeMap<String, Told>,
}

impl Host {
    /// Keeps the status of `objects` up to date, of which `wanted` is asked for.
    pub(super) async fn publish_status(
        &self,
        mut objects: PluginObjects,
        mut wanted: watch::Receiver<Wanted>,
        removals: Removals,
    ) -> Infallible {
        let mut writing = Writing::default();
        let mut removed = removals.news();
        loop {
            wanted.mark_unchanged();
            objects.mark_seen();
            removed.mark_unchanged();
            let held = objects.list();
            // Before anything is looked at, so that nothing falls between.
            let names = held.iter().filter_map(name);
            let moves = names.map(|name| self.metrics.of(name).moves());
            let mut moves: Vec<watch::Receiver<()>> = moves.collect();
            let problems: BTreeMap<String, String> = problems(&wanted.borrow());
            let mut failed = false;
            for object in &held {
                let name = name(object).unwrap_or_default();
                let meters = self.metrics.of(name);
                let situation = Situation {
                    problem: problems.get(name).map(String::as_str),
                    stage: meters.stage(),
                    running: meters.about(),
                    refusal: meters.not_running(),
                    stays: removals.why(name),
                    holder: (meters.leads.get() > 0).then_some(self.session.identity()),
                };
                let published = self.publish_one(object, &situation, &mut writing);
                failed |= published.await.is_err();
            }
            let uids: Vec<&str> = held.iter().filter_map(uid).collect();
            writing.told.retain(|uid, _| uids.contains(&&**uid));
            let names: BTreeSet<&str> = held.iter().filter_map(name).collect();
            for gone in writing.names.iter().filter(|it| !names.contains(&***it)) {
                // Its stage was asked for, also if no version of it ever ran.
                self.metrics.forget(gone);
            }
            writing.names = names.into_iter().map(str::to_owned).collect();
            let moved = async {
                if moves.is_empty() {
                    std::future::pending::<()>().await;
                }
                let any = moves.iter_mut().map(|moved| Box::pin(news(moved)));
                select_all(any).await;
            };
            let again = async {
                if !failed {
                    std::future::pending::<()>().await;
                }
                self.seams.clock.sleep(AGAIN).await;
            };
            tokio::select! {
                biased;
                () = objects.changed() => {}
                () = news(&mut wanted) => {}
                () = news(&mut removed) => {}
                () = moved => {}
                () = again => {}
            }
        }
    }

    async fn publish_one(
        &self,
        object: &Value,
        situation: &Situation<'_>,
        writing: &mut Writing,
    ) -> Result<(), ApiError> {
        let (Some(name), Some(uid)) = (name(object), uid(object)) else {
            return Ok(());
        };
        if matches!(situation.stage, PluginStage::StandingBy) {
            // The host that has the Lease knows better.
            return Ok(());
        }
        let now = self.seams.clock.wall();
        let before = object.get("status").cloned().unwrap_or_default();
        let (after, told) = status(situation, object, now);
        if after == before {
            writing.told.insert(uid.to_owned(), told);
            return Ok(());
        }
        let written = self
            .write_status(
                name,
                &patch(uid, &before, &after),
                situation.holder.is_some(),
            )
            .await;
        let said = writing.said.entry(name.to_owned()).or_default();
        match &written {
            Ok(true) => {
                said.clear();
                let before = writing.told.insert(uid.to_owned(), told.clone());
                self.tell_step(object, before.as_ref(), &told);
            }
            Ok(false) => {}
            Err(error) => {
                let text = error.to_string();
                if said.is_new(text.clone()) {
                    tracing::warn!(
                        plugin = name,
                        "cannot write the status of its object: {text}"
                    );
                }
            }
        }
        written.map(drop)
    }

    /// Writes a status, unless another host has the Lease.
    async fn write_status(&self, name: &str, patch: &Value, leads: bool) -> Result<bool, ApiError> {
        if !leads {
            let lease: Option<Value> = self.api.read(Lease::path(&self.namespace, name)).await?;
            let holder = lease
                .as_ref()
                .and_then(|it| it.pointer("/spec/holderIdentity"));
            let holder = holder.and_then(Value::as_str).unwrap_or_default();
            if !holder.is_empty() && holder != self.session.identity() {
                return Ok(false);
            }
        }
        let path = plugins().path(None, Some(name), Some("status"));
        let path = path.map_err(|error| ApiError::Garbled(error.to_string()))?;
        let uri = format!("{path}?fieldManager={MANAGER}");
        match self.api.send(Request::merge_patch(uri, patch)).await {
            // It has gone meanwhile, perhaps with another in its place.
            Err(error) if error.is_not_found() || error.is_race() => Ok(false),
            written => written.map(|_| true),
        }
    }

    /// Tells the step that a plugin has made, if it has made one.
    fn tell_step(&self, object: &Value, before: Option<&Told>, told: &Told) {
        let Some((reason, note)) = told.step(before) else {
            return;
        };
        let name = name(object).unwrap_or_default();
        self.events.publish(Event {
            plugin: name.into(),
            regarding: Regarding {
                api_version: plugins().api_version(),
                kind: plugins().kind,
                key: Key::new(None, name),
                uid: uid(object).map(str::to_owned),
            },
            related: None,
            severity: if told.is_good() {
                Severity::Normal
            } else {
                Severity::Warning
            },
            reason: reason.to_owned(),
            action: "Load".to_owned(),
            note,
        });
    }
}

/// The merge patch that makes `before` what `after` is. An API server with an older definition leaves out what it does not
/// know.
fn patch(uid: &str, before: &Value, after: &Value) -> Value {
    let mut status = after.clone();
    if let (Some(status), Some(before)) = (status.as_object_mut(), before.as_object()) {
        for gone in before.keys() {
            status.entry(gone).or_insert(Value::Null);
        }
    }
    json!({ "metadata": { "uid": uid }, "status": status })
}

fn name(object: &Value) -> Option<&str> {
    object.pointer("/metadata/name")?.as_str()
}

fn uid(object: &Value) -> Option<&str> {
    object.pointer("/metadata/uid")?.as_str()
}

/// What is wrong with documents in objects, by name.
fn problems(wanted: &Wanted) -> BTreeMap<String, String> {
    let problems = wanted.problems.iter();
    let of_objects = problems.filter(|it| it.origins.iter().all(|it| it.file().is_none()));
    let named = of_objects.filter_map(|it| Some((it.plugin.clone()?, it.to_string())));
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_any_more_goes() {
        let before = json!({ "holder": "a", "version": "1" });
        let after = json!({ "version": "2" });
        let want =
            json!({ "metadata": { "uid": "u" }, "status": { "holder": null, "version": "2" } });
        assert_eq!(patch("u", &before, &after), want);
        assert_eq!(patch("u", &Value::Null, &after)["status"], after);
    }
}
