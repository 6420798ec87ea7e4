//! The Plugin document: what an operator says about one plugin.
//!
//! - The same document works wherever it stands: in a file, or as an object.
//! - What is not understood is an error that says where, and which word was perhaps meant.

mod config_source;
#[cfg(test)]
mod crd;
mod definitions;
mod deletion;
mod explain;
mod http;
mod limits;
mod mode;
mod origin;
#[cfg(test)]
mod page;
mod places;
mod plugin_config;
mod rollout;
mod source;
mod spec;
mod takeover;
#[cfg(test)]
mod tests;
mod units;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_egress::Rules;
use windlass_yaml as yaml;

pub use config_source::ConfigSource;
pub use definitions::DefinitionPolicy;
pub use deletion::DeletionPolicy;
pub use explain::explain;
pub use limits::{ApiRate, Limits, MOST_MEMORY};
pub use mode::{Mode, ObjectAnnotations};
pub use origin::Origin;
use places::Places;
pub use places::line_of_grant;
pub use plugin_config::PluginConfig;
pub use rollout::ROLLBACK_TO;
pub use source::{ComponentSource, ConfigMapSource, OciSource};
pub use takeover::belongs_to_kubernetes;

use crate::grants::Grants;
use windlass_base::digest::Digest;
use windlass_kube::api::ServiceAccount;
use windlass_kube::object::{PAUSED, finalizer_of};

/// The only version of the document so far.
const API_VERSION: &str = "windlass.dev/v1alpha1";
const KIND: &str = "Plugin";

/// As controller-runtime's `SyncPeriod`.
pub const RESYNC: Duration = Duration::from_secs(10 * 3600);
const SHORTEST_RESYNC: Duration = Duration::from_secs(60);

/// A Plugin document, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginDocument {
    /// `metadata.name`: the finalizer, the field manager and the log follow it.
    pub name: String,
    /// Where the document stands.
    pub origin: Origin,
    /// Where the component is.
    pub source: ComponentSource,
    /// The finalizer of the earlier operator whose objects it takes over; none for its own.
    pub finalizer: Option<String>,
    /// The field managers of the earlier operator, whose fields it takes over.
    pub replaces: Vec<String>,
    /// Who reports its Events: the earlier operator's name; none for its own.
    pub reporting_controller: Option<String>,
    /// Handed to the guest as JSON; `{}` if there is none.
    pub config: String,
    /// Where more of it is; only of an object.
    pub config_from: Vec<ConfigSource>,
    /// What the plugin may touch.
    pub grants: Grants,
    /// Whose rights it has; those of the host if there is none.
    pub service_account: Option<ServiceAccount>,
    /// Where it may send HTTP requests.
    pub http: Rules,
    /// How much it may use.
    pub limits: Limits,
    /// How often everything is looked at again, though nothing seems to have changed.
    pub resync: Duration,
    /// What is done about the CustomResourceDefinitions that the component carries.
    pub crds: DefinitionPolicy,
    /// What becomes of it when its object is deleted.
    pub deletion: DeletionPolicy,
    /// Whether it writes.
    pub mode: Mode,
    /// Whether annotations of its objects count.
    pub object_annotations: ObjectAnnotations,
    /// How the component is made; `windlass run` does not look at it.
    pub build: Option<Build>,
    /// The component that runs, whatever `source` says.
    pub rollback_to: Option<Digest>,
    /// Whether what runs is to run on, and nothing else.
    pub is_paused: bool,
}

impl PluginDocument {
    /// The finalizer that the host puts on the plugin's primaries.
    pub fn finalizer(&self) -> String {
        let own = || finalizer_of(&self.name);
        self.finalizer.clone().unwrap_or_else(own)
    }
}

/// How a component is made from source, for `windlass build` and `windlass dev`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// A command line for the shell, run in the document's folder.
    pub command: String,
    /// The component that the command makes, seen from that folder; none if it is `source.file`.
    pub output: Option<PathBuf>,
    /// The files that it is made from, as patterns of .gitignore's kind: `src/**`.
    pub watch: Vec<String>,
}

/// A document that cannot be used, with everything that a person needs to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ManifestError(String);

/// Reads every Plugin document in `text`, which is what stands in `origin`. Documents are separated
/// by `---`.
///
/// # Errors
/// The first thing that is wrong, with file, line and column where YAML has them.
pub fn parse(origin: &Origin, text: &str) -> Result<Vec<PluginDocument>, ManifestError> {
    let documents: Vec<spec::Document> = yaml::documents(text).map_err(|error| {
        explain::foreign(origin, text).unwrap_or_else(|| explain(origin, &error))
    })?;
    let numbered = documents.into_iter().enumerate();
    numbered
        .map(|(number, document)| {
            let name = document.metadata.name.clone();
            let problems = match spec::check(origin, document) {
                Ok(document) => return Ok(document),
                Err(problems) => problems,
            };
            let places = Places::of(text);
            let place = |path: &str| places.get(number)?.find(path);
            let lines = problems.iter().map(|problem| match origin {
                Origin::File(file) => {
                    let at = place(&problem.path);
                    let at = at.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
                    format!("{}{at}: plugin {name}: {problem}", file.display())
                }
                Origin::Object(_) => format!("{origin}: {problem}"),
            });
            Err(ManifestError(lines.collect::<Vec<_>>().join("\n")))
        })
        .collect()
}

/// The `spec` of a Plugin object that is not read, and why.
pub const TOO_LARGE: &str = "has more values than a host reads: put large configuration into ConfigMaps, and name them in spec.configFrom";

/// Reads a Plugin object; answers also its text, which changes only with its name, its spec and the annotation that names
/// another component.
///
/// # Errors
/// What is wrong with it.
pub fn of_object(object: &Value) -> Result<(PluginDocument, String), ManifestError> {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    let origin = Origin::Object(name.unwrap_or_default().to_owned());
    if object.get("spec").is_some_and(|spec| spec == TOO_LARGE) {
        return Err(ManifestError(format!("{origin}: spec: {TOO_LARGE}")));
    }
    let text = text_of_object(object);
    // JSON is YAML.
    let document = parse(&origin, &text)?.pop();
    let document = document.ok_or_else(|| ManifestError(format!("{origin}: is empty")))?;
    let is_paused = annotation(object, PAUSED).is_some_and(|value| value == "true");
    Ok((
        PluginDocument {
            is_paused,
            ..document
        },
        text,
    ))
}

fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.pointer("/metadata/annotations")?.get(name)
}

/// The document in a Plugin object, as text: what says which version is asked for, and nothing else.
pub fn text_of_object(object: &Value) -> String {
    let field = |pointer: &str| object.pointer(pointer).cloned().unwrap_or_default();
    let name = field("/metadata/name");
    let metadata = match annotation(object, ROLLBACK_TO) {
        Some(digest) => json!({ "name": name, "annotations": { ROLLBACK_TO: digest } }),
        None => json!({ "name": name }),
    };
    let document = json!({
        "apiVersion": field("/apiVersion"),
        "kind": field("/kind"),
        "metadata": metadata,
        "spec": field("/spec"),
    });
    format!("{document:#}")
}

/// What is wrong with a field.
struct FieldError {
    /// `spec.grants[1].verbs[0]`.
    path: String,
    /// What is wrong with it, and what to write.
    message: String,
}

impl FieldError {
    fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.path, self.message)
    }
}
