//! What Windlass's log says of its passes.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use windlass_controlplane::eventually;

use crate::contestant::Running;

/// How long passes may take to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A line of the log.
pub(crate) struct Line(Value);

impl Line {
    /// A number in it.
    ///
    /// # Errors
    /// It has none of that name.
    pub(crate) fn number(&self, name: &str) -> Result<f64> {
        let number = self.0.get(name).and_then(Value::as_f64);
        number.with_context(|| format!("a line without {name}: {}", self.0))
    }

    /// When it was written.
    ///
    /// # Errors
    /// It does not say.
    pub(crate) fn written(&self) -> Result<jiff::Timestamp> {
        let time = self.0.get("timestamp").and_then(Value::as_str);
        Ok(time.context("a line without a time")?.parse()?)
    }

    /// The passes of `plugin` in a log.
    pub(crate) fn passes_of(log: &str, plugin: &str) -> impl Iterator<Item = Self> {
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines
            .map(Self)
            .filter(move |line| line.is_pass() && line.is_of(plugin))
    }

    fn is_of(&self, plugin: &str) -> bool {
        self.0.get("plugin").and_then(Value::as_str) == Some(plugin)
    }

    fn is_swap(&self) -> bool {
        let message = self.0.get("message").and_then(Value::as_str);
        message.is_some_and(|message| message.starts_with("swapped"))
    }

    fn is_pass(&self) -> bool {
        self.0.get("step").is_some()
    }
}

/// The passes after so many swaps, behind the line of the last one, if there was any; once there are so many.
///
/// # Errors
/// They do not come, or it ended.
pub(crate) async fn after(
    running: &mut Running,
    swaps: usize,
    count: usize,
) -> Result<(Option<Line>, Vec<Line>)> {
    let what = format!("{count} passes after swap {swaps}");
    eventually(PATIENCE, &what, async || {
        running.check()?;
        let log = running.log();
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut swap = None;
        let (mut seen, mut passes) = (0, Vec::new());
        for line in lines.map(Line) {
            if line.is_swap() {
                seen += 1;
                passes.clear();
                swap = Some(line);
            } else if line.is_pass() {
                passes.push(line);
            }
        }
        Ok((seen == swaps && passes.len() >= count).then_some((swap, passes)))
    })
    .await
    .with_context(|| running.last_words())
}

/// The first pass of `plugin`, once it has ended.
///
/// # Errors
/// It does not come, or the host ended.
pub(crate) async fn first_of(running: &mut Running, plugin: &str) -> Result<Line> {
    eventually(PATIENCE, &format!("a pass of {plugin}"), async || {
        running.check()?;
        Ok(Line::passes_of(&running.log(), plugin).next())
    })
    .await
    .with_context(|| running.last_words())
}
