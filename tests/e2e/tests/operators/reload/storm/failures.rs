//! The passes that failed in a storm, by what they say: a version that is made to fail says its name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Result, ensure};
use windlass_e2e::Line;

/// A version that fails is tried for so many objects at most before it is judged. An object that failed may be tried again
/// meanwhile: the trial counts objects, and not passes.
const FIRST_OBJECTS: usize = 10;

/// What the end of the text of each such pass says.
const PLANNED: &str = " is made to fail";

/// The failed passes.
pub(super) struct Failures {
    /// By the version that was made to fail: the attempt of each pass, by object.
    planned: BTreeMap<String, BTreeMap<String, Vec<u64>>>,
    /// All others.
    others: Vec<Line>,
}

impl Failures {
    /// Those in the log of a host.
    pub(super) fn of(log: &[Line]) -> Self {
        let (mut planned, mut others) = (BTreeMap::new(), Vec::new());
        let failed = |line: &&Line| line.message.starts_with("pass failed: ");
        for line in log.iter().filter(failed) {
            let Some((version, _)) = line.message.split_once(PLANNED) else {
                others.push(line.clone());
                continue;
            };
            let version = version.rsplit(' ').next().unwrap_or_default();
            let objects: &mut BTreeMap<String, Vec<u64>> =
                planned.entry(version.to_owned()).or_default();
            let attempts = objects.entry(line.field("object").to_owned()).or_default();
            attempts.push(line.number("attempt").unwrap_or_default());
        }
        Self { planned, others }
    }

    /// Only versions that were made to fail say so, each of them was tried, and none for more objects than a trial has.
    pub(super) fn judge(&self, made: &[String]) -> Result<()> {
        let tried: BTreeSet<_> = self.planned.keys().collect();
        ensure!(
            tried == made.iter().collect(),
            "{made:?} were made to fail:\n{self}"
        );
        for (version, objects) in &self.planned {
            ensure!(
                objects.len() <= FIRST_OBJECTS,
                "{version} failed for {} objects, and a trial has {FIRST_OBJECTS}:\n{self}",
                objects.len()
            );
        }
        Ok(())
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (version, objects) in &self.planned {
            let passes: usize = objects.values().map(Vec::len).sum();
            let of = objects.len();
            writeln!(out, "{version}: {passes} failed passes of {of} objects")?;
            for (object, attempts) in objects {
                writeln!(out, "  {object}: attempts {attempts:?}")?;
            }
        }
        writeln!(out, "{} other failed passes", self.others.len())?;
        for line in &self.others {
            writeln!(out, "  {}: {}", line.field("object"), line.message)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(object: u32, message: &str) -> Line {
        Line {
            message: format!("pass failed: {message}"),
            fields: json!({ "object": format!("Greeting/ns/g-{object}"), "attempt": 0 }),
        }
    }

    #[test]
    fn an_object_that_is_tried_again_counts_once_and_others_do_not_count() {
        let text = "plugin reported a transient failure: v5 is made to fail";
        let mut log: Vec<Line> = (0..10).map(|object| line(object, text)).collect();
        log.push(line(3, text));
        log.push(line(77, "the API server did not answer"));
        let made = ["v5".to_owned()];
        Failures::of(&log).judge(&made).unwrap();
        log.push(line(10, text));
        let told = Failures::of(&log).judge(&made).unwrap_err().to_string();
        assert!(told.contains("v5 failed for 11 objects"), "{told}");
        assert!(told.contains("g-77: pass failed: the API"), "{told}");
    }

    #[test]
    fn a_good_version_that_says_so_and_one_that_was_not_tried_are_told() {
        let log = [line(1, "v4 is made to fail")];
        for made in ["v5", "v4, v5"] {
            let made: Vec<String> = made.split(", ").map(str::to_owned).collect();
            assert!(Failures::of(&log).judge(&made).is_err(), "{made:?}");
        }
    }
}
