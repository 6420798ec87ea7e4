//! `list-children` on the embedded server: from the store, and from the API server.

use super::*;
use crate::bindings::cluster::ChildrenQuery;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn of(kind: &str) -> ChildrenQuery {
    let api_version = match kind {
        "Job" => "batch/v1",
        _ => "v1",
    };
    ChildrenQuery {
        api_version: api_version.into(),
        kind: kind.into(),
        namespace: Some("default".into()),
        owner: None,
        orphans: false,
        metadata_only: false,
    }
}

/// An object called `name` that has the owners with these UIDs; the first one controls it.
fn owned(object: &Value, name: &str, owners: &[&str]) -> Value {
    let owners = owners.iter().enumerate().map(|(at, uid)| {
        json!({ "apiVersion": "x.dev/v1", "kind": "X", "name": "x", "uid": uid, "controller": at == 0 })
    });
    let mut object = object.clone();
    object["metadata"]["name"] = name.into();
    object["metadata"]["ownerReferences"] = owners.collect();
    object
}

async fn names(call: &mut Call, query: ChildrenQuery) -> Vec<String> {
    let listed = call.list_children(query).await.unwrap();
    let names = listed.iter().map(|text| {
        let object: Value = serde_json::from_str(text).unwrap();
        object["metadata"]["name"].as_str().unwrap().to_owned()
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Children are found by their owner alone; what the plugin does not watch the API server lists.
#[tokio::test(start_paused = true)]
async fn children_are_found_by_their_owner_whatever_their_labels() {
    let world = World::new().await;
    let ada = world.call().await.primary().uid.clone();
    let pod = json!({ "restartPolicy": "Never", "containers": [{ "name": "a", "image": "b" }] });
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "namespace": "default" },
        "spec": { "template": { "spec": pod } },
    });
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    for (kind, path, object, requests) in [
        ("ConfigMap", MAPS, config_map("", &json!({})), 0),
        ("Job", jobs, job, 1),
    ] {
        for (name, owners) in [
            ("own", &[&*ada][..]),
            ("shared", &["other", &ada]),
            ("other", &["other"]),
            ("orphan", &[]),
        ] {
            world
                .somebody("POST", path, &owned(&object, name, owners))
                .await;
        }
        if kind == "ConfigMap" {
            let resource = world.resource("v1", kind).await;
            world.refresh(&resource).await;
        }
        let query = of(kind);
        let by = |owner: Option<&str>, orphans| ChildrenQuery {
            owner: owner.map(str::to_owned),
            orphans,
            ..query.clone()
        };
        let rows = [
            (by(None, false), vec!["own", "shared"]),
            (by(None, true), vec!["orphan", "own", "shared"]),
            (by(Some("other"), false), vec!["other", "shared"]),
            (by(Some("nobody"), false), vec![]),
        ];
        for (query, want) in rows {
            let mut call = world.call().await;
            assert_eq!(
                names(&mut call, query.clone()).await,
                want,
                "{kind} {query:?}"
            );
            assert_eq!(call.traffic().requests, requests, "{kind}");
        }
        let mut call = world.call().await;
        let metadata_only = true;
        let query = ChildrenQuery {
            metadata_only,
            ..of(kind)
        };
        for text in call.list_children(query).await.unwrap() {
            let object: Value = serde_json::from_str(&text).unwrap();
            let fields: Vec<&String> = object.as_object().unwrap().keys().collect();
            assert_eq!(fields, ["apiVersion", "kind", "metadata"]);
        }
    }
}

/// The primary runs again when a child of another owner comes, or one of its orphans gets a controller.
#[tokio::test(start_paused = true)]
async fn a_list_of_children_is_tracked_by_their_owner() {
    let rows = [
        (Some("other"), false, &["other"][..], true),
        (Some("other"), false, &["another"], false),
        (Some("other"), true, &["another"], false),
        (Some("other"), true, &[], true),
    ];
    for (owner, orphans, owners, is_woken) in rows {
        let world = World::new().await;
        let mut call = world.call().await;
        let query = ChildrenQuery {
            owner: owner.map(str::to_owned),
            orphans,
            ..of("ConfigMap")
        };
        assert!(call.list_children(query).await.unwrap().is_empty());
        world.cluster.view.settles(&call.primary().key);
        world.woken.lock().clear();
        let child = owned(&config_map("", &json!({})), "child", owners);
        world.somebody("POST", MAPS, &child).await;
        let resource = world.resource("v1", "ConfigMap").await;
        world.refresh(&resource).await;
        let woken = world.woken.lock().contains(&call.primary().key);
        assert_eq!(woken, is_woken, "{owner:?} {orphans} {owners:?}");
    }
}
