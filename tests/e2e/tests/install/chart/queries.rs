//! PromQL queries, by Prometheus' own parser: what they select, and whether a scrape has it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use windlass_e2e::Scrape;

/// What Prometheus adds to each series of a target that a ServiceMonitor names.
const TARGET: [&str; 7] = [
    "namespace",
    "job",
    "pod",
    "container",
    "service",
    "endpoint",
    "instance",
];

/// What one query selects, or why it is not a query.
#[derive(Debug, Deserialize)]
pub(crate) struct Query {
    error: String,
    selectors: Option<Vec<Selector>>,
    groupings: Option<Vec<Grouping>>,
}

/// A metric, and the labels that its series must have.
#[derive(Debug, Deserialize)]
struct Selector {
    metric: String,
    matchers: Vec<Matcher>,
}

#[derive(Debug, Deserialize)]
struct Matcher {
    label: String,
    r#type: String,
    value: String,
}

/// The labels that an aggregation keeps, the metrics in it, and the labels that it makes.
#[derive(Debug, Deserialize)]
struct Grouping {
    labels: Vec<String>,
    metrics: Vec<String>,
    made: Vec<String>,
}

/// Reads queries.
///
/// # Errors
/// The parser was not built, or did not answer. A query that it refuses is an answer.
pub(crate) fn read(queries: &[String]) -> Result<Vec<Query>> {
    let mut command = Command::new(windlass_controlplane::promql()?);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot start the parser")?;
    let mut stdin = child.stdin.take().context("it has standard input")?;
    stdin.write_all(&serde_json::to_vec(queries)?)?;
    drop(stdin);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

impl Query {
    /// Whether the query can have a result on a scrape like this one: its metrics are there, with the labels that it names,
    /// and with the values that it asks for.
    ///
    /// # Errors
    /// What is not there.
    pub(crate) fn check(&self, scrape: &Scrape) -> Result<()> {
        ensure!(self.error.is_empty(), "{}", self.error);
        let selectors = self.selectors.iter().flatten();
        ensure!(selectors.clone().count() > 0, "it selects nothing");
        for selector in selectors {
            let labels = labels(scrape, &selector.metric)?;
            for matcher in &selector.matchers {
                let values = labels.get(&matcher.label);
                let what = format!("{}{{{}}}", selector.metric, matcher.label);
                let values = values.with_context(|| format!("there is no {what}"))?;
                matcher
                    .check(values)
                    .with_context(|| format!("of {what}"))?;
            }
        }
        for grouping in self.groupings.iter().flatten() {
            let mut known: BTreeSet<String> = grouping.made.iter().cloned().collect();
            for metric in &grouping.metrics {
                known.extend(labels(scrape, metric)?.into_keys());
            }
            let unknown = grouping.labels.iter().find(|label| !known.contains(*label));
            if let Some(label) = unknown {
                bail!("none of {:?} has the label {label}", grouping.metrics);
            }
        }
        Ok(())
    }
}

impl Matcher {
    /// Whether each value that it names is among `values`, of which none is known for what Prometheus adds. A variable of
    /// a dashboard may be anything.
    fn check(&self, values: &BTreeSet<String>) -> Result<()> {
        if values.is_empty() || self.value.starts_with('$') || self.r#type.starts_with('!') {
            return Ok(());
        }
        let named = match &*self.r#type {
            "=" => vec![&*self.value],
            _ => self.value.split('|').collect(),
        };
        let unknown = named.into_iter().find(|value| !values.contains(*value));
        match unknown {
            Some(value) => bail!("the value {value:?} is not among {values:?}"),
            None => Ok(()),
        }
    }
}

/// The labels of a metric, with those that Prometheus adds.
fn labels(scrape: &Scrape, metric: &str) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let found = scrape.labels(metric)?;
    let mut labels = found.with_context(|| format!("there is no metric {metric}"))?;
    for name in TARGET {
        labels.entry(name.to_owned()).or_default();
    }
    Ok(labels)
}
