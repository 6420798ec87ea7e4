//! The Plugin document: what an operator says about one plugin.
//!
//! - The same document works wherever it stands; here it is read from YAML files.
//! - What is not understood is an error that says where, and which word was perhaps meant.

mod definitions;
mod http;
mod limits;
#[cfg(test)]
mod page;
mod places;
mod takeover;
mod units;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use windlass_egress::Rules;
use windlass_yaml as yaml;

pub use definitions::DefinitionPolicy;
pub use limits::{Limits, MOST_MEMORY};
use places::Places;
pub use places::line_of_grant;
pub(crate) use takeover::belongs_to_kubernetes;

use crate::grants::{Grant, GrantError, GrantErrors, Grants};
use crate::object::{finalizer_of, manager_of};
use crate::text;
use crate::text::is_dns_label;

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
    /// The file that holds the document.
    pub file: PathBuf,
    /// The file that holds the component.
    pub component: PathBuf,
    /// The finalizer of the earlier operator whose objects it takes over; none for its own.
    pub finalizer: Option<String>,
    /// The field managers of the earlier operator, whose fields it takes over.
    pub replaces: Vec<String>,
    /// Handed to the guest as JSON; `{}` if there is none.
    pub config: String,
    /// What the plugin may touch.
    pub grants: Grants,
    /// Where it may send HTTP requests.
    pub http: Rules,
    /// How much it may use.
    pub limits: Limits,
    /// How often everything is looked at again, though nothing seems to have changed.
    pub resync: Duration,
    /// What is done about the CustomResourceDefinitions that the component carries.
    pub crds: DefinitionPolicy,
    /// How the component is made; `windlass run` does not look at it.
    pub build: Option<Build>,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Document {
    api_version: String,
    kind: String,
    metadata: DocumentMetadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentMetadata {
    name: String,
    #[serde(default, rename = "labels")]
    _labels: std::collections::BTreeMap<String, String>,
    #[serde(default, rename = "annotations")]
    _annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    source: ComponentSource,
    #[serde(default, deserialize_with = "yaml::untyped")]
    config: serde_json::Map<String, Value>,
    #[serde(default)]
    grants: Vec<Grant>,
    #[serde(default, deserialize_with = "yaml::untyped")]
    http: serde_json::Map<String, Value>,
    #[serde(default)]
    limits: limits::Raw,
    finalizer: Option<String>,
    #[serde(default)]
    replaces: Vec<String>,
    resync: Option<units::Time>,
    #[serde(default)]
    crds: DefinitionPolicy,
    build: Option<Build>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComponentSource {
    file: PathBuf,
}

/// Reads every Plugin document in `text`, which is the content of `file`. Documents are separated
/// by `---`.
///
/// # Errors
/// The first thing that is wrong, with file, line and column where YAML has them.
pub fn parse(file: &Path, text: &str) -> Result<Vec<PluginDocument>, ManifestError> {
    let documents: Vec<Document> = yaml::documents(text)
        .map_err(|error| foreign(file, text).unwrap_or_else(|| explain(file, &error)))?;
    let numbered = documents.into_iter().enumerate();
    numbered
        .map(|(number, document)| {
            let name = document.metadata.name.clone();
            let problems = match check(file, document) {
                Ok(document) => return Ok(document),
                Err(problems) => problems,
            };
            let places = Places::of(text);
            let place = |path: &str| places.get(number)?.find(path);
            let lines = problems.iter().map(|problem| {
                let at = place(&problem.path);
                let at = at.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
                format!("{}{at}: plugin {name}: {problem}", file.display())
            });
            Err(ManifestError(lines.collect::<Vec<_>>().join("\n")))
        })
        .collect()
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

/// What a document says of itself, whatever else is in it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DocumentHead {
    api_version: String,
    kind: String,
}

/// The error for a file with something else in it, such as a ConfigMap or a Plugin of another
/// version: that its fields are not ours is beside the point.
fn foreign(file: &Path, text: &str) -> Option<ManifestError> {
    let heads: Vec<DocumentHead> = yaml::documents(text).ok()?;
    let DocumentHead { api_version, kind } = heads
        .into_iter()
        .filter(|head| !head.kind.is_empty() && !head.api_version.is_empty())
        .find(|head| head.kind != KIND || head.api_version != API_VERSION)?;
    let file = file.display();
    Some(ManifestError(format!(
        "{file}: holds a {kind} of {api_version}; this host reads {KIND} of {API_VERSION}: keep other files elsewhere"
    )))
}

fn check(file: &Path, document: Document) -> Result<PluginDocument, Vec<FieldError>> {
    let name = document.metadata.name;
    let fail = |path: &str, message: String| Err(vec![FieldError::new(path, message)]);
    if document.api_version != API_VERSION || document.kind != KIND {
        let (version, kind) = (document.api_version, document.kind);
        let is = format!("is a {kind} of {version}; this host reads {KIND} of {API_VERSION}");
        return fail("kind", is);
    }
    if !is_dns_label(&name) {
        let must = "must be a DNS label: at most 63 of a-z, 0-9 and `-`, with a letter or digit at both ends";
        return fail("metadata.name", must.into());
    }
    let limits = match document.spec.limits.check() {
        Ok(limits) => limits,
        Err(problem) => {
            // It begins with the field.
            let (field, must) = problem.split_once(' ').unwrap_or(("", &problem));
            return fail(&format!("spec.limits.{field}"), must.to_owned());
        }
    };
    let resync = document.spec.resync.map_or(RESYNC, |time| time.0);
    if resync < SHORTEST_RESYNC {
        return fail("spec.resync", "must be at least 1m".into());
    }
    let grants = Grants::new(document.spec.grants).map_err(|GrantErrors(problems)| {
        let problems = problems.into_iter();
        let field =
            |it: GrantError| FieldError::new(format!("spec.grants{}", it.path()), it.message);
        problems.map(field).collect::<Vec<_>>()
    })?;
    if let Some(name) = &document.spec.finalizer
        && let Some(problem) = takeover::finalizer_problem(name, &grants)
    {
        return fail("spec.finalizer", problem);
    }
    let own = manager_of(&name);
    if let Some((at, problem)) = takeover::replaces_problem(&document.spec.replaces, &own) {
        return fail(&format!("spec.replaces[{at}]"), problem);
    }
    let http = http::read(document.spec.http)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    Ok(PluginDocument {
        component: folder.join(document.spec.source.file),
        file: file.to_owned(),
        finalizer: document.spec.finalizer,
        replaces: document.spec.replaces,
        config: Value::Object(document.spec.config).to_string(),
        grants,
        http,
        limits,
        resync,
        crds: document.spec.crds,
        build: document.spec.build,
        name,
    })
}

/// The parser's error with its source line, and the word that was perhaps meant.
pub fn explain(file: &Path, error: &serde_saphyr::Error) -> ManifestError {
    let name = file.display().to_string();
    let options = serde_saphyr::render_options! { source_name: Some(name.as_str()) };
    let mut message = error.render_with_options(options).trim_end().to_owned();
    let place = error.without_snippet().location();
    if let Some(rest) = message.strip_prefix("error: ") {
        // `line 7 column 3: ` comes first in the parser's text; ours names the file there.
        let rest = match (place, rest.split_once(": ")) {
            (Some(_), Some((front, back))) if front.starts_with("line ") => back,
            _ => rest,
        };
        message = rest.to_owned();
    }
    for (its, ours) in WORDS {
        message = message.replace(its, ours);
    }
    let place = place.map_or(String::new(), |place| {
        format!(":{}:{}", place.line(), place.column())
    });
    let mut explained = format!("{name}{place}: {message}");
    if let serde_saphyr::Error::SerdeUnknownVariant {
        variant, expected, ..
    } = error.without_snippet()
        && let Some(meant) = text::nearest(variant, expected.iter().copied())
    {
        explained.push_str(&format!("\n  = help: did you mean `{meant}`?"));
    }
    if let serde_saphyr::Error::SerdeUnknownField {
        field, expected, ..
    } = error.without_snippet()
    {
        if let Some(meant) = text::nearest(field, expected.iter().copied()) {
            explained.push_str(&format!("\n  = help: did you mean `{meant}`?"));
        }
        if let Some(later) = LATER.iter().find(|later| **later == field) {
            explained.push_str(&format!(
                "\n  = help: `{later}` is planned, but this version does not have it"
            ));
        }
    }
    ManifestError(explained)
}

/// The parser's words that are about itself, and ours.
const WORDS: [(&str, &str); 5] = [
    ("expected sequence start", "expected a list"),
    ("expected mapping start", "expected a mapping"),
    ("expected string scalar", "expected a string"),
    ("invalid u64", "expected a whole number"),
    (", set DuplicateKeyPolicy in Options if acceptable", ""),
];

/// Fields of the agreed document that this version has not built.
const LATER: [&str; 4] = ["oci", "configMap", "verify", "serviceAccount"];

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
apiVersion: windlass.dev/v1alpha1
kind: Plugin
metadata: { name: greeter }
spec:
  source: { file: greeter.wasm }
  config: { greeting: Ahoy }
  grants:
    - apiGroups: [examples.windlass.dev]
      resources: [greetings]
      verbs: [get, list, watch]
      namespaces: all
  limits: { memory: 32Mi, cpu: 500ms, deadline: 10s, concurrency: 2 }
"#;

    fn read(text: &str) -> Result<Vec<PluginDocument>, String> {
        parse(Path::new("plugins/greeter.yaml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_document_is_read_whole() {
        let plugin = read(GOOD).unwrap().remove(0);
        assert_eq!(plugin.name, "greeter");
        assert_eq!(plugin.component, Path::new("plugins/greeter.wasm"));
        assert_eq!(plugin.config, r#"{"greeting":"Ahoy"}"#);
        assert_eq!(
            (plugin.limits.memory, plugin.limits.concurrency),
            (32 << 20, 2)
        );
        assert_eq!(
            plugin.limits.api_calls, 100,
            "what is not said has its default"
        );
    }

    #[test]
    fn numbers_are_read_as_kubernetes_reads_them() {
        let text = GOOD
            .replace("{ greeting: Ahoy }", "{ mode: 0400, y: on }")
            .replace("concurrency: 2", "concurrency: 010");
        let plugin = read(&text).unwrap().remove(0);
        assert_eq!(plugin.config, r#"{"mode":256,"true":true}"#);
        assert_eq!(plugin.limits.concurrency, 8);
    }

    #[test]
    fn an_unknown_field_is_named_with_its_place_and_the_nearest_valid_one() {
        let error = read(&GOOD.replace("  grants:", "  gants:")).unwrap_err();
        assert!(
            error.starts_with("plugins/greeter.yaml:8:3: unknown field `gants`"),
            "{error}"
        );
        assert!(error.contains("did you mean `grants`?"), "{error}");
        let planned = LATER.map(|field| format!("`{field}`")).join(", ");
        let (before, last) = planned.rsplit_once(", ").unwrap();
        let page = include_str!("../../docs/plugin-document.md").replace('\n', " ");
        let sentence = format!("{before} and {last} are planned, and are errors");
        assert!(
            page.contains(&sentence),
            "docs/plugin-document.md: {sentence}"
        );
        let error = read(&GOOD.replace("  grants:", "  verify:")).unwrap_err();
        assert!(error.contains("`verify` is planned"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let cases = [
            (
                "source: { file: greeter.wasm }",
                "source: 7",
                "plugins/greeter.yaml:6:11",
            ),
            ("verbs: [get, list, watch]", "verbs: get", "expected a list"),
            (
                "source: { file: greeter.wasm }",
                "source: {}",
                "missing field `file`",
            ),
            (
                "name: greeter",
                "name: Greeter_1",
                "plugins/greeter.yaml:4:19: plugin Greeter_1: metadata.name: must be a DNS label",
            ),
            (
                "kind: Plugin",
                "kind: Pod",
                "this host reads Plugin of windlass.dev/v1alpha1",
            ),
            (
                "kind: Plugin",
                "kind: ConfigMap\ndata: {}",
                "holds a ConfigMap of windlass.dev/v1alpha1; this host reads Plugin",
            ),
            (
                "concurrency: 2",
                "concurrency: many",
                "expected a whole number",
            ),
            ("memory: 32Mi", "memory: 32MB", "plugins/greeter.yaml:13:21"),
            (
                "memory: 32Mi",
                "memory: 1Ki",
                "plugins/greeter.yaml:13:21: plugin greeter: spec.limits.memory: must be",
            ),
            (
                "verbs: [get, list, watch]",
                "verbs: [get, see]",
                "plugins/greeter.yaml:11:20: plugin greeter: spec.grants[0].verbs[1]: \"see\" is not one of",
            ),
            ("namespaces: all", "namespaces: some", "namespaces"),
            (
                "config: { greeting: Ahoy }",
                "config: { a: 1, a: 2 }",
                "duplicate",
            ),
        ];
        for (from, to, want) in cases {
            assert!(GOOD.contains(from), "{from}");
            let error = read(&GOOD.replace(from, to)).unwrap_err();
            assert!(error.contains(want), "{to}: {error}");
        }
    }

    #[test]
    fn every_grant_that_is_wrong_is_told_at_once() {
        let powerful = "verbs: [get, list, watch]\n      namespaces: all\n    - { apiGroups: [''], resources: [secrets], verbs: [get] }\n    - { apiGroups: [''], resources: [pods], verbs: [create] }\n";
        let error = read(&GOOD.replace(
            "verbs: [get, list, watch]\n      namespaces: all\n",
            powerful,
        ))
        .unwrap_err();
        let mut lines = error.lines();
        let want = "plugins/greeter.yaml:13:7: plugin greeter: spec.grants[1]: secrets is powerful";
        assert!(lines.next().unwrap().starts_with(want), "{error}");
        let want = "plugins/greeter.yaml:14:7: plugin greeter: spec.grants[2]: pods is powerful";
        assert!(lines.next().unwrap().starts_with(want), "{error}");
        assert!(
            error.ends_with("write `acknowledge: [pods/create]` in this grant"),
            "{error}"
        );
    }

    #[test]
    fn several_documents_in_a_file_and_none_are_both_fine() {
        let second = GOOD.replace("name: greeter", "name: second");
        assert_eq!(read(&format!("{GOOD}---{second}")).unwrap().len(), 2);
        assert!(read("# nothing yet\n").unwrap().is_empty());
    }
}
