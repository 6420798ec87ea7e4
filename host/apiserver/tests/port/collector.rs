//! Real threads: what the garbage collector does while everybody writes.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::{DEADLINE, map, server, soon};

/// Owners that each client makes and deletes.
const ROUNDS: usize = 60;
const CLIENTS: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dependents_go_or_stay_as_their_owners_were_deleted() {
    let server = server();
    let controllers = tokio::spawn(server.controllers());
    let client = Client::new(server.clone(), "default");
    let clients: Vec<_> = (0..CLIENTS)
        .map(|index| tokio::spawn(play(client.clone(), index)))
        .collect();
    for client in clients {
        tokio::time::timeout(DEADLINE, client)
            .await
            .unwrap()
            .unwrap();
    }
    controllers.abort();
}

async fn play(client: Client, index: usize) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    for round in 0..ROUNDS {
        let name = format!("owner-{index}-{round}");
        let owner = maps
            .create(&PostParams::default(), &map(&name, ""))
            .await
            .unwrap();
        let children: Vec<String> = (0..3).map(|child| format!("{name}-{child}")).collect();
        for child in &children {
            let child_object = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": child, "ownerReferences": [{
                    "apiVersion": "v1", "kind": "ConfigMap", "name": name,
                    "uid": owner.uid().unwrap(), "controller": true, "blockOwnerDeletion": true,
                }] },
                "data": { "a": "b" },
            });
            let parameters = PatchParams::apply("play");
            maps.patch(child, &parameters, &Patch::Apply(&child_object))
                .await
                .unwrap();
        }
        let policy = match round % 3 {
            0 => PropagationPolicy::Foreground,
            1 => PropagationPolicy::Background,
            _ => PropagationPolicy::Orphan,
        };
        let stays = matches!(policy, PropagationPolicy::Orphan);
        let how = DeleteParams {
            propagation_policy: Some(policy),
            ..DeleteParams::default()
        };
        maps.delete(&name, &how).await.unwrap();
        for child in &children {
            soon(settled(&maps, child, stays)).await;
        }
    }
}

/// Waits until the child is gone, or without an owner if it `stays`.
async fn settled(maps: &Api<ConfigMap>, child: &str, stays: bool) {
    loop {
        match maps.get_opt(child).await.unwrap() {
            None => {
                assert!(!stays, "{child} went");
                return;
            }
            Some(held) if stays && held.owner_references().is_empty() => return,
            Some(_) => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    }
}
