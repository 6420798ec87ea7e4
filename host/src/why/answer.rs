//! The answer to "why", as a document: what `-o json` prints, and what all other forms are made of.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::live_object::LiveObject;
use super::reason::judge;
use windlass_base::text::clean;
use windlass_controller::controller::{CacheState, ObjectState, Record};
use windlass_controller::metrics::RunningVersion;
use windlass_kube::object::ObjectRef;
use windlass_view::{Difference, Saw, WriteOutcome, Wrote};

/// The longest text of a guest or a server that is shown.
const TEXT: usize = 2 << 10;

/// Why an object was reconciled, or was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `windlass.dev/v1alpha1`.
    pub api_version: String,
    /// `WakeReason`.
    pub kind: String,
    /// The object.
    pub object: ObjectRef,
    /// The other namespaces that have one of that name, if none was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<String>,
    /// Its owners: what to ask about, if no plugin reconciles it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<ObjectRef>,
    /// What each plugin that reconciles its kind has to say.
    pub plugins: Vec<PluginAnswer>,
    /// What plugins say that do not run, of which it is not known what they reconcile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unclear: Vec<PluginAnswer>,
    /// Why the API server could not be asked about the object, if it could not: what is said is what the plugins' stores
    /// show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unasked: Option<String>,
    /// What the plugins of this host reconcile, if none reconciles this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
}

/// What one plugin has to say of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginAnswer {
    /// Its name.
    pub plugin: String,
    /// Its version.
    pub version: Option<String>,
    /// Whether it observes: nothing is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observes: bool,
    /// The digest of its component.
    pub digest: Option<String>,
    /// Why things are as they are, in a word of a closed set.
    pub reason: String,
    /// The same as a sentence, with what to do.
    pub message: String,
    /// When it runs next, if that is known.
    pub next_in_ms: Option<u64>,
    /// The object's generation, as the plugin's store shows it.
    pub generation: Option<i64>,
    /// Its version there.
    pub resource_version: Option<String>,
    /// The last passes that are remembered, the newest first.
    pub passes: Vec<PassAnswer>,
}

/// A pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PassAnswer {
    /// When it began.
    pub began: String,
    /// How long it took.
    pub took_ms: u64,
    /// How long ago it ended.
    pub ago_ms: u64,
    /// Why it ran: the first reasons.
    pub woken_by: Vec<String>,
    /// How many reasons there were.
    pub reasons: usize,
    /// What it did: `protect`, `reconcile`, `finalize`, `release`, `paused` or `ignore`.
    pub step: String,
    /// How often it had failed before.
    pub attempt: u32,
    /// The version that it saw.
    pub resource_version: String,
    /// What it read from the store.
    pub read: Vec<ReadAnswer>,
    /// Whether the plugin observed: what is in `wrote` would have been written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observes: bool,
    /// What it wrote.
    pub wrote: Vec<WriteAnswer>,
    /// How many more reads and writes there were.
    pub left_out: usize,
    /// What it was not allowed to do, and what would change that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// Which objects its set may not take, why, and what to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// The HTTP requests that it sent, and how they ended.
    #[serde(default)]
    pub sent: Vec<String>,
    /// Why requests of it failed, in the API server's words, where the error does not say so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// How it ended.
    pub returned: String,
    /// What went wrong.
    pub error: Option<String>,
    /// What the guest wrote to standard output and error, if its call failed.
    pub output: String,
    /// The file that its recording is in, if it failed and there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
    /// The trace that it was sent as, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// CPU time of the guest.
    pub cpu_us: u64,
    /// The guest's memory at its peak, in bytes.
    pub memory: usize,
    /// Requests to the API server.
    pub requests: u32,
}

/// A read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadAnswer {
    /// What was read.
    #[serde(flatten)]
    pub node: ObjectRef,
    /// Of one object: its version; none if it was absent.
    pub resource_version: Option<String>,
    /// Of a list: how many there were.
    pub count: Option<usize>,
}

/// A write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteAnswer {
    /// What was written.
    #[serde(flatten)]
    pub node: ObjectRef,
    /// `created`, `changed`, `same`, `unseen`, `deleted` or `failed`.
    pub end: String,
    /// The fields that the plugin applied and that changed.
    pub fields: Vec<FieldAnswer>,
    /// What else changed because of it: defaults, and what the plugin does not apply any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub followed: Vec<FieldAnswer>,
    /// What else was sent, of fields that the plugin does not read: whether these have changed is not known. `after` is
    /// what is there now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<FieldAnswer>,
}

/// A field that changed. Of a Secret no value is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldAnswer {
    /// Its path.
    pub path: String,
    /// What was there, as JSON.
    pub before: Option<String>,
    /// What is there now.
    pub after: Option<String>,
}

impl Explanation {
    /// An answer about `object`, of no plugin yet.
    pub fn about(object: ObjectRef) -> Self {
        Self {
            api_version: "windlass.dev/v1alpha1".to_owned(),
            kind: "Why".to_owned(),
            object,
            elsewhere: Vec::new(),
            owners: Vec::new(),
            plugins: Vec::new(),
            unclear: Vec::new(),
            unasked: None,
            kinds: Vec::new(),
        }
    }
}

impl PluginAnswer {
    /// What `plugin` has to say, given what is known, and how long `ago` a pass ended.
    pub fn of(
        plugin: &str,
        about: Option<RunningVersion>,
        state: &ObjectState,
        live: &LiveObject,
        ago: impl Fn(&Record) -> Duration,
    ) -> Self {
        let passes = state
            .passes
            .iter()
            .map(|record| PassAnswer::of(record, ago(record)));
        let reason = judge(state, live);
        let held = match &state.cache {
            CacheState::There(held) | CacheState::WithFinalizer(held) => Some(held),
            CacheState::NotWatched | CacheState::Absent => None,
        };
        let observes = about.as_ref().is_some_and(|about| about.observes);
        let (version, digest) = about.map(|about| (about.version, about.digest)).unzip();
        Self {
            plugin: plugin.to_owned(),
            version,
            observes,
            digest,
            reason: reason.word().to_owned(),
            message: clean(&reason.sentence(), TEXT),
            next_in_ms: reason.remaining().map(millis),
            generation: held.and_then(|held| held.generation),
            resource_version: held.map(|held| held.resource_version.to_string()),
            passes: passes.collect(),
        }
    }
}

impl PassAnswer {
    /// The pass, which ended so long ago.
    pub fn of(record: &Record, ago: Duration) -> Self {
        let reasons = record.reasons.first.iter().map(ToString::to_string);
        let journal = &record.journal;
        Self {
            began: record.began.to_string(),
            took_ms: millis(record.took),
            ago_ms: millis(ago),
            woken_by: reasons.collect(),
            reasons: record.reasons.count,
            step: record.step.label().to_owned(),
            attempt: record.attempt,
            resource_version: record.version.clone(),
            read: journal.reads.iter().map(read).collect(),
            observes: record.observes,
            wrote: journal.writes.iter().map(written).collect(),
            left_out: journal.left_out,
            denied: journal
                .denied
                .iter()
                .map(|what| clean(what, TEXT))
                .collect(),
            conflicts: journal
                .conflicts
                .iter()
                .map(|what| clean(what, TEXT))
                .collect(),
            sent: journal.sent.iter().map(|line| clean(line, TEXT)).collect(),
            failed: journal
                .untold(record.error.as_deref().unwrap_or_default())
                .map(|words| clean(words, TEXT))
                .collect(),
            returned: record.outcome.label().to_owned(),
            error: record.error.as_deref().map(|error| clean(error, TEXT)),
            output: record.output.clone(),
            recording: record
                .recording
                .as_ref()
                .map(|path| path.display().to_string()),
            trace: record.trace.clone(),
            cpu_us: u64::try_from(record.cpu.as_micros()).unwrap_or(u64::MAX),
            memory: record.memory,
            requests: record.requests,
        }
    }
}

fn read(saw: &Saw) -> ReadAnswer {
    match saw {
        Saw::Object { kind, key, version } => ReadAnswer {
            node: ObjectRef::new(kind, key),
            resource_version: version.clone(),
            count: None,
        },
        Saw::List {
            kind,
            namespace,
            selector,
            count,
            ..
        } => ReadAnswer {
            node: ObjectRef {
                kind: kind.clone(),
                namespace: namespace.clone(),
                name: clean(selector, TEXT),
            },
            resource_version: None,
            count: Some(*count),
        },
    }
}

fn written(wrote: &Wrote) -> WriteAnswer {
    let end = match &wrote.end {
        WriteOutcome::Created(_) => "created",
        // Something has changed, or nothing: nobody sees it.
        WriteOutcome::Changed(_) if !wrote.has_effect() && !wrote.unread.is_empty() => "unseen",
        WriteOutcome::Changed(_) if !wrote.has_effect() => "same",
        WriteOutcome::Changed(_) => "changed",
        WriteOutcome::Unseen => "unseen",
        WriteOutcome::Deleted => "deleted",
        WriteOutcome::NotDeleted | WriteOutcome::Failed => "failed",
    };
    let shown = |text: &Option<String>| text.as_deref().map(|text| clean(text, TEXT));
    let field = |field: &Difference| FieldAnswer {
        path: clean(&field.path, TEXT),
        before: shown(&field.before),
        after: shown(&field.after),
    };
    WriteAnswer {
        node: ObjectRef::new(&wrote.kind, &wrote.key),
        end: end.to_owned(),
        fields: wrote.end.differences().iter().map(field).collect(),
        followed: wrote.followed.iter().map(field).collect(),
        unread: wrote.unread.iter().map(field).collect(),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
