//! Every verb of every resource that discovery lists: one scenario for each sample of `verbs.yaml`, and what no
//! scenario can show, which `unserved.yaml` lists.
//!
//! - A scenario creates, reads, lists, watches, updates, patches and deletes an object, and its collection; it
//!   writes the status and the scale, where there are some. After each write it waits until a read shows the
//!   effect, so a server that says yes and does nothing fails, even if both do.
//! - [`walk`] compares what discovery lists with what all scenarios did with success.

mod story;
pub mod unserved;
pub mod walk;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::path::Pattern;
use crate::scenario::Scenario;
use story::Story;

/// The row of the generated scenarios.
pub const ROW: &str = "verbs";
const SAMPLES: &str = include_str!("../verbs.yaml");
/// The name of an object that says none.
const NAME: &str = "{{id}}";

/// An object of a resource, and what can be done with it beside the verbs that all resources have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    plural: String,
    object: Map<String, Value>,
    /// Whether it lies in no namespace.
    #[serde(default)]
    cluster: bool,
    /// What is written to the status: by a patch, then by an update.
    #[serde(default)]
    statuses: Option<[Value; 2]>,
    #[serde(default)]
    scale: bool,
    /// Whether objects cannot be deleted together.
    #[serde(default)]
    one_by_one: bool,
    /// What must be there before an object is created.
    #[serde(default)]
    after: Option<String>,
    /// The values that controllers have set when they are done with a new object.
    #[serde(default)]
    settled: BTreeMap<String, Value>,
    /// Whether another writer changes the object at any time, so that an update cannot say its version.
    #[serde(default)]
    others_write: bool,
    /// What is not compared.
    #[serde(default)]
    without: Vec<Pattern>,
}

/// The scenarios, one for each sample.
///
/// # Errors
/// The samples cannot be read.
pub fn scenarios() -> Result<Vec<Scenario>> {
    let samples: Vec<Sample> = crate::yaml::several(SAMPLES).context("verbs.yaml")?;
    samples.iter().map(Sample::scenario).collect()
}

impl Sample {
    fn scenario(&self) -> Result<Scenario> {
        let version = self.text("apiVersion")?;
        let title = match version.split_once('/') {
            Some((group, version)) => format!("{}.{version}.{group}", self.plural),
            None => format!("{}.{version}", self.plural),
        };
        Ok(Scenario {
            row: ROW.to_owned(),
            name: title,
            shows: format!(
                "Each verb of {} of {version} does what it says.",
                self.plural
            ),
            alone: false,
            steps: Story::of(self)?.steps(),
        })
    }

    fn text(&self, field: &str) -> Result<&str> {
        let text = self.object.get(field).and_then(Value::as_str);
        text.with_context(|| format!("a sample of {} has no {field}", self.plural))
    }

    fn collection(&self) -> Result<String> {
        let version = self.text("apiVersion")?;
        let root = if version.contains('/') { "apis" } else { "api" };
        let namespace = if self.cluster {
            ""
        } else {
            "namespaces/{{ns}}/"
        };
        Ok(format!("/{root}/{version}/{namespace}{}", self.plural))
    }

    fn name(&self) -> &str {
        let named = self
            .object
            .get("metadata")
            .and_then(|held| held.get("name"));
        named.and_then(Value::as_str).unwrap_or(NAME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Step;

    #[test]
    fn a_sample_becomes_a_story_with_every_verb() {
        let sample = "plural: things\nscale: true\nstatuses: [{ a: [1] }, { a: [2] }]\nobject: { apiVersion: g/v1, kind: Thing, spec: {} }";
        let sample: Sample = crate::yaml::one(sample).unwrap();
        let scenario = sample.scenario().unwrap();
        assert_eq!(scenario.title(), "verbs/things.v1.g");
        let asked = scenario.steps.iter().filter_map(|step| match step {
            Step::Request(request) => Some(format!("{} {}", request.method, request.path)),
            _ => None,
        });
        let asked: Vec<String> = asked.collect();
        let item = "/apis/g/v1/namespaces/{{ns}}/things/{{id}}";
        for part in ["", "/status", "/scale"] {
            for method in ["PUT", "PATCH"] {
                let wanted = format!("{method} {item}{part}");
                assert!(asked.contains(&wanted), "{wanted} in {asked:?}");
            }
        }
        assert!(asked.contains(&format!("DELETE {item}")), "{asked:?}");
    }
}
