//! Components in ConfigMaps, which are watched.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Fetcher, Watched, core, not_fetched};
use crate::hosting::Host;
use crate::hosting::refusal::{FetchProblem, Refusal};
use windlass_base::digest::digest;
use windlass_kube::api::{Accept, Request};
use windlass_kube::informer::{InformerKey, bell};
use windlass_kube::object::Fields;
use windlass_policy::manifest::{ComponentSource, ConfigMapSource, PluginDocument};
use windlass_policy::source::unpacked;

impl Host {
    /// The revision of ConfigMaps, and the component in them.
    pub(super) async fn read_maps(
        &self,
        document: &PluginDocument,
        source: &ConfigMapSource,
    ) -> Result<(String, Vec<u8>), Refusal> {
        let (mut revision, mut parts) = (String::new(), Vec::new());
        for name in &source.names {
            let at = format!("{}/{name}", source.namespace);
            let map = self
                .read_map(document, (source, name), Accept::Whole)
                .await?;
            match part(&map, &source.key) {
                Ok(part) => parts.extend(part),
                Err(why) => {
                    let problem = FetchProblem::refused(format!("{at} {why}"));
                    return Err(self.map_refused(document, source, name, problem).await);
                }
            }
            revision.push_str(&revision_of(&map));
        }
        let first = source.names.first().map_or("", String::as_str);
        let bytes = match unpacked(&parts[..]) {
            Ok(bytes) => bytes,
            Err(why) => {
                let problem = FetchProblem::refused(why);
                return Err(self.map_refused(document, source, first, problem).await);
            }
        };
        let found = digest(&bytes);
        if source.digest != found {
            // Not which one it has: who writes the document may not be who may read the ConfigMap.
            let why = format!("does not have the digest sha256:{}", source.digest.hex());
            let problem = FetchProblem::refused(why);
            return Err(self.map_refused(document, source, first, problem).await);
        }
        Ok((revision, bytes))
    }

    async fn map_refused(
        &self,
        document: &PluginDocument,
        source: &ConfigMapSource,
        name: &str,
        problem: FetchProblem,
    ) -> Refusal {
        let place = ("ConfigMap", &*source.namespace, name);
        let problem = self.as_account_knows(document, place, problem).await;
        not_fetched(document, problem)
    }

    /// The revision of ConfigMaps, without what is in them.
    pub(super) async fn revision_of_maps(
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
    ) -> Result<ComponentMap, Refusal> {
        let at = format!("{}/{name}", source.namespace);
        let uri = format!("/api/v1/namespaces/{}/configmaps/{name}", source.namespace);
        match self.api.fetch(Request::get(uri).accepting(accept)).await {
            Ok(map) => Ok(map),
            Err(error) => {
                let problem = match error.is_not_found() {
                    true => FetchProblem::absent(format!("{at} is absent: create it")),
                    false => FetchProblem::unanswered(format!("{at} cannot be read: {error}")),
                };
                Err(self.map_refused(document, source, name, problem).await)
            }
        }
    }

    /// Watches the ConfigMaps that `document` names, and no others.
    pub(super) fn watch_source(&self, fetcher: &mut Fetcher, document: &PluginDocument) {
        let ComponentSource::ConfigMap(source) = &document.source else {
            fetcher.watched = None;
            return;
        };
        if let Some(watched) = &mut fetcher.watched
            && watched.source == *source
        {
            // The maps are read after this, so only later changes of them are news.
            for news in &mut watched.news {
                news.mark_unchanged();
            }
            return;
        }
        fetcher.watched = None;
        let resource = core("ConfigMap");
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

/// The part of a ConfigMap that holds a component, and its version. The reader passes over all other fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ComponentMap {
    #[serde(default)]
    metadata: Version,
    #[serde(default)]
    data: Option<BTreeMap<String, IgnoredAny>>,
    #[serde(default)]
    binary_data: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    resource_version: String,
}

/// What tells one version of a ConfigMap from all others.
fn revision_of(map: &ComponentMap) -> String {
    let Version {
        uid,
        resource_version,
    } = &map.metadata;
    format!("{uid}/{resource_version}/")
}

/// What `key` of `binaryData` holds in a ConfigMap.
fn part(map: &ComponentMap, key: &str) -> Result<Vec<u8>, String> {
    let held = map.binary_data.as_ref().and_then(|data| data.get(key));
    let Some(held) = held else {
        let is_text = map.data.as_ref().is_some_and(|data| data.contains_key(key));
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_is_in_binary_data() {
        let map = json!({ "binaryData": { "k": "AAE=", "bad": "?" }, "data": { "t": "x" } });
        let map = serde_json::from_value(map).unwrap();
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
