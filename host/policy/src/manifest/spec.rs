//! A Plugin document as it is written, and its check.

use serde::Deserialize;
use serde_json::Value;
use windlass_yaml as yaml;

use super::{
    API_VERSION, Build, DefinitionPolicy, DeletionPolicy, FieldError, KIND, Mode,
    ObjectAnnotations, Origin, PluginDocument, RESYNC, SHORTEST_RESYNC, config_source, http,
    limits, rollout, source, takeover, units,
};
use crate::grants::{Grant, GrantError, GrantErrors, Grants};
use windlass_base::text::is_dns_label;
use windlass_kube::api::ServiceAccount;
use windlass_kube::object::manager_of;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Document {
    api_version: String,
    kind: String,
    pub(super) metadata: DocumentMetadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DocumentMetadata {
    pub(super) name: String,
    #[serde(default, rename = "labels")]
    _labels: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    pub(super) annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    /// Where the component is.
    #[cfg_attr(test, schemars(extend("x-kubernetes-validations" = super::crd::source_rules())))]
    source: source::Raw,
    /// Handed to the plugin as JSON.
    #[serde(default, deserialize_with = "yaml::untyped")]
    #[cfg_attr(test, schemars(schema_with = "super::crd::any_object"))]
    config: serde_json::Map<String, Value>,
    /// ConfigMaps and Secrets with more of it, in the namespace of the host. Later entries go before earlier ones, and config goes before all.
    #[serde(default, rename = "configFrom")]
    config_from: Vec<config_source::Raw>,
    /// What the plugin may touch. Nothing is allowed that is not here.
    #[serde(default)]
    grants: Vec<Grant>,
    /// The service account whose rights the plugin has. Without it the plugin has rights of the host.
    #[serde(rename = "serviceAccount")]
    service_account: Option<RawServiceAccount>,
    /// Where the plugin may send HTTP requests.
    #[serde(default, deserialize_with = "yaml::untyped")]
    #[cfg_attr(test, schemars(schema_with = "super::crd::http"))]
    http: serde_json::Map<String, Value>,
    /// How much the plugin may use.
    #[serde(default)]
    limits: limits::Raw,
    /// The finalizer of the operator that ran before, whose objects the plugin takes over.
    finalizer: Option<String>,
    /// The field managers of the operator that ran before, whose fields the plugin takes over.
    #[serde(default)]
    replaces: Vec<String>,
    /// Who reports the Events of the plugin, such as the operator that ran before.
    #[serde(rename = "reportingController")]
    reporting_controller: Option<String>,
    /// How often all objects are reconciled again, such as 10h.
    resync: Option<units::Time>,
    /// What is done about the CustomResourceDefinitions that the component carries.
    #[serde(default)]
    crds: DefinitionPolicy,
    /// What becomes of the plugin when its object is deleted, while objects carry its finalizer.
    #[serde(default, rename = "deletionPolicy")]
    deletion: DeletionPolicy,
    /// Whether the plugin writes: what it would write is shown and not sent if it observes.
    #[serde(default)]
    mode: Mode,
    /// Whether the annotations windlass.dev/paused and windlass.dev/reconcile-requested-at of its objects count.
    #[serde(default, rename = "objectAnnotations")]
    object_annotations: ObjectAnnotations,
    /// How the component is built. Only `windlass dev` and `windlass build` read it.
    build: Option<Build>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RawServiceAccount {
    /// Its namespace.
    #[cfg_attr(test, schemars(length(min = 1, max = 63)))]
    namespace: String,
    /// Its name.
    #[cfg_attr(test, schemars(length(min = 1, max = 253)))]
    name: String,
}

impl RawServiceAccount {
    fn check(&self) -> Result<ServiceAccount, FieldError> {
        let checked = ServiceAccount::new(&self.namespace, &self.name);
        checked.map_err(|wrong| {
            let path = format!("spec.serviceAccount.{}", wrong.field);
            FieldError::new(path, wrong.to_string())
        })
    }
}

/// Checks a document that stands in `origin`.
pub(super) fn check(
    origin: &Origin,
    document: Document,
) -> Result<PluginDocument, Vec<FieldError>> {
    let DocumentMetadata {
        name, annotations, ..
    } = document.metadata;
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
    let rollback_to = rollout::rollback_to(&annotations).map_err(|problem| vec![problem])?;
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
    let field = |it: GrantError| FieldError::new(format!("spec.grants{}", it.path()), it.message);
    let grants = Grants::new(document.spec.grants);
    let grants = grants.map_err(|GrantErrors(problems)| {
        let problems = problems.into_iter();
        problems.map(field).collect::<Vec<_>>()
    })?;
    let service_account = document.spec.service_account;
    let service_account = service_account.map(|written| written.check()).transpose();
    let service_account = service_account.map_err(|problem| vec![problem])?;
    if let Some(problem) = grants.binds().filter(|_| service_account.is_none()) {
        return Err(vec![field(problem)]);
    }
    if let Some(name) = &document.spec.finalizer
        && let Some(problem) = takeover::finalizer_problem(name, &grants)
    {
        return fail("spec.finalizer", problem);
    }
    let own = manager_of(&name);
    if let Some((at, problem)) = takeover::replaces_problem(&document.spec.replaces, &own) {
        return fail(&format!("spec.replaces[{at}]"), problem);
    }
    let reporter = document.spec.reporting_controller;
    if let Some(problem) = reporter.as_deref().and_then(takeover::reporter_problem) {
        return fail("spec.reportingController", problem);
    }
    let config_from = config_source::check(document.spec.config_from, origin.file().is_some());
    let config_from = config_from.map_err(|problem| vec![problem])?;
    let http = http::read(document.spec.http)?;
    let source = document.spec.source.check(origin);
    let source = source.map_err(|problem| vec![problem])?;
    Ok(PluginDocument {
        source,
        origin: origin.clone(),
        finalizer: document.spec.finalizer,
        replaces: document.spec.replaces,
        reporting_controller: reporter,
        config: Value::Object(document.spec.config).to_string(),
        config_from,
        grants,
        service_account,
        http,
        limits,
        resync,
        crds: document.spec.crds,
        deletion: document.spec.deletion,
        mode: document.spec.mode,
        object_annotations: document.spec.object_annotations,
        build: document.spec.build,
        rollback_to,
        is_paused: rollout::is_paused(&annotations),
        name,
    })
}
