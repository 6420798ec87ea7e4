//! A plugin with a service account, on a server with RBAC: what is written is written as the account, and what is answered
//! from a store is what the account may read.

use std::time::Duration;

use windlass_apiserver::options::Authorization;

use super::*;
use crate::bindings::cluster::{ChildrenQuery, ListQuery};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// A yes counts for so long, and a no for less.
const WHILE: Duration = Duration::from_secs(60);

/// A world whose plugin acts as `apps/greeter`, which has these verbs on ConfigMaps of `default`.
async fn world(verbs: &[&str]) -> World {
    let seams = server::Seams {
        clock: server::Clock::new(start),
        rng: server::Rng::seeded(1),
    };
    let options = Options {
        history: true,
        authorization: Authorization::Rbac,
        ..Options::default()
    };
    let server = Server::with(seams, options);
    World::fill(&server).await;
    let filled = server.store().revision();
    let setting = Setting {
        service_account: Some(ServiceAccount::new("apps", "greeter").unwrap()),
        ..Setting::default()
    };
    let world = World::on(server, filled, setting).await;
    world
        .somebody("POST", MAPS, &config_map("a", &json!({ "k": "v" })))
        .await;
    let binding = json!({
        "metadata": { "name": "greeter" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "greeter" },
        "subjects": [{ "kind": "ServiceAccount", "namespace": "apps", "name": "greeter" }],
    });
    world
        .somebody("POST", &format!("{RBAC}/roles"), &role(verbs))
        .await;
    world
        .somebody("POST", &format!("{RBAC}/rolebindings"), &binding)
        .await;
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
    world
}

fn role(verbs: &[&str]) -> Value {
    let rule = json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs });
    let rules = if verbs.is_empty() {
        json!([])
    } else {
        json!([rule])
    };
    json!({ "metadata": { "name": "greeter" }, "rules": rules })
}

/// From now on the account has these verbs.
async fn may(world: &World, verbs: &[&str]) {
    let path = format!("{RBAC}/roles/greeter");
    world.somebody("PUT", &path, &role(verbs)).await;
}

fn list() -> ListQuery {
    ListQuery {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: Some("default".into()),
        label_selector: None,
        field_selector: None,
        limit: None,
        consistency: Consistency::Stored,
    }
}

fn children() -> ChildrenQuery {
    ChildrenQuery {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: Some("default".into()),
        owner: None,
        orphans: true,
        metadata_only: false,
    }
}

/// What each read from the store answers: `ok`, or why not.
async fn reads(world: &World) -> Vec<(&'static str, String)> {
    let mut call = world.call().await;
    let map = || reference("v1", "ConfigMap", "a");
    let told = |answer: Result<(), Error>| match answer {
        Ok(()) => "ok".to_owned(),
        Err(Error::Denied(refusal)) => refusal.message,
        Err(error) => format!("{error:?}"),
    };
    let got = call.get(map(), None, Consistency::Stored).await;
    let listed = call.list(list()).await;
    let selected = call.select(list(), vec![".metadata.name".into()]).await;
    let children = call.list_children(children()).await;
    let unchanged = call.unchanged_for(map()).await;
    vec![
        ("get", told(got.map(drop))),
        ("list", told(listed.map(drop))),
        ("list", told(selected.map(drop))),
        ("list", told(children.map(drop))),
        ("watch", told(unchanged.map(drop))),
    ]
}

fn denied(verb: &str) -> String {
    format!(
        "the plugin may not {verb} configmaps in namespace default: its service account apps/greeter lacks the right: give it the roles that `windlass rbac` prints"
    )
}

#[tokio::test(start_paused = true)]
async fn what_a_store_answers_the_account_must_have_the_right_to_read() {
    // (the verbs of the account; those that its reads need and get)
    let rows: [(&[&str], &[&str]); 4] = [
        (&[], &[]),
        (&["get"], &["get"]),
        (&["list", "create", "patch"], &["list"]),
        (&["get", "list", "watch"], &["get", "list", "watch"]),
    ];
    for (verbs, readable) in rows {
        let world = world(verbs).await;
        for (verb, told) in reads(&world).await {
            let want = match readable.contains(&verb) {
                true => "ok".to_owned(),
                false => denied(verb),
            };
            assert_eq!(told, want, "{verbs:?}: {verb}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn reads_are_denied_a_while_after_the_right_is_gone_and_allowed_when_it_is_back() {
    let all: [&str; 3] = ["get", "list", "watch"];
    let world = world(&all).await;
    let is = |reads: Vec<(&'static str, String)>, want: bool| {
        let ok = reads.iter().all(|(_, told)| told == "ok");
        let none = reads.iter().all(|(verb, told)| *told == denied(verb));
        assert!(if want { ok } else { none }, "{reads:#?}");
    };
    is(reads(&world).await, true);
    may(&world, &[]).await;
    world.cluster.api.clock().sleep(WHILE).await;
    is(reads(&world).await, false);
    may(&world, &all).await;
    world.cluster.api.clock().sleep(WHILE).await;
    is(reads(&world).await, true);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_the_account_may_not_make_is_not_tracked() {
    let world = world(&[]).await;
    reads(&world).await;
    world.woken.lock().clear();
    let change = json!({ "data": { "k": "w" } });
    world.somebody("PATCH", &format!("{MAPS}/a"), &change).await;
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
    assert!(world.woken.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn writes_and_latest_reads_are_made_as_the_account() {
    let world = world(&["get", "create", "patch"]).await;
    let made = || config_map("made", &json!({ "k": "v" })).to_string();
    let mut call = world.call().await;
    call.apply(made()).await.unwrap();
    let writes = world.writes();
    let of_plugin: Vec<&str> = writes.iter().map(|record| &*record.user).collect();
    assert_eq!(of_plugin, ["system:serviceaccount:apps:greeter"]);
    let latest = call.get(
        reference("v1", "ConfigMap", "made"),
        None,
        Consistency::Latest,
    );
    assert_eq!(parsed(latest.await)["data"]["k"], "v");
    // The API server decides about what it is sent.
    let target = reference("v1", "ConfigMap", "a");
    let refused = call.delete(target, NO_OPTIONS).await.unwrap_err();
    let Error::Denied(refusal) = refused else {
        panic!("{refused:?}");
    };
    let want = r#"User "system:serviceaccount:apps:greeter" cannot delete resource "configmaps""#;
    assert!(refusal.message.contains(want), "{refusal:?}");
}

#[tokio::test(start_paused = true)]
async fn an_apply_that_changes_nothing_tells_nothing_to_an_account_that_may_not_apply() {
    let world = world(&["get", "create", "patch"]).await;
    let apply = async |world: &World| {
        let mut call = world.call().await;
        let object = config_map("a", &json!({ "k": "mine" })).to_string();
        let answer = call.apply(object).await;
        let resource = world.resource("v1", "ConfigMap").await;
        world.refresh(&resource).await;
        answer
    };
    apply(&world).await.unwrap();
    apply(&world).await.unwrap();
    assert_eq!(world.writes().len(), 1, "the second one is not sent");
    may(&world, &["get"]).await;
    world.cluster.api.clock().sleep(WHILE).await;
    let refused = apply(&world).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Denied(it) if it.message == denied("patch")),
        "{refused:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_api_server_is_asked_once_for_many_reads() {
    let world = world(&["get", "list", "watch"]).await;
    reads(&world).await;
    let asked = world.cluster.api.requests().total();
    reads(&world).await;
    assert_eq!(
        world.cluster.api.requests().total(),
        asked,
        "nobody is asked twice"
    );
}
