//! What the status of a Plugin object says: pure.
//!
//! - kstatus, and so `kubectl wait`, Helm, Argo CD and Flux, reads `observedGeneration`, `Reconciling`, `Stalled` and
//!   `Ready`. A `Ready` that is absent counts as done, so it is there from the first status on.
//! - A version that is refused makes the plugin not ready, although the last good version runs on: what was asked for is
//!   not what runs.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::super::refusal::ROLLED_BACK;
use windlass_base::text::clean;
use windlass_controller::metrics::{
    LoadStep, NotRunning, PluginStage, RunningVersion, SmokeTestReport,
};
use windlass_kube::object::PAUSED;

/// The longest message of a condition that the API conventions allow.
const MESSAGE: usize = 32 << 10;

/// The reason of a plugin whose service account may not watch what it reconciles.
const FORBIDDEN: &str = "ServiceAccountForbidden";

/// What is known of a plugin.
#[derive(Clone, Debug)]
pub(super) struct Situation<'a> {
    /// What is wrong with its object.
    pub(super) problem: Option<String>,
    /// How far it is.
    pub(super) stage: PluginStage,
    /// The version that runs, or stands by.
    pub(super) running: Option<RunningVersion>,
    /// Whether the document as it is now asks for that version.
    pub(super) is_asked: bool,
    /// All of the digest of the last good version's component.
    pub(super) last_good: Option<String>,
    /// What the smoke test of the newest version has shown.
    pub(super) smoke_test: Option<SmokeTestReport>,
    /// Why the newest version does not run.
    pub(super) refusal: Option<NotRunning>,
    /// Whether its rollout is paused.
    pub(super) paused: bool,
    /// Why its object is still there, if it is deleted.
    pub(super) stays: Option<String>,
    /// The host that makes its passes.
    pub(super) holder: Option<&'a str>,
}

/// What is true of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    True,
    False,
    Unknown,
}

/// How a plugin is, in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// It does what is asked for.
    Done,
    /// It is on its way there.
    Moving,
    /// Somebody must do something.
    Stalled,
}

/// What is said of a plugin, in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    progress: Progress,
    ready: Truth,
    reason: &'static str,
    message: String,
    digest: Option<String>,
}

impl Told {
    /// Whether nobody has to do anything.
    pub(super) fn is_good(&self) -> bool {
        self.ready != Truth::False
    }

    /// The step that was made since `before`, as the reason of an Event and a sentence.
    pub(super) fn step(&self, before: Option<&Self>) -> Option<(&'static str, String)> {
        if before == Some(self) {
            return None;
        }
        let is_same_version =
            before.is_some_and(|it| it.digest == self.digest && it.reason == self.reason);
        match self.ready {
            Truth::True if is_same_version && before.is_some_and(|it| it.ready == Truth::True) => {
                None
            }
            Truth::True => Some(("PluginLoaded", self.message.clone())),
            Truth::False if self.reason == ROLLED_BACK => {
                Some(("PluginRolledBack", self.message.clone()))
            }
            Truth::False => Some(("PluginRejected", self.message.clone())),
            Truth::Unknown => None,
        }
    }
}

impl Situation<'_> {
    /// The version that runs, unless it was stopped.
    fn runs(&self) -> Option<&RunningVersion> {
        let running = self.running.as_ref();
        running.filter(|_| {
            !matches!(
                self.stage,
                PluginStage::Refused(_) | PluginStage::Quarantined(_) | PluginStage::Forbidden(_)
            )
        })
    }

    fn told(&self) -> Told {
        let tell = |progress, ready, reason, message: String| Told {
            progress,
            ready,
            reason,
            message: clean(&message, MESSAGE),
            digest: self.runs().map(|it| it.component.clone()),
        };
        let fallback = match self.runs() {
            Some(running) => format!("; version {} runs on", running.version),
            None => String::new(),
        };
        if let Some(why) = &self.stays {
            return tell(Progress::Moving, Truth::Unknown, "Deleting", why.clone());
        }
        if let Some(problem) = &self.problem {
            let message = format!("{problem}{fallback}");
            return tell(Progress::Stalled, Truth::False, "DocumentInvalid", message);
        }
        if self.paused {
            let (ready, message) = match self.runs() {
                Some(running) => (
                    Truth::True,
                    format!(
                        "the rollout is paused by its annotation {PAUSED}: version {} runs on, and nothing else is admitted",
                        running.version
                    ),
                ),
                None => (
                    Truth::Unknown,
                    format!(
                        "the rollout is paused by its annotation {PAUSED}, and no version runs: nothing is started"
                    ),
                ),
            };
            return tell(Progress::Moving, ready, "Paused", message);
        }
        if let Some(refusal) = &self.refusal {
            let progress = if refusal.is_final {
                Progress::Stalled
            } else {
                Progress::Moving
            };
            let message = format!("{}{fallback}", refusal.why);
            return tell(progress, Truth::False, refusal.reason, message);
        }
        let moving =
            |reason, message: String| tell(Progress::Moving, Truth::Unknown, reason, message);
        match &self.stage {
            PluginStage::Running
            | PluginStage::SlowedDown(_)
            | PluginStage::Refused(_)
            | PluginStage::Quarantined(_)
                if !self.is_asked =>
            {
                let message = format!("the document has changed{fallback}");
                moving("Loading", message)
            }
            PluginStage::Loading => moving(
                "Loading",
                "the component is fetched, checked and compiled".into(),
            ),
            PluginStage::Waiting(why) => moving("Waiting", why.clone()),
            PluginStage::Forbidden(why) => {
                tell(Progress::Moving, Truth::False, FORBIDDEN, why.clone())
            }
            PluginStage::Syncing => moving("Syncing", "the first lists are not in yet".into()),
            PluginStage::StandingBy => {
                moving("StandingBy", "another host is about to hand over".into())
            }
            PluginStage::Refused(why) | PluginStage::Quarantined(why) => {
                tell(Progress::Stalled, Truth::False, "Refused", why.clone())
            }
            PluginStage::SlowedDown(why) => {
                tell(Progress::Done, Truth::False, "CrashLooping", why.clone())
            }
            PluginStage::Running => {
                let version = self.runs().map(|it| it.version.clone());
                let version = version.unwrap_or_default();
                if self.runs().is_some_and(|it| it.observes) {
                    let message = format!(
                        "version {version} observes: what it would write is shown, and not sent"
                    );
                    return tell(Progress::Done, Truth::True, "Observing", message);
                }
                let message = format!("version {version} reconciles");
                tell(Progress::Done, Truth::True, "Running", message)
            }
        }
    }

    /// The conditions of the steps before a version runs.
    fn steps(&self, told: &Told) -> [(&'static str, Truth, &'static str, String); 3] {
        const STEPS: [(LoadStep, &str, &str); 3] = [
            (LoadStep::Fetch, "Fetched", "the component is here"),
            (LoadStep::Compile, "Compiled", "the component is compiled"),
            (
                LoadStep::Grant,
                "Granted",
                "the grants cover what the plugin needs",
            ),
        ];
        STEPS.map(|(step, kind, good)| {
            let passed = |passed| match passed {
                true => (kind, Truth::True, "Succeeded", good.to_owned()),
                false => (
                    kind,
                    Truth::Unknown,
                    "Pending",
                    "it is not that far".to_owned(),
                ),
            };
            match &self.refusal {
                Some(refusal) if refusal.step == step => (
                    kind,
                    Truth::False,
                    refusal.reason,
                    clean(&refusal.why, MESSAGE),
                ),
                Some(refusal) => passed(step < refusal.step),
                None if step == LoadStep::Grant && told.reason == FORBIDDEN => {
                    (kind, Truth::False, FORBIDDEN, told.message.clone())
                }
                None if self.problem.is_some() => passed(false),
                None => passed(told.reason != "Loading"),
            }
        })
    }
}

/// The status of `object` in this situation, and what it says in all.
pub(super) fn status(situation: &Situation<'_>, object: &Value, now: Timestamp) -> (Value, Told) {
    let told = situation.told();
    let generation = object.pointer("/metadata/generation").cloned();
    let generation = generation.unwrap_or_default();
    let before = object.pointer("/status/conditions");
    let before: &[Value] = before.and_then(Value::as_array).map_or(&[], Vec::as_slice);
    let condition = |kind: &str, truth: Truth, reason: &str, message: String| {
        let status = match truth {
            Truth::True => "True",
            Truth::False => "False",
            Truth::Unknown => "Unknown",
        };
        let same = before.iter().find(|it| {
            it.get("type").and_then(Value::as_str) == Some(kind)
                && it.get("status").and_then(Value::as_str) == Some(status)
        });
        let since = same.and_then(|it| it.get("lastTransitionTime")).cloned();
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "observedGeneration": generation,
            "lastTransitionTime": since.unwrap_or_else(|| format!("{now:.0}").into()),
        })
    };
    let mut conditions = vec![condition(
        "Ready",
        told.ready,
        told.reason,
        told.message.clone(),
    )];
    let summary = match told.progress {
        Progress::Done => None,
        Progress::Moving => Some("Reconciling"),
        Progress::Stalled => Some("Stalled"),
    };
    if let Some(kind) = summary {
        conditions.push(condition(
            kind,
            Truth::True,
            told.reason,
            told.message.clone(),
        ));
    }
    let [fetched, compiled, granted] = situation.steps(&told);
    let put = |(kind, truth, reason, message)| condition(kind, truth, reason, message);
    conditions.push(put(fetched));
    // Signatures are not checked yet. The place is here, so that anyone who waits for it need not change.
    let unsigned = "signatures are not asked for".to_owned();
    conditions.push(condition(
        "Verified",
        Truth::Unknown,
        "NotRequired",
        unsigned,
    ));
    conditions.extend([put(compiled), put(granted)]);
    let mut status = Map::new();
    status.insert("observedGeneration".into(), generation.clone());
    status.insert("conditions".into(), conditions.into());
    if situation.runs().is_none() {
        // What it may have put its finalizer on, and what can run again, is known still.
        for field in ["primaries", "lastGoodDigest"] {
            if let Some(known) = object.pointer(&format!("/status/{field}")) {
                status.insert(field.into(), known.clone());
            }
        }
    }
    if let Some(running) = situation.runs() {
        let kinds = running.kinds.iter().map(|it| it.kind.as_str());
        let kinds: Vec<&str> = kinds.collect();
        status.insert("primaries".into(), json!(running.kinds));
        let last_good = situation.last_good.as_ref();
        let last_good = last_good.unwrap_or(&running.component);
        status.insert("lastGoodDigest".into(), last_good.clone().into());
        for (field, text) in [
            ("version", running.version.clone()),
            ("digest", running.component.clone()),
            ("shortDigest", running.digest.clone()),
            ("kind", kinds.join(",")),
        ] {
            status.insert(field.into(), text.into());
        }
    }
    // A host that has tested nothing knows nothing better than what is there.
    let known = || object.pointer("/status/smokeTest").cloned();
    let tested = situation
        .smoke_test
        .as_ref()
        .map(|it| json!(it))
        .or_else(known);
    if let Some(tested) = tested {
        status.insert("smokeTest".into(), tested);
    }
    if let Some(holder) = situation.holder {
        status.insert("holder".into(), holder.into());
    }
    (Value::Object(status), told)
}

#[cfg(test)]
mod tests;
