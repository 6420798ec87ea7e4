//! `spec.source`: where the component of a plugin is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use windlass_registry::Reference;

use super::units::Time;
use super::{FieldError, Origin};
use windlass_base::digest::Digest;
use windlass_base::text::{is_dns_label, is_dns_subdomain};

/// How often it is looked where a tag leads, unless the document says otherwise.
const INTERVAL: Duration = Duration::from_secs(300);
const SHORTEST_INTERVAL: Duration = Duration::from_secs(10);

/// More ConfigMaps do not hold a component: 32 MiB in parts of almost 1 MiB.
const MOST_PARTS: usize = 40;

/// Where a component is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentSource {
    /// In a file.
    File(PathBuf),
    /// In a registry, or in a folder with an OCI image layout.
    Oci(OciSource),
    /// In a ConfigMap, or in several.
    ConfigMap(ConfigMapSource),
}

/// An artifact in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciSource {
    /// Which one.
    pub reference: Reference,
    /// The Secret with the credentials, in the namespace of the host.
    pub pull_secret: Option<String>,
    /// How often it is looked where the tag leads.
    pub interval: Duration,
}

/// A component in ConfigMaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMapSource {
    /// Their namespace.
    pub namespace: String,
    /// Their names, in the order of their parts.
    pub names: Vec<String>,
    /// The key of `binaryData` in each. With the ending `.gz`, the parts together are gzipped.
    pub key: String,
    /// The digest that the component must have.
    pub digest: Digest,
}

impl ComponentSource {
    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(file) => Some(file),
            Self::Oci(_) | Self::ConfigMap(_) => None,
        }
    }

    /// The field of the document that says so.
    pub fn field(&self) -> &'static str {
        match self {
            Self::File(_) => "spec.source.file",
            Self::Oci(_) => "spec.source.oci",
            Self::ConfigMap(_) => "spec.source.configMap",
        }
    }

    /// Whether what is there can never be anything else: a digest names it.
    pub fn is_pinned(&self) -> bool {
        matches!(self, Self::Oci(oci) if oci.reference.digest().is_some())
    }

    /// How often it is looked whether something else is there, if nobody says so.
    pub fn interval(&self) -> Option<Duration> {
        match self {
            Self::Oci(oci) if !self.is_pinned() => Some(oci.interval),
            Self::File(_) | Self::Oci(_) | Self::ConfigMap(_) => None,
        }
    }
}

/// The file; the reference; `configmap/NAMESPACE/NAME`.
impl fmt::Display for ComponentSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => file.display().fmt(out),
            Self::Oci(oci) => oci.reference.fmt(out),
            Self::ConfigMap(maps) => {
                let ConfigMapSource {
                    namespace, names, ..
                } = maps;
                write!(out, "configmap {namespace}/{}", names.join("+"))
            }
        }
    }
}

/// The field as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Raw {
    /// Path of a component, seen from the folder of the document. Only in files.
    #[cfg_attr(test, schemars(skip))]
    file: Option<PathBuf>,
    /// Artifact in a registry: `registry.example.com/plugins/greeter@sha256:…`, or a tag that is followed.
    oci: Option<String>,
    /// How often it is looked where the tag leads, such as 5m.
    interval: Option<Time>,
    /// Name of a Secret of type kubernetes.io/dockerconfigjson in the namespace of the host.
    pull_secret: Option<String>,
    /// Component in a ConfigMap.
    config_map: Option<RawConfigMap>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RawConfigMap {
    /// Namespace of the ConfigMap.
    namespace: String,
    /// Name of the ConfigMap.
    name: String,
    /// Key in binaryData. With the ending .gz, the component is gzipped.
    key: String,
    /// Names of ConfigMaps that continue it, in order: they have the same key.
    #[serde(default)]
    parts: Vec<String>,
    /// Digest that the component must have, such as sha256:…: anyone who may edit the ConfigMap would choose the code.
    #[cfg_attr(test, schemars(required))]
    digest: Option<String>,
}

impl Raw {
    /// Checks the field of a document that stands in `origin`.
    pub(super) fn check(self, origin: &Origin) -> Result<ComponentSource, FieldError> {
        let fail = |field: &str, must: String| {
            let dot = if field.is_empty() { "" } else { "." };
            Err(FieldError::new(format!("spec.source{dot}{field}"), must))
        };
        let Self {
            file,
            oci,
            interval,
            pull_secret,
            config_map,
        } = self;
        if oci.is_none() && interval.is_some() {
            return fail("interval", "is only for `oci`".into());
        }
        if oci.is_none() && pull_secret.is_some() {
            return fail("pullSecret", "is only for `oci`".into());
        }
        match (file, oci, config_map) {
            (Some(file), None, None) => match origin {
                Origin::File(document) => {
                    let folder = document.parent().unwrap_or(Path::new("."));
                    Ok(ComponentSource::File(folder.join(file)))
                }
                Origin::Object(_) => fail(
                    "file",
                    "is only for documents in files: an object names `oci` or `configMap`".into(),
                ),
            },
            (None, Some(oci), None) => {
                let reference = match Reference::parse(&oci) {
                    Ok(reference) => reference,
                    Err(error) => return fail("oci", error.to_string()),
                };
                if let (Reference::Layout(_), Origin::Object(_)) = (&reference, origin) {
                    let must = "must name a registry: only a document in a file may name a folder of the host";
                    return fail("oci", must.into());
                }
                let interval = interval.map_or(INTERVAL, |time| time.0);
                if interval < SHORTEST_INTERVAL {
                    return fail("interval", "must be at least 10s".into());
                }
                if pull_secret
                    .as_deref()
                    .is_some_and(|name| !is_dns_subdomain(name))
                {
                    return fail("pullSecret", "must be the name of a Secret".into());
                }
                Ok(ComponentSource::Oci(OciSource {
                    reference,
                    pull_secret,
                    interval,
                }))
            }
            (None, None, Some(map)) => match map.check() {
                Ok(source) => Ok(ComponentSource::ConfigMap(source)),
                Err((field, must)) => fail(&format!("configMap.{field}"), must),
            },
            (None, None, None) => fail(
                "",
                "must name where the component is: `file`, `oci` or `configMap`".into(),
            ),
            (_, _, _) => fail(
                "",
                "must name only one of `file`, `oci` and `configMap`".into(),
            ),
        }
    }
}

impl RawConfigMap {
    fn check(self) -> Result<ConfigMapSource, (&'static str, String)> {
        if !is_dns_label(&self.namespace) {
            return Err(("namespace", "must be the name of a namespace".into()));
        }
        let names: Vec<String> = [self.name].into_iter().chain(self.parts).collect();
        if let Some(at) = names.iter().position(|name| !is_dns_subdomain(name)) {
            let field = if at == 0 { "name" } else { "parts" };
            return Err((field, "must name ConfigMaps".into()));
        }
        if names.len() > MOST_PARTS {
            return Err(("parts", format!("must be fewer than {MOST_PARTS}")));
        }
        let is_key = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if self.key.is_empty() || !self.key.chars().all(is_key) {
            return Err(("key", "must be a key of binaryData".into()));
        }
        let digest = self.digest.as_deref().unwrap_or_default();
        let digest = digest.strip_prefix("sha256:").and_then(Digest::of_hex);
        let must = "must be the digest of the component, `sha256:` and 64 hexadecimal digits: anyone who may edit the ConfigMap would choose the code otherwise; `sha256sum` prints them";
        Ok(ConfigMapSource {
            namespace: self.namespace,
            names,
            key: self.key,
            digest: digest.ok_or_else(|| ("digest", must.to_owned()))?,
        })
    }
}
