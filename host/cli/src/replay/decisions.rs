//! What a plugin decided in a pass: what it wrote, and how it ended.

use serde::Serialize;
use serde_json::{Map, Value};

use windlass_base::text::{counted, difference as lines};
use windlass_controller::recording::{CallOutcome, Recording};
use windlass_sandbox::transcript::ImportCall;

/// The decisions of a pass, in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Decisions {
    /// Each write, and each Event: its name, and what was given.
    writes: Vec<Value>,
    /// Reads that the recording does not know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_recorded: Vec<Value>,
    #[serde(flatten)]
    outcome: CallOutcome,
}

impl Decisions {
    /// Those of the recorded pass.
    pub(super) fn recorded(recording: &Recording) -> Self {
        let writes = recording.calls.iter().filter(|note| !note.reads());
        Self {
            writes: writes.map(call_json).collect(),
            not_recorded: Vec::new(),
            outcome: recording.outcome.clone(),
        }
    }

    /// Those of a pass that asked for these things beside reads of the recording.
    pub(super) fn of(asked: &[ImportCall], outcome: CallOutcome) -> Self {
        let (reads, writes): (Vec<&ImportCall>, Vec<&ImportCall>) =
            asked.iter().partition(|note| note.reads());
        Self {
            writes: writes.into_iter().map(call_json).collect(),
            not_recorded: reads.into_iter().map(call_json).collect(),
            outcome,
        }
    }

    /// A note about a pass that read an object which the recording lacks: from there on the pass differs.
    pub(super) fn beyond(&self, recorded: &Self) -> Option<String> {
        if self.not_recorded.is_empty() {
            return None;
        }
        let mut text = format!(
            "the component read more than the recording has ({}), so its pass cannot be followed to the end",
            counted(self.not_recorded.len(), "read")
        );
        if matches!(recorded.outcome, CallOutcome::Failed { .. }) {
            let came_again = recorded.outcome == self.outcome;
            text.push_str(if came_again {
                ": it failed as in the recording"
            } else {
                ": up to there, the recorded failure did not come again"
            });
        }
        text.push_str(". `windlass test` with a fixture of this object shows the whole pass\n");
        Some(text)
    }

    /// In a few words.
    pub(super) fn summary(&self) -> String {
        let writes = counted(self.writes.len(), "write");
        match &self.outcome {
            CallOutcome::Returned(answer) => format!("{writes}, then {answer}"),
            CallOutcome::Failed {
                reason,
                message,
                output,
            } => {
                let output = if output.is_empty() {
                    String::new()
                } else {
                    format!("\n  {}", output.replace('\n', "\n  "))
                };
                let failure = match &**reason {
                    "transient" | "terminal" => format!("a {reason} failure: {message}"),
                    _ => message.clone(),
                };
                format!("{writes}, then {failure}{output}")
            }
        }
    }
}

/// `apply: { object: … }`.
fn call_json(note: &ImportCall) -> Value {
    let mut said = Map::new();
    said.insert(note.call.clone(), note.arguments.clone());
    Value::Object(said)
}

/// The lines that differ: `-` what was recorded, `+` what is decided now.
pub(super) fn difference(recorded: &Decisions, replayed: &Decisions) -> String {
    let yaml = |decisions: &Decisions| {
        let text = serde_saphyr::to_string(decisions);
        text.unwrap_or_else(|error| format!("it is not YAML: {error}\n"))
    };
    lines(&yaml(recorded), &yaml(replayed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use windlass_sandbox::transcript::Reply;

    #[test]
    fn a_pass_that_reads_more_than_was_recorded_is_told_apart() {
        let read = |name: &str| ImportCall {
            call: name.into(),
            arguments: Value::Null,
            answer: Reply::Ok(Value::Null),
        };
        let failed = |reason: &str| CallOutcome::Failed {
            reason: reason.into(),
            message: "it ended".into(),
            output: String::new(),
        };
        let trapped = Decisions::of(&[], failed("trap"));
        assert_eq!(trapped.beyond(&trapped), None);
        let rows = [
            (
                failed("transient"),
                "the recorded failure did not come again. ",
            ),
            (failed("trap"), "it failed as in the recording. "),
        ];
        for (outcome, want) in rows {
            let again = Decisions::of(&[read("get"), read("list")], outcome);
            let text = again.beyond(&trapped).unwrap();
            assert!(text.contains("has (2 reads), so"), "{text}");
            assert!(text.contains(want), "{text}");
        }
    }

    #[test]
    fn writes_and_the_end_are_what_differs_and_reads_are_not() {
        let note = |call: &str, at: u8| ImportCall {
            call: call.into(),
            arguments: json!({ "object": { "at": at } }),
            answer: Reply::Ok(Value::Null),
        };
        let returned = |text: &str| CallOutcome::Returned(text.into());
        let made = |notes: &[ImportCall], text: &str| Decisions::of(notes, returned(text));
        let one = made(&[note("apply", 1)], "awaitChange");
        assert_eq!(one, made(&[note("apply", 1)], "awaitChange"));
        assert_eq!(one.summary(), "1 write, then awaitChange");
        let other = made(&[note("apply", 2), note("get", 1)], "done");
        let got = difference(&one, &other);
        let lines = [
            "+     at: 2",
            "+ notRecorded:",
            "- returned: awaitChange",
            "+ returned: done",
        ];
        for line in lines {
            assert!(
                got.lines()
                    .any(|got| got.ends_with(&line[2..]) && got.starts_with(&line[..1])),
                "{line}: {got}"
            );
        }
    }
}
