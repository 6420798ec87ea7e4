//! The units that a command of cargo compiles.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::tests::workspace;

/// The units that a command of cargo compiles.
pub(crate) struct Graph {
    units: Vec<Unit>,
    /// A hash for each unit: of the unit, and of all units below.
    hashes: Vec<u64>,
}

#[derive(Deserialize)]
struct Printed {
    units: Vec<Unit>,
}

#[derive(Deserialize)]
struct Unit {
    pkg_id: String,
    target: Value,
    profile: BTreeMap<String, Value>,
    platform: Option<String>,
    mode: String,
    features: Vec<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    index: usize,
    extern_crate_name: String,
}

impl Graph {
    /// The units of this command.
    pub(crate) fn of(command: &str) -> Result<Self> {
        let mut words = command.split_whitespace();
        let program = words.next().context("a command has a program")?;
        // Only with this variable cargo prints units. It changes what some build scripts do, so it is not set for a build.
        let mut cargo = Command::new(program);
        cargo
            .args(words)
            .args(["--unit-graph", "-Zunstable-options"]);
        cargo.env("RUSTC_BOOTSTRAP", "1").current_dir(workspace());
        let output = cargo.stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "{command}: {}", output.status);
        Self::read(&String::from_utf8(output.stdout)?)
    }

    /// Reads what cargo printed.
    pub(crate) fn read(printed: &str) -> Result<Self> {
        let Printed { units } = serde_json::from_str(printed)?;
        let mut hashes = HashMap::new();
        for index in 0..units.len() {
            hash(index, &units, &mut hashes)?;
        }
        let in_order = |index| hashes.get(&index).copied().context("each unit has a hash");
        let hashes = (0..units.len()).map(in_order).collect::<Result<_>>()?;
        Ok(Self { units, hashes })
    }

    /// The external units that `whole` does not have, sorted; each with the difference of its features, if that is the reason.
    pub(crate) fn external_units_not_in(&self, whole: &Self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for (unit, hash) in self.units.iter().zip(&self.hashes) {
            if unit.pkg_id.starts_with("registry+") && !whole.hashes.contains(hash) {
                found.push(unit.difference(whole));
            }
        }
        found.sort();
        found.dedup();
        Ok(found)
    }
}

impl Unit {
    fn name(&self) -> &str {
        self.pkg_id.rsplit('#').next().unwrap_or(&self.pkg_id)
    }

    /// The name of the unit, and how its features differ from those that the same crate has there.
    fn difference(&self, whole: &Graph) -> String {
        let mut same = whole.units.iter().filter(|unit| {
            (&unit.pkg_id, &unit.target, &unit.mode) == (&self.pkg_id, &self.target, &self.mode)
        });
        let name = self.name();
        let words = |features: &[String]| match features {
            [] => "none".to_owned(),
            _ => features.join(", "),
        };
        match same.next() {
            None => format!("{name}, which is not there at all"),
            Some(other) if other.features != self.features => {
                let (own, others) = (words(&self.features), words(&other.features));
                format!("{name} with the features {own} instead of {others}")
            }
            Some(other) if settings(other) != settings(self) => {
                format!("{name} with another profile")
            }
            Some(_) => name.to_owned(),
        }
    }
}

/// The settings of a unit's profile. Its name does not count: tests have the profile `test`, with the same settings.
fn settings(unit: &Unit) -> Vec<(&String, &Value)> {
    unit.profile
        .iter()
        .filter(|(name, _)| *name != "name")
        .collect()
}

fn hash(index: usize, units: &[Unit], hashes: &mut HashMap<usize, u64>) -> Result<u64> {
    if let Some(known) = hashes.get(&index) {
        return Ok(*known);
    }
    let unit = units.get(index).context("a dependency is a unit")?;
    let mut below = Vec::new();
    for dependency in &unit.dependencies {
        let name = &dependency.extern_crate_name;
        below.push((name, hash(dependency.index, units, hashes)?));
    }
    below.sort();
    let mut hasher = DefaultHasher::new();
    (
        &unit.pkg_id,
        &unit.platform,
        &unit.mode,
        &unit.features,
        below,
    )
        .hash(&mut hasher);
    (unit.target.to_string(), format!("{:?}", settings(unit))).hash(&mut hasher);
    let hash = hasher.finish();
    hashes.insert(index, hash);
    Ok(hash)
}
