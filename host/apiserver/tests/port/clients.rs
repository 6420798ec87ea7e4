//! kube's client, with TLS on the port and on the service itself: the same calls, the same answers.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::{Api, Client, ResourceExt};
use kube_runtime::watcher::{self, Event, watcher};
use serde_json::json;

use crate::{Served, map, server, soon};

#[tokio::test]
async fn a_client_on_the_port_reads_writes_and_watches() {
    let served = Served::start(&server());
    reads_writes_and_watches(served.client().await).await;
}

#[tokio::test]
async fn a_client_needs_no_port() {
    reads_writes_and_watches(Client::new(server(), "default")).await;
}

async fn reads_writes_and_watches(client: Client) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let names: Vec<_> = namespaces.list(&ListParams::default()).await.unwrap().items;
    assert!(
        names
            .iter()
            .any(|namespace| namespace.name_any() == "default")
    );
    let version = client.apiserver_version().await.unwrap();
    assert_eq!((&*version.major, &*version.minor), ("1", "36"));
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let before = maps.list(&ListParams::default()).await.unwrap();
    let version = before.metadata.resource_version.unwrap();
    let mut events = maps
        .watch(&WatchParams::default(), &version)
        .await
        .unwrap()
        .boxed();
    let post = PostParams::default();
    let made = maps.create(&post, &map("a", "1")).await.unwrap();
    let error = maps.create(&post, &map("a", "1")).await.unwrap_err();
    assert!(
        matches!(&error, kube::Error::Api(status) if status.code == 409),
        "{error}"
    );
    let patch = Patch::Merge(json!({ "data": { "value": "2" } }));
    let patched = maps
        .patch("a", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(patched.uid(), made.uid());
    assert_eq!(patched.data.unwrap()["value"], "2");
    let late = maps.replace("a", &post, &made).await.unwrap_err();
    assert!(
        matches!(&late, kube::Error::Api(status) if status.reason == "Conflict"),
        "{late}"
    );
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(maps.get_opt("a").await.unwrap().is_none());
    let mut seen = Vec::new();
    while seen.len() < 3 {
        seen.push(match soon(events.try_next()).await.unwrap().unwrap() {
            WatchEvent::Added(map) => ("added", map.data.unwrap()["value"].clone()),
            WatchEvent::Modified(map) => ("modified", map.data.unwrap()["value"].clone()),
            WatchEvent::Deleted(map) => ("deleted", map.data.unwrap()["value"].clone()),
            other => panic!("{other:?}"),
        });
    }
    let want = [("added", "1"), ("modified", "2"), ("deleted", "2")];
    assert_eq!(seen, want.map(|(kind, value)| (kind, value.to_owned())));
}

#[tokio::test]
async fn what_controllers_are_built_on_lists_and_follows_in_both_ways() {
    let server = server();
    let served = Served::start(&server);
    for client in [
        Client::new(server.clone(), "default"),
        served.client().await,
    ] {
        for config in [
            watcher::Config::default(),
            watcher::Config::default().streaming_lists(),
        ] {
            let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
            maps.create(&PostParams::default(), &map("before", "1"))
                .await
                .unwrap();
            let mut events = watcher(maps.clone(), config).boxed();
            let mut seen = Vec::new();
            loop {
                match soon(events.try_next()).await.unwrap().unwrap() {
                    Event::Init => seen.push("init".to_owned()),
                    Event::InitApply(map) => seen.push(format!("has {}", map.name_any())),
                    Event::InitDone => {
                        seen.push("done".to_owned());
                        maps.create(&PostParams::default(), &map("after", "1"))
                            .await
                            .unwrap();
                    }
                    Event::Apply(map) => {
                        seen.push(format!("apply {}", map.name_any()));
                        maps.delete("after", &DeleteParams::default())
                            .await
                            .unwrap();
                    }
                    Event::Delete(map) => {
                        seen.push(format!("delete {}", map.name_any()));
                        break;
                    }
                }
            }
            let want = ["init", "has before", "done", "apply after", "delete after"];
            assert_eq!(seen, want);
            maps.delete("before", &DeleteParams::default())
                .await
                .unwrap();
        }
    }
}
