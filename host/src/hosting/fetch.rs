//! Fetches a component that is in no file: from a registry, or from ConfigMaps.
//!
//! - What is there is asked for first, and fetched only if it is news.
//! - A tag is looked up again after its interval; ConfigMaps are watched.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use windlass_registry::{Client, DockerConfig, Reference, Settings};

use super::Host;
use super::plugin::news;
use super::refusal::{FetchProblem, Refusal, RefusalReason};
use crate::api::{Accept, ApiError, Request as ApiRequest, Resource};
use crate::digest::{Digest, digest};
use crate::informer::{InformerKey, Subscription, bell};
use crate::manifest::{ComponentSource, ConfigMapSource, OciSource, PluginDocument};
use crate::object::Fields;
use crate::seams::watch;
use crate::source::{Candidate, Component, blame, unpacked};

/// The key of a Secret with the credentials of registries.
const DOCKER_CONFIG: &str = ".dockerconfigjson";

/// What is asked for, with the digest of its component, and perhaps the component.
pub(super) struct Fetched {
    pub(super) candidate: Arc<Candidate>,
    pub(super) bytes: Option<Vec<u8>>,
}

/// What is known of the component of one plugin, where it is fetched.
#[derive(Default)]
pub(super) struct Fetcher {
    last: Option<Last>,
    watched: Option<Watched>,
}

/// What was fetched last.
struct Last {
    source: ComponentSource,
    revision: String,
    component: Digest,
}

/// ConfigMaps that are watched.
struct Watched {
    source: ConfigMapSource,
    news: Vec<watch::Receiver<()>>,
    _subscriptions: Vec<Subscription>,
}

impl Fetcher {
    /// The digest of the component, if this `revision` was fetched last.
    fn known(&self, source: &ComponentSource, revision: &str) -> Option<Digest> {
        let last = self.last.as_ref()?;
        (last.source == *source && last.revision == revision).then_some(last.component)
    }

    /// These `bytes` are the component of `asked` in this `revision`.
    fn fetched(&mut self, asked: &Candidate, revision: String, bytes: Vec<u8>) -> Fetched {
        let component = digest(&bytes);
        self.last = Some(Last {
            source: asked.document.source.clone(),
            revision,
            component,
        });
        Fetched {
            candidate: Arc::new(asked.with_digest(component)),
            bytes: Some(bytes),
        }
    }

    /// Waits until it is time to look at `candidate` again, although nobody asks for anything else.
    /// Not before `pause`, if somebody wants to be left alone for so long.
    pub(super) async fn news(
        &mut self,
        host: &Host,
        candidate: Option<&Candidate>,
        pause: Option<Duration>,
    ) {
        let interval = candidate.and_then(|it| it.document.source.interval());
        let interval = interval.map(|interval| interval.max(pause.unwrap_or_default()));
        let interval = async {
            match interval {
                Some(interval) => host.seams.clock.sleep(interval).await,
                None => std::future::pending().await,
            }
        };
        let moved = async {
            if let Some(watched) = &mut self.watched {
                let any = watched.news.iter_mut().map(|it| Box::pin(news(it)));
                futures::future::select_all(any).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = moved => {}
            () = interval => {}
        }
    }
}

impl Host {
    /// What `asked` stands for now.
    pub(super) async fn fetch(
        &self,
        fetcher: &mut Fetcher,
        asked: Arc<Candidate>,
    ) -> Result<Fetched, Refusal> {
        if let Some(wanted) = asked.document.rollback_to {
            return Box::pin(self.fetch_back(fetcher, asked, wanted)).await;
        }
        self.fetch_source(fetcher, asked).await
    }

    /// What the source of `asked` has now.
    pub(super) async fn fetch_source(
        &self,
        fetcher: &mut Fetcher,
        asked: Arc<Candidate>,
    ) -> Result<Fetched, Refusal> {
        let document = &asked.document;
        if asked.component != Component::Remote {
            fetcher.watched = None;
            let candidate = asked;
            return Ok(Fetched {
                candidate,
                bytes: None,
            });
        }
        self.watch_source(fetcher, document);
        let (revision, bytes) = match &document.source {
            ComponentSource::Oci(oci) => {
                return self.pull(fetcher, &asked, (oci, &oci.reference)).await;
            }
            ComponentSource::ConfigMap(maps) => {
                self.check_place(document, maps)?;
                let revision = self.revision_of_maps(document, maps).await?;
                if let Some(component) = fetcher.known(&document.source, &revision) {
                    let candidate = Arc::new(asked.with_digest(component));
                    return Ok(Fetched {
                        candidate,
                        bytes: None,
                    });
                }
                self.read_maps(document, maps).await?
            }
            ComponentSource::File(_) => {
                let why = blame(document, "is not read by this host");
                return Err(RefusalReason::Unreadable(why).into());
            }
        };
        self.metrics.of(&document.name).fetched.inc();
        Ok(fetcher.fetched(&asked, revision, bytes))
    }

    /// What `at` leads to in the registry that `asked` names.
    pub(super) async fn pull(
        &self,
        fetcher: &mut Fetcher,
        asked: &Candidate,
        (oci, at): (&OciSource, &Reference),
    ) -> Result<Fetched, Refusal> {
        let document = &asked.document;
        let client = self.registry(document, oci).await?;
        let found = client.resolve(at).await;
        let found = found.map_err(|error| not_fetched(document, error.into()))?;
        let revision = found.to_string();
        if let Some(component) = fetcher.known(&document.source, &revision) {
            let candidate = Arc::new(asked.with_digest(component));
            return Ok(Fetched {
                candidate,
                bytes: None,
            });
        }
        let pulled = client.pull(&at.at(found)).await;
        let pulled = pulled.map_err(|error| not_fetched(document, error.into()))?;
        for passed in &pulled.passed {
            tracing::warn!(plugin = document.name, "{passed}");
        }
        self.metrics.of(&document.name).fetched.inc();
        Ok(fetcher.fetched(asked, revision, pulled.component))
    }

    /// The component of `candidate`, once more; nothing if there is another one now.
    pub(super) async fn read_again(
        &self,
        candidate: &Arc<Candidate>,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        if candidate.is_at_hand() {
            let read = candidate.read_component().ok().map(Cow::into_owned);
            let is_named = |bytes: &Vec<u8>| candidate.component.digest() == Some(digest(bytes));
            if candidate.document.rollback_to.is_none() || read.as_ref().is_some_and(is_named) {
                return Ok(read);
            }
        }
        let asked = Arc::new(candidate.to_fetch());
        let fetched = self.fetch(&mut Fetcher::default(), asked).await?;
        Ok(fetched.bytes)
    }

    /// A client with the credentials that `document` names.
    async fn registry(
        &self,
        document: &PluginDocument,
        oci: &OciSource,
    ) -> Result<Client, Refusal> {
        let Some(settings) = &self.registries else {
            let why = blame(document, "this host fetches nothing from registries");
            return Err(RefusalReason::Unreadable(why).into());
        };
        let Some(secret) = &oci.pull_secret else {
            return Ok(Client::new(settings.clone()));
        };
        let credentials = self.pull_secret(secret).await.map_err(|why| {
            let why = format!("the pull Secret {}/{secret} {why}", self.namespace);
            not_fetched(document, FetchProblem::credentials(why))
        })?;
        Ok(Client::new(Settings {
            credentials,
            ..settings.clone()
        }))
    }

    async fn pull_secret(&self, name: &str) -> Result<DockerConfig, String> {
        let uri = format!("/api/v1/namespaces/{}/secrets/{name}", self.namespace);
        let secret: Result<Option<Value>, ApiError> = self.api.read(uri).await;
        let secret = secret.map_err(|error| format!("cannot be read: {error}"))?;
        let secret = secret.ok_or("is absent: create it")?;
        let held = secret.get("data").and_then(|data| data.get(DOCKER_CONFIG));
        let held = held.and_then(Value::as_str);
        let missing = "has no key .dockerconfigjson: its type is kubernetes.io/dockerconfigjson";
        let config = STANDARD.decode(held.ok_or(missing)?);
        let config = config.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let config = config.ok_or("holds something that is not text")?;
        DockerConfig::read(&config).map_err(|why| format!("cannot be used: {why}"))
    }

    /// The revision of ConfigMaps, and the component in them.
    async fn read_maps(
        &self,
        document: &PluginDocument,
        source: &ConfigMapSource,
    ) -> Result<(String, Vec<u8>), Refusal> {
        let fail = |problem| not_fetched(document, problem);
        let (mut revision, mut parts) = (String::new(), Vec::new());
        for name in &source.names {
            let at = format!("{}/{name}", source.namespace);
            let map = self
                .read_map(document, (source, name), Accept::Whole)
                .await?;
            let part = part(&map, &source.key)
                .map_err(|why| fail(FetchProblem::refused(format!("{at} {why}"))))?;
            revision.push_str(&revision_of(&map));
            parts.extend(part);
        }
        let bytes = unpacked(&parts[..]);
        let bytes = bytes.map_err(|why| fail(FetchProblem::refused(why)))?;
        let found = digest(&bytes);
        if let Some(wanted) = source.digest.filter(|wanted| *wanted != found) {
            // Not which one it has: who writes the document may not be who may read the ConfigMap.
            let why = format!("does not have the digest sha256:{}", wanted.hex());
            return Err(fail(FetchProblem::refused(why)));
        }
        Ok((revision, bytes))
    }

    /// Refuses a source whose content others may choose who may not choose the plugin.
    fn check_place(
        &self,
        document: &PluginDocument,
        source: &ConfigMapSource,
    ) -> Result<(), Refusal> {
        let is_object = document.origin.file().is_none();
        let account = document.service_account.as_ref();
        // Whose rights the code would have.
        let (who, home) = match account {
            Some(account) => ("its service account", account.namespace()),
            None => ("the host", &*self.namespace),
        };
        if is_object && source.digest.is_none() && source.namespace != home {
            let why = format!(
                "is in another namespace than {who}, {home}: who may edit a ConfigMap there would choose the code; write spec.source.configMap.digest"
            );
            return Err(not_fetched(document, FetchProblem::refused(why)));
        }
        Ok(())
    }

    /// The revision of ConfigMaps, without what is in them.
    async fn revision_of_maps(
        &self,
        document: &PluginDocument,
        source: &ConfigMapSource,
    ) -> Result<String, Refusal> {
        let mut revision = String::new();
        for name in &source.names {
            let map = self
                .read_map(document, (source, name), Accept::Metadata)
                .await?;
            revision.push_str(&revision_of(&map));
        }
        Ok(revision)
    }

    async fn read_map(
        &self,
        document: &PluginDocument,
        (source, name): (&ConfigMapSource, &str),
        accept: Accept,
    ) -> Result<Value, Refusal> {
        let fail = |problem| not_fetched(document, problem);
        let at = format!("{}/{name}", source.namespace);
        let uri = format!("/api/v1/namespaces/{}/configmaps/{name}", source.namespace);
        match self.api.send(ApiRequest::get(uri).accepting(accept)).await {
            Ok(map) => Ok(map),
            Err(error) if error.is_not_found() => Err(fail(FetchProblem::absent(format!(
                "{at} is absent: create it"
            )))),
            Err(error) => {
                let why = format!("{at} cannot be read: {error}");
                Err(fail(FetchProblem::unanswered(why)))
            }
        }
    }

    /// Watches the ConfigMaps that `document` names, and no others.
    fn watch_source(&self, fetcher: &mut Fetcher, document: &PluginDocument) {
        let ComponentSource::ConfigMap(source) = &document.source else {
            fetcher.watched = None;
            return;
        };
        if let Some(watched) = &mut fetcher.watched
            && watched.source == *source
        {
            // What comes from now on is news: the maps are read after this.
            for news in &mut watched.news {
                news.mark_unchanged();
            }
            return;
        }
        fetcher.watched = None;
        let resource = Resource {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            plural: "configmaps".to_owned(),
            namespaced: true,
        };
        let account = self.sandboxes.accounts().of(&document.name);
        let mut heard = Vec::new();
        let subscribe = |name: &String| {
            let watched = InformerKey {
                namespace: Some(source.namespace.clone()),
                field_selector: Some(format!("metadata.name={name}")),
                metadata_only: true,
                ..InformerKey::all_of(resource.clone())
            };
            let (handler, news) = bell();
            heard.push(news);
            self.informers
                .subscribe(watched, Fields::default(), handler, &account)
        };
        let subscriptions = source.names.iter().map(subscribe).collect();
        fetcher.watched = Some(Watched {
            source: source.clone(),
            news: heard,
            _subscriptions: subscriptions,
        });
    }
}

/// What tells one version of a ConfigMap from all others.
fn revision_of(map: &Value) -> String {
    let field = |pointer: &str| map.pointer(pointer).and_then(Value::as_str);
    let (uid, version) = (field("/metadata/uid"), field("/metadata/resourceVersion"));
    format!(
        "{}/{}/",
        uid.unwrap_or_default(),
        version.unwrap_or_default()
    )
}

/// What `key` of `binaryData` holds in a ConfigMap.
fn part(map: &Value, key: &str) -> Result<Vec<u8>, String> {
    let held = map.get("binaryData").and_then(|data| data.get(key));
    let Some(held) = held.and_then(Value::as_str) else {
        let is_text = map.get("data").is_some_and(|data| data.get(key).is_some());
        return Err(if is_text {
            format!(
                "has `{key}` in data, and not in binaryData: create it with `kubectl create configmap --from-file`"
            )
        } else {
            format!("has no key `{key}` in binaryData")
        });
    };
    let bytes = STANDARD.decode(held);
    bytes.map_err(|error| format!("has something in `{key}` that is not base64: {error}"))
}

fn not_fetched(document: &PluginDocument, problem: FetchProblem) -> Refusal {
    RefusalReason::NotFetched {
        at: format!("{}: {}", document.origin, document.source.field()),
        is_pinned: document.source.is_pinned(),
        problem,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_is_in_binary_data() {
        let map = json!({ "binaryData": { "k": "AAE=", "bad": "?" }, "data": { "t": "x" } });
        assert_eq!(part(&map, "k"), Ok(vec![0, 1]));
        let rows = [
            ("t", "has `t` in data, and not in binaryData"),
            ("x", "has no key `x`"),
            ("bad", "is not base64"),
        ];
        for (key, want) in rows {
            let told = part(&map, key).unwrap_err();
            assert!(told.contains(want), "{told}");
        }
    }
}
