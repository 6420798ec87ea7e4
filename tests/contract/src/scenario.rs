//! Scenarios as they are written: a sentence, and steps that say what is asked and not what is answered.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::path::Pattern;
use crate::step::RawStep;
use crate::view::View;

/// One small story that is told to two servers.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The part of the API it is about: the folder it lies in.
    pub row: String,
    /// The name of its file.
    pub name: String,
    /// What it shows, in a sentence.
    pub shows: String,
    /// Whether it changes what other scenarios see, such as a default for the whole cluster. It is played before
    /// all others.
    pub alone: bool,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// One step of a scenario.
#[derive(Clone, Debug)]
pub enum Step {
    /// Asks once.
    Request(Request),
    /// Opens a watch under a name.
    Watch {
        /// Its name for [`Step::Events`].
        name: String,
        /// What opens it.
        request: Request,
    },
    /// Takes events from an open watch.
    Events {
        /// The name of the watch.
        watch: String,
        /// When it has enough.
        until: Enough,
        /// What is kept of each event.
        view: View,
    },
    /// Asks again and again, for what happens by and by.
    Wait {
        /// What is asked.
        request: Request,
        /// What the last answer must be like.
        until: Condition,
        /// Whether the last answer is compared too.
        compare: Compare,
    },
}

/// An HTTP request as a template.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Such as `GET`.
    pub method: String,
    /// The path, perhaps with a query.
    pub path: String,
    /// More of the query.
    pub query: Vec<(String, String)>,
    /// Headers, beside those that every request has.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Body,
    /// Names for values of the answer, by JSON pointers.
    pub capture: BTreeMap<String, String>,
    /// What is kept of the answer's body.
    pub view: View,
}

/// The body of a request.
#[derive(Clone, Debug, Default)]
pub enum Body {
    /// There is none.
    #[default]
    None,
    /// A document, sent as JSON.
    Document(Value),
    /// A text, sent as it is.
    Raw(String),
}

/// When a watch has given enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enough {
    /// After this many events.
    Count(usize),
    /// When the server closes it.
    Closed,
    /// After an event of type BOOKMARK.
    Bookmark,
}

/// What an answer must be like.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The HTTP status.
    pub status: Option<u16>,
    /// The values at these JSON pointers; null where there must be none.
    #[serde(default)]
    pub values: BTreeMap<String, Value>,
    /// There must be something at each of these places.
    #[serde(default)]
    pub has: Vec<Pattern>,
}

/// Whether an answer is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// The whole answer.
    Answer,
    /// Only whether it came.
    Outcome,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScenario {
    shows: String,
    #[serde(default)]
    alone: bool,
    steps: Vec<RawStep>,
}

impl Scenario {
    /// Parses one file's text.
    ///
    /// # Errors
    /// It is not a scenario; the error says why.
    pub fn parse(row: &str, name: &str, text: &str) -> Result<Self> {
        let raw: RawScenario = crate::yaml::one(text)?;
        ensure!(
            !raw.shows.trim().is_empty(),
            "it says nothing about what it shows"
        );
        let mut steps = Vec::new();
        for (index, step) in raw.steps.into_iter().enumerate() {
            let step = step
                .steps()
                .with_context(|| format!("step {}", index + 1))?;
            steps.extend(step);
        }
        ensure!(!steps.is_empty(), "nothing happens in it");
        Ok(Self {
            row: row.to_owned(),
            name: name.to_owned(),
            shows: raw.shows.trim().to_owned(),
            alone: raw.alone,
            steps,
        })
    }

    /// `row/name`.
    pub fn title(&self) -> String {
        format!("{}/{}", self.row, self.name)
    }
}

/// Reads every scenario under a folder, by row and name.
///
/// # Errors
/// A file cannot be read or is not a scenario.
pub fn read_all(folder: &Path) -> Result<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    for row in sorted(folder)?.into_iter().filter(|path| path.is_dir()) {
        for file in sorted(&row)? {
            let text = std::fs::read_to_string(&file);
            let scenario = text
                .map_err(anyhow::Error::from)
                .and_then(|text| Scenario::parse(&stem(&row), &stem(&file), &text))
                .with_context(|| file.display().to_string())?;
            scenarios.push(scenario);
        }
    }
    Ok(scenarios)
}

fn sorted(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_says_what_it_shows() {
        let text = "shows: A thing.\nsteps:\n- get: /api\n";
        let scenario = Scenario::parse("row", "name", text).unwrap();
        assert_eq!(
            (scenario.title().as_str(), scenario.shows.as_str()),
            ("row/name", "A thing.")
        );
        assert!(Scenario::parse("r", "n", "shows: ''\nsteps:\n- get: /api\n").is_err());
        assert!(Scenario::parse("r", "n", "shows: x\nsteps: []\n").is_err());
    }
}
