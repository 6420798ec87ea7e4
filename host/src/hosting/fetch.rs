//! Fetches a component that is in no file: from a registry, or from ConfigMaps.
//!
//! - What is there is asked for first, and fetched only if it is news.
//! - A tag is looked up again after its interval; ConfigMaps are watched.

mod credentials;
mod known;
mod maps;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use windlass_registry::Reference;

pub use known::Causes;

use super::Host;
use super::plugin::news;
use super::refusal::{FetchProblem, Refusal, RefusalReason};
use windlass_base::digest::{Digest, digest};
use windlass_base::memory::Prepared;
use windlass_base::seams::watch;
use windlass_kube::api::Resource;
use windlass_kube::crashes::{Activity, AtWork};
use windlass_kube::informer::Subscription;
use windlass_policy::manifest::{ComponentSource, ConfigMapSource, OciSource, PluginDocument};
use windlass_policy::source::{Candidate, Component, blame};

/// What is asked for, with the digest of its component, and perhaps the component.
pub(super) struct Fetched {
    pub(super) candidate: Arc<Candidate>,
    pub(super) bytes: Option<Prepared>,
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
    fn fetched(&mut self, asked: &Candidate, revision: String, bytes: Prepared) -> Fetched {
        let component = digest(bytes.bytes());
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
        let plugin = asked.document.name.clone();
        let fetched = match asked.document.rollback_to {
            Some(wanted) => Box::pin(self.fetch_back(fetcher, asked, wanted)).await,
            None => self.fetch_source(fetcher, asked).await,
        };
        if fetched.is_ok() {
            self.causes.forget(&plugin);
        }
        fetched
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
                let revision = self.revision_of_maps(document, maps).await?;
                if let Some(component) = fetcher.known(&document.source, &revision) {
                    let candidate = Arc::new(asked.with_digest(component));
                    return Ok(Fetched {
                        candidate,
                        bytes: None,
                    });
                }
                let room = self.preparations.room().await;
                let _fetching = self.fetching(document)?;
                let (revision, bytes) = self.read_maps(document, maps).await?;
                (revision, Prepared::new(bytes, room))
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
        let fail = |error: windlass_registry::Error| {
            let known = &self.registries.as_ref().map(|settings| &settings.hosts);
            let is_known = |host: &str| known.is_some_and(|hosts| hosts.contains_key(host));
            not_fetched(
                document,
                known::without_cause(document, oci, is_known, error.into(), &self.causes),
            )
        };
        let found = client.resolve(at).await.map_err(fail)?;
        let revision = found.to_string();
        if let Some(component) = fetcher.known(&document.source, &revision) {
            let candidate = Arc::new(asked.with_digest(component));
            return Ok(Fetched {
                candidate,
                bytes: None,
            });
        }
        let room = self.preparations.room().await;
        let _fetching = self.fetching(document)?;
        let pulled = client.pull(&at.at(found)).await.map_err(fail)?;
        for passed in &pulled.passed {
            tracing::warn!(plugin = document.name, "{passed}");
        }
        self.metrics.of(&document.name).fetched.inc();
        let component = Prepared::new(pulled.component, room);
        Ok(fetcher.fetched(asked, revision, component))
    }

    /// The component of `candidate`, once more; nothing if there is another one now.
    pub(super) async fn read_again(
        &self,
        candidate: &Arc<Candidate>,
    ) -> Result<Option<Prepared>, Refusal> {
        if candidate.is_at_hand() {
            let room = self.preparations.room().await;
            let read = candidate.read_component().ok().map(Cow::into_owned);
            let read = read.map(|bytes| Prepared::new(bytes, room));
            let is_named =
                |read: &Prepared| candidate.component.digest() == Some(digest(read.bytes()));
            if candidate.document.rollback_to.is_none() || read.as_ref().is_some_and(is_named) {
                return Ok(read);
            }
        }
        let asked = Arc::new(candidate.to_fetch());
        let fetched = self.fetch(&mut Fetcher::default(), asked).await?;
        Ok(fetched.bytes)
    }

    /// Notes that the source of `document` is fetched, until the answer is dropped: if the host crashes meanwhile, the source
    /// is a suspect, and none of the plugins that run.
    ///
    /// # Errors
    /// The source is in quarantine.
    fn fetching(&self, document: &PluginDocument) -> Result<Option<AtWork>, Refusal> {
        let source = digest(document.source.to_string().as_bytes());
        self.check_quarantine(&source)?;
        let in_flight = self.sandboxes.in_flight();
        Ok(in_flight.begins(source, Activity::Fetching))
    }
}

/// A kind of the core group with namespaces.
fn core(kind: &str) -> Resource {
    Resource {
        group: String::new(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
        namespaced: true,
    }
}

fn not_fetched(document: &PluginDocument, problem: FetchProblem) -> Refusal {
    RefusalReason::NotFetched {
        at: format!("{}: {}", document.origin, document.source.field()),
        is_pinned: document.source.is_pinned(),
        problem,
    }
    .into()
}
