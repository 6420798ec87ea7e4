//! The table of advisories.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::proof::Proof;

/// A row: one bug, under all its names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Advisory {
    /// Its names: `GHSA-…`, `RUSTSEC-…`, `CVE-…`.
    pub(crate) ids: Vec<String>,
    /// What it is about, and why it does not matter here.
    about: String,
    /// Tests in which a guest tries it: `path::name`.
    #[serde(default)]
    tests: Vec<String>,
    /// Lines without which it would be reachable: `path: text`.
    #[serde(default)]
    lines: Vec<String>,
    /// What would make it reachable, and is nowhere in a folder: `path: text`.
    #[serde(default)]
    absent: Vec<String>,
}

/// Advisories whose texts nobody could read: no proof is possible before that.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unread {
    /// The last four characters of their names, `GHSA-…-…-2674`.
    pub(crate) ends: Vec<String>,
    /// Where the texts were looked for.
    about: String,
    /// The version of wasmtime that was locked then. With another one they must be looked for again.
    looked_at: String,
}

impl Unread {
    /// The problem with the list once another version is locked.
    pub(crate) fn problems(&self, locked: &str, advisories: &[Advisory]) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.about.trim().is_empty() {
            wrong.push("unread.yaml: `about` says where the texts were looked for".to_owned());
        }
        if locked != self.looked_at && !self.ends.is_empty() {
            wrong.push(format!(
                "unread.yaml: wasmtime {locked} is locked, and the texts of {} were last looked for with {}: read them, \
                 and give each a row in advisories.yaml",
                self.ends.join(", "),
                self.looked_at
            ));
        }
        for end in &self.ends {
            let mut known = advisories.iter().flat_map(|advisory| &advisory.ids);
            if let Some(id) = known.find(|id| id.starts_with("GHSA-") && id.ends_with(end.as_str()))
            {
                wrong.push(format!("unread.yaml: {end} is {id}, which has a row"));
            }
            if !is_id(&format!("GHSA-xxxx-xxxx-{end}")) {
                wrong.push(format!("unread.yaml: {end} is not the end of an id"));
            }
        }
        wrong
    }
}

/// Reads the list of those that nobody could read.
pub(crate) fn read_unread(text: &str) -> Result<Unread> {
    serde_saphyr::from_str(text).context("tests/audit/unread.yaml")
}

impl Advisory {
    /// Its first name.
    pub(crate) fn name(&self) -> &str {
        self.ids.first().map_or("a row without ids", String::as_str)
    }

    /// Why it does not matter.
    pub(crate) fn proofs(&self) -> impl Iterator<Item = Proof<'_>> {
        let tests = self.tests.iter().map(|text| Proof::Test(text));
        let lines = self.lines.iter().map(|text| Proof::Line(text));
        let absent = self.absent.iter().map(|text| Proof::Absent(text));
        tests.chain(lines).chain(absent)
    }
}

/// Reads the table.
pub(crate) fn read(text: &str) -> Result<Vec<Advisory>> {
    serde_saphyr::from_str(text).context("tests/audit/advisories.yaml")
}

/// What is wrong with the table itself.
pub(crate) fn problems(advisories: &[Advisory]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    if advisories.is_empty() {
        wrong.push("the table of advisories is empty".into());
    }
    for advisory in advisories {
        let name = advisory.name();
        if advisory.ids.is_empty() || advisory.about.trim().is_empty() {
            wrong.push(format!("{name}: a row needs `ids` and `about`"));
        }
        if advisory.proofs().next().is_none() {
            wrong.push(format!(
                "{name} has no proof: name a hostile guest in `tests`, or in `lines` what makes it unreachable"
            ));
        }
        for id in &advisory.ids {
            if !is_id(id) {
                wrong.push(format!(
                    "{id} is not an id: GHSA-xxxx-xxxx-xxxx, RUSTSEC-2026-0001, CVE-2026-1"
                ));
            }
            if !seen.insert(id) {
                wrong.push(format!("{id} is there twice"));
            }
        }
    }
    wrong
}

fn is_id(id: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = id.split('-').collect();
    match *parts {
        ["GHSA", first, second, third] => [first, second, third]
            .iter()
            .all(|part| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_alphanumeric())),
        ["RUSTSEC" | "CVE", year, number] => digits(year) && digits(number),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(table: &str) -> String {
        problems(&read(table).unwrap()).join("\n")
    }

    #[test]
    fn a_row_has_names_that_occur_once_and_a_proof() {
        let good = "- { ids: [CVE-2026-1, GHSA-aaaa-bbbb-2222, RUSTSEC-2026-0570], about: x, lines: ['a: b'] }";
        assert_eq!(said(good), "");
        for (table, want) in [
            ("[]", "is empty"),
            (
                "- { ids: [CVE-2026-1], about: x }",
                "CVE-2026-1 has no proof",
            ),
            ("- { ids: [], about: x, lines: ['a: b'] }", "needs `ids`"),
            (
                "- { ids: [CVE-2026-1], about: ' ', lines: ['a: b'] }",
                "and `about`",
            ),
            (
                "- { ids: [GHSA-1], about: x, lines: ['a: b'] }",
                "GHSA-1 is not an id",
            ),
            (&format!("{good}\n{good}"), "CVE-2026-1 is there twice"),
        ] {
            assert!(said(table).contains(want), "{table}: {}", said(table));
        }
    }

    #[test]
    fn what_nobody_could_read_is_looked_for_again_with_each_version() {
        let row = "- { ids: [GHSA-aaaa-bbbb-2674], about: x, lines: ['a: b'] }";
        let list = "{ ends: [2674, hj27], about: looked, looked_at: 48.0.8 }";
        for (list, rows, locked, want) in [
            (list, "[]", "48.0.8", ""),
            (
                list,
                "[]",
                "48.0.9",
                "the texts of 2674, hj27 were last looked for with 48.0.8",
            ),
            (
                list,
                row,
                "48.0.8",
                "2674 is GHSA-aaaa-bbbb-2674, which has a row",
            ),
            (
                "{ ends: [26], about: x, looked_at: 48.0.8 }",
                "[]",
                "48.0.8",
                "26 is not the end",
            ),
            (
                "{ ends: [], about: ' ', looked_at: 48.0.8 }",
                "[]",
                "48.0.9",
                "`about` says",
            ),
        ] {
            let said = read_unread(list)
                .unwrap()
                .problems(locked, &read(rows).unwrap())
                .join("\n");
            assert_eq!(
                said.is_empty(),
                want.is_empty(),
                "{list} {rows} {locked}: {said}"
            );
            assert!(said.contains(want), "{list} {rows} {locked}: {said}");
        }
    }

    #[test]
    fn a_word_that_is_no_field_is_an_error() {
        assert!(read("- { ids: [CVE-2026-1], about: x, test: [a] }").is_err());
    }
}
