//! What a plugin decided in a pass: what it wrote, and how it ended.

use serde::Serialize;
use serde_json::{Map, Value};

use windlass_host::plugin::transcript::ImportCall;
use windlass_host::recording::{CallOutcome, Recording};
use windlass_host::text::{counted, difference as lines};

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
    use windlass_host::plugin::transcript::Reply;

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
