//! Real threads: 64 clients write at random and watch each other, half of them on the port.
//!
//! - What each watcher has replayed in the end is what a list shows.
//! - Versions only grow.
//! - No write is lost: every accepted one is in the final state, or was taken back by a later one.

use std::collections::BTreeMap;
use std::thread;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, VersionMatch, WatchEvent, WatchParams,
};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::{Served, map, server, soon};

const CLIENTS: usize = 64;
/// Writes of each client.
const WRITES: usize = 12;
/// Objects that they all write.
const NAMES: usize = 12;
/// Created when all writes are done.
const LAST: &str = "last";
/// Counts the writes of each client.
const COUNTS: &str = "counts";

type State = BTreeMap<String, ConfigMap>;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_watcher_sees_what_the_list_shows_and_no_write_is_lost() {
    let server = server();
    let served = Served::start(&server);
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(server.clone(), "default"));
    let begin = maps
        .create(&PostParams::default(), &map(COUNTS, ""))
        .await
        .unwrap();
    let begin = begin.resource_version().unwrap();
    let mut clients = Vec::new();
    for index in 0..CLIENTS {
        clients.push(match index % 2 {
            0 => Client::new(server.clone(), "default"),
            _ => served.client().await,
        });
    }
    let watchers: Vec<_> = clients
        .iter()
        .map(|client| {
            let maps = Api::default_namespaced(client.clone());
            tokio::spawn(replay(maps, begin.clone()))
        })
        .collect();
    let writers: Vec<_> = clients
        .into_iter()
        .enumerate()
        .map(|(index, client)| {
            let runtime = tokio::runtime::Handle::current();
            thread::spawn(move || runtime.block_on(write(Api::default_namespaced(client), index)))
        })
        .collect();
    let written: Vec<usize> = tokio::task::spawn_blocking(|| {
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .collect()
    })
    .await
    .unwrap();
    maps.create(&PostParams::default(), &map(LAST, ""))
        .await
        .unwrap();
    let list = maps.list(&ListParams::default()).await.unwrap();
    let list: State = list
        .items
        .into_iter()
        .map(|map| (map.name_any(), map))
        .collect();
    let counts = list[COUNTS].data.clone().unwrap();
    // One whose names were always gone has written nothing; most have.
    assert!(written.iter().sum::<usize>() > CLIENTS * WRITES / 4);
    for (index, written) in written.into_iter().enumerate() {
        let counted = counts.get(&format!("client-{index}"));
        let counted = counted.map_or("0", String::as_str);
        assert_eq!(counted, written.to_string(), "of client {index}");
    }
    for watcher in watchers {
        let replayed = soon(watcher).await.unwrap();
        assert_eq!(replayed, list);
    }
}

/// Follows all events from `version` to the last one, and answers what is there then.
async fn replay(maps: Api<ConfigMap>, version: String) -> State {
    let then = ListParams::default().at(&version);
    let all = maps
        .list(&then.matching(VersionMatch::Exact))
        .await
        .unwrap();
    let mut state: State = all.into_iter().map(|map| (map.name_any(), map)).collect();
    let mut latest: u64 = version.parse().unwrap();
    let events = maps.watch(&WatchParams::default(), &version).await.unwrap();
    let mut events = events.boxed();
    while !state.contains_key(LAST) {
        let event = events.try_next().await.unwrap().expect("a watch lasts");
        let map = match &event {
            WatchEvent::Added(map) | WatchEvent::Modified(map) | WatchEvent::Deleted(map) => map,
            // On a slow machine a minute passes.
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(_) => panic!("{event:?}"),
        };
        let version = map.resource_version().unwrap().parse().unwrap();
        assert!(version > latest, "{version} after {latest}");
        latest = version;
        match event {
            WatchEvent::Deleted(map) => assert!(state.remove(&map.name_any()).is_some()),
            WatchEvent::Added(map) => assert!(state.insert(map.name_any(), map).is_none()),
            WatchEvent::Modified(map) => assert!(state.insert(map.name_any(), map).is_some()),
            WatchEvent::Bookmark(_) | WatchEvent::Error(_) => unreachable!(),
        }
    }
    state
}

/// Writes at random, and counts in a shared object what was accepted; answers how much that was.
async fn write(maps: Api<ConfigMap>, index: usize) -> usize {
    let mut rng = fastrand::Rng::with_seed(index as u64);
    let mut accepted = 0;
    for number in 0..WRITES {
        let name = format!("map-{}", rng.usize(..NAMES));
        let value = format!("{index}-{number}");
        let done = match rng.u8(..5) {
            0 => maps
                .create(&PostParams::default(), &map(&name, &value))
                .await
                .map(drop),
            1 => maps.delete(&name, &DeleteParams::default()).await.map(drop),
            2 => replace(&maps, &name, &value).await,
            _ => {
                let patch = Patch::Merge(json!({ "data": { "value": value } }));
                maps.patch(&name, &PatchParams::default(), &patch)
                    .await
                    .map(drop)
            }
        };
        match done {
            Ok(()) => {}
            Err(kube::Error::Api(status)) => {
                assert!(matches!(status.code, 404 | 409), "{status:?}");
                continue;
            }
            Err(error) => panic!("{error}"),
        }
        accepted += 1;
        // A patch without a version, and a replacement with one: neither may take back another's.
        if rng.bool() {
            let patch = json!({ "data": { format!("client-{index}"): accepted.to_string() } });
            let patch = Patch::Merge(patch);
            maps.patch(COUNTS, &PatchParams::default(), &patch)
                .await
                .unwrap();
        } else {
            count(&maps, index).await;
        }
    }
    accepted
}

async fn replace(maps: &Api<ConfigMap>, name: &str, value: &str) -> kube::Result<()> {
    let mut held = maps.get(name).await?;
    held.data = Some([("value".to_owned(), value.to_owned())].into());
    maps.replace(name, &PostParams::default(), &held)
        .await
        .map(drop)
}

/// Adds one to the client's count: reads it, and replaces it until nobody was faster.
async fn count(maps: &Api<ConfigMap>, index: usize) {
    loop {
        let mut counts = maps.get(COUNTS).await.unwrap();
        let data = counts.data.get_or_insert_default();
        let own = data.entry(format!("client-{index}")).or_default();
        *own = (own.parse().unwrap_or(0) + 1).to_string();
        match maps.replace(COUNTS, &PostParams::default(), &counts).await {
            Ok(_) => return,
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => panic!("{error}"),
        }
    }
}
