//! What passes between a guest and its host in one call, noted, so that the call can be made again without a cluster.
//!
//! - The contract's words name what is noted: a note can be read beside `wit/`.
//! - The log is not part of it: nothing depends on what a guest logs.

mod player;
mod secrets;

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::import::{self, Effect, Import, Recordable};
pub use super::import::{RecordedError, RecordedStatus, Reply};
pub use player::Player;
pub use secrets::{Hider, Values};
use windlass_base::memory::{Account, Charge};

/// So many bytes of a call are noted; of one that goes beyond there is no recording.
const ROOM: usize = 8 << 20;

/// What a map takes that has something in it: a node of a B-tree.
const NODE: usize = 640;

/// One call of an import.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportCall {
    /// Its name: `get`, `apply-set`, `publish`.
    pub call: String,
    /// What the guest gave, by the contract's names.
    pub arguments: Value,
    /// What the host answered.
    pub answer: Reply,
}

impl ImportCall {
    /// Whether it only looks at the cluster.
    pub fn reads(&self) -> bool {
        import::about(&self.call).is_some_and(|about| about.effect == Effect::Read)
    }
}

/// A call that is noted while it runs. Clones are the same.
#[derive(Clone)]
pub struct CallRecorder(Arc<Mutex<Drafts>>);

struct Drafts {
    began: Timestamp,
    seed: [u8; 32],
    drafts: Vec<Draft>,
    bytes: usize,
    /// What the notes take. There is no recording of a call that its account has no room for.
    charge: Charge,
}

/// What a note is made of.
struct Draft {
    call: &'static str,
    spoken: Arguments,
    answer: Box<dyn FnOnce() -> Reply + Send>,
}

/// What a guest gave, in words that are made when somebody wants to read them: most calls end well, and nobody does.
pub(super) struct Arguments {
    /// About how many bytes it keeps until then.
    bytes: usize,
    say: Box<dyn FnOnce() -> Value + Send>,
}

impl Arguments {
    /// Those of `import`.
    pub(super) fn of(import: &impl Import) -> Self {
        let import = import.clone();
        Self {
            bytes: import.bytes(),
            say: Box::new(move || import.to_json()),
        }
    }

    /// The words.
    pub(super) fn into_json(self) -> Value {
        (self.say)()
    }
}

/// What a recorder has recorded.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// When the call began.
    pub began: Timestamp,
    /// Where its random numbers began.
    pub seed: [u8; 32],
    /// What it asked for, in order.
    pub notes: Vec<ImportCall>,
}

impl Transcript {
    /// Of a call that is known from elsewhere.
    pub fn new(began: Timestamp, seed: [u8; 32], notes: Vec<ImportCall>) -> Self {
        Self { began, seed, notes }
    }
}

impl CallRecorder {
    /// A call of nothing yet, whose notes count on `account`.
    pub fn on(account: &Account) -> Self {
        Self(Arc::new(Mutex::new(Drafts {
            began: Timestamp::UNIX_EPOCH,
            seed: [0; 32],
            drafts: Vec::new(),
            bytes: 0,
            charge: account.passing(),
        })))
    }

    /// The call begins.
    pub(super) fn begins(&self, now: Timestamp, seed: [u8; 32]) {
        let mut held = self.0.lock();
        (held.began, held.seed) = (now, seed);
    }

    /// Notes that `call` was made with what was `spoken`, and answered so.
    pub(super) fn note<T>(&self, call: &'static str, spoken: Arguments, answer: &T)
    where
        T: Recordable + Clone + Send + 'static,
    {
        let mut held = self.0.lock();
        let bytes = 64 + spoken.bytes + answer.bytes();
        let refused = held.charge.grow(bytes).is_err();
        held.bytes = if refused {
            usize::MAX
        } else {
            held.bytes.saturating_add(bytes)
        };
        if held.bytes > ROOM {
            held.drafts.clear();
            held.charge.set(0);
            return;
        }
        let answer = answer.clone();
        held.drafts.push(Draft {
            call,
            spoken,
            answer: Box::new(move || answer.reply()),
        });
    }

    /// What was noted; none if it was too much, as text or as what stands in it.
    pub fn take(&self) -> Option<Transcript> {
        let mut held = self.0.lock();
        let drafts = std::mem::take(&mut held.drafts);
        if std::mem::take(&mut held.bytes) > ROOM {
            return None;
        }
        let (mut notes, mut bytes) = (Vec::new(), 0);
        for draft in drafts {
            let note = ImportCall {
                call: draft.call.to_owned(),
                arguments: draft.spoken.into_json(),
                answer: (draft.answer)(),
            };
            bytes += size(&note);
            if bytes > ROOM {
                return None;
            }
            notes.push(note);
        }
        Some(Transcript::new(held.began, held.seed, notes))
    }
}

/// About how many bytes a note takes.
fn size(note: &ImportCall) -> usize {
    let answer = match &note.answer {
        Reply::Ok(value) => weight(value),
        Reply::Errors(errors) => errors.len() * 64,
    };
    64 + weight(&note.arguments) + answer
}

fn weight(value: &Value) -> usize {
    let inner: usize = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) if fields.is_empty() => 0,
        Value::Object(fields) => {
            let fields = fields.iter();
            NODE + fields
                .map(|(name, value)| name.len() + weight(value))
                .sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    32 + inner
}

/// An answer of nobody: what was asked for is not in the transcript.
pub(super) fn not_recorded() -> Reply {
    Reply::Errors(vec![RecordedError {
        index: None,
        code: "other".into(),
        text: Some("this was not recorded".into()),
        status: None,
    }])
}

/// What an object is called that is changed by a name alone.
fn bare(target: &Value) -> Value {
    let text = |name: &str| target.get(name).cloned().unwrap_or_default();
    json!({
        "apiVersion": text("apiVersion"), "kind": text("kind"),
        "metadata": { "name": text("name"), "namespace": text("namespace") },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::cluster::{Consistency, Error, ListQuery};
    use crate::import::{Apply, List};
    use windlass_base::memory::{Bounds, Budget};

    #[test]
    fn of_a_call_that_says_too_much_there_is_no_recording() {
        let recorder = CallRecorder::on(&Account::unlimited());
        let note = |text: String| {
            recorder.note(
                "apply",
                Arguments::of(&Apply::from(text)),
                &Ok::<_, Error>(()),
            )
        };
        note("a".repeat(ROOM / 3));
        assert_eq!(
            recorder.take().map(|transcript| transcript.notes.len()),
            Some(1)
        );
        for _ in 0..3 {
            note("a".repeat(ROOM / 3));
        }
        assert!(recorder.take().is_none());
        // Whatever it is that is long.
        for _ in 0..3 {
            let query = ListQuery {
                api_version: "v1".into(),
                kind: "a".repeat(ROOM / 3),
                namespace: None,
                label_selector: None,
                field_selector: None,
                limit: None,
                consistency: Consistency::Stored,
            };
            recorder.note(
                "list",
                Arguments::of(&List::from(query)),
                &Ok::<_, Error>(()),
            );
        }
        assert!(recorder.take().is_none());
    }

    #[test]
    fn what_is_short_as_text_and_large_as_a_tree_is_noted_as_text() {
        let recorder = CallRecorder::on(&Account::unlimited());
        let bomb = format!("[{}1]", "{\"\":0},".repeat(ROOM / 100));
        recorder.note(
            "apply",
            Arguments::of(&Apply::from(bomb.clone())),
            &Ok::<_, Error>(bomb.clone()),
        );
        let transcript = recorder.take().unwrap();
        let [note] = &transcript.notes[..] else {
            panic!("one note")
        };
        assert_eq!(note.arguments, json!({ "object": bomb }));
        assert_eq!(note.answer, Reply::Ok(bomb.into()));
    }

    #[test]
    fn of_a_call_whose_account_is_full_there_is_no_recording() {
        let (soft, hard) = (2 << 20, 3 << 20);
        let account = Account::new(Budget::new(usize::MAX), Bounds { soft, hard });
        let recorder = CallRecorder::on(&account);
        let note = |text: String| {
            recorder.note(
                "apply",
                Arguments::of(&Apply::from(text)),
                &Ok::<_, Error>(()),
            )
        };
        note("a".repeat(1 << 20));
        assert!(account.used() > 1 << 20);
        note("a".repeat(1 << 20));
        assert_eq!(account.used(), 0);
        note("a".into());
        assert!(recorder.take().is_none());
    }
}
