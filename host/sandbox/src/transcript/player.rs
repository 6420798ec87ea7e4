//! Answers a guest from what was noted of an earlier call.
//!
//! - A read is answered as it was, in whatever order it is asked for: what is there does not depend on who looks first.
//! - A write is answered as the same write was. One that was not made is answered as if it had been carried out: the
//!   rest of the call is to be seen.

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;

use super::{Hider, ImportCall, Transcript, Values, bare, not_recorded};
use crate::import::{self, Assumed, Effect, Reply, answer};

/// So many calls of imports are kept of a call that is made again.
const CALLS: usize = 100_000;

/// A recording that is played. Clones are the same.
#[derive(Clone)]
pub struct Player {
    began: Timestamp,
    seed: [u8; 32],
    play: Arc<Mutex<Play>>,
}

#[derive(Default)]
struct Play {
    /// Each with whether it was given.
    reads: Vec<(ImportCall, bool)>,
    /// Those that were not made again so far.
    writes: Vec<ImportCall>,
    /// What was asked for this time, but for reads that were answered.
    asked: Vec<ImportCall>,
    /// What is hidden in a recording, and made again by the guest.
    secrets: Values,
    hider: Option<Hider>,
}

impl Player {
    /// Plays `transcript`.
    pub fn new(transcript: Transcript) -> Self {
        let (reads, writes): (Vec<ImportCall>, Vec<ImportCall>) =
            transcript.notes.into_iter().partition(ImportCall::reads);
        let play = Play {
            reads: reads.into_iter().map(|note| (note, false)).collect(),
            writes,
            asked: Vec::new(),
            secrets: Values::default(),
            hider: None,
        };
        Self {
            began: transcript.began,
            seed: transcript.seed,
            play: Arc::new(Mutex::new(play)),
        }
    }

    /// When the call began, and where its random numbers did.
    pub(crate) fn moment(&self) -> (Timestamp, [u8; 32]) {
        (self.began, self.seed)
    }

    /// Answers a call.
    pub(crate) fn answer(&self, call: &str, mut arguments: Value) -> Reply {
        let mut play = self.play.lock();
        let known = play.secrets.count();
        play.secrets.collect(&arguments);
        if play.secrets.count() > known {
            play.hider = Some(play.secrets.hider());
        }
        if let Some(hider) = &play.hider {
            hider.hide(&mut arguments);
        }
        let mut note = ImportCall {
            call: call.to_owned(),
            arguments,
            answer: not_recorded(),
        };
        if note.reads() {
            if let Some(answer) = play.read(&note) {
                return answer;
            }
        } else {
            note.answer = play.write(&note);
        }
        let answer = note.answer.clone();
        if play.asked.len() < CALLS {
            play.asked.push(note);
        }
        answer
    }

    /// What was asked for this time, in order: writes, and reads that are not in the transcript. Values of Secrets are
    /// hidden as in a recording.
    pub fn import_calls(&self) -> Vec<ImportCall> {
        let play = self.play.lock();
        let mut asked = play.asked.clone();
        if let Some(hider) = &play.hider {
            let arguments = asked.iter_mut().map(|note| &mut note.arguments);
            arguments.for_each(|arguments| hider.hide(arguments));
        }
        asked
    }

    /// A text of the guest, with the same values hidden.
    pub fn hidden(&self, text: &str) -> String {
        let play = self.play.lock();
        let hider = play.hider.as_ref();
        hider.map_or_else(|| text.to_owned(), |hider| hider.text(text))
    }
}

impl Play {
    /// The answer to the same read: each in its turn, the last one forever.
    fn read(&mut self, note: &ImportCall) -> Option<Reply> {
        let is_same =
            |held: &ImportCall| held.call == note.call && held.arguments == note.arguments;
        let mut reads = self.reads.iter_mut();
        if let Some((held, given)) = reads.find(|(held, given)| !*given && is_same(held)) {
            *given = true;
            return Some(held.answer.clone());
        }
        // From wherever it came, it is what was there.
        let wanted = wherever(&note.arguments);
        let is_alike =
            |held: &ImportCall| held.call == note.call && wherever(&held.arguments) == wanted;
        let last = |is: &dyn Fn(&ImportCall) -> bool| {
            let mut reads = self.reads.iter().rev();
            reads
                .find(|(held, _)| is(held))
                .map(|(held, _)| held.answer.clone())
        };
        last(&is_same).or_else(|| last(&is_alike))
    }

    /// The answer to the same write, or the one of a server that agrees.
    fn write(&mut self, note: &ImportCall) -> Reply {
        let mut writes = self.writes.iter();
        let same =
            writes.position(|held| held.call == note.call && held.arguments == note.arguments);
        if let Some(same) = same {
            return self.writes.remove(same).answer;
        }
        let given = |name: &str| note.arguments.get(name).cloned().unwrap_or_default();
        let effect = import::about(&note.call).map(|about| about.effect);
        if effect == Some(Effect::Send) {
            return not_recorded();
        }
        Reply::Ok(match effect {
            Some(Effect::Write(Assumed::Given(name))) => given(name),
            Some(Effect::Write(Assumed::ReadBefore(name))) => self.read_before(&given(name)),
            Some(Effect::Write(Assumed::EachGiven(name))) => answer::all_done(list(given(name))),
            Some(Effect::Write(Assumed::NothingForEach(name))) => {
                let nothing = list(given(name)).iter().map(|_| Value::Null).collect();
                answer::all_done(nothing)
            }
            Some(Effect::Write(Assumed::Nothing) | Effect::Read | Effect::Send) | None => {
                Value::Null
            }
        })
    }

    /// An object as it was read.
    fn read_before(&self, target: &Value) -> Value {
        let mut reads = self.reads.iter().rev();
        let read = reads.find_map(|(held, _)| match &held.answer {
            Reply::Ok(object) if held.arguments.get("target") == Some(target) => Some(object),
            _ => None,
        });
        read.cloned().unwrap_or_else(|| bare(target))
    }
}

/// The items of a list; none of what is not one.
fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// The same read, but for where it is answered.
fn wherever(arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    if let Value::Object(fields) = &mut arguments {
        fields.remove("consistency");
        if let Some(Value::Object(query)) = fields.get_mut("query") {
            query.remove("consistency");
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn note(call: &str, arguments: Value, answer: Value) -> ImportCall {
        ImportCall {
            call: call.into(),
            arguments,
            answer: Reply::Ok(answer),
        }
    }

    fn get(name: &str, consistency: &str) -> Value {
        json!({ "target": { "name": name }, "consistency": consistency })
    }

    fn player() -> Player {
        Player::new(Transcript {
            notes: vec![
                note("get", get("a", "stored"), json!({ "at": 1 })),
                note(
                    "apply",
                    json!({ "object": { "x": 1 } }),
                    json!({ "x": 1, "uid": "u" }),
                ),
                note("get", get("b", "stored"), json!({ "at": 2 })),
                note("get", get("a", "stored"), json!({ "at": 3 })),
            ],
            ..Transcript::default()
        })
    }

    #[test]
    fn reads_are_answered_in_any_order_and_again() {
        let player = player();
        let asked = [
            ("b", "stored", 2),
            ("a", "stored", 1),
            ("a", "stored", 3),
            ("a", "stored", 3),
            ("b", "latest", 2),
        ];
        for (name, consistency, at) in asked {
            let answer = player.answer("get", get(name, consistency));
            assert_eq!(answer, Reply::Ok(json!({ "at": at })), "{name}");
        }
        assert_eq!(player.import_calls(), []);
        assert_eq!(player.answer("get", get("c", "stored")), not_recorded());
        assert_eq!(player.import_calls().len(), 1);
    }

    #[test]
    fn a_write_that_was_made_is_answered_as_it_was_and_another_one_as_if_it_had_been() {
        let player = player();
        let apply = |object: Value| player.answer("apply", json!({ "object": object }));
        assert_eq!(apply(json!({ "x": 2 })), Reply::Ok(json!({ "x": 2 })));
        assert_eq!(
            apply(json!({ "x": 1 })),
            Reply::Ok(json!({ "x": 1, "uid": "u" }))
        );
        assert_eq!(
            apply(json!({ "x": 1 })),
            Reply::Ok(json!({ "x": 1 })),
            "it was made once"
        );
        let patched = |name: &str| player.answer("patch", json!({ "target": { "name": name } }));
        assert_eq!(patched("b"), Reply::Ok(json!({ "at": 2 })));
        assert!(matches!(patched("c"), Reply::Ok(Value::Object(_))));
        let created = player.answer(
            "create-many",
            json!({ "objects": [{ "x": 1 }, { "x": 2 }] }),
        );
        let want = json!([{ "ok": { "x": 1 } }, { "ok": { "x": 2 } }]);
        assert_eq!(created, Reply::Ok(want));
        let targets = json!({ "targets": [{ "target": { "name": "a" } }] });
        let done = Reply::Ok(json!([{ "ok": null }]));
        assert_eq!(player.answer("delete-many", targets.clone()), done);
        assert_eq!(player.answer("release-many", targets), done);
        let deleted = player.answer("delete", json!({ "target": { "name": "a" } }));
        assert_eq!(deleted, Reply::Ok(Value::Null));
        let asked: Vec<String> = player
            .import_calls()
            .into_iter()
            .map(|note| note.call)
            .collect();
        assert_eq!(
            asked,
            [
                "apply",
                "apply",
                "apply",
                "patch",
                "patch",
                "create-many",
                "delete-many",
                "release-many",
                "delete"
            ]
        );
    }
}
