//! `windlass test`: fixture files on the real component, in the sandbox of a host, on an API server in memory.
//!
//! ```text
//! fixture ─> given ─> world (API server) <─ host: one pass ─> what came of it ─> compare ─> report
//!                                                └─ again, with each write and request failing once
//! ```
//! - The SDKs run the same files without a host: what is proved there in milliseconds is proved here of what is
//!   shipped.

mod admits;
mod always;
mod chaos;
mod compare;
mod fake;
mod fixture;
mod flags;
mod generated;
mod http;
mod kept;
mod means;
mod report;
mod run;
mod title;
mod update;
mod wait;
mod world;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::sync::Mutex;

pub use fake::{FakeFlags, fake};
pub use flags::TestFlags;

use crate::dev::inputs::{Held, saved};
use crate::dev::target::Target;
use crate::project::objects::objects;
use crate::project::{Failed, Maker};
use always::Rules;
use compare::{broken_rules, differing};
use fixture::{Answer, Fixture, read};
use means::Means;
use report::{Case, Failure, Report, failure};
use run::{PluginCode, Runner};
use update::{missed, updated};
use windlass_base::digest::{Digest, digest};
use windlass_base::error::Chain;
use windlass_base::screen::{Tone, print, print_json, print_status, print_styled};
use windlass_base::seams::Seams;
use windlass_kube::flags::OutputFormat;
use windlass_kube::telemetry;
use windlass_policy::source::{change_text, text_of};

/// Where a project has its fixtures.
const FOLDER: &str = "tests";

/// Runs the fixtures of a project; with `--watch` again whenever a file changes.
///
/// # Errors
/// One of them does not hold, or cannot be run.
pub async fn test(flags: TestFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let session = TestSession {
        means: Means::new(flags.code_cache.clone(), threads, &seams)?,
        seams,
        flags,
    };
    if !session.flags.watch {
        return session.once().await;
    }
    let mut notices = session.seams.spawn.notices().ok().flatten();
    let mut before = None;
    loop {
        let now = session.files().map_err(|error| Chain(&*error).to_string());
        if before.as_ref() != Some(&now) {
            let ended = match &now {
                Ok(_) => session.once().await,
                Err(problem) => Err(anyhow::anyhow!("{problem}")),
            };
            if let Err(error) = ended {
                print_status(Tone::Bad, "Failed", &Chain(&*error).to_string())?;
            }
            print_status(
                Tone::Good,
                "Watching",
                "sources and fixtures; Ctrl-C ends it",
            )?;
            before = Some(session.after(now));
        }
        if let (Some(notices), Some(Ok((held, _)))) = (&mut notices, &before) {
            let folders = held.folders.iter().cloned();
            notices.watch(&folders.chain(session.folders()).collect());
        }
        saved(session.seams.clock, &mut notices).await;
    }
}

/// What is built from, and the fixtures.
type TestInputs = (Held, BTreeMap<PathBuf, Digest>);

/// What all runs of the fixtures share.
struct TestSession {
    means: Means,
    seams: Seams,
    flags: TestFlags,
}

impl TestSession {
    /// Builds, and runs all fixtures once.
    async fn once(&self) -> anyhow::Result<()> {
        let began = self.seams.clock.now();
        // Before anything is built: without one there is nothing to build for.
        let paths = if self.flags.chaos {
            Vec::new()
        } else {
            self.fixtures()?
        };
        let runner = self.runner().await?;
        let cases = if self.flags.chaos {
            self.chaos(&runner).await?
        } else {
            self.all_tried(&runner, paths).await?
        };
        let failed = cases
            .iter()
            .filter(|case| !case.failures.is_empty())
            .count();
        let report = Report {
            api_version: "windlass.dev/v1alpha1",
            kind: "TestReport",
            plugin: runner.document.name.clone(),
            passed: cases.len() - failed,
            failed,
            took_ms: millis(self.seams.clock.now() - began),
            cases,
        };
        match self.flags.output {
            OutputFormat::Text => print(&report.summary()),
            OutputFormat::Json => print_json(&(serde_json::to_string_pretty(&report)? + "\n")),
        }?;
        if let Some(path) = &self.flags.junit {
            report.write_junit(path)?;
        }
        if failed > 0 {
            let hint = if report.cases.iter().any(|case| case.differs) {
                ": if the new results are right, `windlass test --update` accepts them"
            } else {
                ""
            };
            bail!("{failed} of {} failed{hint}", report.cases.len());
        }
        Ok(())
    }

    /// Runs each fixture, and says what came of it.
    async fn all_tried(&self, runner: &Runner, paths: Vec<PathBuf>) -> anyhow::Result<Vec<Case>> {
        let width = paths.iter().map(|path| path.display().to_string().len());
        let width = width.max().unwrap_or_default();
        let mut cases = Vec::new();
        for path in paths {
            let began = self.seams.clock.now();
            let mut case = runner.tried(&path, self.flags.update).await;
            case.took_ms = millis(self.seams.clock.now() - began);
            if self.flags.output == OutputFormat::Text {
                print_styled(&case.text(width))?;
            }
            cases.push(case);
        }
        Ok(cases)
    }

    /// What the plugin is now.
    async fn runner(&self) -> anyhow::Result<Runner> {
        let target = Target::open(&self.flags.target)?;
        let maker = Maker {
            seams: self.seams.clone(),
        };
        let made = target.make(&maker, |command| {
            let _ = print_status(Tone::Good, "Building", command);
        });
        let made = made.await.map_err(|failed| match failed {
            Failed::Other(error) => error,
            failed @ Failed::Command(..) => failed.into(),
        })?;
        let mut runner = Runner {
            means: self.means.clone(),
            document: target.document(),
            code: PluginCode::Component(made.bytes.clone()),
            definitions: definitions(&target)?,
            admitted: Mutex::default(),
        };
        if let Target::Component(_) = target {
            let asked = runner.asked(&target, made).await?;
            (runner.document, runner.definitions) = (asked.candidate.document, asked.definitions);
        }
        // What no fixture can fix is reported once.
        runner.admits().await?;
        Ok(runner)
    }

    /// The fixtures that are named, or the project's.
    fn fixtures(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut named = self.flags.filename.clone();
        if named.is_empty() {
            named.push(self.own_folder()?);
        }
        let mut paths = Vec::new();
        for path in named {
            let about = std::fs::metadata(&path).with_context(|| {
                format!(
                    "there are no fixtures in {}: write one, or name files or folders with -f",
                    path.display()
                )
            })?;
            if !about.is_dir() {
                paths.push(path);
                continue;
            }
            let entries = std::fs::read_dir(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let mut inside = Vec::new();
            for entry in entries {
                inside.push(entry?.path());
            }
            // As the SDKs choose them; what begins with a dot is an editor's.
            let is_yaml = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.ends_with(".yaml") && !name.starts_with('.')
            };
            inside.retain(is_yaml);
            inside.sort();
            if inside.is_empty() {
                bail!("there are no fixtures (*.yaml) in {}", path.display());
            }
            paths.extend(inside);
        }
        Ok(paths)
    }

    fn own_folder(&self) -> anyhow::Result<PathBuf> {
        let target = Target::open(&self.flags.target)?;
        Ok(crate::project::within(target.folder(), Path::new(FOLDER)))
    }

    /// The folders of the fixtures.
    fn folders(&self) -> Vec<PathBuf> {
        let paths = self.fixtures().unwrap_or_default();
        let parents = paths.iter().filter_map(|path| path.parent());
        parents.map(Path::to_owned).collect()
    }

    /// What is known once everything has run that was there `before`: what a build or an update has written is not
    /// news, what somebody saved meanwhile is.
    fn after(&self, before: Result<TestInputs, String>) -> Result<TestInputs, String> {
        let now = self.files().map_err(|error| Chain(&*error).to_string());
        match (before, now) {
            (Ok((_, fixtures)), Ok((held, _))) if !self.flags.update => Ok((held, fixtures)),
            (_, now) => now,
        }
    }

    /// All that a run depends on.
    fn files(&self) -> anyhow::Result<TestInputs> {
        let held = Target::open(&self.flags.target)?.inputs().look()?;
        let fixtures = self.fixtures().unwrap_or_default();
        let read = |path: PathBuf| Some((path.clone(), digest(text_of(&path).ok()?.as_bytes())));
        Ok((held, fixtures.into_iter().filter_map(read).collect()))
    }
}

impl Runner {
    /// Runs a fixture, and then with each of its writes failing.
    async fn tried(&self, path: &Path, updates: bool) -> Case {
        let mut case = Case {
            file: path.display().to_string(),
            steps: 0,
            failing_writes: 0,
            chaos_runs: 0,
            took_ms: 0,
            failures: Vec::new(),
            updated: false,
            differs: false,
        };
        let text = text_of(path);
        let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()));
        let compiled = |fixture: Fixture| {
            let definitions = self.definitions.iter().chain(fixture.objects());
            let rules = Rules::new(path, &fixture.always, definitions)?;
            Ok((fixture, rules))
        };
        let fixture = text.and_then(|text| read(path, text, updates));
        let (fixture, rules) = match fixture.and_then(compiled) {
            Ok(read) => read,
            Err(message) => {
                case.failures.push(failure(None, message));
                return case;
            }
        };
        case.steps = fixture.steps.len();
        telemetry::take_buffered();
        let outcomes = match self.all(&fixture, &rules).await {
            Ok(outcomes) => outcomes,
            Err((step, message)) => {
                case.failures.push(failure(Some(step), message));
                return case;
            }
        };
        let wrong = differing(&fixture, &outcomes);
        let broken = |outcome: &compare::Outcome| matches!(outcome.answer, Answer::Broken(_));
        if updates && !wrong.is_empty() && !outcomes.iter().any(broken) {
            let failed = accept(&fixture, &outcomes).err();
            case.failures = failed.into_iter().collect();
            case.updated = case.failures.is_empty();
        } else {
            case.differs = !wrong.is_empty() && !outcomes.iter().any(broken);
            case.failures = wrong;
        }
        case.failures.extend(broken_rules(&outcomes));
        if case.failures.is_empty() {
            let (runs, wrong) = self.failing(&fixture, &outcomes).await;
            case.failing_writes = runs;
            let wrong = wrong
                .into_iter()
                .map(|(step, message)| failure(Some(step), message));
            case.failures = wrong.collect();
        }
        case
    }
}

/// Accepts what came of the calls, if all were made that are meant to be.
fn accept(fixture: &Fixture, outcomes: &[compare::Outcome]) -> Result<(), Failure> {
    missed(fixture, outcomes).map_err(|(step, message)| failure(Some(step), message))?;
    let updated = update(fixture, outcomes);
    updated.map_err(|error| failure(None, Chain(&*error).to_string()))
}

/// Writes what came of the calls into the fixture.
fn update(fixture: &Fixture, outcomes: &[compare::Outcome]) -> anyhow::Result<()> {
    let steps = fixture.steps.iter().zip(outcomes);
    let thens: Vec<_> = steps
        .map(|(step, outcome)| {
            let got = outcome.then(&step.primary, step.then.as_ref(), true);
            // What holds stays as it is written.
            (step.then.as_ref() != Some(&got)).then_some(got)
        })
        .collect();
    let text = updated(fixture, &thens).map_err(anyhow::Error::msg)?;
    change_text(&fixture.path, &fixture.text, &text)
        .with_context(|| format!("cannot write {}", fixture.path.display()))
}

/// The kinds that a project defines.
fn definitions(target: &Target) -> anyhow::Result<Vec<Value>> {
    let mut definitions = Vec::new();
    if let Target::Project(_) = target {
        let held = target
            .inputs()
            .look()
            .context("cannot look at the project's files")?;
        for path in held.documents.keys() {
            let text = text_of(path).with_context(|| format!("cannot read {}", path.display()))?;
            let all = objects(path, &text).map_err(anyhow::Error::msg)?;
            definitions.extend(all.into_iter().filter_map(|wanted| wanted.definition()));
        }
    }
    Ok(definitions)
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
