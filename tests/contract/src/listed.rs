//! The differences that are known and accepted, each with its reason.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::compare::Difference;
use crate::path::Pattern;

/// The most differences that may be listed.
pub const MOST: usize = 25;
/// The rows without any: what controllers rely on to be right.
pub const STRICT: [&str; 3] = ["ssa", "watch", "gc"];

/// A known difference in one scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    /// `row/name` of the scenario that shows it.
    pub scenario: String,
    /// The step, counted from 1.
    pub step: usize,
    /// Where in its answer, as a pattern.
    pub path: Pattern,
    /// Why it is accepted.
    pub reason: String,
}

impl Listed {
    /// Whether this is the difference that is listed here.
    pub fn covers(&self, scenario: &str, step: usize, difference: &Difference) -> bool {
        self.scenario == scenario && self.step == step && self.path.matches(&difference.place)
    }
}

/// Reads the list.
///
/// # Errors
/// It is not one.
pub fn parse(text: &str) -> Result<Vec<Listed>> {
    crate::yaml::one(text).context("the list of differences")
}

/// What is wrong with the list itself.
pub fn faults(list: &[Listed], scenarios: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    if list.len() > MOST {
        faults.push(format!(
            "{} differences are listed, {MOST} may be",
            list.len()
        ));
    }
    for listed in list {
        let (row, name) = listed.scenario.split_once('/').unwrap_or_default();
        if !scenarios.contains(&listed.scenario) {
            faults.push(format!("{}: there is no such scenario", listed.scenario));
        }
        if STRICT.contains(&row) || name.contains("precondition") {
            faults.push(format!("{}: nothing here may differ", listed.scenario));
        }
        if listed.reason.trim().len() < 20 {
            faults.push(format!("{}: the reason says nothing", listed.scenario));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_scenarios_and_reasons_and_spares_the_strict_rows() {
        let text = r"
- { scenario: crd/a, step: 1, path: /body/message, reason: The texts of CEL differ in their positions }
- { scenario: crd/b, step: 1, path: /body/message, reason: so }
- { scenario: watch/c, step: 1, path: /events/**, reason: We would rather not say why this is }
";
        let list = parse(text).unwrap();
        let scenarios = ["crd/a", "watch/c"].map(str::to_owned);
        let faults = faults(&list, &scenarios);
        assert_eq!(faults.len(), 3, "{faults:?}");
        let difference = Difference {
            place: ["body", "message"].map(str::to_owned).to_vec(),
            first: None,
            second: None,
        };
        assert!(list[0].covers("crd/a", 1, &difference));
        assert!(!list[0].covers("crd/a", 2, &difference));
        assert!(!list[2].covers("watch/c", 1, &difference));
    }
}
