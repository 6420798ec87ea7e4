//! `windlass inspect`: what a component is, what it reconciles and what it wants to touch, without a cluster.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::project::component::read;
use windlass_base::digest::digest;
use windlass_base::error::Chain;
use windlass_base::screen::{self, print_json};
use windlass_base::seams::Seams;
use windlass_base::text::clean;
use windlass_kube::flags::OutputFormat;
use windlass_kube::object::Fields;
use windlass_policy::grants::split_subresource;
use windlass_policy::manifest::Limits;
use windlass_sandbox::{Describe, Description, Finalizes, PrimaryWatch};

/// Describe a component.
#[derive(Debug, Args)]
pub struct InspectFlags {
    /// The component, a .wasm or .wasm.gz file
    #[arg(value_name = "FILE")]
    pub component: PathBuf,
    /// Output format
    #[arg(long, short, default_value = "text", value_name = "FORMAT")]
    pub output: OutputFormat,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}

/// The longest text of a component that is shown.
const TEXT: usize = 512;

/// What a component is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Inspection {
    api_version: &'static str,
    kind: &'static str,
    name: String,
    version: String,
    digest: String,
    bytes: usize,
    primaries: Vec<Primary>,
    needs: Vec<Need>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Primary {
    api_version: String,
    kind: String,
    label_selector: Option<String>,
    field_selector: Option<String>,
    spec_change_only: bool,
    declares_fields: bool,
    finalizes: &'static str,
    finalizes_on_leave: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Need {
    group: String,
    resource: String,
    names: Vec<String>,
    verbs: Vec<String>,
    /// Why a grant of it is powerful.
    powerful: Vec<String>,
}

/// Prints what the component in a file is.
///
/// # Errors
/// It cannot be read, or a host would not load it.
pub async fn print(flags: InspectFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let file = flags.component.as_path();
    let bytes = read(file)?;
    let describe = Describe::new(flags.code_cache, threads, &seams)?;
    let loading = describe.load("inspected", &bytes, "{}", Limits::default());
    let plugin = loading
        .await
        .map_err(|error| anyhow::anyhow!("{}: {}", file.display(), Chain(&error)))?;
    let inspection = Inspection::of(&plugin.description, digest(&bytes).to_string(), bytes.len());
    Ok(match flags.output {
        OutputFormat::Text => screen::print(&inspection.text()),
        OutputFormat::Json => print_json(&(serde_json::to_string_pretty(&inspection)? + "\n")),
    }?)
}

impl Inspection {
    fn of(description: &Description, digest: String, bytes: usize) -> Self {
        let needs = description.needs.iter().map(|need| Need {
            group: clean(&need.group, TEXT),
            resource: clean(&need.resource, TEXT),
            names: need.names.iter().map(|name| clean(name, TEXT)).collect(),
            verbs: need.verbs.iter().map(|verb| clean(verb, TEXT)).collect(),
            // Of each of these kinds a grant says so.
            powerful: if description.is_of_every_kind(need) {
                Vec::new()
            } else {
                powerful(need)
            },
        });
        Self {
            api_version: "windlass.dev/v1alpha1",
            kind: "Inspection",
            name: description.name.clone(),
            version: description.version.clone(),
            digest,
            bytes,
            primaries: description.primaries.iter().map(Primary::of).collect(),
            needs: needs.collect(),
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let name = format!("{} {}", self.name, self.version);
        let kib = self.bytes.div_ceil(1024);
        put(&mut out, &format!("{name}   {kib} KiB   {}", self.digest));
        for primary in &self.primaries {
            primary.put(&mut out);
        }
        let mut head = "NEEDS";
        for need in &self.needs {
            let (plural, subresource) = split_subresource(&need.resource);
            let group = match &*need.group {
                "" => String::new(),
                group => format!(".{group}"),
            };
            let sub = subresource.map_or(String::new(), |sub| format!("/{sub}"));
            let names = if need.names.is_empty() {
                String::new()
            } else {
                format!(" named {}", need.names.join(" "))
            };
            let verbs = need.verbs.join(" ");
            let mut primaries = self.primaries.iter();
            let is_wild = (&*need.group, &*need.resource) == ("*", "*") && need.names.is_empty();
            let what = if is_wild && primaries.any(|primary| primary.kind == "*") {
                "each of these kinds".to_owned()
            } else {
                format!("{plural}{group}{sub}{names}")
            };
            put(&mut out, &format!("{head:<11}{what}: {verbs}"));
            head = "";
            for why in &need.powerful {
                put(&mut out, &format!("{head:<11}  powerful: {why}"));
            }
        }
        out
    }
}

impl Primary {
    fn of(watch: &PrimaryWatch) -> Self {
        Self {
            api_version: clean(&watch.api_version, TEXT),
            kind: clean(&watch.kind, TEXT),
            label_selector: watch.label_selector.clone(),
            field_selector: watch.field_selector.clone(),
            spec_change_only: watch.spec_change_only,
            declares_fields: !watch.is_every_kind() && watch.fields != Fields::default(),
            finalizes: match watch.finalizes {
                Finalizes::Never => "never",
                Finalizes::Always => "always",
                Finalizes::OnRequest => "on-request",
            },
            finalizes_on_leave: watch.finalizes_on_leave,
        }
    }

    /// Writes which objects it is, and how they are reconciled.
    fn put(&self, out: &mut String) {
        let Self {
            api_version,
            kind,
            label_selector,
            field_selector,
            spec_change_only,
            declares_fields,
            finalizes,
            finalizes_on_leave,
        } = self;
        if kind == "*" {
            put(out, "RECONCILES every kind that a grant lets it watch");
        } else {
            put(out, &format!("RECONCILES {kind} of {api_version}"));
        }
        let on = |on: &bool, text: &'static str| on.then_some(text.to_owned());
        let selected = |selector: &Option<String>, by: &str| {
            let selector = selector.as_ref()?;
            Some(format!(
                "only those whose {by} match {}",
                clean(selector, TEXT)
            ))
        };
        let more = [
            selected(label_selector, "labels"),
            selected(field_selector, "fields"),
            on(spec_change_only, "ignores changes of only the status"),
            on(&(kind == "*"), "reads only metadata"),
            on(declares_fields, "reads only the fields that it declares"),
            on(
                &(*finalizes == "always"),
                "finalizes: an object is deleted only after finalize is done",
            ),
            on(
                &(*finalizes == "on-request"),
                "finalizes on request: an object that it protects is deleted only after finalize is done",
            ),
            on(
                finalizes_on_leave,
                "finalizes an object at once that no longer matches",
            ),
        ];
        for line in more.into_iter().flatten() {
            put(out, &format!("           {line}"));
        }
    }
}

fn powerful(need: &windlass_sandbox::Need) -> Vec<String> {
    let verbs: Vec<&str> = need.verbs.iter().map(String::as_str).collect();
    let reasons = need.grant(&verbs).powers();
    reasons.iter().map(|reason| reason.why.to_owned()).collect()
}

fn put(out: &mut String, line: &str) {
    // Writing into memory does not fail.
    let _ = writeln!(out, "{line}");
}
