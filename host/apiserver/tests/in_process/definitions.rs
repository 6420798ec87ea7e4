//! The server as a service without a socket: definitions written by many at a time.

use std::thread::ScopedJoinHandle;

use parking_lot::Mutex;
use serde_json::{Value, json};
use windlass_apiserver::server::Server;

use crate::support::{send, server};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const EACH: usize = 16;

fn definition(group: &str) -> Value {
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("things.{group}") },
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    })
}

async fn is_served(server: &Server, group: &str) -> bool {
    let path = format!("/apis/{group}/v1/things");
    send(server, "GET", &path, &Value::Null).await.0 == 200
}

async fn write(server: Server, writer: usize, served: &Mutex<Vec<String>>) {
    for nth in 0..EACH {
        let group = format!("{writer}-{nth}.example.com");
        let (code, answer) = send(&server, "POST", DEFINITIONS, &definition(&group)).await;
        assert_eq!(code, 201, "{answer}");
        served.lock().push(group);
    }
}

/// A task that works out what is served from an older list must not have the last word.
#[test]
fn a_kind_that_is_served_stays_served_while_others_are_defined() {
    let (server, served) = (server(1), Mutex::<Vec<String>>::default());
    let on_a_thread = || tokio::runtime::Builder::new_current_thread().build();
    std::thread::scope(|scope| {
        let writers = [0, 1, 2, 3].map(|writer| {
            let (server, served, runtime) = (server.clone(), &served, on_a_thread().unwrap());
            scope.spawn(move || runtime.block_on(write(server, writer, served)))
        });
        let looks = async {
            let mut over = false;
            while !over {
                over = writers.iter().all(ScopedJoinHandle::is_finished);
                let known = served.lock().clone();
                for group in known {
                    assert!(is_served(&server, &group).await, "{group} is gone");
                }
            }
        };
        on_a_thread().unwrap().block_on(looks);
    });
}
