//! Compares the results of a call with a fixture.

use serde_json::Value;

use super::fixture::{Outcome, Then, Wrote};
use super::write::{Verb, Write};
use crate::query::ObjectRef;

/// Compares `outcome` with `then`; the error shows the first difference.
pub(super) fn check(then: &Then, primary: &ObjectRef, outcome: &Outcome) -> Result<(), String> {
    let (status, writes): (Vec<_>, Vec<_>) = outcome
        .writes
        .iter()
        .partition(|write| write.verb == Verb::ApplyStatus && write.target == *primary);
    if then.answer != outcome.answer {
        return Err(format!(
            "answer: want {:?}, got {:?}",
            then.answer, outcome.answer
        ));
    }
    let [want, got] = [&then.wake_at, &outcome.wake_at].map(|time| time.as_deref().map(plain_time));
    if want != got {
        return Err(format!("wakeAt: want {want:?}, got {got:?}"));
    }
    check_status(then.status.as_ref(), &status)?;
    for (at, (want, got)) in then.writes.iter().zip(&writes).enumerate() {
        check_write(want, got).map_err(|text| format!("writes[{at}]: {text}"))?;
    }
    if then.writes.len() != writes.len() {
        let got: Vec<_> = writes.iter().map(|write| title(write)).collect();
        return Err(format!(
            "writes: want {}, got {}: {got:?}",
            then.writes.len(),
            got.len()
        ));
    }
    Ok(())
}

/// A time in UTC without zeros at its end: `09:30:00.000Z` is `09:30:00Z`.
fn plain_time(time: &str) -> String {
    let time = time.trim_end_matches('Z');
    let time = match time.split_once('.') {
        Some((seconds, fraction)) => match fraction.trim_end_matches('0') {
            "" => seconds.to_owned(),
            fraction => format!("{seconds}.{fraction}"),
        },
        None => time.to_owned(),
    };
    time + "Z"
}

fn check_status(want: Option<&Value>, got: &[&Write]) -> Result<(), String> {
    match (want, got) {
        (None, []) => Ok(()),
        // Of several the last one stays.
        (Some(want), [.., last]) => match last.object.get("status") {
            Some(got) => differs(want, got, "status").map_or(Ok(()), Err),
            None => Err("status: want one, got an apply without it".to_owned()),
        },
        (want, got) => {
            let want = usize::from(want.is_some());
            let all: Vec<_> = got.iter().map(|write| write.object.get("status")).collect();
            Err(format!(
                "status: want it written {want} times, got {}: {all:?}",
                got.len()
            ))
        }
    }
}

fn check_write(want: &Wrote, got: &Write) -> Result<(), String> {
    let (verb, want) = match want {
        Wrote::Apply(object) => (Verb::Apply, object),
        Wrote::ApplyStatus(object) => (Verb::ApplyStatus, object),
        Wrote::Create(object) => (Verb::Create, object),
        Wrote::Patch(object) => (Verb::Patch, object),
        Wrote::Delete(object) => (Verb::Delete, object),
    };
    let same_title = |name: &str| name == got.target.to_string();
    match want {
        Value::String(name) if verb == got.verb && same_title(name) => Ok(()),
        Value::Object(_) | Value::Array(_) if verb == got.verb => {
            differs(want, &got.as_given(), "").map_or(Ok(()), Err)
        }
        _ => Err(format!("want {verb:?} {want}, got {}", title(got))),
    }
}

fn title(write: &Write) -> String {
    format!("{:?} {}", write.verb, write.target)
}

/// The first difference: where it is, and what is there on both sides.
fn differs(want: &Value, got: &Value, at: &str) -> Option<String> {
    match (want, got) {
        (Value::Object(wanted), Value::Object(given)) => {
            let names = wanted
                .keys()
                .chain(given.keys().filter(|name| !wanted.contains_key(*name)));
            names.into_iter().find_map(|name| {
                let at = format!("{at}.{name}");
                match (wanted.get(name), given.get(name)) {
                    (Some(want), Some(got)) => differs(want, got, &at),
                    (Some(want), None) => Some(format!("{at}: want {want}, got nothing")),
                    (None, got) => Some(format!("{at}: want nothing, got {}", got?)),
                }
            })
        }
        (Value::Array(wanted), Value::Array(given)) if wanted.len() == given.len() => {
            let mut pairs = wanted.iter().zip(given).enumerate();
            pairs.find_map(|(n, (want, got))| differs(want, got, &format!("{at}[{n}]")))
        }
        _ if want == got => None,
        _ => Some(format!("{at}: want {want}, got {got}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Answer;

    fn outcome() -> (ObjectRef, Outcome) {
        let primary = ObjectRef::new("x.dev/v1", "X", "default", "a");
        let child = ObjectRef::new("v1", "ConfigMap", "default", "a");
        let write = |verb, target: &ObjectRef, object| Write {
            verb,
            target: target.clone(),
            object,
        };
        let applied = json!({ "metadata": { "name": "a", "uid": "u" }, "data": { "k": "v" } });
        let writes = vec![
            write(Verb::Apply, &child, applied),
            write(Verb::ApplyStatus, &primary, json!({ "status": { "n": 1 } })),
            write(Verb::Delete, &child, Value::Null),
        ];
        (
            primary,
            Outcome {
                answer: Answer::AwaitChange,
                wake_at: None,
                writes,
            },
        )
    }

    #[test]
    fn a_time_to_wake_up_is_compared_as_a_time() {
        let rows = [
            (None, None, true),
            (Some("2026-11-21T09:30:10Z"), None, false),
            (None, Some("2026-11-21T09:30:10Z"), false),
            (
                Some("2026-11-21T09:30:10Z"),
                Some("2026-11-21T09:30:10.000Z"),
                true,
            ),
            (
                Some("2026-11-21T09:30:10.5Z"),
                Some("2026-11-21T09:30:10.500Z"),
                true,
            ),
            (
                Some("2026-11-21T09:30:10Z"),
                Some("2026-11-21T09:30:11Z"),
                false,
            ),
        ];
        let (primary, outcome) = outcome();
        for (want, got, same) in rows {
            let outcome = Outcome {
                wake_at: got.map(str::to_owned),
                writes: Vec::new(),
                ..outcome.clone()
            };
            let then = json!({ "answer": "awaitChange", "wakeAt": want });
            let then: Then = serde_json::from_value(then).unwrap();
            assert_eq!(
                check(&then, &primary, &outcome).is_ok(),
                same,
                "{want:?} {got:?}"
            );
        }
    }

    #[test]
    fn every_difference_is_found_and_shown() {
        let apply = json!({ "apply": { "metadata": { "name": "a" }, "data": { "k": "v" } } });
        let delete = json!({ "delete": "ConfigMap/default/a" });
        let other = json!({ "apply": { "metadata": { "name": "a" }, "data": { "k": "w" } } });
        let right = json!({ "n": 1 });
        let cases = [
            (json!([apply, delete]), right.clone(), ""),
            (
                json!([{ "apply": "ConfigMap/default/a" }, delete]),
                right.clone(),
                "",
            ),
            (
                json!([other, delete]),
                right.clone(),
                r#"writes[0]: .data.k: want "w", got "v""#,
            ),
            (
                json!([delete, apply]),
                right.clone(),
                "writes[0]: want Delete",
            ),
            (json!([apply]), right, "writes: want 1, got 2"),
            (
                json!([apply, delete]),
                json!({ "n": 2 }),
                "status.n: want 2, got 1",
            ),
            (
                json!([apply, delete]),
                json!({}),
                "status.n: want nothing, got 1",
            ),
            (
                json!([apply, delete]),
                Value::Null,
                "status: want it written 0 times, got 1",
            ),
        ];
        let (primary, outcome) = outcome();
        for (writes, status, want) in cases {
            let then = json!({ "answer": "awaitChange", "writes": writes, "status": status });
            let then: Then = serde_json::from_value(then).unwrap();
            let text = check(&then, &primary, &outcome).err().unwrap_or_default();
            assert!(
                text.starts_with(want) && text.is_empty() == want.is_empty(),
                "{text}"
            );
        }
    }
}
