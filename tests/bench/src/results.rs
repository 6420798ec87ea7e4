//! What was measured, round by round, and how it is summed up.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::contestant::Contestant;

/// Everything of one run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Results {
    /// Processors and kernel.
    pub(crate) machine: String,
    /// In the order in which they came.
    pub(crate) samples: Vec<Sample>,
}

/// A figure of one round of a contestant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// `greet`, say.
    workload: String,
    /// What was measured, with its unit: `whole cycle, s`.
    figure: String,
    /// Of whom.
    contestant: Contestant,
    /// The figure, or why there is none.
    value: Result<f64, String>,
}

/// The figures of one round, by name.
pub(crate) type Round = Vec<(&'static str, f64)>;

/// What the rounds of a contestant come to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// Of whom.
    pub(crate) contestant: Contestant,
    /// The figure over all rounds; or the first thing that went wrong, and in how many rounds of how many.
    pub(crate) summary: Result<Summary, Failed>,
}

/// What rounds come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// The least.
    pub(crate) least: f64,
    /// The middle.
    pub(crate) median: f64,
    /// The most.
    pub(crate) most: f64,
}

/// A contestant that did not come through every round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    /// In so many rounds.
    pub(crate) times: usize,
    /// Of so many.
    pub(crate) of: usize,
    /// The first time.
    pub(crate) why: String,
}

impl Results {
    /// None yet, of this machine.
    pub(crate) fn new(machine: String) -> Self {
        Self {
            machine,
            samples: Vec::new(),
        }
    }

    /// Those of a file.
    ///
    /// # Errors
    /// It is not there, or holds something else.
    pub(crate) fn read(file: &PathBuf) -> Result<Self> {
        let text = fs::read_to_string(file);
        let text = text.with_context(|| {
            let file = file.display();
            format!(
                "cannot read {file}: `make bench` and `make bench-scale` write what is reported"
            )
        })?;
        serde_json::from_str(&text).with_context(|| format!("{} holds no figures", file.display()))
    }

    /// Writes them into a file.
    ///
    /// # Errors
    /// The file system said no.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Takes in what a round of a workload gave. One that failed counts against each of `figures`.
    pub(crate) fn add(
        &mut self,
        workload: &str,
        figures: &[&'static str],
        contestant: Contestant,
        round: &Result<Round, String>,
    ) {
        let mut add = |figure: &str, value| {
            self.samples.push(Sample {
                workload: workload.to_owned(),
                figure: figure.to_owned(),
                contestant,
                value,
            });
        };
        match round {
            Ok(round) => round
                .iter()
                .for_each(|(figure, value)| add(figure, Ok(*value))),
            Err(why) => figures
                .iter()
                .for_each(|figure| add(figure, Err(why.clone()))),
        }
    }

    /// Whether anything of a workload was measured.
    pub(crate) fn has(&self, workload: &str) -> bool {
        self.samples
            .iter()
            .any(|sample| sample.workload == workload)
    }

    /// Whether anybody did not come through.
    pub(crate) fn has_failures(&self) -> bool {
        self.samples.iter().any(|sample| sample.value.is_err())
    }

    /// The figures of a workload that anybody has, in the order of `figures`, each by contestant.
    pub(crate) fn figures<'a>(
        &self,
        workload: &str,
        figures: &[&'a str],
    ) -> Vec<(&'a str, Vec<Row>)> {
        let rows = figures.iter().map(|&figure| {
            let rows = Contestant::ALL.into_iter().filter_map(|contestant| {
                let samples = self.samples.iter().filter(|sample| {
                    sample.workload == workload
                        && sample.figure == figure
                        && sample.contestant == contestant
                });
                let values: Vec<_> = samples.map(|sample| sample.value.clone()).collect();
                let summary = summed_up(&values)?;
                Some(Row {
                    contestant,
                    summary,
                })
            });
            (figure, rows.collect::<Vec<_>>())
        });
        rows.filter(|(_, rows)| !rows.is_empty()).collect()
    }
}

/// None if there was no round.
fn summed_up(rounds: &[Result<f64, String>]) -> Option<Result<Summary, Failed>> {
    let failures: Vec<&String> = rounds
        .iter()
        .filter_map(|round| round.as_ref().err())
        .collect();
    if let Some(why) = failures.first() {
        return Some(Err(Failed {
            times: failures.len(),
            of: rounds.len(),
            why: (*why).clone(),
        }));
    }
    let mut values: Vec<f64> = rounds
        .iter()
        .filter_map(|round| round.clone().ok())
        .collect();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = *values.get(half)?;
    let median = match values.len() % 2 {
        1 => upper,
        _ => f64::midpoint(*values.get(half - 1)?, upper),
    };
    Some(Ok(Summary {
        least: *values.first()?,
        median,
        most: *values.last()?,
    }))
}

/// The value that so many hundredths of `values` do not exceed.
pub(crate) fn percentile(values: &mut [f64], hundredths: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() * hundredths / 100).min(values.len().saturating_sub(1));
    values.get(place).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_come_to_their_middle_and_a_failure_to_itself() {
        let mut results = Results::default();
        let figures = ["time, s"];
        for value in [3.0, 1.0, 2.0, 10.0] {
            let round = Ok(vec![("time, s", value)]);
            results.add("greet", &figures, Contestant::Windlass, &round);
        }
        let (well, failed) = (Ok(vec![("time, s", 1.0)]), Err("it ended".to_owned()));
        results.add("greet", &figures, Contestant::KubeRs, &well);
        results.add("greet", &figures, Contestant::KubeRs, &failed);
        let of = |contestant, summary| Row {
            contestant,
            summary,
        };
        let (times, of_rounds, why) = (1, 2, "it ended".to_owned());
        let failed = Failed {
            times,
            of: of_rounds,
            why,
        };
        let summary = Summary {
            least: 1.0,
            median: 2.5,
            most: 10.0,
        };
        let want = vec![
            of(Contestant::KubeRs, Err(failed)),
            of(Contestant::Windlass, Ok(summary)),
        ];
        assert_eq!(results.figures("greet", &figures), [("time, s", want)]);
        assert_eq!(results.figures("ring", &figures), []);
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let mut values: Vec<f64> = (0..200).rev().map(f64::from).collect();
        let found = [0, 50, 99, 100].map(|hundredths| percentile(&mut values, hundredths));
        assert_eq!(found, [0.0, 100.0, 198.0, 199.0]);
        assert_eq!(percentile(&mut [], 50), 0.0);
    }
}
