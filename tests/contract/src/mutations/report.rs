//! How many runs there were, and where the servers differ, for people.

use std::fmt::{self, Display, Formatter};

use super::answer::{Answer, Apart, Run};

/// How many characters of a text are shown.
const LONGEST: usize = 400;

/// The runs of one kind.
#[derive(Debug)]
pub struct Tally {
    wanted: usize,
    /// How many were refused by the real server.
    pub refused: usize,
    /// How many it accepted.
    pub accepted: usize,
    /// Those in which the servers differ.
    pub differing: Vec<(Apart, Run)>,
}

/// The runs of all kinds.
#[derive(Debug, Default)]
pub struct Report {
    /// Each kind with its runs.
    pub kinds: Vec<(String, Tally)>,
}

impl Tally {
    pub(super) fn new(wanted: usize) -> Self {
        Self {
            wanted,
            refused: 0,
            accepted: 0,
            differing: Vec::new(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.refused + self.accepted >= self.wanted
    }

    /// Counts a run, unless there are enough that the real server answers like this.
    pub(super) fn count(&mut self, run: Run) {
        let half = self.wanted.div_ceil(2);
        let count = if run.real.is_refusal() {
            &mut self.refused
        } else {
            &mut self.accepted
        };
        if *count >= half {
            return;
        }
        *count += 1;
        if let Some(apart) = run.apart() {
            self.differing.push((apart, run));
        }
    }

    /// How many runs there were.
    pub fn runs(&self) -> usize {
        self.refused + self.accepted
    }

    fn apart(&self, how: Apart) -> usize {
        self.differing
            .iter()
            .filter(|(apart, _)| *apart == how)
            .count()
    }

    /// How many answers differ, beside what becomes of objects that both servers accept.
    pub fn different(&self) -> usize {
        self.differing.len() - self.apart(Apart::Object)
    }
}

impl Report {
    /// How many runs there were.
    pub fn runs(&self) -> usize {
        self.kinds.iter().map(|(_, tally)| tally.runs()).sum()
    }

    /// How many answers differ.
    pub fn different(&self) -> usize {
        self.kinds.iter().map(|(_, tally)| tally.different()).sum()
    }

    /// Every difference, with both answers.
    pub fn differences(&self) -> String {
        let mut text = String::new();
        for (kind, tally) in &self.kinds {
            for (apart, run) in &tally.differing {
                text.push_str(&shown(kind, *apart, run));
            }
        }
        text
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<26}{:>6}{:>9}{:>11}{:>9}{:>8}{:>7}{:>9}",
            "kind", "runs", "refused", "different", "verdict", "causes", "words", "objects"
        )?;
        for (kind, tally) in &self.kinds {
            let [verdict, causes, words, objects] =
                [Apart::Verdict, Apart::Causes, Apart::Words, Apart::Object]
                    .map(|how| tally.apart(how));
            writeln!(
                f,
                "{kind:<26}{:>6}{:>9}{:>11}{verdict:>9}{causes:>8}{words:>7}{objects:>9}",
                tally.runs(),
                tally.refused,
                tally.different(),
            )?;
        }
        let refused: usize = self.kinds.iter().map(|(_, tally)| tally.refused).sum();
        write!(
            f,
            "{:<26}{:>6}{refused:>9}{:>11}",
            "all",
            self.runs(),
            self.different()
        )
    }
}

fn shown(kind: &str, apart: Apart, run: &Run) -> String {
    let change = &run.change;
    let verb = if change.is_update { "update" } else { "create" };
    let to = change
        .to
        .as_ref()
        .map_or("(removed)".to_owned(), |value| cut(&value.to_string()));
    let mut text = format!("{apart:?}: {kind} {verb} {} = {to}\n", change.at);
    if apart == Apart::Object {
        for place in run.places() {
            text.push_str(&format!("    {}\n", cut(&place)));
        }
        return text;
    }
    for (name, answer, other) in [
        ("real", &run.real, &run.embedded),
        ("embedded", &run.embedded, &run.real),
    ] {
        text.push_str(&format!("  {name}: {} {}\n", answer.code, answer.reason));
        text.push_str(&only(answer, other));
    }
    text
}

/// The causes that only this server tells.
fn only(answer: &Answer, other: &Answer) -> String {
    let lines = answer.causes.difference(&other.causes);
    lines
        .map(|[field, reason, message]| format!("    {reason} {field}: {}\n", cut(message)))
        .collect()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
