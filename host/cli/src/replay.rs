//! `windlass replay`: a recorded pass again, on the component that made it or on another one, and where the decisions
//! differ.
//!
//! ```text
//! a pass fails ─> transcript ─> recording (no secrets) ─> DIR/PLUGIN/NAME-GENERATION.json
//!                                                        └─> player ─> the guest ─> decisions ─> same?
//! ```
//! - Time, chance, configuration and every answer of the cluster are those of the recording, unless another
//!   configuration is given: the same component decides the same.

mod decisions;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use crate::dev::target::Target;
use crate::project::Maker;
use decisions::{Decisions, difference};
use windlass_base::digest::digest;
use windlass_base::error::Chain;
use windlass_base::screen::{Tone, print, print_json, print_status};
use windlass_base::seams::Seams;
use windlass_base::text::clean_lines;
use windlass_controller::recording::{API_VERSION, CallOutcome, Function, Recording, component_of};
use windlass_kube::flags::OutputFormat;
use windlass_kube::object::ObjectRef;
use windlass_policy::manifest::{self, Origin};
use windlass_policy::source::text_of;
use windlass_sandbox::transcript::Player;
use windlass_sandbox::{Describe, Plugin, Request};

/// Replay a recorded pass.
#[derive(Debug, Args)]
pub struct ReplayFlags {
    /// The recording of a pass
    #[arg(value_name = "FILE")]
    pub recording: PathBuf,
    /// A project or a component to replay it with [default: the component that made the pass, which is kept beside the recording]
    #[arg(long, value_name = "FOLDER | FILE.wasm")]
    pub with: Option<PathBuf>,
    /// Plugin document whose spec.config replaces the recorded configuration, such as plugin.yaml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Output format
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: OutputFormat,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// The longest line that is shown.
const LINE: usize = 2 << 10;

/// The component decides otherwise than it was recorded.
#[derive(Debug, thiserror::Error)]
#[error("the decisions differ")]
pub struct Different;

/// What came of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplayReport {
    api_version: &'static str,
    kind: &'static str,
    recording: String,
    plugin: String,
    object: ObjectRef,
    /// Of the component that made the pass.
    recorded_digest: String,
    /// Of the component that made it again.
    digest: String,
    /// Whether the configuration is another one.
    config_differs: bool,
    same: bool,
    recorded: Decisions,
    replayed: Decisions,
    hidden_values: usize,
}

/// Makes a recorded pass again, and says whether its decisions are the same.
///
/// # Errors
/// [`Different`], if they are not; else that it cannot be made again.
pub async fn replay(flags: ReplayFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let file = &flags.recording;
    let recording = Recording::read(file)?;
    let component = component(&flags, &recording, &seams).await?;
    let describe = Describe::new(flags.code_cache.clone(), threads, &seams)?;
    let (name, limits) = (&recording.plugin.name, recording.limits());
    let config = match &flags.config {
        Some(file) => config_of(file)?,
        None => recording.config.to_string(),
    };
    let loading = describe.load(name, &component, &config, limits);
    let plugin = loading
        .await
        .map_err(|error| anyhow::anyhow!("{}", Chain(&error)))?;
    let config_differs = serde_json::from_str(&config).ok().as_ref() != Some(&recording.config);
    let object = recording.node();
    let recorded = Decisions::recorded(&recording);
    let replayed = play(&recording, &plugin).await?;
    let same = recorded == replayed;
    let answer = ReplayReport {
        api_version: API_VERSION,
        kind: "Replay",
        recording: file.display().to_string(),
        plugin: name.clone(),
        object,
        recorded_digest: recording.plugin.digest.clone(),
        digest: format!("sha256:{}", digest(&component).hex()),
        config_differs,
        same,
        recorded,
        replayed,
        hidden_values: recording.hidden_values,
    };
    match flags.output {
        OutputFormat::Text => print(&clean_lines(&answer.text(&recording), LINE)),
        OutputFormat::Json => print_json(&(serde_json::to_string_pretty(&answer)? + "\n")),
    }?;
    if same { Ok(()) } else { Err(Different.into()) }
}

/// The component that is named, or the one that is kept beside the recording.
async fn component(
    flags: &ReplayFlags,
    recording: &Recording,
    seams: &Seams,
) -> anyhow::Result<Arc<[u8]>> {
    if let Some(path) = &flags.with {
        let maker = Maker {
            seams: seams.clone(),
        };
        let target = Target::open(path)?;
        let made = target.make(&maker, |command| {
            let _ = print_status(Tone::Good, "Building", command);
        });
        return Ok(made.await?.bytes);
    }
    let kept = component_of(&flags.recording, &recording.plugin.digest);
    let Some(kept) = kept else {
        bail!(
            "the component {} of {} is not beside {}: name one, or a project, with --with",
            short(&recording.plugin.digest),
            recording.plugin.name,
            flags.recording.display()
        );
    };
    let bytes = fs::read(&kept).with_context(|| format!("cannot read {}", kept.display()))?;
    if format!("sha256:{}", digest(&bytes).hex()) != recording.plugin.digest {
        bail!(
            "{}: the file has changed since the recording: name a component with --with",
            kept.display()
        );
    }
    Ok(bytes.into())
}

/// The configuration that a document holds.
fn config_of(file: &Path) -> anyhow::Result<String> {
    let text = text_of(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut documents = manifest::parse(&Origin::File(file.to_owned()), &text)?.into_iter();
    match (documents.next(), documents.next()) {
        (Some(document), None) => Ok(document.config),
        _ => bail!(
            "{}: --config takes a file with one Plugin document, whose spec.config is used",
            file.display()
        ),
    }
}

async fn play(recording: &Recording, plugin: &Plugin) -> anyhow::Result<Decisions> {
    let player = Player::new(recording.transcript()?);
    let request = Request {
        object: recording.object(),
        attempt: recording.attempt,
    };
    let outcome = match recording.function {
        Function::Reconcile => {
            let called = plugin.reconcile_again(request, player.clone()).await;
            CallOutcome::of_reconcile(&called.answer, &called.output)
        }
        Function::ReconcileGoing => {
            if !plugin.reconciles_going() {
                anyhow::bail!("the component does not export `going`, which the recording is of");
            }
            let called = plugin.reconcile_going_again(request, player.clone()).await;
            CallOutcome::of_reconcile(&called.answer, &called.output)
        }
        Function::Finalize => {
            let called = plugin.finalize_again(request, player.clone()).await;
            CallOutcome::of_finalize(&called.answer, &called.output)
        }
    };
    let asked = player.import_calls();
    Ok(Decisions::of(
        &asked,
        outcome.hidden(|text| player.hidden(text)),
    ))
}

impl ReplayReport {
    fn text(&self, recording: &Recording) -> String {
        let Self {
            object,
            plugin,
            digest,
            recorded_digest,
            ..
        } = self;
        let generation = recording.generation();
        let generation = generation.map_or_else(String::new, |it| format!(", generation {it}"));
        let mut text = format!(
            "{object}{generation}, attempt {}: {plugin} {} ({})",
            recording.attempt + 1,
            recording.plugin.version,
            short(recorded_digest)
        );
        if digest != recorded_digest {
            text.push_str(&format!(", again on {}", short(digest)));
        }
        if self.config_differs {
            text.push_str(", with another configuration");
        }
        if self.same {
            text.push_str(&format!("\nsame: {}", self.recorded.summary()));
            return text;
        }
        text.push_str("\ndifferent: recorded -, now +\n");
        text.push_str(&difference(&self.recorded, &self.replayed));
        if let Some(beyond) = self.replayed.beyond(&self.recorded) {
            text.push_str(&beyond);
        }
        if recording.seed_hidden {
            text.push_str(
                "the pass generated a value of a Secret: the recording does not have the seed of its random numbers, so generated values differ\n",
            );
        }
        if self.hidden_values > 0 {
            text.push_str(&format!(
                "{} hidden in the recording: results that depend on such values can differ for this reason alone",
                match self.hidden_values {
                    1 => "1 value of a Secret is".to_owned(),
                    values => format!("{values} values of Secrets are"),
                }
            ));
        }
        text
    }
}

/// The first digits of a digest.
fn short(digest: &str) -> &str {
    digest.get(.."sha256:".len() + 12).unwrap_or(digest)
}
