//! What passes between a guest and its host in one call, noted, so that the call can be made again without a cluster.
//!
//! - The contract's words name what is noted: a note can be read beside `wit/`.
//! - The log is no part of it: nothing depends on what a guest logs.

mod player;
mod secrets;
pub(super) mod words;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::bindings::cluster::{Error, SetError};
pub use player::Player;
pub use secrets::{Hider, Values};

/// So many bytes of a call are noted; of one that goes beyond there is no recording.
const ROOM: usize = 8 << 20;

/// What a map takes that has something in it: a node of a B-tree.
const NODE: usize = 640;

/// One call of an import.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Its name: `get`, `apply-set`, `publish`.
    pub call: String,
    /// What the guest gave, by the contract's names.
    pub arguments: Value,
    /// What the host answered.
    pub answer: Reply,
}

impl Note {
    /// Whether it only looks at the cluster.
    pub fn reads(&self) -> bool {
        matches!(&*self.call, "get" | "list")
    }
}

/// What a host answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// It was carried out; objects are JSON, not text.
    Ok(Value),
    /// It was not.
    Errors(Vec<Problem>),
}

/// An error as the contract names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Problem {
    /// Which object of a set, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// `not-found`, `denied`, `conflict`, `invalid`, `gone`, `unavailable` or `other`.
    pub code: String,
    /// The text of the last two and of `invalid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A call that is noted while it runs. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Tape(Arc<Mutex<Reel>>);

/// What is on a tape.
#[derive(Clone, Debug, Default)]
pub struct Reel {
    /// When the call began.
    pub began: Timestamp,
    /// Where its random numbers began.
    pub seed: [u8; 32],
    /// What it asked for, in order.
    pub notes: Vec<Note>,
    bytes: usize,
}

impl Reel {
    /// Of a call that is known from elsewhere.
    pub fn new(began: Timestamp, seed: [u8; 32], notes: Vec<Note>) -> Self {
        Self {
            began,
            seed,
            notes,
            bytes: 0,
        }
    }
}

impl Tape {
    /// The call begins.
    pub(super) fn begins(&self, now: Timestamp, seed: [u8; 32]) {
        let mut reel = self.held();
        (reel.began, reel.seed) = (now, seed);
    }

    /// Notes a call that took about so many `bytes` to say.
    pub(super) fn note(&self, note: Note) {
        let mut reel = self.held();
        reel.bytes = reel.bytes.saturating_add(size(&note));
        if reel.bytes <= ROOM {
            reel.notes.push(note);
        }
    }

    /// What was noted; none if it was too much.
    pub fn take(&self) -> Option<Reel> {
        let reel = std::mem::take(&mut *self.held());
        (reel.bytes <= ROOM).then_some(reel)
    }

    fn held(&self) -> MutexGuard<'_, Reel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About how many bytes a note takes.
fn size(note: &Note) -> usize {
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

/// An answer that can be noted, and given again from a note.
pub(super) trait Noted: Sized {
    /// As it is noted.
    fn reply(&self) -> Reply;

    /// What was noted; none if the note is of something else.
    fn from_reply(reply: Reply) -> Option<Self>;
}

/// A part of an answer.
pub(super) trait Part: Sized {
    fn said(&self) -> Value;
    fn heard(value: Value) -> Option<Self>;
}

/// An object.
impl Part for String {
    fn said(&self) -> Value {
        words::object(self)
    }

    fn heard(value: Value) -> Option<Self> {
        Some(match value {
            Value::String(text) => text,
            value => value.to_string(),
        })
    }
}

impl Part for Vec<String> {
    fn said(&self) -> Value {
        self.iter().map(Part::said).collect()
    }

    fn heard(value: Value) -> Option<Self> {
        match value {
            Value::Array(items) => items.into_iter().map(String::heard).collect(),
            _ => None,
        }
    }
}

impl Part for () {
    fn said(&self) -> Value {
        Value::Null
    }

    fn heard(_: Value) -> Option<Self> {
        Some(())
    }
}

impl<T: Part> Noted for Result<T, Error> {
    fn reply(&self) -> Reply {
        match self {
            Ok(part) => Reply::Ok(part.said()),
            Err(error) => Reply::Errors(vec![Problem::of(None, error)]),
        }
    }

    fn from_reply(reply: Reply) -> Option<Self> {
        Some(match reply {
            Reply::Ok(value) => Ok(T::heard(value)?),
            Reply::Errors(errors) => Err(errors.first()?.error()?),
        })
    }
}

impl<T: Part> Noted for Result<T, Vec<SetError>> {
    fn reply(&self) -> Reply {
        match self {
            Ok(part) => Reply::Ok(part.said()),
            Err(errors) => {
                let problems = errors.iter();
                let problems = problems.map(|error| Problem::of(error.index, &error.error));
                Reply::Errors(problems.collect())
            }
        }
    }

    fn from_reply(reply: Reply) -> Option<Self> {
        Some(match reply {
            Reply::Ok(value) => Ok(T::heard(value)?),
            Reply::Errors(problems) => {
                let errors = problems.iter().map(|problem| {
                    let (index, error) = (problem.index, problem.error()?);
                    Some(SetError { index, error })
                });
                Err(errors.collect::<Option<_>>()?)
            }
        })
    }
}

impl Problem {
    fn of(index: Option<u32>, error: &Error) -> Self {
        let text = match error {
            Error::Invalid(text) | Error::Other(text) => Some(text.clone()),
            Error::NotFound
            | Error::Denied
            | Error::Conflict
            | Error::Gone
            | Error::Unavailable => None,
        };
        Self {
            index,
            code: super::calls::word(error).to_owned(),
            text,
        }
    }

    fn error(&self) -> Option<Error> {
        let text = || self.text.clone().unwrap_or_default();
        Some(match &*self.code {
            "not-found" => Error::NotFound,
            "denied" => Error::Denied,
            "conflict" => Error::Conflict,
            "invalid" => Error::Invalid(text()),
            "gone" => Error::Gone,
            "unavailable" => Error::Unavailable,
            "other" => Error::Other(text()),
            _ => return None,
        })
    }
}

/// An answer of nobody: what was asked for is not on the tape.
fn not_recorded() -> Reply {
    Reply::Errors(vec![Problem {
        index: None,
        code: "other".into(),
        text: Some("this was not recorded".into()),
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

    #[test]
    fn answers_are_the_same_after_they_were_noted() {
        let errors = [
            Error::NotFound,
            Error::Denied,
            Error::Conflict,
            Error::Invalid("a".into()),
            Error::Gone,
            Error::Unavailable,
            Error::Other("b".into()),
        ];
        let again = |reply: Reply| {
            let text = serde_json::to_string(&reply).unwrap();
            serde_json::from_str::<Reply>(&text).unwrap()
        };
        for error in errors {
            let set = Err::<Vec<String>, _>(vec![SetError {
                index: Some(3),
                error: error.clone(),
            }]);
            let reply = set.reply();
            let back = Result::<Vec<String>, Vec<SetError>>::from_reply(again(reply.clone()));
            assert_eq!(back.map(|back| back.reply()), Some(reply));
            let reply = Err::<String, _>(error).reply();
            let back = Result::<String, Error>::from_reply(again(reply.clone()));
            assert_eq!(back.map(|back| back.reply()), Some(reply));
        }
        let list = Ok::<_, Error>(vec!["{\"a\":1}".to_owned(), "no JSON".to_owned()]);
        let back = Result::<Vec<String>, Error>::from_reply(again(list.reply()));
        assert!(matches!(&back, Some(Ok(items)) if *items == ["{\"a\":1}", "no JSON"]));
        let wrong = Reply::Errors(vec![Problem {
            index: None,
            code: "whatever".into(),
            text: None,
        }]);
        assert!(Result::<String, Error>::from_reply(wrong).is_none());
    }

    #[test]
    fn of_a_call_that_says_too_much_there_is_no_recording() {
        let note = |text: String| Note {
            call: "apply".into(),
            arguments: json!({ "object": text }),
            answer: Reply::Ok(Value::Null),
        };
        let tape = Tape::default();
        tape.note(note("a".repeat(ROOM / 2)));
        assert_eq!(tape.take().map(|reel| reel.notes.len()), Some(1));
        for _ in 0..3 {
            tape.note(note("a".repeat(ROOM / 2)));
        }
        assert!(tape.take().is_none());
    }
}
