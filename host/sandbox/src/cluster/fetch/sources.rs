//! What a request is filled with: the Secrets and ConfigMaps that its rule names. They are read when they are used.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use windlass_egress::{Credentials, Failure, ObjectName, Rule, SecretData, TlsParts, consents};

use crate::bindings::cluster;
use crate::cluster::Call;
use windlass_kube::api::{Request, Resource};
use windlass_kube::object::Key;
use windlass_policy::grants::Access;

/// A Secret or a ConfigMap.
#[derive(Deserialize)]
struct Source {
    metadata: SourceMetadata,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SourceMetadata {
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Call {
    /// What `rule` names, and the Secret that the guest has chosen, if it may.
    pub(super) async fn sources(
        &mut self,
        rule: &Rule,
        credential: Option<&str>,
    ) -> Result<
        (
            TlsParts,
            BTreeMap<ObjectName, SecretData>,
            Option<SecretData>,
        ),
        Failure,
    > {
        let mut tls = TlsParts::default();
        if let Some(ca) = &rule.ca {
            let map = self.source("ConfigMap", &ca.config_map).await?;
            let text = map.data.get(&ca.key);
            let text = text.ok_or_else(|| missing(&ca.config_map, &ca.key))?;
            tls = tls.with_ca(text.as_bytes());
        }
        if let Some(name) = &rule.client_certificate {
            let data = decoded(self.source("Secret", name).await?, name)?;
            let part = |key: &str| data.get(key).ok_or_else(|| missing(name, key));
            tls = tls.with_client(part("tls.crt")?, part("tls.key")?);
        }
        let mut named = BTreeMap::new();
        for name in rule.secrets() {
            let data = decoded(self.source("Secret", name).await?, name)?;
            named.insert(name.clone(), data);
        }
        let chosen = match credential {
            None => None,
            Some(name) => Some(self.chosen(rule, name).await?),
        };
        Ok((tls, named, chosen))
    }

    /// The Secret that the guest has chosen, whose owner consents.
    async fn chosen(&mut self, rule: &Rule, name: &str) -> Result<SecretData, Failure> {
        if rule.credentials == Credentials::None {
            let origin = &rule.origin;
            return Err(Failure::refused(format!(
                "the rule of {origin} lets the plugin choose no Secret"
            )));
        }
        let name = ObjectName {
            namespace: None,
            name: name.to_owned(),
        };
        let secret = self.source("Secret", &name).await?;
        consents(&secret.metadata.annotations, &rule.origin)?;
        decoded(secret, &name)
    }

    /// The namespace that `name` names, or that of the primary, unless that holds the host's own things: who may make a primary
    /// there does not choose among these.
    fn namespace_of(
        &self,
        kind: &str,
        resource: &Resource,
        name: &ObjectName,
    ) -> Result<String, Failure> {
        if let Some(named) = &name.namespace {
            return Ok(named.clone());
        }
        let name = &name.name;
        let home = self.primary.key.namespace.as_deref();
        let home =
            home.ok_or_else(|| Failure::unreadable(format!("{kind} {name}: name its namespace")))?;
        let access = Access {
            verb: "get",
            resource,
            subresource: None,
            namespace: Some(home),
            name: Some(name),
        };
        if self.cluster.grants.protect(&access) {
            return Err(Failure::refused(format!(
                "{kind} {home}/{name} is in the namespace of the host, and no plugin takes it from there because a primary is there too: name the namespace in spec.http, or keep primaries elsewhere"
            )));
        }
        Ok(home.to_owned())
    }

    /// Reads a Secret or a ConfigMap, as whom the plugin acts. The guest never sees it.
    async fn source(&mut self, kind: &'static str, name: &ObjectName) -> Result<Source, Failure> {
        let resource = Resource::of_source(kind);
        let namespace = self.namespace_of(kind, &resource, name)?;
        let path = resource.path(Some(&namespace), Some(&name.name), None);
        let path = path.map_err(|error| Failure::unreadable(format!("{kind}: {error}")))?;
        let doing = format!("read {kind} {namespace}/{} for an HTTP request", name.name);
        let read = self.look_up(&doing, Request::get(path)).await;
        let key = Key::new(Some(&namespace), &name.name);
        if matches!(read, Err(cluster::Error::NotFound)) {
            self.uses(kind, &key, None)?;
        }
        let text = read.map_err(|error| {
            let why = match error {
                cluster::Error::NotFound => "it is not there".to_owned(),
                error => format!("{error:?}"),
            };
            Failure::unreadable(format!("cannot {doing}: {why}"))
        })?;
        self.redactor.sees(text.get());
        let source: Source = serde_json::from_str(text.get())
            .map_err(|_| Failure::unreadable(format!("cannot {doing}: it is not a {kind}")))?;
        self.uses(kind, &key, Some(source.metadata.resource_version.clone()))?;
        Ok(source)
    }

    /// If the run fails, another version of the object runs it again.
    fn uses(
        &mut self,
        kind: &'static str,
        key: &Key,
        version: Option<String>,
    ) -> Result<(), Failure> {
        let (view, by) = (self.cluster.view.clone(), self.primary.key.clone());
        let used = view.uses_source(&by, (kind, key.clone()), version);
        used.map_err(|exceeded| {
            self.exceeded(exceeded);
            Failure::unreadable(format!("{kind} {key}: {exceeded}"))
        })
    }
}

fn decoded(secret: Source, name: &ObjectName) -> Result<SecretData, Failure> {
    let data = secret.data.into_iter();
    let data = data.map(|(key, value)| Some((key, STANDARD.decode(value).ok()?)));
    let data: Option<SecretData> = data.collect();
    data.ok_or_else(|| Failure::unreadable(format!("Secret {}: it is not base64", name.name)))
}

fn missing(name: &ObjectName, key: &str) -> Failure {
    Failure::unreadable(format!("{} has no key {key}", name.name))
}
