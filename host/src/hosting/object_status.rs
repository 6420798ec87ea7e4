//! Says in the status of each Plugin object how far the plugin is, and tells each step as an Event.
//!
//! - Nothing is written unless the status changes, and nothing in it changes with each pass.
//! - The host that has the plugin's Lease writes; while nobody has it, any host may: all say the same.

mod conditions;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use futures::future::select_all;

use serde_json::{Value, json};

use super::Host;
use super::plugin::news;
use super::removal::Removals;
use super::roster::Roster;
use conditions::{Situation, Told, status};
use windlass_base::seams::watch;
use windlass_base::text::{LogOnce, clean};
use windlass_controller::metrics::{PluginMetrics, PluginStage};
use windlass_kube::api::{ApiError, Request};
use windlass_kube::events::{Event, Regarding, Severity};
use windlass_kube::object::{Key, PAUSED};
use windlass_policy::manifest::text_of_object;
use windlass_policy::source::{PluginObjects, Problem, Wanted, plugins};

/// The field manager of the status.
const MANAGER: &str = "windlass";

/// The longest note of an Event that the API server takes.
const NOTE: usize = 1_000;

/// When a status is written again that could not be.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(5);

/// What is known of the objects whose status was written.
#[derive(Default)]
struct Writing {
    by_uid: BTreeMap<String, Known>,
}

/// What is known of one object.
#[derive(Default)]
struct Known {
    /// Why its status cannot be written, as it was said.
    failed: LogOnce<String>,
    /// What this host says of it, and of which generation.
    says: Option<(Told, Option<Value>)>,
}

/// Who has written a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// This host, or nobody has to.
    Done,
    /// The host that has the Lease does.
    ByAnother,
}

impl Host {
    /// Keeps the status of `objects` up to date, of which `wanted` is asked for.
    pub(super) async fn publish_status(
        &self,
        mut objects: PluginObjects,
        mut wanted: watch::Receiver<Wanted>,
        roster: Roster,
        removals: Removals,
    ) -> Infallible {
        let mut writing = Writing::default();
        let mut removed = removals.news();
        let mut hosted = roster.news();
        loop {
            wanted.mark_unchanged();
            objects.mark_seen();
            removed.mark_unchanged();
            hosted.mark_unchanged();
            let held = objects.list();
            // Of a plugin with the same name in a file an object says nothing.
            let names = held.iter().filter_map(name);
            let names = names.filter(|name| roster.has_object(name));
            let meters: BTreeMap<&str, Arc<PluginMetrics>> =
                names.map(|name| (name, self.metrics.of(name))).collect();
            // Before anything is looked at, so that nothing falls between.
            let moves = meters.values().map(|meters| meters.moves());
            let mut moves: Vec<watch::Receiver<()>> = moves.collect();
            let problems = problems(&wanted.borrow());
            let mut pause = None;
            for object in &held {
                let name = name(object).unwrap_or_default();
                let meters = meters.get(name);
                let leads = meters.is_some_and(|it| it.leads.get() > 0);
                // What was said of another document is not true of this one.
                let text = text_of_object(object);
                let is_asked = |document: &Option<Arc<str>>| document.as_deref() == Some(&*text);
                let problem = problems
                    .get(name)
                    .filter(|problem| is_asked(&problem.document));
                let refusal = meters.and_then(|it| it.not_running());
                let running = meters.and_then(|it| it.about());
                let situation = Situation {
                    problem: problem.map(ToString::to_string),
                    stage: meters.map(|it| it.stage()).unwrap_or_default(),
                    is_asked: running.as_ref().is_some_and(|it| *it.document == *text),
                    running,
                    last_good: meters.and_then(|it| it.last_good()),
                    smoke_test: meters.and_then(|it| it.smoke_test()),
                    refusal: refusal.filter(|it| is_asked(&it.document)),
                    paused: is_paused(object),
                    stays: removals.why(name),
                    holder: leads.then_some(self.session.identity()),
                };
                let again = match self.publish_one(object, &situation, &mut writing).await {
                    Ok(Written::Done) => None,
                    // Its holder may die.
                    Ok(Written::ByAnother) => Some(self.session.times().lease_duration),
                    Err(_) => Some(AGAIN),
                };
                pause = pause.into_iter().chain(again).min();
            }
            let uids: Vec<&str> = held.iter().filter_map(uid).collect();
            writing.by_uid.retain(|uid, _| uids.contains(&&**uid));
            let moved = async {
                if moves.is_empty() {
                    std::future::pending::<()>().await;
                }
                let any = moves.iter_mut().map(|moved| Box::pin(news(moved)));
                select_all(any).await;
            };
            let again = async {
                match pause {
                    Some(pause) => self.seams.clock.sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = objects.changed() => {}
                () = news(&mut wanted) => {}
                () = news(&mut removed) => {}
                () = news(&mut hosted) => {}
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
    ) -> Result<Written, ApiError> {
        let (Some(name), Some(uid)) = (name(object), uid(object)) else {
            return Ok(Written::Done);
        };
        if matches!(situation.stage, PluginStage::StandingBy) {
            // The host that has the Lease knows better.
            return Ok(Written::Done);
        }
        let now = self.seams.clock.wall();
        let before = object.get("status").cloned().unwrap_or_default();
        let (after, told) = status(situation, object, now);
        let known = writing.by_uid.entry(uid.to_owned()).or_default();
        let generation = object.pointer("/metadata/generation").cloned();
        let says = Some((told, generation));
        if after == before {
            known.says = says;
            return Ok(Written::Done);
        }
        let leads = situation.holder.is_some();
        if !leads && known.says == says {
            // Another host says something else, and is as right as this one: both would write forever.
            return Ok(Written::Done);
        }
        let patch = patch(uid, &before, &after);
        let is_news = |field: &str| before.get(field) != after.get(field);
        let written = Box::pin(self.write_status(name, &patch, leads)).await;
        match &written {
            Ok(Written::Done) => {
                known.failed.clear();
                let before = std::mem::replace(&mut known.says, says);
                if let Some((told, _)) = &known.says {
                    self.tell_step(object, before.as_ref().map(|(told, _)| told), told);
                }
                let tested = situation.smoke_test.as_ref();
                if let Some(report) = tested.filter(|_| is_news("smokeTest")) {
                    let note = clean(&report.to_string(), NOTE);
                    self.tell(object, (report.reason(), Severity::Normal), note);
                }
            }
            Ok(Written::ByAnother) => {}
            Err(error) => {
                let text = error.to_string();
                if known.failed.is_new(text.clone()) {
                    tracing::warn!(
                        plugin = name,
                        "cannot write the status of its object: {text}"
                    );
                }
            }
        }
        written
    }

    /// Writes a status, unless another host has the Lease.
    async fn write_status(
        &self,
        name: &str,
        patch: &Value,
        leads: bool,
    ) -> Result<Written, ApiError> {
        if !leads && self.lease(name).is_held_elsewhere().await? {
            return Ok(Written::ByAnother);
        }
        let path = plugins().path(None, Some(name), Some("status"));
        let path = path.map_err(|error| ApiError::Garbled(error.to_string()))?;
        let uri = format!("{path}?fieldManager={MANAGER}");
        match self.api.send(Request::merge_patch(uri, patch)).await {
            // It has gone meanwhile, perhaps with another in its place.
            Err(error) if error.is_not_found() || error.is_race() => Ok(Written::Done),
            written => written.map(|_| Written::Done),
        }
    }

    /// Tells the step that a plugin has made, if it has made one.
    fn tell_step(&self, object: &Value, before: Option<&Told>, told: &Told) {
        let Some((reason, note)) = told.step(before) else {
            return;
        };
        let severity = if told.is_good() {
            Severity::Normal
        } else {
            Severity::Warning
        };
        self.tell(object, (reason, severity), note);
    }

    /// Publishes an Event about a Plugin object.
    fn tell(&self, object: &Value, (reason, severity): (&str, Severity), note: String) {
        let name = name(object).unwrap_or_default();
        self.events.publish(Event {
            plugin: name.into(),
            reporter: None,
            regarding: Regarding {
                api_version: plugins().api_version(),
                kind: plugins().kind,
                key: Key::new(None, name),
                uid: uid(object).map(str::to_owned),
            },
            related: None,
            severity,
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

/// Whether the rollout of a Plugin is paused.
fn is_paused(object: &Value) -> bool {
    let annotations = object.pointer("/metadata/annotations");
    annotations
        .and_then(|it| it.get(PAUSED))
        .is_some_and(|value| value == "true")
}

/// What is wrong with documents in objects, by name.
fn problems(wanted: &Wanted) -> BTreeMap<String, Problem> {
    let problems = wanted.problems.iter();
    let of_objects = problems.filter(|it| it.origins.iter().all(|it| it.file().is_none()));
    let named = of_objects.filter_map(|it| Some((it.plugin.clone()?, it.clone())));
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
