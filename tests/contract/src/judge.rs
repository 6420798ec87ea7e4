//! Judges one scenario: both servers' masked answers, and where they differ.

use std::fmt::Write as _;

use anyhow::Result;
use futures::future::try_join;
use serde_json::Value;

use crate::compare::{Difference, differences};
use crate::listed::Listed;
use crate::mask::Masks;
use crate::play::{Entry, play};
use crate::scenario::Scenario;
use crate::server::Server;

/// How many characters of an answer a report shows.
const LONGEST: usize = 4000;

/// What came of one scenario.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// `row/name`.
    pub scenario: String,
    /// What the scenario shows.
    pub shows: String,
    /// What is wrong, ready to be read; empty if nothing is.
    pub faults: Vec<String>,
}

/// Plays a scenario on both servers at once, and compares their answers.
///
/// # Errors
/// A server does not even make a namespace.
pub async fn judge(
    servers: [&Server; 2],
    scenario: &Scenario,
    masks: &Masks,
    listed: &[Listed],
) -> Result<Verdict> {
    let [first, second] = servers;
    let answers = try_join(
        answers(first, scenario, masks),
        answers(second, scenario, masks),
    );
    let (a, b) = answers.await?;
    Ok(compared(
        scenario,
        [&first.name, &second.name],
        [&a, &b],
        listed,
    ))
}

/// Plays a scenario on one server, and masks its answers.
///
/// # Errors
/// The server does not even make a namespace.
pub async fn answers(server: &Server, scenario: &Scenario, masks: &Masks) -> Result<Vec<Entry>> {
    Ok(masks.apply(play(server, scenario).await?))
}

/// Compares what two servers answered in a scenario.
pub fn compared(
    scenario: &Scenario,
    names: [&str; 2],
    answers: [&[Entry]; 2],
    listed: &[Listed],
) -> Verdict {
    let [first, second] = answers;
    Verdict {
        scenario: scenario.title(),
        shows: scenario.shows.clone(),
        faults: faults(&scenario.title(), names, first, second, listed),
    }
}

/// What is wrong with two masked transcripts: broken steps, differences that are not listed, listed ones
/// that are not there.
fn faults(
    scenario: &str,
    names: [&str; 2],
    first: &[Entry],
    second: &[Entry],
    listed: &[Listed],
) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = vec![false; listed.len()];
    for (index, (a, b)) in first.iter().zip(second).enumerate() {
        let step = index + 1;
        let mut unlisted = differences(&a.answer, &b.answer);
        unlisted.retain(|difference| {
            let mut covered = false;
            for (listed, seen) in listed.iter().zip(&mut seen) {
                if listed.covers(scenario, step, difference) {
                    *seen = true;
                    covered = true;
                }
            }
            !covered
        });
        let problems = [(names[0], &a.problem), (names[1], &b.problem)];
        if !unlisted.is_empty() || problems.iter().any(|(_, problem)| problem.is_some()) {
            faults.push(shown(step, names, a, b, &unlisted));
        }
    }
    for (listed, _) in listed.iter().zip(seen).filter(|(_, seen)| !seen) {
        if listed.scenario == scenario {
            let Listed { step, path, .. } = listed;
            faults.push(format!(
                "step {step}: {path} is listed as a difference, and is none"
            ));
        }
    }
    faults
}

/// One differing step, for people.
fn shown(step: usize, names: [&str; 2], a: &Entry, b: &Entry, found: &[Difference]) -> String {
    let mut text = format!("step {step}: {}\n", a.title);
    for (name, entry) in names.iter().zip([a, b]) {
        if let Some(problem) = &entry.problem {
            let _ = writeln!(text, "  {name} fails: {problem}");
        }
    }
    for difference in found {
        let _ = writeln!(text, "  at {}", difference.pointer());
        for (name, value) in names.iter().zip([&difference.first, &difference.second]) {
            let value = value
                .as_ref()
                .map_or("(nothing)".to_owned(), Value::to_string);
            let _ = writeln!(text, "    {name:>8}: {value}");
        }
    }
    if !found.is_empty() {
        for (name, entry) in names.iter().zip([a, b]) {
            let _ = writeln!(text, "  {name} answers {}", brief(&entry.answer));
        }
    }
    text
}

/// A document on one line, cut where nobody reads on.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(answer: Value) -> Entry {
        Entry {
            title: "GET /x".to_owned(),
            answer,
            ..Entry::default()
        }
    }

    #[test]
    fn only_listed_differences_are_accepted_and_they_must_be_there() {
        let listed = crate::listed::parse(
            "- { scenario: a/b, step: 1, path: /body/x, reason: for some long reason }",
        )
        .unwrap();
        let faults = |x: i32, y: i32, listed| {
            let second = entry(json!({ "body": { "x": x, "y": y } }));
            let first = entry(json!({ "body": { "x": 1, "y": 1 } }));
            faults("a/b", ["a", "b"], &[first], &[second], listed).len()
        };
        assert_eq!(faults(1, 1, &[]), 0);
        assert_eq!(faults(2, 1, &[]), 1);
        assert_eq!(faults(2, 1, &listed), 0);
        assert_eq!(faults(2, 2, &listed), 1);
        assert_eq!(faults(1, 1, &listed), 1);
    }

    #[test]
    fn a_step_that_fails_alike_on_both_is_a_fault_too() {
        let mut broken = entry(Value::Null);
        broken.problem = Some("waited in vain".to_owned());
        let found = faults("a/b", ["a", "b"], &[broken.clone()], &[broken], &[]);
        assert_eq!(found.len(), 1);
    }
}
