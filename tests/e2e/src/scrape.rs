//! What a host counts, as one scrape of its metrics.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use regex::Regex;

use crate::{Host, ask};

/// A scrape.
pub struct Scrape(String);

impl Scrape {
    /// Asks the host, which serves its metrics.
    ///
    /// # Errors
    /// It does not answer, or not with whole metrics.
    pub async fn of(host: &Host) -> Result<Self> {
        let address = host.serves("metrics").await?;
        let (status, text) = ask(&address, "/metrics")?;
        ensure!(
            status == 200 && text.ends_with("# EOF\n"),
            "{status} {text}"
        );
        Ok(Self(text))
    }

    /// The sum of all series whose whole name and labels match `series`; `None` if there is none.
    ///
    /// # Errors
    /// It is not a regular expression.
    pub fn sum(&self, series: &str) -> Result<Option<f64>> {
        let series = Regex::new(&format!("^(?:{series}) ([0-9.e+-]+)"))?;
        let value = |line: &str| {
            let value = series.captures(line)?.iter().last()??;
            value.as_str().parse::<f64>().ok()
        };
        let values = self.0.lines().filter_map(value);
        Ok(values.reduce(|sum, value| sum + value))
    }

    /// The labels of all series called `name`, each with its values; `None` if there is no such series.
    ///
    /// # Errors
    /// None that is known.
    pub fn labels(&self, name: &str) -> Result<Option<BTreeMap<String, BTreeSet<String>>>> {
        let label = Regex::new(r#"(\w+)="((?:[^"\\]|\\.)*)""#)?;
        let of_series = |line: &str| {
            let rest = line.strip_prefix(name)?;
            rest.starts_with(['{', ' ']).then(|| rest.to_owned())
        };
        let series: Vec<String> = self.0.lines().filter_map(of_series).collect();
        let mut labels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for found in series.iter().flat_map(|line| label.captures_iter(line)) {
            let [name, value] = found.extract().1;
            let values = labels.entry(name.to_owned()).or_default();
            values.insert(value.to_owned());
        }
        Ok((!series.is_empty()).then_some(labels))
    }
}
