//! Who runs again when somebody changes what a call has written to an object that its primary does not own.

use super::*;

const MAP: &str = "/api/v1/namespaces/default/configmaps/page";

/// How a call writes its part of an object.
#[derive(Clone, Copy, Debug)]
enum By {
    Apply,
    Create,
    Patch,
}

/// The Greeting `name` writes `data` into `page`, which nobody owns.
async fn write(world: &World, name: &str, by: By, data: &Value) {
    let mut call = world.call_for(name).await;
    let page = config_map("page", data);
    let answer = match by {
        By::Apply => call.apply(page.to_string()).await,
        By::Create => call.create(page.to_string()).await,
        By::Patch => {
            let target = reference("v1", "ConfigMap", "page");
            let patch = json!({ "data": data }).to_string();
            call.patch(target, None, PatchType::Merge, patch).await
        }
    };
    answer.unwrap();
    world.cluster.view.ends(&call.primary().key);
    world.cluster.view.settles(&call.primary().key);
}

/// The names of those who were woken since the last time.
async fn woken(world: &World) -> Vec<String> {
    let maps = world.resource("v1", "ConfigMap").await;
    world.refresh(&maps).await;
    let mut woken = std::mem::take(&mut *world.woken.lock());
    woken.sort();
    woken.dedup();
    woken.iter().map(|key| key.name.to_string()).collect()
}

async fn somebody_sets(world: &World, data: &Value) {
    let patch = json!({ "data": data });
    world.somebody("PATCH", MAP, &patch).await;
}

#[tokio::test(start_paused = true)]
async fn a_change_of_what_a_key_wrote_runs_it_and_other_changes_do_not() {
    for by in [By::Apply, By::Create, By::Patch] {
        let world = World::new().await;
        if let By::Patch = by {
            let theirs = config_map("page", &json!({ "theirs": "1" }));
            let maps = "/api/v1/namespaces/default/configmaps";
            world.somebody("POST", maps, &theirs).await;
        }
        woken(&world).await;
        let none: [&str; 0] = [];
        write(&world, "ada", by, &json!({ "a": "1", "b": "1" })).await;
        assert_eq!(woken(&world).await, none, "{by:?}: its own write");
        somebody_sets(&world, &json!({ "c": "1" })).await;
        assert_eq!(woken(&world).await, none, "{by:?}: another field");
        somebody_sets(&world, &json!({ "a": "drift" })).await;
        assert_eq!(woken(&world).await, ["ada"], "{by:?}: an edit");
        somebody_sets(&world, &json!({ "b": null })).await;
        assert_eq!(woken(&world).await, ["ada"], "{by:?}: a removal");
    }
}

#[tokio::test(start_paused = true)]
async fn that_what_a_key_wrote_is_gone_runs_it_also_after_a_second_pass() {
    let world = World::new().await;
    let none: [&str; 0] = [];
    for pass in 1..=3 {
        write(&world, "ada", By::Apply, &json!({ "a": "1" })).await;
        write(&world, "ada", By::Apply, &json!({ "a": "1" })).await;
        woken(&world).await;
        world.somebody("DELETE", MAP, &Value::Null).await;
        assert_eq!(woken(&world).await, ["ada"], "pass {pass}");
        assert_eq!(woken(&world).await, none, "once");
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_keys_that_share_an_object_a_change_runs_the_one_whose_part_it_is() {
    let world = World::new().await;
    woken(&world).await;
    write(&world, "ada", By::Apply, &json!({ "ada": "1" })).await;
    write(&world, "bob", By::Apply, &json!({ "bob": "1" })).await;
    let none: [&str; 0] = [];
    assert_eq!(woken(&world).await, none, "neither has touched the other's");
    somebody_sets(&world, &json!({ "bob": "2" })).await;
    assert_eq!(woken(&world).await, ["bob"]);
    write(&world, "bob", By::Apply, &json!({ "bob": "1" })).await;
    woken(&world).await;
    world.somebody("DELETE", MAP, &Value::Null).await;
    assert_eq!(woken(&world).await, ["ada", "bob"]);
}

/// As the contract says of `trigger` and of `fields`: both are about the primary itself, without regard to the writer.
#[tokio::test(start_paused = true)]
async fn a_changed_status_runs_its_author_unless_the_plugin_says_that_this_is_no_news() {
    let spec: &'static [&'static str] = &[".spec"];
    // (fields, spec_change_only; who runs)
    let rows = [
        (&[][..], false, &["ada"][..]),
        (spec, false, &[]),
        (&[], true, &[]),
        (spec, true, &[]),
    ];
    for (fields, spec_change_only, want) in rows {
        let setting = Setting {
            fields,
            spec_change_only,
            ..Setting::default()
        };
        let world = World::new().await.set(setting).await;
        let status = |text: &str| {
            json!({
                "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting",
                "metadata": { "name": "ada", "namespace": "default" }, "status": { "text": text },
            })
        };
        let mut call = world.call().await;
        let written = call.apply_status(status("Hi").to_string()).await;
        written.unwrap();
        let greetings = world.resource("examples.windlass.dev/v1", "Greeting").await;
        world.refresh(&greetings).await;
        woken(&world).await;
        let ada = "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada/status?fieldManager=them&force=true";
        world.somebody("PATCH", ada, &status("drift")).await;
        world.refresh(&greetings).await;
        assert_eq!(woken(&world).await, want, "{fields:?} {spec_change_only}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_gone_is_not_run_for_what_it_left_and_takes_no_memory() {
    let account = Account::unlimited();
    let setting = Setting {
        account: account.clone(),
        ..Setting::default()
    };
    let world = World::new().await.set(setting).await;
    let before = account.used();
    write(&world, "ada", By::Apply, &json!({ "a": "1" })).await;
    assert!(account.used() > before, "its manager is remembered");
    let ada = world.call().await.primary().key.clone();
    world.cluster.view.forgets(&ada);
    assert_eq!(account.used(), before);
    woken(&world).await;
    somebody_sets(&world, &json!({ "a": "2" })).await;
    let none: [&str; 0] = [];
    assert_eq!(woken(&world).await, none);
}
