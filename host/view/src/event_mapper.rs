//! Whom a change wakes: the primary itself, or the primaries that own what changed.
//!
//! - Owners are taken from the object as it was *and* as it is, so one that loses its child hears
//!   of it too.

use super::WatchSpec;
use super::wake_reason::{self, WakeReason};
use windlass_base::bugs::bug;
use windlass_kube::api::{Resource, group_of};
use windlass_kube::informer::Change;
use windlass_kube::object::{Fields, Key, Metadata, Object};

/// The rule of one plugin.
#[derive(Debug)]
pub(super) struct EventMapper {
    primary: Resource,
    spec_change_only: bool,
    ignores_annotations: bool,
}

impl EventMapper {
    pub(super) fn new(watch_spec: &WatchSpec) -> Self {
        Self {
            primary: watch_spec.primary.clone(),
            spec_change_only: watch_spec.spec_change_only,
            ignores_annotations: watch_spec.ignores_annotations,
        }
    }

    /// The keys to run after `change` of an object of `resource`, of which the plugin reads `fields`
    /// (none: all).
    pub(super) fn woken(
        &self,
        resource: &Resource,
        change: &Change,
        fields: Option<&Fields>,
    ) -> Vec<Key> {
        let spec_only = self.spec_change_only && *resource == self.primary;
        if !is_seen(change, fields, spec_only) {
            return Vec::new();
        }
        let old = change.old.as_ref();
        let before = bug!(
            OldOwnersAreNotWoken,
            old,
            old.filter(|_| change.new.is_none())
        );
        let sides = [before, change.new.as_ref()];
        let mut keys: Vec<Key> = Vec::new();
        for object in sides.into_iter().flatten() {
            keys.extend(self.concerned(resource, object));
        }
        keys.sort();
        keys.dedup();
        keys
    }

    /// Whether `change` is of more than the status.
    pub(super) fn is_spec_change(&self, change: &Change) -> bool {
        match (&change.old, &change.new) {
            (Some(old), Some(new)) => is_spec_change(&old.metadata, &new.metadata),
            _ => true,
        }
    }

    /// The keys that any change of `object` may concern.
    pub(super) fn concerned(&self, resource: &Resource, object: &Object) -> Vec<Key> {
        let own = (*resource == self.primary).then(|| object.metadata.key.clone());
        own.into_iter()
            .chain(self.owners(&object.metadata))
            .collect()
    }

    /// Whether the answer to a write of the key `author` shows that its own object has changed in
    /// what a write of status does not change: somebody else was there meanwhile.
    pub(super) fn is_news_to_author(
        &self,
        resource: &Resource,
        change: &Change,
        author: &Key,
    ) -> bool {
        match (&change.old, &change.new) {
            (Some(old), Some(new)) if *resource == self.primary && new.metadata.key == *author => {
                is_spec_change(&old.metadata, &new.metadata)
            }
            _ => false,
        }
    }

    /// Why `key` runs after `change`: its own object has an edit, or somebody asked for it, if the change is that of
    /// [`REQUESTED`](super::REQUESTED) on its own object.
    pub(super) fn why(&self, resource: &Resource, change: &Change, key: &Key) -> WakeReason {
        match &change.new {
            // First: an edit never waits, and requests have a limit over time.
            Some(new) if self.is_own(resource, new, key) && is_edit(change.old.as_ref(), new) => {
                WakeReason::Edited(resource.kind.clone(), key.clone())
            }
            _ if self.is_request(resource, change, key) => WakeReason::Asked,
            _ => wake_reason::changed(resource, change),
        }
    }

    /// Whether somebody asks with `change` for a pass over `key`. A plugin cannot: the annotation is none that it may
    /// write.
    pub(super) fn is_request(&self, resource: &Resource, change: &Change, key: &Key) -> bool {
        let (Some(old), Some(new)) = (&change.old, &change.new) else {
            return false;
        };
        if self.ignores_annotations {
            return false;
        }
        let is_own = self.is_own(resource, new, key);
        let (old, new) = (&old.metadata, &new.metadata);
        is_own && old.uid == new.uid && new.requested.is_some() && old.requested != new.requested
    }

    /// Whether `object` is that of `key`.
    fn is_own(&self, resource: &Resource, object: &Object, key: &Key) -> bool {
        *resource == self.primary && object.metadata.key == *key
    }

    /// The primaries that own the object.
    pub(super) fn owners(&self, metadata: &Metadata) -> impl Iterator<Item = Key> {
        let ours = |api_version: &str, kind: &str| {
            group_of(api_version) == self.primary.group && kind == self.primary.kind
        };
        let namespace = metadata
            .key
            .namespace
            .as_deref()
            .filter(|_| self.primary.namespaced);
        let owners = metadata
            .owners
            .iter()
            .filter(move |owner| ours(&owner.api_version, &owner.kind));
        owners.map(move |owner| Key::new(namespace, &owner.name))
    }
}

/// Whether a plugin that reads `fields` sees the change at all.
pub(super) fn is_seen(change: &Change, fields: Option<&Fields>, spec_only: bool) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else {
        return true;
    };
    if is_spec_change(&old.metadata, &new.metadata) {
        return true;
    }
    // A kind without a generation cannot tell its spec from its status.
    if spec_only && new.metadata.generation.is_some() {
        return false;
    }
    let whole = Fields::default();
    !old.is_alike(new, fields.unwrap_or(&whole))
}

/// Whether a user asks for something else of the object than before: it is another object, has a new generation, or is
/// to be deleted.
fn is_edit(old: Option<&Object>, new: &Object) -> bool {
    let Some(old) = old.map(|old| &old.metadata) else {
        return true;
    };
    let new = &new.metadata;
    old.uid != new.uid || old.generation != new.generation || old.deleting != new.deleting
}

fn is_spec_change(old: &Metadata, new: &Metadata) -> bool {
    old.uid != new.uid
        || old.generation != new.generation
        || old.labels != new.labels
        || old.annotations != new.annotations
        || old.finalizers != new.finalizers
        || old.owners != new.owners
        || old.deleting != new.deleting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::watch_spec;
    use serde_json::{Value, json};

    fn resource(kind: &str) -> Resource {
        Resource {
            group: if kind == "Greeting" {
                "x.dev".into()
            } else {
                String::new()
            },
            version: "v1".into(),
            kind: kind.into(),
            plural: format!("{}s", kind.to_lowercase()),
            namespaced: true,
        }
    }

    fn object(owner: &str, extra: &Value) -> Option<Object> {
        let mut object = json!({
            "metadata": { "name": "a", "namespace": "n", "uid": "u", "generation": 1,
                "ownerReferences": [{ "apiVersion": "x.dev/v9", "kind": "Greeting", "name": owner }] },
        });
        for (path, value) in extra.as_object().unwrap() {
            object[path] = value.clone();
        }
        Object::new(&object)
    }

    fn names(keys: &[Key]) -> Vec<String> {
        keys.iter().map(Key::to_string).collect()
    }

    struct Rule(EventMapper, Fields);

    impl Rule {
        fn woken(&self, resource: &Resource, change: &Change) -> Vec<Key> {
            self.0.woken(resource, change, Some(&self.1))
        }
    }

    fn wakes(spec_change_only: bool, fields: &[&str]) -> Rule {
        let fields = Fields::parse(fields.iter().copied()).unwrap();
        let watch_spec = WatchSpec {
            spec_change_only,
            ..watch_spec(resource("Greeting"))
        };
        Rule(EventMapper::new(&watch_spec), fields)
    }

    #[test]
    fn the_old_and_the_new_owner_of_a_child_are_woken() {
        let wakes = wakes(false, &[]);
        let child = resource("ConfigMap");
        let woken = |old, new| names(&wakes.woken(&child, &Change { old, new }));
        assert_eq!(woken(None, object("one", &json!({}))), ["n/one"]);
        assert_eq!(
            woken(object("one", &json!({})), object("two", &json!({}))),
            ["n/one", "n/two"]
        );
        assert_eq!(woken(object("one", &json!({})), None), ["n/one"]);
    }

    #[test]
    fn an_annotation_is_no_request_for_a_plugin_that_ignores_it_or_beside_an_edit() {
        let asked = json!({ "annotations": { "windlass.dev/reconcile-requested-at": "now" } });
        let mut metadata = json!({ "name": "a", "namespace": "n", "uid": "u", "generation": 1 });
        let old = Object::new(&json!({ "metadata": metadata }));
        metadata["annotations"] = asked["annotations"].clone();
        let new = Object::new(&json!({ "metadata": metadata }));
        metadata["generation"] = json!(2);
        let edited = Object::new(&json!({ "metadata": metadata }));
        let (primary, key) = (resource("Greeting"), Key::new(Some("n"), "a"));
        let why = |ignores_annotations, new: &Option<Object>| {
            let watch_spec = WatchSpec {
                ignores_annotations,
                ..watch_spec(primary.clone())
            };
            let change = Change {
                old: old.clone(),
                new: new.clone(),
            };
            EventMapper::new(&watch_spec).why(&primary, &change, &key)
        };
        let edit = WakeReason::Edited("Greeting".into(), key.clone());
        assert_eq!(why(false, &new), WakeReason::Asked);
        assert_eq!(
            why(true, &new),
            WakeReason::Changed("Greeting".into(), key.clone())
        );
        assert_eq!(why(false, &edited), edit);
    }

    #[test]
    fn a_primary_is_woken_by_what_its_plugin_asked_for() {
        let primary = resource("Greeting");
        let change = |extra: Value| Change {
            old: object("", &json!({})),
            new: object("", &extra),
        };
        let status = || change(json!({ "status": { "a": 1 } }));
        let spec = || change(json!({ "spec": { "a": 1, "b": 1 } }));
        let woken = |wakes: &Rule, change: Change| {
            wakes
                .woken(&primary, &change)
                .iter()
                .any(|key| &*key.name == "a")
        };
        assert!(woken(&wakes(false, &[]), status()));
        assert!(
            !woken(&wakes(true, &[]), status()),
            "status alone is left out"
        );
        assert!(
            !woken(&wakes(false, &[".spec"]), status()),
            "an undeclared field wakes nobody"
        );
        assert!(woken(&wakes(false, &[".spec.a"]), spec()));
        assert!(!woken(&wakes(false, &[".spec.c"]), spec()));
        assert!(
            !woken(&wakes(false, &[]), change(json!({}))),
            "nothing changed"
        );
    }

    #[test]
    fn who_asks_for_a_pass_is_its_reason() {
        let asked = |uid: &str, at: &str| {
            let annotations = match at {
                "" => json!({}),
                at => json!({ "windlass.dev/reconcile-requested-at": at }),
            };
            let metadata =
                json!({ "name": "a", "namespace": "n", "uid": uid, "annotations": annotations });
            Object::new(&json!({ "metadata": metadata }))
        };
        let (wakes, own) = (wakes(true, &[".spec"]), Key::new(Some("n"), "a"));
        // Before and after, as UID and time; whether that is a request.
        let rows = [
            (("u", ""), ("u", "1"), true),
            (("u", "1"), ("u", "2"), true),
            (("u", "1"), ("u", "1"), false),
            (("u", "1"), ("u", ""), false),
            // Another object has the name now.
            (("u", "1"), ("v", "2"), false),
        ];
        for ((old_uid, old), (new_uid, new), is_request) in rows {
            let change = Change {
                old: asked(old_uid, old),
                new: asked(new_uid, new),
            };
            let why = |resource: Resource, key: &Key| wakes.0.why(&resource, &change, key);
            let want = match (is_request, old_uid == new_uid) {
                (true, _) => WakeReason::Asked,
                (false, true) => WakeReason::Changed("Greeting".into(), own.clone()),
                (false, false) => WakeReason::Edited("Greeting".into(), own.clone()),
            };
            assert_eq!(why(resource("Greeting"), &own), want, "{old} {new}");
            let other = Key::new(Some("n"), "b");
            let changed = |kind: &str| WakeReason::Changed(kind.into(), own.clone());
            assert_eq!(why(resource("Greeting"), &other), changed("Greeting"));
            assert_eq!(why(resource("Pod"), &own), changed("Pod"));
        }
        let new = Change {
            old: None,
            new: asked("u", "1"),
        };
        assert!(!wakes.0.is_request(&resource("Greeting"), &new, &own));
    }

    #[test]
    fn deletion_marks_finalizers_and_labels_always_wake() {
        let metadata = |extra: Value| {
            let mut metadata =
                json!({ "name": "a", "namespace": "n", "uid": "u", "generation": 1 });
            for (field, value) in extra.as_object().unwrap() {
                metadata[field] = value.clone();
            }
            Object::new(&json!({ "metadata": metadata }))
        };
        for extra in [
            json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" }),
            json!({ "finalizers": ["f"] }),
            json!({ "labels": { "a": "b" } }),
            json!({ "annotations": { "a": "b" } }),
            json!({ "annotations": { "windlass.dev/paused": "true" } }),
            json!({ "annotations": { "windlass.dev/reconcile-requested-at": "now" } }),
            json!({ "generation": 2 }),
            json!({ "uid": "another" }),
        ] {
            let change = Change {
                old: metadata(json!({})),
                new: metadata(extra.clone()),
            };
            let woken = wakes(true, &[".spec"]).woken(&resource("Greeting"), &change);
            assert_eq!(names(&woken), ["n/a"], "{extra}");
        }
    }
}
