//! The primary kinds of a version, as the cluster serves them.

use std::time::Duration;

use super::Host;
use super::version::Version;
use windlass_base::text::LogOnce;
use windlass_kube::api::{ApiError, Lookup, Resource, Unserved};
use windlass_policy::grants::Grants;
use windlass_sandbox::{Description, PrimaryWatch, ServedPrimary};

/// How often it is asked whether an absent primary kind is served by now.
pub(super) const ABSENT: Duration = Duration::from_secs(2);

/// How often it is looked which kinds `*` stands for: as often as Kubernetes' garbage collector looks.
const PERIOD: Duration = Duration::from_secs(30);

/// How often it is looked whether there is such a kind at all, and after the server could not say.
const WAIT: Duration = Duration::from_secs(5);

/// What another plugin has looked up may be so old.
const RECENT: Duration = Duration::from_secs(1);

impl Host {
    /// Waits until each primary kind is served, and checks that the plugin may watch them. They are in the order in which
    /// its description names them, and those that `*` stands for come last.
    pub(super) async fn primaries(&self, version: &Version) -> Result<Vec<ServedPrimary>, String> {
        let (description, grants) = (&version.plugin.description, version.grants());
        let mut found = Vec::new();
        for (place, watch) in description.primaries.iter().enumerate() {
            if !watch.is_every_kind() {
                let resource = self.served(version, watch).await;
                found.push(ServedPrimary {
                    watch: place,
                    resource,
                });
            }
        }
        version.check_grants(&found, &self.discovery)?;
        if description.every_kind().is_none() {
            return Ok(found);
        }
        let mut told = LogOnce::default();
        loop {
            let problem = match self.every_kind(description, grants).await {
                Ok(kinds) if found.is_empty() && kinds.is_empty() => {
                    "waiting: the cluster serves no kind that `*` could stand for: one that the grants let it watch".into()
                }
                Ok(kinds) => {
                    found.extend(kinds);
                    return Ok(found);
                }
                Err(error) => format!("cannot look up which kinds the cluster serves: {error}"),
            };
            let plugin = &*version.plugin.name;
            self.waits(plugin, &problem);
            if told.is_new(problem.clone()) {
                tracing::warn!(plugin, "{problem}");
            }
            self.seams.clock.sleep(WAIT).await;
        }
    }

    /// The primary kinds that the cluster serves now. Those that `*` stands for come last; of the others the first that is
    /// not served is the problem.
    ///
    /// # Errors
    /// A kind that the plugin names is not served, or the server could not be asked.
    pub async fn served_primaries(
        &self,
        description: &Description,
        grants: &Grants,
    ) -> Result<Vec<ServedPrimary>, UnservedPrimary> {
        let mut found = Vec::new();
        for (place, watch) in description.primaries.iter().enumerate() {
            if watch.is_every_kind() {
                continue;
            }
            let (api_version, kind) = (&watch.api_version, &watch.kind);
            match self.discovery.by_kind(api_version, kind).await {
                Ok(Some(resource)) => found.push(ServedPrimary {
                    watch: place,
                    resource,
                }),
                Ok(None) => return Err(UnservedPrimary::Absent(watch.clone())),
                Err(error) => return Err(UnservedPrimary::Unknown(error)),
            }
        }
        let every = self.every_kind(description, grants).await;
        found.extend(every.map_err(UnservedPrimary::Unknown)?);
        Ok(found)
    }

    /// The kinds that `*` stands for now; none if the plugin does not name it.
    pub(super) async fn every_kind(
        &self,
        description: &Description,
        grants: &Grants,
    ) -> Result<Vec<ServedPrimary>, ApiError> {
        if description.every_kind().is_none() {
            return Ok(Vec::new());
        }
        // Another plugin may have looked.
        let catalog = match self.discovery.remembered_catalog(RECENT) {
            Some(catalog) => catalog,
            None => self.discovery.catalog().await?,
        };
        Ok(description.every_kind_in(&catalog, grants))
    }

    /// The kinds that one of the primaries of `version` stands for, as far as the cluster serves them now.
    pub(super) async fn kinds_of(
        &self,
        version: &Version,
        watch: &PrimaryWatch,
    ) -> Result<Vec<Resource>, ApiError> {
        if watch.is_every_kind() {
            let description = &version.plugin.description;
            let kinds = self.every_kind(description, version.grants()).await?;
            return Ok(kinds.into_iter().map(|kind| kind.resource).collect());
        }
        let (api_version, kind) = (&watch.api_version, &watch.kind);
        let found = self.discovery.by_kind(api_version, kind).await?;
        Ok(found.into_iter().collect())
    }

    /// Waits until `*` stands for other kinds than those among `before`. A server that cannot say so changes nothing: a kind
    /// has gone only if the server says that it does not serve it, and is another one only then.
    pub(super) async fn other_kinds(&self, version: &Version, before: &[ServedPrimary]) {
        let description = &version.plugin.description;
        let Some((place, _)) = description.every_kind() else {
            return std::future::pending().await;
        };
        let before = before.iter().filter(|primary| primary.watch == place);
        let before: Vec<&Resource> = before.map(|primary| &primary.resource).collect();
        let mut period = PERIOD;
        loop {
            self.seams.clock.sleep(period).await;
            let now = match self.every_kind(description, version.grants()).await {
                Ok(now) => now,
                Err(error) => {
                    tracing::debug!("cannot look what the cluster serves: {error}");
                    period = WAIT;
                    continue;
                }
            };
            period = PERIOD;
            let is_same = |one: &Resource, other: &Resource| {
                (&one.group, &one.kind) == (&other.group, &other.kind)
            };
            let is_old = |new: &ServedPrimary| before.iter().any(|old| is_same(old, &new.resource));
            if !now.iter().all(is_old) {
                return;
            }
            for old in &before {
                let is_there = now.iter().any(|new| new.resource == **old);
                if !is_there && matches!(self.discovery.serves(old).await, Ok(false)) {
                    return;
                }
            }
        }
    }

    /// Waits until a primary kind is served.
    async fn served(&self, version: &Version, primary: &PrimaryWatch) -> Resource {
        let PrimaryWatch {
            api_version, kind, ..
        } = primary;
        let plugin = &*version.plugin.name;
        let tell = |unserved: Unserved| {
            let news = match unserved {
                Unserved::Absent(_) => format!(
                    "waiting: the cluster does not serve {kind} of {api_version}; install its CustomResourceDefinition"
                ),
                Unserved::Unknown(error) => {
                    format!("cannot look up {kind} of {api_version}: {error}")
                }
            };
            tracing::warn!(plugin, "{news}");
            self.waits(plugin, &news);
        };
        let lookup = Lookup::Kind { api_version, kind };
        self.discovery.until_served(lookup, ABSENT, tell).await
    }
}

/// Why the primary kinds of a plugin cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum UnservedPrimary {
    /// One of them is not served.
    #[error("{} of {} is not defined", .0.kind, .0.api_version)]
    Absent(PrimaryWatch),
    /// The API server did not say.
    #[error(transparent)]
    Unknown(#[from] ApiError),
}
