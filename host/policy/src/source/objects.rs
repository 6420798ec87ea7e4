//! Plugins as objects: the Plugin objects of the cluster, watched.
//!
//! - As long as nobody knows which objects there are, the plugins that run are left alone. When their kind is not served
//!   for a while, there are none.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::candidate::{Candidate, Component};
use super::wanted::{Problem, Wanted};
use crate::manifest::{self, DeletionPolicy, Origin};
use windlass_base::memory::{Account, tree};
use windlass_base::seams::{Clock, watch};
use windlass_kube::api::Resource;
use windlass_kube::informer::{InformerKey, InformerPhase, Informers, Subscription, bell};
use windlass_kube::object::{Fields, Metadata, Object};
use windlass_kube::selector::LabelSelector;

/// How long the kind is not served before its objects count as gone.
const ABSENCE: Duration = Duration::from_secs(60);

/// The memory that the values of an object may take, in bytes. A large document takes a hundredth of that.
const LARGEST: usize = 4 << 20;

/// The values of a text with so many bytes never take that.
const SMALL: usize = 32 << 10;

/// The Plugin objects of the cluster. Clones are the same.
#[derive(Clone)]
pub struct PluginObjects {
    subscription: Arc<Subscription>,
    changed: watch::Receiver<()>,
}

/// The resource of Plugin objects.
pub fn plugins() -> Resource {
    Resource {
        group: "windlass.dev".to_owned(),
        version: "v1alpha1".to_owned(),
        kind: "Plugin".to_owned(),
        plural: "plugins".to_owned(),
        namespaced: false,
    }
}

impl PluginObjects {
    /// Begins to watch those that `selector` selects; what is kept of them counts on `account`.
    pub fn watch(informers: &Informers, selector: Option<String>, account: &Account) -> Self {
        let (handler, changed) = bell();
        let subscription = informers.subscribe(
            InformerKey {
                label_selector: selector,
                ..InformerKey::all_of(plugins())
            },
            Fields::default(),
            handler,
            account,
        );
        Self {
            subscription: Arc::new(subscription),
            changed,
        }
    }

    /// Those that are known, the oldest first.
    pub fn list(&self) -> Vec<Value> {
        let objects = self.subscription.list(None, &LabelSelector::default());
        let mut objects: Vec<Value> = objects.iter().map(limited).collect();
        objects.sort_by_key(|object| {
            let text = |field: &str| {
                let field = object.get("metadata").and_then(|it| it.get(field));
                field.and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            (text("creationTimestamp"), text("name"))
        });
        objects
    }

    /// What has changed until now is known.
    pub fn mark_seen(&mut self) {
        self.changed.mark_unchanged();
    }

    /// Waits until one of them has changed.
    pub async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// What Plugin objects ask for, followed.
pub struct ObjectWatch {
    objects: PluginObjects,
    clock: Clock,
    held: Wanted,
    /// Since when the kind is not served.
    absent: Option<Instant>,
}

impl ObjectWatch {
    /// Follows `objects`.
    pub fn new(objects: PluginObjects, clock: Clock) -> Self {
        Self {
            objects,
            clock,
            held: unknown(),
            absent: None,
        }
    }

    /// Waits until something else is asked for than [`unknown`] or what was answered last.
    pub async fn next(&mut self) -> Wanted {
        loop {
            self.objects.mark_seen();
            let phase = self.objects.subscription.phase();
            let wanted = self.look(phase);
            // What was listed while that moved may be half of something.
            if self.objects.subscription.phase() != phase {
                continue;
            }
            if wanted != self.held {
                self.held = wanted.clone();
                return wanted;
            }
            self.wait(phase).await;
        }
    }

    fn look(&mut self, phase: InformerPhase) -> Wanted {
        let now = self.clock.now();
        match phase {
            InformerPhase::Starting => self.held.clone(),
            InformerPhase::Synced => {
                self.absent = None;
                wanted(&self.objects.list())
            }
            InformerPhase::Absent => {
                let since = *self.absent.get_or_insert(now);
                if now - since < ABSENCE {
                    return unknown();
                }
                Wanted::default()
            }
        }
    }

    async fn wait(&mut self, phase: InformerPhase) {
        let subscription = self.objects.subscription.clone();
        let moves = subscription.left(phase);
        let gone = async {
            match self.absent {
                Some(since) if self.clock.now() < since + ABSENCE => {
                    self.clock.sleep_until(since + ABSENCE).await;
                }
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.objects.changed() => {}
            () = moves => {}
            () = gone => {}
        }
    }
}

/// An object, without its spec if that has too many values: all objects are here at once.
fn limited(object: &Object) -> Value {
    let text = object.json.text();
    if text.len() <= SMALL || tree(&text) <= LARGEST {
        return object.value();
    }
    let Metadata {
        key,
        uid,
        resource_version,
        finalizers,
        ..
    } = &*object.metadata;
    let mut metadata = json!({
        "name": key.name, "uid": uid, "resourceVersion": resource_version, "finalizers": **finalizers,
    });
    if object.metadata.deleting
        && let Value::Object(fields) = &mut metadata
    {
        // Only that there is a time counts.
        fields.insert("deletionTimestamp".into(), "1970-01-01T00:00:00Z".into());
    }
    json!({
        "apiVersion": plugins().api_version(), "kind": plugins().kind, "metadata": metadata,
        "spec": manifest::TOO_LARGE,
    })
}

/// Nobody knows which objects there are.
pub fn unknown() -> Wanted {
    Wanted {
        objects_unknown: true,
        ..Wanted::default()
    }
}

/// What `objects` ask for.
fn wanted(objects: &[Value]) -> Wanted {
    let mut wanted = Wanted::default();
    for object in objects {
        match manifest::of_object(object) {
            // It stops: see `hosting::removal`.
            Ok((document, _))
                if is_deleted(object) && document.deletion != DeletionPolicy::Wait => {}
            Ok((document, text)) => {
                let candidate = Candidate::listed(document, text.into(), Component::Remote);
                wanted.plugins.push(candidate);
            }
            Err(error) => {
                let name = object.pointer("/metadata/name").and_then(Value::as_str);
                let name = name.unwrap_or_default().to_owned();
                wanted.problems.push(Problem {
                    origins: vec![Origin::Object(name.clone())],
                    plugin: Some(name),
                    document: Some(manifest::text_of_object(object).into()),
                    text: error.to_string(),
                });
            }
        }
    }
    wanted
}

fn is_deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "Plugin",
            "metadata": { "name": name }, "spec": spec,
        })
    }

    fn oci(more: Value) -> Value {
        let mut spec = json!({ "source": { "oci": "r.example/p:v1" } });
        if let (Value::Object(spec), Value::Object(more)) = (&mut spec, more) {
            spec.extend(more);
        }
        spec
    }

    fn names(wanted: &Wanted) -> Vec<&str> {
        let names = wanted.plugins.iter();
        names.map(|it| it.document.name.as_str()).collect()
    }

    #[test]
    fn an_object_that_is_wrong_costs_that_plugin_alone() {
        let objects = [
            object("a", &oci(json!({}))),
            object("b", &oci(json!({ "grants": 7 }))),
            object("c", &json!({ "source": { "file": "x.wasm" } })),
        ];
        let held = wanted(&objects);
        assert_eq!(names(&held), ["a"]);
        let told: Vec<String> = held.problems.iter().map(ToString::to_string).collect();
        assert!(told[0].starts_with("plugin.windlass.dev/b:"), "{told:?}");
        assert!(
            told[1].starts_with("plugin.windlass.dev/c: spec.source.file"),
            "{told:?}"
        );
        assert_eq!(held.problems[1].plugin.as_deref(), Some("c"));
    }

    #[test]
    fn a_name_or_finalizer_goes_to_the_folder_and_then_to_the_older_object() {
        let takes_over = json!({
            "finalizer": "x.example/f",
            "grants": [{
                "apiGroups": ["x.example"], "resources": ["xs"],
                "verbs": ["get", "list", "watch", "patch"], "finalizers": ["x.example/f"],
                "acknowledge": ["xs.x.example/finalizers/x.example/f"],
            }],
        });
        let objects = wanted(&[
            object("a", &oci(json!({}))),
            object("b", &oci(takes_over.clone())),
            object("c", &oci(takes_over.clone())),
        ]);
        assert_eq!(objects.problems, []);
        let together = Wanted::together(Wanted::default(), objects.clone());
        assert_eq!(names(&together), ["a", "b"]);
        let told = together.problems[0].to_string();
        let want = "plugin.windlass.dev/c: spec.finalizer: the plugin b names x.example/f already";
        assert!(told.starts_with(want), "{told}");

        let file = |name: &str, spec: &Value| {
            let text = object(name, spec).to_string();
            let origin = Origin::File(format!("{name}.yaml").into());
            let document = manifest::parse(&origin, &text).unwrap().remove(0);
            Candidate::listed(document, text.into(), Component::Remote)
        };
        let files = Wanted {
            plugins: vec![file("a", &oci(json!({}))), file("z", &oci(takes_over))],
            ..Wanted::default()
        };
        let together = Wanted::together(files, objects);
        assert_eq!(names(&together), ["a", "z"]);
        assert!(together.plugins[0].document.origin.file().is_some());
        let told: Vec<String> = together.problems.iter().map(ToString::to_string).collect();
        assert!(
            told[0].contains("a: the config folder has a plugin of this name"),
            "{told:?}"
        );
        assert_eq!(told.len(), 3, "{told:?}");
    }
}
