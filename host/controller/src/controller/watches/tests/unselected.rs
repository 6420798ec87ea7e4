//! Reads and writes of the primary's kind outside the selector, on the embedded server, in virtual time.

use super::*;
use windlass_base::memory::Account;
use windlass_kube::informer::testing::{config_maps, key};
use windlass_kube::object::{ApplyScope, Key};
use windlass_kube::selector::LabelSelector;
use windlass_view::testing::{Woken, watch_spec};
use windlass_view::{SentWrite, WatchSpec};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A plugin whose primaries are the ConfigMaps with the label `app=a`.
struct Selects {
    world: World,
    view: Arc<View>,
    woken: Woken,
    _watch: Task,
}

impl Selects {
    async fn new() -> Self {
        let world = World::new();
        let resource = config_maps().resource;
        let (view, woken) = Woken::by(WatchSpec {
            selects: true,
            watches_unselected: true,
            ..watch_spec(resource.clone())
        });
        world.create("a").await;
        let selected = InformerKey {
            label_selector: Some("app=a".into()),
            ..config_maps()
        };
        let scope = Scope::Namespaces(vec!["default".into()]);
        let informers = subscribe(
            &world.informers,
            (&selected, Fields::default()),
            (&Grants::default(), &scope),
            &ViewHandler {
                view: Arc::downgrade(&view),
                watched: ForView::Resource(resource.clone()),
            },
            &Account::unlimited(),
        );
        for informer in &informers {
            world.within(informer.synced()).await;
        }
        view.watch(resource, scope.clone(), informers);
        let unselected = UnselectedWatch {
            wanted: view.wants_unselected(),
            watched: InformerKey {
                metadata_only: true,
                ..config_maps()
            },
            grants: Grants::default(),
            scope,
            informers: world.informers.clone(),
            view: Arc::downgrade(&view),
            account: Account::unlimited(),
        };
        let watch = world.seams.spawn.task(unselected.run());
        let selects = Self {
            world,
            view,
            woken,
            _watch: watch,
        };
        assert_eq!(selects.woken().await, "a", "the first list");
        selects
    }

    /// Who was woken since the last time.
    async fn woken(&self) -> String {
        self.world.wait(20 * SECOND).await;
        self.woken.take()
    }

    /// The key `a` makes a pass that reads one object.
    fn reads(&self, name: &str) {
        let a = key("a");
        self.view.begins(&a);
        self.view
            .reads_one(&a, "v1", "ConfigMap", &key(name))
            .unwrap();
        self.view.settles(&a);
    }

    fn informers(&self) -> usize {
        self.world.informers.count()
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("{MAPS}{path}");
        let (code, answer) = self.world.send(method, &path, body).await;
        assert!((200..300).contains(&code), "{answer}");
        answer
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_outside_the_selector_is_tracked() {
    let it = Selects::new().await;
    it.reads("a");
    assert_eq!(it.woken().await, "", "the selected one is in the store");
    assert_eq!(
        it.informers(),
        1,
        "nothing else is watched until it is needed"
    );
    it.reads("copy");
    assert_eq!(it.woken().await, "a", "it may have come before the list");
    assert_eq!(it.informers(), 2);
    it.world.create("copy").await;
    assert_eq!(it.woken().await, "a", "it came");
    it.world.change("copy", "1").await;
    assert_eq!(it.woken().await, "a", "its data alone changed");
    it.world.create("other").await;
    assert_eq!(it.woken().await, "", "nobody read that");
    it.send("DELETE", "/copy", &Value::Null).await;
    assert_eq!(it.woken().await, "a", "it went");
    it.reads("other");
    it.world.create("copy").await;
    assert_eq!(it.woken().await, "", "nobody reads it any more");
}

#[tokio::test(start_paused = true)]
async fn what_the_selector_leaves_out_is_found_by_its_name() {
    let it = Selects::new().await;
    it.world.create("copy").await;
    it.reads("copy");
    it.woken().await;
    let called = |name: &str| -> Vec<Key> {
        let keys = it.view.keys_called(&config_maps().resource, name);
        keys.into_iter().collect()
    };
    assert_eq!(called("copy"), [key("copy")], "outside the selector");
    assert_eq!(called("a"), [key("a")], "in two stores");
    assert_eq!(called("nobody"), []);
}

#[tokio::test(start_paused = true)]
async fn what_comes_into_the_selector_or_leaves_it_is_heard_once() {
    let it = Selects::new().await;
    it.world.create("copy").await;
    it.reads("copy");
    it.woken().await;
    let label = |app: &str| json!({ "metadata": { "labels": { "app": app } } });
    it.send("PATCH", "/copy", &label("a")).await;
    let woken = it.woken().await;
    assert!(woken.contains("copy"), "it is a primary now: {woken}");
    assert!(woken.contains("a "), "and it is read: {woken}");
    it.world.change("copy", "1").await;
    assert_eq!(it.woken().await, "a copy", "from one store alone");
    it.send("PATCH", "/copy", &label("b")).await;
    let woken = it.woken().await;
    assert!(woken.split(' ').any(|name| name == "a"), "{woken}");
    it.world.change("copy", "2").await;
    assert_eq!(it.woken().await, "a", "outside again");
}

#[tokio::test(start_paused = true)]
async fn a_list_of_the_whole_kind_is_tracked() {
    let it = Selects::new().await;
    let (a, selector) = (key("a"), LabelSelector::parse("app=other").unwrap());
    it.view.begins(&a);
    let kind = ("v1", "ConfigMap");
    it.view
        .reads_list(&a, kind, Some("default"), &selector)
        .unwrap();
    it.view.settles(&a);
    it.woken().await;
    it.world.create("copy").await;
    assert_eq!(it.woken().await, "");
    it.world.create("other").await;
    assert_eq!(it.woken().await, "a");
}

#[tokio::test(start_paused = true)]
async fn an_own_write_outside_the_selector_wakes_only_others() {
    let it = Selects::new().await;
    it.reads("copy");
    it.woken().await;
    let resource = config_maps().resource;
    for whole in [true, false] {
        let write = it
            .view
            .write(&resource, &key("copy"), &key("a"), ApplyScope::Whole);
        if whole {
            let write = write.creates();
            write.answered(&it.world.create("copy").await, &SentWrite::NOTHING);
        } else {
            write.answered_in_part(&it.world.change("copy", "part").await);
        }
        assert_eq!(it.woken().await, "", "the echo");
    }
    // Nobody knows what was there before: the patch may have changed nothing, and this may be somebody else's change.
    let write = it
        .view
        .write(&resource, &key("copy"), &key("a"), ApplyScope::Whole);
    write.answered(&it.world.change("copy", "whole").await, &SentWrite::NOTHING);
    assert_eq!(it.woken().await, "a");
    let object = it.world.change("copy", "somebody").await;
    assert_eq!(it.woken().await, "a");
    let write = it
        .view
        .write(&resource, &key("copy"), &key("a"), ApplyScope::Whole);
    it.send("DELETE", "/copy", &Value::Null).await;
    write.deleted(&object.metadata.uid);
    assert_eq!(it.woken().await, "", "its own delete");
    it.world.create("copy").await;
    assert_eq!(it.woken().await, "a");
}

#[tokio::test(start_paused = true)]
async fn a_child_of_the_same_kind_wakes_its_owner() {
    let it = Selects::new().await;
    let resource = config_maps().resource;
    let write = it
        .view
        .write(&resource, &key("child"), &key("a"), ApplyScope::Whole);
    let uid = it
        .view
        .get(&resource, &key("a"))
        .unwrap()
        .metadata
        .uid
        .clone();
    let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": &*uid });
    let child = json!({ "metadata": { "name": "child", "ownerReferences": [owner] } });
    let answer = it.send("POST", "", &child).await;
    write.answered(
        &windlass_kube::object::Object::new(&answer).unwrap(),
        &SentWrite::NOTHING,
    );
    it.woken().await;
    it.send("DELETE", "/child", &Value::Null).await;
    assert_eq!(it.woken().await, "a");
}
