//! What a host counts, as one scrape of its metrics.

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
}
