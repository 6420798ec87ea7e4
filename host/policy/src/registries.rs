//! What the host knows of registries: credentials, and what is special of hosts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use http::HeaderValue;
use serde::Deserialize;
use windlass_egress::{SystemResolver, TcpDialer, system_roots};
use windlass_registry::{DockerConfig, HostSettings, Settings};
use windlass_yaml as yaml;

use windlass_base::seams::{Seams, environment};

/// What registries know the host by.
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("windlass/", env!("CARGO_PKG_VERSION")));

/// Which registries, and how they are asked.
#[derive(Clone, Debug, Default, Args)]
pub struct RegistryFlags {
    /// File with the credentials of registries, as Docker writes it [default: $DOCKER_CONFIG/config.json, or ~/.docker/config.json]
    #[arg(long, env = "WINDLASS_REGISTRY_CONFIG", value_name = "FILE")]
    pub registry_config: Option<PathBuf>,
    /// YAML file that says what is special of registries: own authorities, mirrors, plain HTTP
    #[arg(long, env = "WINDLASS_REGISTRIES", value_name = "FILE")]
    pub registries: Option<PathBuf>,
}

/// The file that says what is special of registries.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    registries: BTreeMap<String, Registry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
#[derive(Default)]
struct Registry {
    /// Registries that are asked first.
    mirrors: Vec<String>,
    /// A file with the authorities that are trusted for it, in PEM.
    ca: Option<PathBuf>,
    /// It is asked over HTTP.
    #[serde(rename = "plainHTTP")]
    plain_http: bool,
    /// It may be on this machine.
    allow_local: bool,
}

impl RegistryFlags {
    /// What a client of registries is given.
    ///
    /// # Errors
    /// A file that was named cannot be read, or is not what it should be.
    pub fn settings(&self, seams: &Seams) -> anyhow::Result<Settings> {
        let (roots, problems) = system_roots();
        for problem in problems {
            tracing::debug!("an authority of the system is left out: {problem}");
        }
        Ok(Settings {
            roots: Arc::new(roots),
            resolver: Arc::new(SystemResolver::default()),
            dialer: Arc::new(TcpDialer),
            clock: seams.clock,
            user_agent: AGENT,
            credentials: self.credentials()?,
            hosts: match &self.registries {
                Some(file) => hosts(file)?,
                None => BTreeMap::new(),
            },
        })
    }

    fn credentials(&self) -> anyhow::Result<DockerConfig> {
        let file = match &self.registry_config {
            Some(file) => file.clone(),
            None => match usual_config().filter(|file| file.exists()) {
                Some(file) => file,
                None => return Ok(DockerConfig::default()),
            },
        };
        let shown = file.display();
        let text = fs::read_to_string(&file);
        let text = text.with_context(|| {
            format!("cannot read the credentials of registries from {shown}; name another file with --registry-config")
        })?;
        DockerConfig::read(&text).map_err(|why| anyhow!("{shown}: {why}"))
    }
}

/// Where Docker has its config.
fn usual_config() -> Option<PathBuf> {
    let folder = |name: &str| environment::variable(name).filter(|it| !it.is_empty());
    let home = || Some(PathBuf::from(folder("HOME")?).join(".docker"));
    let docker = folder("DOCKER_CONFIG").map(PathBuf::from);
    Some(docker.or_else(home)?.join("config.json"))
}

/// Reads what is special of registries.
fn hosts(file: &Path) -> anyhow::Result<BTreeMap<String, HostSettings>> {
    let shown = file.display();
    let text = fs::read_to_string(file);
    let text = text.with_context(|| format!("cannot read {shown}; name it with --registries"))?;
    let mut documents: Vec<File> = yaml::documents(&text)
        .map_err(|error| anyhow!("{}", crate::manifest::explain(&shown, &error)))?;
    let held = documents.pop().unwrap_or_default();
    if !documents.is_empty() {
        bail!("{shown}: holds several documents: write one");
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    let read = |(host, registry): (String, Registry)| {
        let ca = match &registry.ca {
            None => None,
            Some(ca) => {
                let ca = folder.join(ca);
                let read = fs::read(&ca).with_context(|| {
                    let ca = ca.display();
                    format!("{shown}: registries.\"{host}\".ca: cannot read {ca}")
                });
                Some(read?)
            }
        };
        let settings = HostSettings {
            plain_http: registry.plain_http,
            allow_local: registry.allow_local,
            ca,
            mirrors: registry.mirrors,
        };
        Ok((host, settings))
    };
    held.registries.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_special_of_registries_is_read_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("registries.yaml");
        let says = |text: &str| {
            fs::write(&file, text).unwrap();
            hosts(&file).map_err(|error| format!("{error:#}"))
        };
        fs::write(folder.path().join("ca.pem"), "a certificate").unwrap();
        let text = "registries:\n  r.example:5000: { ca: ca.pem, mirrors: [m.example], plainHTTP: true, allowLocal: true }\n";
        let held = says(text).unwrap();
        let registry = &held["r.example:5000"];
        assert_eq!(registry.ca.as_deref(), Some(&b"a certificate"[..]));
        assert_eq!(registry.mirrors, ["m.example"]);
        assert!(registry.plain_http && registry.allow_local);
        assert!(says("").unwrap().is_empty());
        let rows = [
            (
                "registries: { r.example: { mirror: [x] } }",
                "did you mean `mirrors`",
            ),
            (
                "registries: { r.example: { ca: other.pem } }",
                "cannot read",
            ),
            ("registries: {}\n---\nregistries: {}", "several documents"),
        ];
        for (text, want) in rows {
            let told = says(text).err().unwrap();
            assert!(
                told.contains(want) && told.contains("registries.yaml"),
                "{told}"
            );
        }
    }

    #[test]
    fn credentials_that_were_named_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let flags = RegistryFlags {
            registry_config: Some(folder.path().join("config.json")),
            registries: None,
        };
        let told = format!("{:#}", flags.credentials().err().unwrap());
        assert!(told.contains("--registry-config"), "{told}");
    }
}
