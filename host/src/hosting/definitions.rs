//! Makes sure that the cluster has the CustomResourceDefinitions which a version carries, before the version starts.
//!
//! - The plugin installs them, so they are read and written as its service account, if it has one.
//! - Nothing is written but by the host that has the plugin's Lease.
//! - A version waits until the definitions do for it and are established, no matter who writes them.

use std::time::Duration;

use http::Method;
use serde_json::Value;

use super::Host;
use super::primaries::ABSENT;
use super::version::Version;
use windlass_base::text::LogOnce;
use windlass_kube::api::{ApiError, Gate, Request};
use windlass_kube::events::{Event, Regarding, Severity};
use windlass_kube::object::{Key, manager_of};
use windlass_policy::definitions::{COLLECTION, Carried, Plan, check, plan};
use windlass_policy::manifest::DefinitionPolicy;

/// When a write is tried again that the API server refused.
const AGAIN: Duration = Duration::from_secs(30);

/// What is done next about one definition.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// Nothing: the version may start.
    Done,
    /// It is created.
    Create(Value),
    /// It is changed by this patch.
    Widen(Value),
    /// Somebody must do something, which is said.
    Wait(String),
    /// The API server, or the host that has the Lease, is about to.
    Soon(String),
}

/// What is known of one definition.
struct Situation<'a> {
    carried: &'a Carried,
    present: Option<&'a Value>,
    policy: DefinitionPolicy,
    plugin: &'a str,
    /// The versions that the plugin's primaries are of.
    needed: &'a [String],
    /// Whether the host has the plugin's Lease.
    leads: bool,
    /// Whether the host has widened it just now: what the API server left out of that is not sent again.
    widened: bool,
}

impl Situation<'_> {
    /// Decides what is done next.
    fn step(&self) -> Step {
        let waits_for_leader = || {
            let soon = "the host that has the plugin's Lease is to install it";
            Step::Soon(soon.to_owned())
        };
        match (self.policy, self.present) {
            (DefinitionPolicy::Ignore, _) => Step::Done,
            (DefinitionPolicy::Check, None) => Step::Wait("it is absent: install it".into()),
            (DefinitionPolicy::Check, Some(present)) => self.checked(present),
            (DefinitionPolicy::Install, Some(present)) if self.widened => self.checked(present),
            (DefinitionPolicy::Install, present) => {
                match plan(self.carried, present, self.plugin, self.needed) {
                    Plan::Fine => present.map_or(Step::Done, established),
                    Plan::Refused(why) => Step::Wait(why),
                    Plan::Create(_) | Plan::Widen(_) if !self.leads => waits_for_leader(),
                    Plan::Create(definition) => Step::Create(definition),
                    Plan::Widen(patch) => Step::Widen(patch),
                }
            }
        }
    }

    fn checked(&self, present: &Value) -> Step {
        match check(self.carried, present, self.needed) {
            Ok(()) => established(present),
            Err(lack) => Step::Wait(lack),
        }
    }
}

/// Whether the API server serves what it has.
fn established(present: &Value) -> Step {
    let conditions = present.pointer("/status/conditions");
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let says = |condition: &Value, field: &str, text: &str| {
        condition.get(field).and_then(Value::as_str) == Some(text)
    };
    if conditions.any(|it| says(it, "type", "Established") && says(it, "status", "True")) {
        return Step::Done;
    }
    Step::Soon("it is not established yet".into())
}

impl Host {
    /// Waits until the cluster has what `version` carries, as its document says. Installs it if the document says that, and
    /// `gate` is open: the host has the plugin's Lease.
    pub(super) async fn defined(&self, version: &Version, gate: &Gate) {
        // They were read when it was admitted.
        let carried = Carried::read(&version.plugin.description.crds).unwrap_or_default();
        for carried in &carried {
            self.defined_one(version, carried, gate).await;
        }
    }

    async fn defined_one(&self, version: &Version, carried: &Carried, gate: &Gate) {
        let plugin = &*version.plugin.name;
        let api = self.api_for(&version.candidate.document);
        let name = &carried.name;
        let primaries = version.plugin.description.primaries.iter();
        let needed = carried.needed(primaries.map(|it| (&*it.api_version, &*it.kind)));
        let mut told = LogOnce::default();
        let mut widened = false;
        loop {
            let mut period = ABSENT;
            let said = |error: &ApiError| format!("{error}{}", api.hint(error));
            let present: Result<Option<Value>, _> = api.read(carried.path()).await;
            let step = match &present {
                Err(error) => Step::Wait(format!("it cannot be read: {}", said(error))),
                Ok(present) => {
                    let situation = Situation {
                        carried,
                        present: present.as_ref(),
                        policy: version.definition_policy(),
                        plugin,
                        needed: &needed,
                        leads: gate.allowance().is_some(),
                        widened,
                    };
                    situation.step()
                }
            };
            let (done, request) = match step {
                Step::Done => return,
                Step::Soon(why) => {
                    let news = format!("waiting for the CustomResourceDefinition {name}: {why}");
                    self.waits(plugin, &news);
                    if told.is_new(news.clone()) {
                        tracing::info!(plugin, "{news}");
                    }
                    self.seams.clock.sleep(period).await;
                    continue;
                }
                Step::Wait(why) => {
                    self.tell_lack(version, carried, &why, &mut told);
                    self.seams.clock.sleep(period).await;
                    continue;
                }
                Step::Create(definition) => {
                    let uri = by_manager(COLLECTION, plugin);
                    ("created", Request::json(Method::POST, uri, &definition))
                }
                Step::Widen(patch) => {
                    widened = true;
                    let uri = by_manager(&carried.path(), plugin);
                    ("widened", Request::merge_patch(uri, &patch))
                }
            };
            match api.gated(gate.clone()).send(request).await {
                Ok(_) => {
                    let news = format!("the CustomResourceDefinition {name} is {done}");
                    tracing::info!(plugin, "{news}");
                    self.tell_of(version, carried, Severity::Normal, &news);
                    continue;
                }
                // Somebody was faster, or has the Lease by now: it is looked at again.
                Err(ApiError::NotLeader) => widened = false,
                Err(error) if error.code() == Some(409) => widened = false,
                Err(error) => {
                    widened = false;
                    period = AGAIN;
                    let why = format!("it cannot be {done}: {}", said(&error));
                    self.tell_lack(version, carried, &why, &mut told);
                }
            }
            self.seams.clock.sleep(period).await;
        }
    }

    /// Says what a version waits for: once, as long as it stays the same.
    fn tell_lack(
        &self,
        version: &Version,
        carried: &Carried,
        why: &str,
        told: &mut LogOnce<String>,
    ) {
        let (plugin, name) = (&*version.plugin.name, &carried.name);
        let news = format!("waiting for the CustomResourceDefinition {name}: {why}");
        self.waits(plugin, &news);
        if told.is_new(news.clone()) {
            tracing::warn!(plugin, "{news}");
            self.tell_of(version, carried, Severity::Warning, &news);
        }
    }

    fn tell_of(&self, version: &Version, carried: &Carried, severity: Severity, note: &str) {
        let (reason, action) = match severity {
            Severity::Normal => ("DefinitionInstalled", "Install"),
            Severity::Warning => ("WaitingForDefinition", "Start"),
        };
        self.events.publish(Event {
            plugin: version.plugin.name.clone(),
            reporter: None,
            regarding: Regarding {
                api_version: "apiextensions.k8s.io/v1".into(),
                kind: "CustomResourceDefinition".into(),
                key: Key::new(None, &carried.name),
                uid: None,
            },
            related: None,
            severity,
            reason: reason.into(),
            action: action.into(),
            note: note.into(),
        });
    }
}

fn by_manager(path: &str, plugin: &str) -> String {
    let mut parameters = form_urlencoded::Serializer::new(String::new());
    let manager = manager_of(plugin);
    let parameters = parameters.append_pair("fieldManager", &manager).finish();
    format!("{path}?{parameters}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(version: &str) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": "widgets.example.com", "labels": { "windlass.dev/plugin": "p" } },
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": { "plural": "widgets", "kind": "Widget" },
                "versions": [{ "name": version, "served": true, "storage": true }],
            },
            "status": { "conditions": [{ "type": "Established", "status": "True" }] },
        })
    }

    #[test]
    fn what_is_done_about_a_definition() {
        use DefinitionPolicy::{Check, Ignore, Install};
        let carried = Carried::read(&[definition("v1").to_string()])
            .unwrap()
            .remove(0);
        let (fine, old) = (definition("v1"), definition("v0"));
        let mut young = fine.clone();
        young["status"]["conditions"][0]["status"] = "False".into();
        let mut others = old.clone();
        others["metadata"]["labels"]["windlass.dev/plugin"] = "q".into();
        // (the policy; what is present; whether the host leads, and has widened it; what it does)
        let rows = [
            (Ignore, None, (true, false), "Done"),
            (Check, None, (true, false), "Wait"),
            (Check, Some(&old), (true, false), "Wait"),
            (Check, Some(&young), (true, false), "Soon"),
            (Check, Some(&fine), (false, false), "Done"),
            (Install, None, (true, false), "Create"),
            (Install, None, (false, false), "Soon"),
            (Install, Some(&old), (true, false), "Widen"),
            (Install, Some(&old), (false, false), "Soon"),
            (Install, Some(&old), (true, true), "Wait"),
            (Install, Some(&others), (true, false), "Wait"),
            (Install, Some(&young), (true, false), "Soon"),
            (Install, Some(&fine), (true, false), "Done"),
            (Install, Some(&fine), (true, true), "Done"),
            (Install, Some(&fine), (false, false), "Done"),
        ];
        for (policy, present, (leads, widened), want) in rows {
            let situation = Situation {
                carried: &carried,
                present,
                policy,
                plugin: "p",
                needed: &["v1".to_owned()],
                leads,
                widened,
            };
            let step = format!("{:?}", situation.step());
            assert!(
                step.starts_with(want),
                "{policy:?} {present:?} {leads} {widened}: {step}"
            );
        }
    }
}
