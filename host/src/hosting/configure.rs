//! The configuration of a plugin that is in ConfigMaps and Secrets: `spec.configFrom`.
//!
//! - They are watched, and read when something has changed. Only the names and keys are ever told, and what is wrong.
//! - The namespaces that its grants select belong to it too: see [`super::selected`].
//! - The memory of these objects is on the account of the plugin while the host reads them.
//! - An entry goes before those that come before it, and `spec.config` goes before all, as `env` before `envFrom`.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};
use windlass_yaml as yaml;

use super::Host;
use super::plugin::news;
use super::refusal::{ConfigProblem, Refusal, RefusalReason};
use super::selected::SelectedNamespaces;
use windlass_base::memory::{Charge, tree};
use windlass_base::seams::watch;
use windlass_kube::api::{ApiError, RefusedBy, Resource, ServiceAccount};
use windlass_kube::informer::{InformerKey, Subscription, bell};
use windlass_kube::object::Fields;
use windlass_policy::manifest::{ConfigSource, PluginConfig, PluginDocument};
use windlass_policy::source::Candidate;

/// A text of configuration has at most so many values.
const MOST_VALUES: usize = 20_000;

/// The memory of a value beside its text, at most: that of a mapping with one field.
const LARGEST_VALUE: usize = 1 << 10;

/// The objects with the configuration of one plugin, and the namespaces that it selects, which are watched.
#[derive(Default)]
pub(super) struct Configs {
    home: String,
    sources: Vec<ConfigSource>,
    news: Vec<watch::Receiver<()>>,
    _subscriptions: Vec<Subscription>,
    namespaces: SelectedNamespaces,
}

impl Configs {
    /// Waits until one of them has changed.
    pub(super) async fn news(&mut self) {
        let all = self.news.iter_mut().chain(self.namespaces.news());
        let any: Vec<_> = all.map(|it| Box::pin(news(it))).collect();
        if any.is_empty() {
            return std::future::pending().await;
        }
        futures::future::select_all(any).await;
    }
}

impl Host {
    /// `asked`, with the configuration that is in ConfigMaps and Secrets now, and the namespaces that its grants select.
    ///
    /// # Errors
    /// One is absent, cannot be read, or holds something else; or the namespaces are not known.
    pub(super) async fn configured(
        &self,
        configs: &mut Configs,
        asked: Arc<Candidate>,
    ) -> Result<Arc<Candidate>, Refusal> {
        let asked = self.protected(asked);
        self.watch_configs(configs, &asked.document);
        let asked = Box::pin(self.with_namespaces(&mut configs.namespaces, asked)).await?;
        let document = &asked.document;
        let account = self.sandboxes.accounts().of(&document.name);
        if document.config_from.is_empty() {
            return Ok(Arc::new(asked.charged_to(&account)));
        }
        // Beside a version that runs, which may have filled its own.
        let _room = account.make_room(document.limits.host_memory);
        let mut held = account.charge();
        let (mut whole, mut secrets) = (Map::new(), Vec::new());
        for (at, source) in document.config_from.iter().enumerate() {
            let read = self.read_config(document, source).await;
            let read = read.and_then(|text| held_mapping(&text, source.is_secret, &mut held));
            let read = read.map_err(|problem| RefusalReason::NotConfigured {
                at: format!("{}: spec.configFrom[{at}]: {source}", document.origin),
                problem,
            })?;
            if source.is_secret {
                secrets.push(Value::Object(read.clone()));
            }
            whole.extend(read);
        }
        let own: Value = serde_json::from_str(&document.config).unwrap_or_default();
        if let Value::Object(own) = own {
            whole.extend(own);
        }
        let json = Value::Object(whole).to_string();
        let config = PluginConfig::with_secrets(&json, &secrets);
        Ok(Arc::new(asked.with_config(config).charged_to(&account)))
    }

    /// `asked`, whose grants reach nothing of the host.
    fn protected(&self, asked: Arc<Candidate>) -> Arc<Candidate> {
        let Some(namespace) = &self.protected_namespace else {
            return asked;
        };
        let mut candidate = Candidate::clone(&asked);
        let grants = std::mem::take(&mut candidate.document.grants);
        candidate.document.grants = grants.protecting(Some(namespace));
        Arc::new(candidate)
    }

    /// The text of one of them, read as the service account of the plugin, if it has one: who installs the plugin may have no more rights.
    async fn read_config(
        &self,
        document: &PluginDocument,
        source: &ConfigSource,
    ) -> Result<String, ConfigProblem> {
        let (plural, name) = (plural(source), &source.name);
        let namespace = self.home_of(document);
        let uri = format!("/api/v1/namespaces/{namespace}/{plural}/{name}");
        let read: Result<Option<Keys>, ApiError> = self.api_for(document).read(uri).await;
        let object = read.map_err(|error| self.unreadable(document, source, &error))?;
        let absent = || ConfigProblem::Absent(format!("is absent in {namespace}: create it"));
        let object = object.ok_or_else(absent)?;
        value(object, source)
    }

    /// The namespace of what `document` names: that of its service account, or of the host.
    fn home_of<'a>(&'a self, document: &'a PluginDocument) -> &'a str {
        let account = document.service_account.as_ref();
        account.map_or(&self.namespace, ServiceAccount::namespace)
    }

    /// Why the API server does not show it, and what to do.
    fn unreadable(
        &self,
        document: &PluginDocument,
        source: &ConfigSource,
        error: &ApiError,
    ) -> ConfigProblem {
        let (plural, name, namespace) = (plural(source), &source.name, self.home_of(document));
        let who = match &document.service_account {
            Some(account) => format!("service account {account} a Role in {namespace} with get"),
            None => format!("host a Role in {namespace} with get, list and watch"),
        };
        let why = format!("cannot be read: {error}");
        match error.refusal() {
            Some(RefusedBy::Rights) => ConfigProblem::Forbidden(format!(
                "{why}; give the {who} for {plural}, and resourceNames: [{name}]"
            )),
            Some(RefusedBy::Credentials | RefusedBy::Admission) | None => {
                ConfigProblem::Unanswered(why)
            }
        }
    }

    /// Watches the objects that `document` names, and no others.
    fn watch_configs(&self, configs: &mut Configs, document: &PluginDocument) {
        let home = self.home_of(document);
        if configs.sources == document.config_from && configs.home == home {
            // What comes from now on is news: they are read after this.
            for news in &mut configs.news {
                news.mark_unchanged();
            }
            return;
        }
        let account = self.sandboxes.accounts().of(&document.name);
        let mut heard = Vec::new();
        let subscribe = |source: &ConfigSource| {
            let kind = if source.is_secret {
                "Secret"
            } else {
                "ConfigMap"
            };
            let resource = Resource {
                group: String::new(),
                version: "v1".to_owned(),
                kind: kind.to_owned(),
                plural: plural(source).to_owned(),
                namespaced: true,
            };
            let watched = InformerKey {
                namespace: Some(home.to_owned()),
                field_selector: Some(format!("metadata.name={}", source.name)),
                metadata_only: true,
                ..InformerKey::all_of(resource)
            };
            let (handler, news) = bell();
            heard.push(news);
            let informers = &self.informers;
            informers.subscribe(watched, Fields::default(), handler, &account)
        };
        let subscriptions = document.config_from.iter().map(subscribe).collect();
        configs.home = home.to_owned();
        configs.sources = document.config_from.clone();
        configs._subscriptions = subscriptions;
        configs.news = heard;
    }
}

fn plural(source: &ConfigSource) -> &'static str {
    if source.is_secret {
        "secrets"
    } else {
        "configmaps"
    }
}

/// The part of a ConfigMap or a Secret that holds configuration. The reader passes over all other fields.
#[derive(Deserialize)]
struct Keys {
    #[serde(default)]
    data: Option<BTreeMap<String, String>>,
}

/// The text of the key.
fn value(object: Keys, source: &ConfigSource) -> Result<String, ConfigProblem> {
    let Some(held) = object.data.and_then(|mut data| data.remove(&source.key)) else {
        return Err(ConfigProblem::Absent("has no such key in data".to_owned()));
    };
    if !source.is_secret {
        return Ok(held);
    }
    let bytes = STANDARD.decode(held).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| ConfigProblem::Invalid("is not text".to_owned()))
}

/// The mapping in `text`, whose memory is `held`.
fn held_mapping(
    text: &str,
    is_secret: bool,
    held: &mut Charge,
) -> Result<Map<String, Value>, ConfigProblem> {
    let before = held.bytes();
    let most = MOST_VALUES * LARGEST_VALUE + text.len();
    held.grow(tree(text).min(most)).map_err(|exceeded| {
        ConfigProblem::Unanswered(format!("is too large to be read now: {exceeded}"))
    })?;
    let read = mapping(text, is_secret)?;
    // An alias stands for more than its text. A Secret is copied, to be hidden.
    let json = serde_json::to_string(&read).unwrap_or_default();
    held.set(before + tree(&json) * (1 + usize::from(is_secret)));
    Ok(read)
}

/// A mapping, as a document of YAML or JSON.
#[derive(Deserialize)]
#[serde(transparent)]
struct Mapping(#[serde(deserialize_with = "yaml::untyped")] Map<String, Value>);

/// The mapping in `text`. Of a Secret nothing is told but where it is wrong.
fn mapping(text: &str, is_secret: bool) -> Result<Map<String, Value>, ConfigProblem> {
    let must = "must be a mapping, in YAML or JSON";
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    let read: Result<Mapping, _> = yaml::small_document(text, MOST_VALUES);
    let read = read.map_err(|error| {
        if yaml::is_too_large(&error) {
            return ConfigProblem::Invalid(format!(
                "has more than {MOST_VALUES} values: put large data into a text, or have the plugin read a ConfigMap"
            ));
        }
        let place = error.without_snippet().location();
        let place = place.map_or(String::new(), |place| {
            format!(" (line {}, column {})", place.line(), place.column())
        });
        let why = match is_secret {
            true => String::new(),
            false => format!(": {}", error.without_snippet()),
        };
        ConfigProblem::Invalid(format!("{must}{place}{why}"))
    })?;
    Ok(read.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use windlass_base::memory::{Account, Bounds, Budget};

    fn source(is_secret: bool) -> ConfigSource {
        ConfigSource {
            is_secret,
            name: "n".into(),
            key: "k".into(),
        }
    }

    #[test]
    fn a_key_holds_a_mapping() {
        let map = |text: &str| json!({ "data": { "k": text } });
        let secret = |text: &str| map(&STANDARD.encode(text));
        let good = Ok(json!({ "a": { "b": 1 } }));
        let rows = [
            (map("a: {b: 1}"), false, good.clone()),
            (map("{\"a\": {\"b\": 1}}"), false, good.clone()),
            (secret("a:\n  b: 1\n"), true, good),
            (map(""), false, Ok(json!({}))),
            (json!({}), false, Err("has no such key")),
            (
                json!({ "data": { "other": "" } }),
                true,
                Err("has no such key"),
            ),
            (map("[1]"), false, Err("must be a mapping")),
            (map("a: ["), false, Err("must be a mapping")),
            (map("?"), true, Err("is not text")),
        ];
        for (object, is_secret, want) in rows {
            let read = serde_json::from_value(object.clone()).unwrap();
            let read = value(read, &source(is_secret));
            let read = read.and_then(|text| mapping(&text, is_secret));
            match (read, want) {
                (Ok(read), Ok(want)) => assert_eq!(Value::Object(read), want),
                (Err(problem), Err(want)) => {
                    let told = problem.to_string();
                    assert!(told.starts_with(want), "{told}");
                }
                (read, want) => panic!("{object}: {read:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn a_text_with_too_many_values_is_not_read() {
        let many = |count: usize| format!("{{\"a\": [{}0]}}", "{\"\":0},".repeat(count));
        assert!(mapping(&many(1_000), false).is_ok());
        let aliases = |count: usize| {
            let items = "x,".repeat(1_000);
            format!("a: &a [{items}]\nb: [{}]", "*a,".repeat(count))
        };
        assert!(mapping(&aliases(2), false).is_ok());
        for text in [many(20_000), aliases(30)] {
            for is_secret in [false, true] {
                let told = mapping(&text, is_secret).unwrap_err().to_string();
                assert!(told.contains("has more than 20000 values"), "{told}");
            }
        }
    }

    #[test]
    fn what_is_read_counts_on_the_account_of_the_plugin_and_is_refused_above_its_limit() {
        let account = Account::new(Budget::new(64 << 20), Bounds::NONE);
        let mut held = account.charge();
        let aliases = format!("a: &a [{}]\nb: [*a, *a, *a]", "'',".repeat(1_000));
        for text in ["{a: 1}", &aliases] {
            let before = held.bytes();
            held_mapping(text, false, &mut held).unwrap();
            let more = held.bytes() - before;
            assert!(more >= 720, "{more} bytes for {text:.20}");
        }
        assert!(held.bytes() > 4_000 * size_of::<Value>(), "aliases count");
        // Sixteen such texts are more than the host has.
        let large = format!("{{\"a\":[{}0]}}", "{\"\":0},".repeat(6_000));
        let told = (0..16).find_map(|_| held_mapping(&large, false, &mut held).err());
        let told = told.unwrap().to_string();
        assert!(told.contains("at its limit for the memory"), "{told}");
        assert_eq!(account.used(), held.bytes());
        drop(held);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn of_a_secret_that_is_wrong_nothing_is_told() {
        let told = mapping("hunter2", true).unwrap_err().to_string();
        assert!(told.starts_with("must be a mapping"), "{told}");
        for text in ["hunter2", "a: [hunter2", "hunter2: {\"a\"", "- hunter2"] {
            let told = mapping(text, true).unwrap_err().to_string();
            assert!(!told.contains("hunter2"), "{told}");
        }
    }
}
