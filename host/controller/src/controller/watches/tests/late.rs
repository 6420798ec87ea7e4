//! A kind that the plugin does not name, and that cannot be read in time.

use windlass_apiserver::faults::Fault;
use windlass_apiserver::request::route::Verb;

use super::super::lists::LATE;
use super::*;
use windlass_kube::informer::testing::{config_maps, key};
use windlass_view::testing::Woken;

/// The lists of ConfigMaps for `view`, metadata only.
fn lists(world: &World, view: &Arc<View>) -> PrimaryLists {
    let resource = config_maps().resource;
    let watched = InformerKey {
        metadata_only: true,
        ..config_maps()
    };
    let handler = ViewHandler {
        view: Arc::downgrade(view),
        watched: ForView::Resource(resource.clone()),
    };
    let scope = Scope::Namespaces(vec!["default".into()]);
    let of_primary = subscribe(
        &world.informers,
        (&watched, Fields::of_metadata()),
        (&Grants::default(), &scope),
        &handler,
        &Account::unlimited(),
    );
    PrimaryLists {
        resource,
        scope,
        is_every: true,
        of_primary,
        with_finalizer: Vec::new(),
    }
}

fn refuse(world: &World, times: u64) {
    for verb in [Verb::Watch, Verb::List] {
        world.fault(verb, 0, times, Fault::Refuse(403));
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_listed_late_is_seen_then_and_runs() {
    let world = World::new();
    let resource = config_maps().resource;
    let (view, woken) = Woken::by(watch_spec(resource.clone()));
    world.create("a").await;
    refuse(&world, 60);
    let watches = watches(&world, lists(&world, &view));
    let clock = world.seams.clock;
    let (began, listed) = (clock.now(), watches.lists.synced());
    assert!(!watches.lists.in_time(clock, listed).await);
    assert_eq!(clock.now() - began, LATE);
    watches.come_later(&view, None);
    world.wait(SECOND).await;
    assert!(view.get(&resource, &key("a")).is_none() && woken.take().is_empty());
    world.wait(3600 * SECOND).await;
    let seen = view.get(&resource, &key("a")).unwrap();
    let whole: Value = serde_json::from_str(&seen.json.text()).unwrap();
    assert_eq!(whole.get("kind"), Some(&json!("ConfigMap")));
    assert_eq!(whole.get("data"), None, "only its metadata");
    // By its event, when the view did not show it yet, and then with all others.
    assert_eq!(woken.take(), "a a");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_read_when_another_host_takes_over_is_hidden_until_it_can() {
    let world = World::new();
    let resource = config_maps().resource;
    let (view, woken) = Woken::by(watch_spec(resource.clone()));
    world.create("a").await;
    let watches = watches(&world, lists(&world, &view));
    world.within(watches.lists.synced()).await;
    watches.lists.show(&view);
    assert!(view.get(&resource, &key("a")).is_some());
    // Nothing holds up a plugin whose kinds can be read.
    let clock = world.seams.clock;
    watches.barrier(&view, clock.now()).await;
    assert!(view.get(&resource, &key("a")).is_some());
    woken.take();

    refuse(&world, 60);
    let wanted = clock.now() + SECOND;
    world.wait(SECOND).await;
    world.within(watches.barrier(&view, wanted)).await;
    assert!(view.get(&resource, &key("a")).is_none(), "it may be old");
    assert_eq!(woken.take(), "");
    world.wait(3600 * SECOND).await;
    assert!(view.get(&resource, &key("a")).is_some());
    assert_eq!(woken.take(), "a");
}
