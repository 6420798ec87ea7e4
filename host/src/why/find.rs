//! Finds out, on the host, why an object was reconciled or was not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;

use super::answer::{Explanation, PluginAnswer};
use super::live_object::LiveObject;
use windlass_base::error::Chain;
use windlass_base::seams::Seams;
use windlass_base::text::clean;
use windlass_controller::controller::{
    CacheState, Children, ControllerHandle, ControllerHandles, ObjectState, QueuePosition, Record,
};
use windlass_controller::metrics::{Metrics, PluginMetrics, PluginStage, RunningVersion};
use windlass_kube::api::{Accept, Api, Request, Resource, api_path, group_of, segment};
use windlass_kube::lease::Lease;
use windlass_kube::object::{Key, ObjectRef, finalizer_of};

/// How long the API server may take to answer a question of this.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest name of a host that is shown.
const NAME: usize = 200;

/// What is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// A kind, its plural, its singular or a short name, with the group behind a dot if one likes.
    pub kind: String,
    /// Of an object that lives in one; if none is given, where there is one of that name.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}

/// What can answer on a host. Cheap to clone.
#[derive(Clone)]
pub struct Finder {
    /// How far each plugin is.
    pub metrics: Metrics,
    /// What their controllers know.
    pub handles: ControllerHandles,
    /// The connection to the API server; nothing is written.
    pub api: Api,
    /// The namespace of the Leases.
    pub leases: String,
    /// The time.
    pub seams: Seams,
}

impl Finder {
    /// Answers. Asks the API server for the object once, and not for long: that it gives no answer is one.
    pub async fn find(&self, question: &Question) -> Explanation {
        let mut question = self.spelled_out(question).await;
        let elsewhere = self.place(&mut question);
        let question = &question;
        let mut answer = Explanation::about(ObjectRef {
            kind: question.kind.clone(),
            namespace: question.namespace.clone(),
            name: question.name.clone(),
        });
        answer.elsewhere = elsewhere;
        let (mut unclear, mut asked) = (Vec::new(), BTreeMap::new());
        for (plugin, meters) in self.metrics.plugins() {
            let about = meters.about();
            let handles = self.handles.of(&plugin);
            for handle in &handles {
                if question.means(handle.primary()) {
                    let about = (&*plugin, &*meters, about.clone());
                    let asked = &mut asked;
                    self.ask_controller(question, handle, about, asked, &mut answer)
                        .await;
                } else {
                    answer.kinds.push(handle.primary().kind.clone());
                    answer.owners.extend(question.owners(handle));
                }
            }
            // Without a controller it has said at most what it reconciles.
            if handles.is_empty() {
                let reconciles = meters.reconciles();
                let mut kinds = reconciles.iter();
                if reconciles.is_empty() {
                    unclear.push((plugin, meters));
                } else if kinds.any(|one| question.names(&one.kind, &one.api_version)) {
                    let said = self.without_controller(&plugin, &meters, about);
                    answer.plugins.push(said.await);
                } else {
                    answer
                        .kinds
                        .extend(reconciles.into_iter().map(|one| one.kind));
                }
            }
        }
        // Only who is asked about what nobody else reconciles may have meant these.
        if answer.plugins.is_empty() {
            for (plugin, meters) in unclear {
                let said = self.without_controller(&plugin, &meters, None);
                answer.unclear.push(said.await);
            }
        }
        sort_once(&mut answer.kinds);
        sort_once(&mut answer.owners);
        answer
    }

    /// Answers for a plugin that reconciles the kind. `asked` is what the API server has answered so far.
    async fn ask_controller(
        &self,
        question: &Question,
        handle: &ControllerHandle,
        (plugin, meters, about): (&str, &PluginMetrics, Option<RunningVersion>),
        asked: &mut BTreeMap<Resource, LiveObject>,
        answer: &mut Explanation,
    ) {
        let key = question.key(handle.primary());
        answer.object = ObjectRef::new(&handle.primary().kind, &key);
        let mut state = handle.state(&key);
        if state.stage == PluginStage::StandingBy {
            state.holder = meters.holder().map(|holder| clean(&holder, NAME));
        }
        let live = match asked.get(handle.primary()) {
            Some(live) => LiveObject::clone(live),
            None => self.live(handle.primary(), &key).await,
        };
        if let LiveObject::Unknown(why) = &live {
            answer.unasked = Some(why.clone());
        }
        asked.insert(handle.primary().clone(), live.clone());
        if let Some(uid) = unselected(&state.cache, &live) {
            state.children = handle.children(key.namespace.as_deref(), uid);
        }
        let ago = |record: &Record| self.ago(record);
        let said = PluginAnswer::of(plugin, about, &state, &live, ago);
        answer.plugins.push(said);
    }

    /// Fills in the namespace, if none is given: where there is an object of that name. Answers where there are more.
    fn place(&self, question: &mut Question) -> Vec<String> {
        if question.namespace.is_some() {
            return Vec::new();
        }
        let plugins = self.metrics.plugins().into_keys();
        let handles = plugins.flat_map(|plugin| self.handles.of(&plugin));
        let found = handles.flat_map(|handle| {
            let all = handle
                .watched()
                .into_iter()
                .chain([handle.primary().clone()]);
            let meant: Vec<_> = all.filter(|resource| question.means(resource)).collect();
            let found = meant
                .iter()
                .flat_map(|resource| handle.namespaces_of(resource, &question.name));
            found.collect::<Vec<_>>()
        });
        let mut found: BTreeSet<String> = found.collect();
        let usual = "default".to_owned();
        let first = if found.contains(&usual) {
            None
        } else {
            found.first().cloned()
        };
        let chosen = first.unwrap_or(usual);
        found.remove(&chosen);
        question.namespace = Some(chosen);
        found.into_iter().collect()
    }

    /// The question, with the plural in place of a short name: `configmaps` for `cm`.
    async fn spelled_out(&self, question: &Question) -> Question {
        let handles = self.metrics.plugins().into_keys();
        let handles: Vec<_> = handles
            .flat_map(|plugin| self.handles.of(&plugin))
            .collect();
        let known: Vec<Resource> = handles
            .iter()
            .flat_map(|handle| {
                let primary = handle.primary().clone();
                handle.watched().into_iter().chain([primary])
            })
            .collect();
        if known.iter().any(|resource| question.means(resource)) {
            return question.clone();
        }
        let versions: BTreeSet<String> = known.iter().map(Resource::api_version).collect();
        for api_version in versions {
            let asked = self.api.send(Request::get(api_path(&api_version)));
            let Some(list) = self.seams.clock.within(PATIENCE, asked).await else {
                break;
            };
            let list = list.ok().map(serde_json::from_value::<APIResourceList>);
            let Some(Ok(list)) = list else {
                continue;
            };
            let (word, group) = question.split();
            if group.is_some_and(|group| group != group_of(&api_version)) {
                continue;
            }
            let is_short = |names: &Option<Vec<String>>| {
                let mut names = names.iter().flatten();
                names.any(|name| name.eq_ignore_ascii_case(word))
            };
            let all = list.resources;
            if let Some(found) = all.into_iter().find(|one| is_short(&one.short_names)) {
                let dotted = group.map_or(String::new(), |group| format!(".{group}"));
                return Question {
                    kind: format!("{}{dotted}", found.name),
                    ..question.clone()
                };
            }
        }
        question.clone()
    }

    async fn without_controller(
        &self,
        plugin: &str,
        meters: &Arc<PluginMetrics>,
        about: Option<RunningVersion>,
    ) -> PluginAnswer {
        let stage = meters.stage();
        let holder = match stage {
            PluginStage::StandingBy => self.holder(plugin).await,
            _ => None,
        };
        let state = ObjectState {
            stage,
            holder,
            cache: CacheState::NotWatched,
            place: QueuePosition::Nowhere,
            paused: None,
            throttled: false,
            failures: 0,
            passes: Vec::new(),
            finalizer: finalizer_of(plugin),
            finalizes_on_leave: false,
            label_selector: None,
            field_selector: None,
            spec_change_only: false,
            declares_fields: false,
            children: Children::default(),
        };
        PluginAnswer::of(plugin, about, &state, &LiveObject::Absent, |_| {
            Duration::ZERO
        })
    }

    /// Who has the plugin's Lease, if that can be read.
    async fn holder(&self, plugin: &str) -> Option<String> {
        let uri = Lease::path(&self.leases, plugin);
        let asked = self.api.read(uri);
        let lease: serde_json::Value = self.seams.clock.within(PATIENCE, asked).await?.ok()??;
        let holder = lease.pointer("/spec/holderIdentity")?.as_str()?;
        (!holder.is_empty()).then(|| clean(holder, NAME))
    }

    fn ago(&self, last: &Record) -> Duration {
        let ago = self.seams.clock.wall().duration_since(last.began);
        let ago = Duration::try_from(ago).unwrap_or_default();
        ago.saturating_sub(last.took)
    }

    async fn live(&self, resource: &Resource, key: &Key) -> LiveObject {
        let uri = match resource.path(key.namespace.as_deref(), Some(&key.name), None) {
            Ok(uri) => uri,
            Err(error) => return LiveObject::Unknown(error.to_string()),
        };
        let request = Request::get(uri).accepting(Accept::Metadata);
        let asked = self.seams.clock.within(PATIENCE, self.api.text(request));
        let Some(answer) = asked.await else {
            let seconds = PATIENCE.as_secs();
            return LiveObject::Unknown(format!("it gave no answer within {seconds} s"));
        };
        match answer {
            Ok(object) => LiveObject::of(object.get()),
            Err(error) if error.is_not_found() => LiveObject::Absent,
            // Of the kinds of a plugin with a ServiceAccount, the host may only list and watch objects.
            Err(error) if error.is_forbidden() => {
                let listed = self.listed(resource, key).await;
                listed.unwrap_or_else(|| LiveObject::Unknown(Chain(&error).to_string()))
            }
            Err(error) => LiveObject::Unknown(Chain(&error).to_string()),
        }
    }

    /// The answer of a list of all objects with the name, if the API server answers.
    async fn listed(&self, resource: &Resource, key: &Key) -> Option<LiveObject> {
        let path = resource.path(key.namespace.as_deref(), None, None).ok()?;
        let name = segment(&key.name).ok()?;
        let uri = format!("{path}?fieldSelector=metadata.name%3D{name}");
        let asked = self.api.text(Request::list(uri, Accept::Metadata));
        let list = self.seams.clock.within(PATIENCE, asked).await?.ok()?;
        Some(LiveObject::of_list(list.get()))
    }
}

/// The UID of an object that is there and that the plugin does not reconcile.
fn unselected<'a>(cache: &'a CacheState, live: &'a LiveObject) -> Option<&'a str> {
    match (cache, live) {
        (CacheState::Absent | CacheState::WithFinalizer(_), LiveObject::There(there)) => {
            Some(&there.uid)
        }
        (CacheState::WithFinalizer(held), LiveObject::Unknown(_)) => Some(&held.uid),
        _ => None,
    }
}

/// Sorts `values`, each once.
fn sort_once<T: Ord>(values: &mut Vec<T>) {
    values.sort();
    values.dedup();
}

impl Question {
    /// Whether it is about objects of `resource`.
    fn means(&self, resource: &Resource) -> bool {
        let (word, group) = self.split();
        let words = [&resource.plural, &resource.kind];
        let named = words.iter().any(|name| name.eq_ignore_ascii_case(word));
        named && group.is_none_or(|group| resource.group == group)
    }

    /// Whether it is about objects of this kind, of which no more is known.
    fn names(&self, kind: &str, api_version: &str) -> bool {
        let (word, group) = self.split();
        let word = word.to_ascii_lowercase();
        let kind = kind.to_ascii_lowercase();
        let own = windlass_kube::api::group_of(api_version);
        // Of the plural nothing is known but how it mostly begins. `*` stands for what the grants name.
        if kind == "*" {
            return true;
        }
        (word == kind || word.starts_with(&kind)) && group.is_none_or(|group| group == own)
    }

    fn split(&self) -> (&str, Option<&str>) {
        match self.kind.split_once('.') {
            Some((word, group)) => (word, Some(group)),
            None => (&self.kind, None),
        }
    }

    fn key(&self, resource: &Resource) -> Key {
        Key::new(
            self.namespace.as_deref().filter(|_| resource.namespaced),
            &self.name,
        )
    }

    /// The object's owners, if a plugin watches its kind.
    fn owners(&self, handle: &ControllerHandle) -> Vec<ObjectRef> {
        let watched = handle.watched();
        let Some(resource) = watched.iter().find(|resource| self.means(resource)) else {
            return Vec::new();
        };
        let key = self.key(resource);
        let Some(object) = handle.get(resource, &key) else {
            return Vec::new();
        };
        let owners = object.metadata.owners.iter().map(|owner| ObjectRef {
            kind: owner.kind.clone(),
            namespace: key.namespace.as_deref().map(str::to_owned),
            name: owner.name.clone(),
        });
        owners.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_named_as_kubectl_takes_it() {
        let resource = Resource {
            group: "examples.windlass.dev".into(),
            version: "v1".into(),
            kind: "Greeting".into(),
            plural: "greetings".into(),
            namespaced: true,
        };
        let cases = [
            ("greeting", true),
            ("Greeting", true),
            ("greetings", true),
            ("greetings.examples.windlass.dev", true),
            ("greeting.examples.windlass.dev", true),
            ("greetings.other.dev", false),
            ("greet", false),
            ("configmap", false),
        ];
        for (kind, expected) in cases {
            let question = Question {
                kind: kind.into(),
                namespace: Some("n".into()),
                name: "ada".into(),
            };
            assert_eq!(question.means(&resource), expected, "{kind}");
            let names = question.names("Greeting", "examples.windlass.dev/v1");
            assert_eq!(names, expected, "{kind}");
        }
    }
}
