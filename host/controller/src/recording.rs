//! A recorded pass, as a file.

mod failures;

pub use failures::FailureRecorder;
pub use failures::component_of;

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use windlass_base::text::{clean_lines, shell_word};
use windlass_kube::object::{ObjectRef, RawFields};
use windlass_policy::manifest::Limits;
use windlass_sandbox::transcript::{ImportCall, Reply, Transcript, Values};
use windlass_sandbox::{Action, CallError, Failure, Plugin, Progress};

/// The apiVersion of recordings.
pub const API_VERSION: &str = "windlass.dev/v1alpha1";
const KIND: &str = "Recording";

/// The longest recording that is read.
pub(crate) const LARGEST: u64 = 64 << 20;

/// A pass that a plugin was called in: all that it was given, asked for and answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Recording {
    api_version: String,
    kind: String,
    /// Who made it.
    pub plugin: Maker,
    /// The plugin's configuration.
    pub config: Value,
    /// What of that comes from Secrets, as a Secret, until it is hidden.
    #[serde(skip)]
    config_secrets: Option<Value>,
    limits: Limited,
    /// Which function was called.
    pub function: Function,
    /// How often the object had failed before.
    pub attempt: u32,
    /// The object, as the plugin was given it; its text, if it is nested too deep for a tree of it.
    pub object: Value,
    /// When the call began.
    time: String,
    /// Where its random numbers began, in hexadecimal digits.
    seed: String,
    /// What it asked its host for, in order, and what it was answered.
    pub calls: Vec<ImportCall>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Whether `seed` is another one: from the real one a value could be made again that the plugin had made.
    #[serde(default)]
    pub seed_hidden: bool,
    /// How many values of Secrets are replaced by a word.
    #[serde(default)]
    pub hidden_values: usize,
}

/// The version of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Maker {
    /// The plugin's name.
    pub name: String,
    /// Its version, as it says itself.
    pub version: String,
    /// The digest of its component.
    pub digest: String,
}

/// What a call could use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Limited {
    memory: usize,
    cpu_ms: u64,
    deadline_ms: u64,
}

/// A function of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Function {
    /// `reconcile`.
    Reconcile,
    /// `reconcile-going`.
    ReconcileGoing,
    /// `finalize`.
    Finalize,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallOutcome {
    /// With an answer: `awaitChange`, `requeueAfter 5000 ms`, `done`, `pending 5000 ms`.
    Returned(String),
    /// With none, or with a failure.
    Failed {
        /// `transient`, `terminal`, `trapped`, and so on.
        reason: String,
        /// What was said of it.
        message: String,
        /// What the guest wrote to standard output and error.
        output: String,
    },
}

/// What is recorded of a pass.
pub(crate) struct Made<'a> {
    pub(crate) plugin: &'a Plugin,
    pub(crate) function: Function,
    /// The object as the plugin was given it, as JSON.
    pub(crate) object: &'a str,
    pub(crate) attempt: u32,
    pub transcript: Transcript,
    pub(crate) outcome: CallOutcome,
}

impl Recording {
    /// The recording of a pass, as it was: with whatever Secrets it saw.
    pub(crate) fn new(made: Made<'_>) -> Self {
        let Made {
            plugin,
            function,
            object,
            attempt,
            transcript,
            outcome,
        } = made;
        let limits = plugin.limits();
        let json = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            plugin: Maker {
                name: plugin.name.to_string(),
                version: plugin.description.version.clone(),
                digest: format!("sha256:{}", plugin.digest().hex()),
            },
            config: json(plugin.config()),
            limits: Limited {
                memory: limits.memory,
                cpu_ms: millis(limits.cpu),
                deadline_ms: millis(limits.deadline),
            },
            function,
            attempt,
            object: serde_json::from_str(object).unwrap_or_else(|_| object.into()),
            time: transcript.began.to_string(),
            seed: transcript
                .seed
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            calls: transcript.notes,
            outcome,
            seed_hidden: false,
            hidden_values: 0,
            config_secrets: plugin.config_secrets().map(json),
        }
    }

    /// Takes the values of Secrets out.
    ///
    /// # Errors
    /// There are too many to look for.
    pub(crate) fn hide(&mut self) -> Result<(), &'static str> {
        let (mut seen, mut all) = (Values::default(), Values::default());
        let of_config = self.config_secrets.take().unwrap_or_default();
        let inputs = [&self.config, &self.object, &of_config];
        let reads = self.calls.iter().filter(|note| note.reads());
        let answers = reads.filter_map(|note| match &note.answer {
            Reply::Ok(answer) => Some(answer),
            Reply::Errors(_) => None,
        });
        inputs
            .into_iter()
            .chain(answers)
            .for_each(|it| seen.collect(it));
        for note in &self.calls {
            all.collect(&note.arguments);
            if let Reply::Ok(answer) = &note.answer {
                all.collect(answer);
            }
        }
        inputs.into_iter().for_each(|it| all.collect(it));
        if all.too_many() {
            return Err("it holds too many values of Secrets");
        }
        if !all.are_among(&seen) {
            self.seed = "0".repeat(64);
            self.seed_hidden = true;
        }
        self.hidden_values = all.count();
        if self.hidden_values == 0 {
            return Ok(());
        }
        let hider = all.hider();
        hider.hide(&mut self.config);
        hider.hide(&mut self.object);
        for note in &mut self.calls {
            hider.hide(&mut note.arguments);
            match &mut note.answer {
                Reply::Ok(answer) => hider.hide(answer),
                Reply::Errors(problems) => {
                    let texts = problems.iter_mut().filter_map(|it| it.text.as_mut());
                    texts.for_each(|text| *text = hider.text(text));
                    let statuses = problems.iter_mut().filter_map(|it| it.status.as_mut());
                    let causes = statuses.flat_map(|status| &mut status.causes);
                    causes.for_each(|cause| *cause = hider.text(cause));
                }
            }
        }
        let outcome = std::mem::replace(&mut self.outcome, CallOutcome::Returned(String::new()));
        self.outcome = outcome.hidden(|text| hider.text(text));
        Ok(())
    }

    /// Reads a recording.
    ///
    /// # Errors
    /// It cannot be read, or is something else.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let shown = file.display();
        let about = fs::metadata(file).with_context(|| format!("cannot read {shown}"))?;
        if about.len() > LARGEST {
            bail!("{shown}: no recording is larger than {} MiB", LARGEST >> 20);
        }
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
        let head: RecordingHead = serde_json::from_str(&text)
            .with_context(|| format!("{shown} is not a recording of a pass"))?;
        let RecordingHead { api_version, kind } = head;
        if (&*api_version, &*kind) != (API_VERSION, KIND) {
            bail!(
                "{shown}: holds a {} of {}; this windlass plays {KIND} of {API_VERSION}: record the pass again",
                clean_lines(&kind, 64),
                clean_lines(&api_version, 64)
            );
        }
        let recording: Self = serde_json::from_str(&text)
            .with_context(|| format!("{shown} cannot be played: record the pass again"))?;
        recording
            .transcript()
            .with_context(|| format!("{shown} cannot be played"))?;
        Ok(recording)
    }

    /// What the host answered, to be played.
    pub fn transcript(&self) -> anyhow::Result<Transcript> {
        let began: Timestamp = self.time.parse().context("time is not a timestamp")?;
        let digits = self.seed.as_bytes().chunks_exact(2).map(|pair| {
            let pair = str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        });
        let seed: Option<Vec<u8>> = digits.collect();
        let seed = seed.and_then(|seed| <[u8; 32]>::try_from(seed).ok());
        let seed = seed.context("seed is not 64 hexadecimal digits")?;
        Ok(Transcript::new(began, seed, self.calls.clone()))
    }

    /// What the call could use.
    pub fn limits(&self) -> Limits {
        let Limited {
            memory,
            cpu_ms,
            deadline_ms,
        } = self.limits;
        Limits {
            memory: memory.min(windlass_policy::manifest::MOST_MEMORY),
            cpu: Duration::from_millis(cpu_ms).min(Duration::from_secs(60)),
            deadline: Duration::from_millis(deadline_ms).min(Duration::from_secs(600)),
            ..Limits::default()
        }
    }

    /// The object, as the plugin is given it.
    pub fn object(&self) -> String {
        match &self.object {
            Value::String(text) => text.clone(),
            object => object.to_string(),
        }
    }

    /// The object's name.
    pub fn node(&self) -> ObjectRef {
        let head = self.head();
        let text = |pointer: &str| head.pointer(pointer).and_then(Value::as_str);
        let name = |pointer: &str| text(pointer).unwrap_or_default().to_owned();
        ObjectRef {
            kind: name("/kind"),
            namespace: text("/metadata/namespace").map(str::to_owned),
            name: name("/metadata/name"),
        }
    }

    /// The object's generation.
    pub fn generation(&self) -> Option<i64> {
        self.head().pointer("/metadata/generation")?.as_i64()
    }

    /// What says which object it is.
    fn head(&self) -> Cow<'_, Value> {
        let Value::String(text) = &self.object else {
            return Cow::Borrowed(&self.object);
        };
        let parts = RawFields::of(text).unwrap_or_default();
        let head = parts.tree(|name| matches!(name, "kind" | "metadata"));
        Cow::Owned(Value::Object(head.unwrap_or_default()))
    }
}

/// What a document says of itself.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RecordingHead {
    api_version: String,
    kind: String,
}

impl CallOutcome {
    /// How `reconcile` ended.
    pub fn of_reconcile(answer: &Result<Action, CallError>, output: &str) -> Self {
        match answer {
            Ok(Action::AwaitChange) => Self::Returned("awaitChange".into()),
            Ok(Action::RequeueAfter(millis)) => Self::Returned(format!("requeueAfter {millis} ms")),
            Err(error) => Self::failed(error, output),
        }
    }

    /// How `finalize` ended.
    pub fn of_finalize(answer: &Result<Progress, CallError>, output: &str) -> Self {
        match answer {
            Ok(Progress::Done) => Self::Returned("done".into()),
            Ok(Progress::Pending(millis)) => Self::Returned(format!("pending {millis} ms")),
            Err(error) => Self::failed(error, output),
        }
    }

    /// With its texts as `hide` makes them.
    pub fn hidden(self, hide: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Returned(answer) => Self::Returned(answer),
            Self::Failed {
                reason,
                message,
                output,
            } => Self::Failed {
                reason,
                message: hide(&message),
                output: hide(&output),
            },
        }
    }

    /// A call that failed.
    pub(crate) fn failed(error: &CallError, output: &str) -> Self {
        let message = match error {
            CallError::Failed(Failure::Transient(text) | Failure::Terminal(text)) => text.clone(),
            error => error.to_string(),
        };
        Self::Failed {
            reason: error.kind().label().to_owned(),
            message,
            output: output.trim().to_owned(),
        }
    }
}

/// How a recording is played, for a shell.
pub fn command(recording: &Path) -> String {
    let path = recording.display().to_string();
    format!("windlass replay {}", shell_word(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_the_path_as_it_is() {
        let cases = [
            (
                ".windlass/failures/a/bob-2.json",
                "windlass replay .windlass/failures/a/bob-2.json",
            ),
            ("a b/it's.json", r"windlass replay 'a b/it'\''s.json'"),
        ];
        for (path, want) in cases {
            assert_eq!(command(Path::new(path)), want);
        }
    }
}
