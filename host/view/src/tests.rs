//! Two plugins' views on the embedded server, in virtual time: who is woken by what.

use serde_json::{Value, json};
use windlass_apiserver::faults::Fault;
use windlass_apiserver::request::route::Verb;

use super::testing::*;
use super::*;
use windlass_base::memory::Account;
use windlass_kube::informer::InformerKey;
use windlass_kube::informer::testing::{SECOND, World, config_maps, key};
use windlass_kube::object::REQUESTED;
use windlass_policy::grants::Scope;

/// A plugin whose primaries are ConfigMaps.
struct Plugin {
    view: Arc<View>,
    woken: Woken,
}

impl Plugin {
    async fn new(world: &World) -> Self {
        Self::with(world, watch_spec(config_maps().resource)).await
    }

    async fn with(world: &World, watch_spec: WatchSpec) -> Self {
        let resource = watch_spec.primary.clone();
        let (view, woken) = Woken::by(watch_spec);
        let told = Arc::downgrade(&view);
        let heard = Box::new(move |news: windlass_kube::informer::Notification<'_>| {
            if let Some(view) = told.upgrade() {
                view.on_notification(&config_maps().resource, news);
            }
        });
        let informer = world.informers.subscribe(
            config_maps(),
            Fields::default(),
            heard,
            &Account::unlimited(),
        );
        world.within(informer.synced()).await;
        let scope = Scope::Namespaces(vec!["default".into()]);
        view.watch(resource, scope, vec![Arc::new(informer)]);
        let plugin = Self { view, woken };
        plugin.woken();
        plugin
    }

    /// Who was woken since the last time.
    fn woken(&self) -> String {
        self.woken.take()
    }

    /// Why they were.
    fn reasons(&self) -> Vec<WakeReason> {
        let wakeups = self.woken.wakeups().into_iter();
        wakeups.map(|one| one.why).collect()
    }

    /// The key `a` changes its own object.
    async fn write(&self, world: &World, data: &str) {
        let resource = config_maps().resource;
        let write = self
            .view
            .write(&resource, &key("a"), &key("a"), ApplyScope::Whole);
        write.answered(&world.change("a", data).await, &SentWrite::NOTHING);
    }
}

async fn two(world: &World) -> (Plugin, Plugin) {
    world.create("a").await;
    (Plugin::new(world).await, Plugin::new(world).await)
}

#[tokio::test(start_paused = true)]
async fn an_own_write_wakes_the_other_plugin_alone() {
    let world = World::new();
    let (author, other) = two(&world).await;
    author.write(&world, "1").await;
    assert_eq!((author.woken(), other.woken()), ("".into(), "a".into()));
    author.write(&world, "2").await;
    assert_eq!(other.woken(), "a");
    world.wait(SECOND).await;
    let silence = (author.woken(), other.woken());
    assert_eq!(silence, (String::new(), String::new()), "two echoes");
    world.change("a", "3").await;
    world.wait(SECOND).await;
    assert_eq!((author.woken(), other.woken()), ("a".into(), "a".into()));
}

#[tokio::test(start_paused = true)]
async fn what_somebody_did_just_before_an_own_write_wakes_its_author() {
    let world = World::new();
    let (author, other) = two(&world).await;
    world.change("a", "somebody").await;
    author.write(&world, "own").await;
    assert_eq!((author.woken(), other.woken()), ("".into(), "a".into()));
    world.wait(SECOND).await;
    assert_eq!((author.woken(), other.woken()), ("a".into(), "".into()));
}

#[tokio::test(start_paused = true)]
async fn what_a_list_has_skipped_wakes_the_author_of_an_answer() {
    let world = World::new();
    let (author, other) = two(&world).await;
    world.fault(Verb::Watch, 0, 1000, Fault::Reset);
    world.wait(700 * SECOND).await;
    world.change("a", "somebody").await;
    author.write(&world, "own").await;
    assert_eq!((author.woken(), other.woken()), ("".into(), "a".into()));
    world.server.store().compact();
    world.server.faults().heal();
    world.wait(120 * SECOND).await;
    assert_eq!((author.woken(), other.woken()), ("a".into(), "".into()));
}

#[tokio::test(start_paused = true)]
async fn a_write_without_an_answer_wakes_its_author() {
    let world = World::new();
    let (author, _other) = two(&world).await;
    let resource = config_maps().resource;
    let write = author
        .view
        .write(&resource, &key("a"), &key("a"), ApplyScope::Whole);
    world.change("a", "done").await;
    world.wait(SECOND).await;
    assert_eq!(author.woken(), "", "it may be its own");
    drop(write);
    assert_eq!(author.woken(), "a");
}

/// Locks are always taken in one order: first the store's, then the view's own.
#[tokio::test(start_paused = true)]
#[expect(
    clippy::disallowed_methods,
    reason = "two threads that take the same locks"
)]
async fn answers_in_part_and_whole_at_the_same_time_do_not_wait_for_each_other() {
    let world = World::new();
    let (author, _other) = two(&world).await;
    let object = world.change("a", "1").await;
    let (done, all_done) = std::sync::mpsc::channel();
    for whole in [true, false] {
        let (view, object, done) = (author.view.clone(), object.clone(), done.clone());
        std::thread::spawn(move || {
            for _ in 0..20_000 {
                let resource = config_maps().resource;
                let write = view.write(&resource, &key("a"), &key("a"), ApplyScope::Whole);
                if whole {
                    write.answered(&object, &SentWrite::NOTHING)
                } else {
                    write.answered_in_part(&object)
                }
            }
            done.send(()).unwrap();
        });
    }
    for _ in 0..2 {
        let patience = std::time::Duration::from_secs(100);
        all_done.recv_timeout(patience).expect("a deadlock");
    }
}

#[tokio::test(start_paused = true)]
async fn of_what_a_selector_leaves_out_another_store_tells() {
    let world = World::new();
    world.create("a").await;
    let resource = config_maps().resource;
    let watch_spec = WatchSpec {
        selects: true,
        watches_unselected: true,
        ..watch_spec(resource.clone())
    };
    let Plugin { view, .. } = Plugin::with(&world, watch_spec).await;
    let place = |namespace: &str, name: &str| {
        let key = Key::new(Some(namespace), name);
        match view.place(&resource, &key) {
            ObjectLocation::Held(_) => "held",
            ObjectLocation::Unselected(_) => "unselected",
            ObjectLocation::Unheld(Some(_)) => "perhaps later",
            ObjectLocation::Unheld(None) => "nowhere",
        }
    };
    let places = || {
        [
            place("default", "a"),
            place("default", "b"),
            place("away", "a"),
        ]
    };
    assert_eq!(places(), ["held", "perhaps later", "nowhere"]);
    let metadata = InformerKey {
        metadata_only: true,
        ..config_maps()
    };
    let nobody = Box::new(|_: windlass_kube::informer::Notification<'_>| {});
    let whole =
        world
            .informers
            .subscribe(metadata, Fields::default(), nobody, &Account::unlimited());
    world.within(whole.synced()).await;
    view.watch_unselected(vec![Arc::new(whole)]);
    assert_eq!(places(), ["held", "unselected", "nowhere"]);
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_a_pass_wakes_its_object_at_once_also_while_it_is_written() {
    let world = World::new();
    let (author, other) = two(&world).await;
    let ask = async |at: &str| {
        let annotation = json!({ "metadata": { "annotations": { REQUESTED: at } } });
        let path = "/api/v1/namespaces/default/configmaps/a";
        assert_eq!(world.send("PATCH", path, &annotation).await.0, 200);
    };
    let resource = config_maps().resource;
    let write = author
        .view
        .write(&resource, &key("a"), &key("a"), ApplyScope::Whole);
    ask("1").await;
    world.wait(SECOND).await;
    assert_eq!(author.reasons(), [WakeReason::Asked]);
    assert_eq!(other.reasons(), [WakeReason::Asked]);
    drop(write);
    assert!(author.reasons().is_empty(), "it runs for that already");
    // The answer to an own write shows it first.
    ask("2").await;
    author.write(&world, "own").await;
    assert_eq!(author.reasons(), [WakeReason::Asked]);
}

/// The answer to a patch that changes nothing carries the version of somebody else's change.
#[tokio::test(start_paused = true)]
async fn what_somebody_did_before_a_patch_that_changes_nothing_wakes_its_author() {
    let world = World::new();
    let (author, other) = two(&world).await;
    world.change("a", "same").await;
    world.wait(SECOND).await;
    author.woken();
    other.woken();
    let resource = config_maps().resource;
    let patches = [
        (
            json!({ "data": { "key": "same" } }),
            json!({ "metadata": { "labels": { "app": "b" } } }),
        ),
        (
            json!({ "metadata": { "annotations": { "gone": null } } }),
            json!({ "data": { "key": "other" } }),
        ),
        (
            json!({ "data": { "key": "other" } }),
            json!({ "metadata": { "finalizers": ["example.com/one"] } }),
        ),
    ];
    let path = "/api/v1/namespaces/default/configmaps/a";
    for (idle, somebodys) in patches {
        let write = author
            .view
            .write(&resource, &key("a"), &key("a"), ApplyScope::Whole);
        assert_eq!(world.send("PATCH", path, &somebodys).await.0, 200);
        let (code, answer) = world.send("PATCH", path, &idle).await;
        assert_eq!(code, 200, "{answer}");
        let sent = SentWrite {
            object: &idle,
            ..SentWrite::NOTHING
        };
        write.answered(&Object::new(&answer).unwrap(), &sent);
        world.wait(SECOND).await;
        assert_eq!(
            (author.woken(), other.woken()),
            ("a".into(), "a".into()),
            "{idle}"
        );
    }
    // A deletion too, whatever the patch changes.
    let write = author
        .view
        .write(&resource, &key("a"), &key("a"), ApplyScope::Whole);
    world.send("DELETE", path, &Value::Null).await;
    let change = json!({ "data": { "key": "last" } });
    let (code, answer) = world.send("PATCH", path, &change).await;
    assert_eq!(code, 200, "{answer}");
    let sent = SentWrite {
        object: &change,
        ..SentWrite::NOTHING
    };
    write.answered(&Object::new(&answer).unwrap(), &sent);
    assert_eq!(author.woken(), "a");
}

/// Its finalizer is to come off.
#[tokio::test(start_paused = true)]
async fn who_deletes_its_own_object_runs_again() {
    let world = World::new();
    let (author, other) = two(&world).await;
    let path = "/api/v1/namespaces/default/configmaps/a";
    let held = json!({ "metadata": { "finalizers": ["example.com/one"] } });
    assert_eq!(world.send("PATCH", path, &held).await.0, 200);
    world.wait(SECOND).await;
    author.woken();
    other.woken();
    let resource = config_maps().resource;
    let delete = |by: &str| {
        let write = author
            .view
            .write(&resource, &key("a"), &key(by), ApplyScope::Whole);
        write.deletes()
    };
    let write = delete("a");
    let (code, answer) = world.send("DELETE", path, &Value::Null).await;
    assert_eq!(code, 200, "{answer}");
    write.going(&Object::new(&answer).unwrap());
    world.wait(SECOND).await;
    assert_eq!((author.woken(), other.woken()), ("a".into(), "a".into()));
    // What goes already is not changed by another delete.
    let write = delete("a");
    let change = json!({ "metadata": { "labels": { "app": "b" } } });
    assert_eq!(world.send("PATCH", path, &change).await.0, 200);
    let (_, answer) = world.send("DELETE", path, &Value::Null).await;
    write.going(&Object::new(&answer).unwrap());
    world.wait(SECOND).await;
    assert_eq!((author.woken(), other.woken()), ("a".into(), "a".into()));
}

/// The answer to the write that takes off the last finalizer has no newer version than the store.
#[tokio::test(start_paused = true)]
async fn what_goes_with_an_own_write_is_gone_at_once() {
    let world = World::new();
    let (author, other) = two(&world).await;
    let path = "/api/v1/namespaces/default/configmaps/a";
    let held = json!({ "metadata": { "finalizers": ["example.com/one"] } });
    assert_eq!(world.send("PATCH", path, &held).await.0, 200);
    assert_eq!(world.send("DELETE", path, &Value::Null).await.0, 200);
    world.wait(SECOND).await;
    let _ = (author.woken(), other.woken());
    let resource = config_maps().resource;
    let write = author
        .view
        .write(&resource, &key("a"), &key("a"), ApplyScope::Rest);
    let patch = json!({ "metadata": { "finalizers": null } });
    let (code, answer) = world.send("PATCH", path, &patch).await;
    assert_eq!(code, 200, "{answer}");
    assert!(author.view.get(&resource, &key("a")).is_some());
    let sent = SentWrite {
        object: &patch,
        answer: &answer.to_string(),
        ..SentWrite::NOTHING
    };
    write.answered(&Object::new(&answer).unwrap(), &sent);
    assert!(author.view.get(&resource, &key("a")).is_none());
    assert_eq!((author.woken(), other.woken()), ("a".into(), "a".into()));
    world.wait(SECOND).await;
    assert_eq!(author.woken() + &other.woken(), "", "it was told");
}
