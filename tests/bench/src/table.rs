//! The table that is printed, and how figures are written.

use std::fmt::Write;

use crate::contestant::Contestant;
use crate::results::{Results, Row};

/// The figures of a workload in a table of Markdown: a line for each figure, a column for each contestant.
pub(crate) fn markdown(results: &Results, workload: &str, figures: &[&str]) -> String {
    let figures = results.figures(workload, figures);
    let has = |one: &Contestant| {
        let mut rows = figures.iter().flat_map(|(_, rows)| rows);
        rows.any(|row| row.contestant == *one)
    };
    let columns: Vec<Contestant> = Contestant::ALL.into_iter().filter(has).collect();
    let mut out = String::from("| |");
    for column in &columns {
        let _ = write!(out, " {} |", column.name());
    }
    let _ = writeln!(out, "\n|---|{}", "---|".repeat(columns.len()));
    for (figure, rows) in &figures {
        let _ = write!(out, "| {figure} |");
        for column in &columns {
            let row = rows.iter().find(|row| row.contestant == *column);
            let cell = row.map_or_else(|| "–".into(), |row| cell(row, rows));
            let _ = write!(out, " {cell} |");
        }
        out.push('\n');
    }
    out
}

/// The middle of the rounds with the least and the most; of Windlass, also how often it is what comes first.
fn cell(row: &Row, rows: &[Row]) -> String {
    let summary = match &row.summary {
        Ok(summary) => summary,
        Err(failed) => {
            let why = failed.why.lines().next().unwrap_or_default();
            return format!("failed {} of {}: {why}", failed.times, failed.of);
        }
    };
    let [least, median, most] = [summary.least, summary.median, summary.most].map(number);
    let mut cell = format!("{median} ({least}–{most})");
    let first = rows.first().and_then(|first| first.summary.as_ref().ok());
    let is_compared = matches!(
        row.contestant,
        Contestant::Windlass | Contestant::WindlassPresent
    );
    if let Some(first) = first.filter(|_| is_compared)
        && first.median > 0.0
        && rows.len() > 1
    {
        let _ = write!(cell, " = {:.2}×", summary.median / first.median);
    }
    cell
}

/// A figure with three digits that say something.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contestant_that_failed_is_shown_as_failed() {
        let mut results = Results::default();
        let figures = ["time, s", "that nobody has"];
        let mut add = |contestant, round: Result<f64, &str>| {
            let round = round.map(|value| vec![("time, s", value)]);
            let figures = ["time, s"];
            results.add("greet", &figures, contestant, &round.map_err(str::to_owned));
        };
        add(Contestant::Floor, Ok(10.0));
        add(Contestant::KubeRs, Err("it ended\nwith words"));
        add(Contestant::Windlass, Ok(12.0));
        let table = "| | floor | kube-rs | Windlass |\n|---|---|---|---|\n\
            | time, s | 10.0 (10.0–10.0) | failed 1 of 1: it ended | 12.0 (12.0–12.0) = 1.20× |\n";
        assert_eq!(markdown(&results, "greet", &figures), table);
    }
}
