//! What the API server serves: which resource a kind is, and the other way round.
//!
//! - What was found is kept; what was not is asked for again, but not in quick succession.
//! - A kind that nobody serves is `None`, never an error.

mod catalog;
mod wait;

use std::collections::HashMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroupList, APIResource, APIResourceList};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Api, ApiError, Request, Resource, api_path, group_of};
use crate::api::is_cluster_scoped;
use windlass_base::seams::Clock;

use catalog::Catalog;
pub use catalog::ServedKind;
pub use wait::{Lookup, Unserved};

/// How many versions are remembered before those that nobody serves are forgotten.
const KNOWN: usize = 1000;

/// How long an absence is believed.
const ABSENCE: Duration = Duration::from_secs(1);

/// Looks resources up, with a memory.
pub struct Discovery {
    api: Api,
    clock: Clock,
    known: Mutex<HashMap<String, CachedGroup>>,
    /// Everything, as it was served last.
    catalog: Mutex<Option<Catalog>>,
}

#[derive(Clone)]
struct CachedGroup {
    resources: Vec<Resource>,
    asked: Instant,
}

impl Discovery {
    /// Asks through `api`.
    pub fn new(api: Api, clock: Clock) -> Self {
        Self {
            api,
            clock,
            known: Mutex::default(),
            catalog: Mutex::default(),
        }
    }

    /// The resource of `kind` in `api_version`; `None` if the server does not serve it.
    ///
    /// # Errors
    /// The server could not be asked.
    pub async fn by_kind(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<Resource>, ApiError> {
        self.find(api_version, |resource| resource.kind == kind)
            .await
    }

    /// The resource of `kind` in any version of `group`, the preferred version first.
    ///
    /// # Errors
    /// The server could not be asked.
    pub async fn in_any_version(
        &self,
        group: &str,
        kind: &str,
    ) -> Result<Option<Resource>, ApiError> {
        for api_version in self.versions(group).await? {
            let found = self.by_kind(&api_version, kind).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Whether a version has a kind now, by its name or its plural.
    ///
    /// # Errors
    /// The server could not be asked.
    pub async fn has(&self, api_version: &str, name: &str) -> Result<bool, ApiError> {
        let served = self.resources(api_version, true).await?;
        Ok(served.iter().any(|it| it.kind == name || it.plural == name))
    }

    /// The API server does not serve a path of this version: the next lookup of a kind in it asks the API server again.
    pub fn doubt(&self, api_version: &str) {
        self.known.lock().remove(api_version);
    }

    /// The resource of `kind` in `api_version`, if it is remembered: nobody is asked.
    pub fn remembered(&self, api_version: &str, kind: &str) -> Option<Resource> {
        let known = self.known.lock();
        let mut resources = known.get(api_version)?.resources.iter();
        resources.find(|resource| resource.kind == kind).cloned()
    }

    /// Whether a resource is cluster-scoped, as far as is remembered or known of Kubernetes: nobody is asked.
    /// `false` if nobody knows.
    pub fn is_cluster_scoped(&self, group: &str, plural: &str) -> bool {
        let known = self.known.lock();
        let of_group = known
            .iter()
            .filter(|(api_version, _)| group_of(api_version) == group);
        let mut resources = of_group.flat_map(|(_, known)| &known.resources);
        match resources.find(|resource| resource.plural == plural) {
            Some(resource) => !resource.namespaced,
            None => is_cluster_scoped(group, plural),
        }
    }

    /// Whether the server serves `resource` now, as it was found before.
    ///
    /// # Errors
    /// The server could not be asked.
    pub async fn serves(&self, resource: &Resource) -> Result<bool, ApiError> {
        let served = self.resources(&resource.api_version(), true).await?;
        Ok(served.contains(resource))
    }

    /// The resource called `plural` in the group's preferred version, or in the first of its other
    /// versions that has it.
    ///
    /// # Errors
    /// The server could not be asked.
    pub async fn by_plural(&self, group: &str, plural: &str) -> Result<Option<Resource>, ApiError> {
        for api_version in self.versions(group).await? {
            let found = self
                .find(&api_version, |resource| resource.plural == plural)
                .await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The name of a resource of `group` that is nearest to `plural`, for a message.
    pub async fn nearest(&self, group: &str, plural: &str) -> Option<String> {
        let versions = self.versions(group).await.ok()?;
        let api_version = versions.first()?;
        let resources = self.resources(api_version, false).await.ok()?;
        windlass_base::text::nearest(
            plural,
            resources.iter().map(|resource| resource.plural.as_str()),
        )
    }

    /// Every resource that can be listed and patched, each in its group's preferred version.
    ///
    /// # Errors
    /// The server could not be asked.
    pub async fn patchable(&self) -> Result<Vec<Resource>, ApiError> {
        let can = |resource: &APIResource| can(resource, "list") && can(resource, "patch");
        self.preferred(can).await
    }

    /// The resources that `word` means and that can be patched: their kind, plural, singular or a short name, with the
    /// group behind a dot if one likes.
    ///
    /// # Errors
    /// The server could not be asked.
    pub async fn named(&self, word: &str) -> Result<Vec<Resource>, ApiError> {
        let (word, group) = match word.split_once('.') {
            Some((word, group)) => (word, Some(group)),
            None => (word, None),
        };
        let means = |resource: &APIResource| {
            let short = resource.short_names.iter().flatten();
            let own = [&resource.kind, &resource.name, &resource.singular_name];
            let mut names = own.into_iter().chain(short);
            can(resource, "patch") && names.any(|name| name.eq_ignore_ascii_case(word))
        };
        let mut found = self.preferred(means).await?;
        found.retain(|resource| group.is_none_or(|group| resource.group == group));
        Ok(found)
    }

    /// The resources in their groups' preferred versions that `wanted` wants.
    async fn preferred(
        &self,
        wanted: impl Fn(&APIResource) -> bool,
    ) -> Result<Vec<Resource>, ApiError> {
        let groups: APIGroupList = decode(self.api.send(Request::get("/apis".to_owned())).await?)?;
        let preferred = groups
            .groups
            .into_iter()
            .filter_map(|group| group.preferred_version);
        let mut found = Vec::new();
        for api_version in
            std::iter::once("v1".to_owned()).chain(preferred.map(|v| v.group_version))
        {
            let list = match self.api.send(Request::get(api_path(&api_version))).await {
                Ok(list) => decode::<APIResourceList>(list)?,
                // An aggregated API whose server is away: its objects cannot be reached anyway.
                Err(error) if matches!(error.code(), Some(404 | 503)) => continue,
                Err(error) => return Err(error),
            };
            let mut list = list;
            list.resources.retain(&wanted);
            found.extend(from_list(&api_version, list));
        }
        Ok(found)
    }

    async fn find(
        &self,
        api_version: &str,
        wanted: impl Fn(&Resource) -> bool,
    ) -> Result<Option<Resource>, ApiError> {
        for fresh in [false, true] {
            let resources = self.resources(api_version, fresh).await?;
            if let Some(found) = resources.into_iter().find(&wanted) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The versions of `group`, the preferred one first; none if nobody serves it.
    async fn versions(&self, group: &str) -> Result<Vec<String>, ApiError> {
        if group.is_empty() {
            return Ok(vec!["v1".to_owned()]);
        }
        let groups = self.api.send(Request::get("/apis".to_owned())).await?;
        let groups: APIGroupList = decode(groups)?;
        let Some(group) = groups
            .groups
            .into_iter()
            .find(|served| served.name == group)
        else {
            return Ok(Vec::new());
        };
        let preferred = group.preferred_version.map(|version| version.group_version);
        let mut versions: Vec<_> = group
            .versions
            .into_iter()
            .map(|v| v.group_version)
            .collect();
        versions.sort_by_key(|version| Some(version) != preferred.as_ref());
        Ok(versions)
    }

    /// What is served in `api_version`, from memory unless `fresh` is asked for and the memory is
    /// older than a moment.
    async fn resources(&self, api_version: &str, fresh: bool) -> Result<Vec<Resource>, ApiError> {
        let now = self.clock.now();
        let known = self.known.lock().get(api_version).cloned();
        if let Some(known) = known
            && (!fresh || now.saturating_duration_since(known.asked) < ABSENCE)
        {
            return Ok(known.resources);
        }
        // Checked before it becomes a path: a guest may have named it.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-./".contains(c);
        if !api_version.chars().all(plain)
            || api_version
                .split('/')
                .any(|part| part.trim_matches('.').is_empty())
        {
            return Ok(Vec::new());
        }
        let resources = match self.api.send(Request::get(api_path(api_version))).await {
            Ok(list) => from_list(api_version, decode(list)?),
            Err(error) if error.code() == Some(404) => Vec::new(),
            Err(error) => return Err(error),
        };
        let asked = self.clock.now();
        let mut known = self.known.lock();
        if known.len() >= KNOWN {
            known.retain(|_, known| !known.resources.is_empty());
        }
        known.insert(
            api_version.to_owned(),
            CachedGroup {
                resources: resources.clone(),
                asked,
            },
        );
        Ok(resources)
    }
}

fn decode<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, ApiError> {
    serde_json::from_value(value).map_err(|error| ApiError::Garbled(error.to_string()))
}

/// Whether objects of a resource can be asked for by `verb`.
fn can(resource: &APIResource, verb: &str) -> bool {
    resource.verbs.iter().any(|held| held == verb)
}

/// Subresources are left out: they follow their resource.
fn from_list(api_version: &str, list: APIResourceList) -> Vec<Resource> {
    let version = api_version.rsplit('/').next().unwrap_or(api_version);
    let resources = list
        .resources
        .into_iter()
        .filter(|resource| !resource.name.contains('/'));
    resources
        .map(|resource| Resource {
            group: group_of(api_version).to_owned(),
            version: version.to_owned(),
            kind: resource.kind,
            plural: resource.name,
            namespaced: resource.namespaced,
        })
        .collect()
}
