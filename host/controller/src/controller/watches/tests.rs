//! A need on the embedded server, in virtual time.

mod late;
mod unselected;

use serde_json::{Value, json};

use super::*;
use windlass_base::memory::Account;
use windlass_kube::informer::testing::{SECOND, World};
use windlass_kube::object::Key;
use windlass_kube::selector::LabelSelector;
use windlass_view::testing::watch_spec;

fn thing(version: &str, namespaced: bool) -> Resource {
    Resource {
        group: "x.dev".into(),
        version: version.into(),
        kind: "Thing".into(),
        plural: "things".into(),
        namespaced,
    }
}

fn view() -> Arc<View> {
    let primary = Resource {
        group: String::new(),
        version: "v1".into(),
        kind: "ConfigMap".into(),
        plural: "configmaps".into(),
        namespaced: true,
    };
    Arc::new(View::unwatched(watch_spec(primary)))
}

#[tokio::test(start_paused = true)]
async fn what_is_in_the_namespace_of_the_host_is_not_seen() {
    let world = World::new();
    let other = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "other" } });
    let (code, answer): (u16, Value) = world.send("POST", "/api/v1/namespaces", &other).await;
    assert_eq!(code, 201, "{answer}");
    let make = async |namespace: &str, name: &str| {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let (code, answer): (u16, Value) = world.send("POST", &path, &map).await;
        assert_eq!(code, 201, "{answer}");
    };
    make("default", "a").await;
    make("other", "b").await;
    let resource = windlass_kube::informer::testing::config_maps().resource;
    let view = view();
    let handler = ViewHandler {
        view: Arc::downgrade(&view),
        watched: ForView::Resource(resource.clone()),
    };
    let grants = Grants::default().protecting(Some("default"));
    let watched = InformerKey {
        field_selector: Some("metadata.name!=x".into()),
        ..InformerKey::all_of(resource.clone())
    };
    let informers = subscribe(
        &world.informers,
        (&watched, Fields::default()),
        (&grants, &Scope::All),
        &handler,
        &Account::unlimited(),
    );
    for informer in &informers {
        world.within(informer.synced()).await;
    }
    view.watch(resource.clone(), Scope::All, informers);
    let seen = || {
        let all = view.list(&resource, None, &LabelSelector::default());
        let names = all
            .iter()
            .map(|object| object.metadata.key.name.to_string());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(seen(), "b");
    make("default", "c").await;
    make("other", "d").await;
    make("other", "x").await;
    world.wait(20 * SECOND).await;
    assert_eq!(seen(), "b d");
}

async fn create(world: &World, path: &str, version: &str) {
    let body = json!({
        "apiVersion": format!("x.dev/{version}"), "kind": "Thing", "metadata": { "name": "a" },
    });
    let path = format!("/apis/x.dev/{version}/{path}");
    let (code, answer): (u16, Value) = world.send("POST", &path, &body).await;
    assert_eq!(code, 201, "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_watched_again_when_it_comes_back_as_something_else() {
    let (world, view) = (World::new(), view());
    let (synced, first_list) = watch::channel(false);
    let need = Need {
        plugin: "p".into(),
        group: "x.dev".into(),
        plural: "things".into(),
        scope: Scope::All,
        grants: Grants::default(),
        informers: world.informers.clone(),
        discovery: world.discovery.clone(),
        view: Arc::downgrade(&view),
        account: Account::unlimited(),
        synced,
    };
    let task = world.seams.spawn.task(need.run());
    let key = |namespace: Option<&str>| Key::new(namespace, "a");
    let (was, is) = (thing("v1", true), thing("v2", false));
    let mut listed = first_list.clone();
    world
        .within(listed.wait_for(|listed| *listed))
        .await
        .unwrap();
    assert!(!view.holds(&was, &key(Some("default"))), "it is not served");
    world.define("Namespaced", &["v1"]).await;
    create(&world, "namespaces/default/things", "v1").await;
    world.wait(20 * SECOND).await;
    assert!(view.get(&was, &key(Some("default"))).is_some());
    world.undefine().await;
    world.wait(20 * SECOND).await;
    assert_eq!((view.objects(), world.informers.count()), (0, 1));
    world.define("Cluster", &["v2"]).await;
    create(&world, "things", "v2").await;
    world.wait(20 * SECOND).await;
    assert!(view.get(&is, &key(None)).is_some());
    assert!(
        !view.holds(&was, &key(Some("default"))),
        "nobody watches that"
    );
    assert_eq!((view.objects(), world.informers.count()), (1, 1));
    drop((task, view));
    world.wait(SECOND).await;
    assert_eq!(world.informers.count(), 0);
}

/// The watches of a plugin whose primary kind is Thing, in v1.
fn of_things(world: &World) -> Watches {
    let watched = InformerKey {
        resource: thing("v1", true),
        namespace: None,
        label_selector: None,
        field_selector: None,
        finalizer: None,
        metadata_only: false,
    };
    let nobody = Box::new(ViewHandler {
        view: Weak::new(),
        watched: ForView::Unselected,
    });
    let informer =
        world
            .informers
            .subscribe(watched, Fields::default(), nobody, &Account::unlimited());
    let lists = PrimaryLists {
        resource: thing("v1", true),
        scope: Scope::All,
        is_every: false,
        of_primary: vec![Arc::new(informer)],
        with_finalizer: Vec::new(),
    };
    watches(world, lists)
}

/// The watches of a plugin with these lists.
fn watches(world: &World, lists: PrimaryLists) -> Watches {
    let first = lists.of_primary.first();
    Watches {
        _needs: Vec::new(),
        first_lists: Vec::new(),
        primary: first.filter(|_| !lists.is_every).cloned(),
        lists,
        late: Mutex::default(),
        spawn: world.seams.spawn.clone(),
        discovery: world.discovery.clone(),
        clock: world.seams.clock,
    }
}

#[tokio::test(start_paused = true)]
async fn a_primary_that_comes_back_with_another_scope_has_moved() {
    for (scope, moves) in [("Namespaced", false), ("Cluster", true)] {
        let world = World::new();
        world.define("Namespaced", &["v1"]).await;
        let watches = of_things(&world);
        world.wait(SECOND).await;
        world.undefine().await;
        let clock = world.seams.clock;
        assert_eq!(clock.within(60 * SECOND, watches.moved()).await, None);
        world.define(scope, &["v1"]).await;
        let moved = clock.within(60 * SECOND, watches.moved()).await;
        assert_eq!(moved.is_some(), moves, "{scope}");
    }
}
