//! When a watch has what was written, and in how many pieces.

use futures::FutureExt;
use futures::StreamExt;
use serde_json::{Value, json};

use crate::support::{MAPS, map, send, server, watch};

#[tokio::test(start_paused = true)]
async fn the_event_of_a_write_is_there_whole_once_the_write_is_answered() {
    let server = server(1);
    let (_, list) = send(&server, "GET", MAPS, &Value::Null).await;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watches = Vec::new();
    for path in [MAPS, "/api/v1/configmaps"] {
        for more in ["", "&labelSelector=app", "&allowWatchBookmarks=1"] {
            let path = format!("{path}?watch=1&resourceVersion={version}{more}");
            watches.push(watch(&server, &path).await);
        }
    }
    for round in 0..100 {
        let name = format!("map-{round}");
        let object = format!("{MAPS}/{name}");
        let change = json!({ "data": { "key": "2" } });
        let writes = [
            ("POST", MAPS, map(&name, "1"), "ADDED"),
            ("PATCH", &object, change, "MODIFIED"),
            ("DELETE", &object, Value::Null, "DELETED"),
        ];
        for (method, path, body, kind) in writes {
            let (code, answer) = send(&server, method, path, &body).await;
            assert!(code < 300, "{answer}");
            for events in &mut watches {
                let frame = events.next().now_or_never().flatten().unwrap().unwrap();
                let event: Value = serde_json::from_slice(&frame.into_data().unwrap()).unwrap();
                assert_eq!(event["type"], kind);
                assert_eq!(event["object"]["metadata"]["name"], name.as_str());
                if kind != "DELETED" {
                    let version = &answer["metadata"]["resourceVersion"];
                    assert_eq!(&event["object"]["metadata"]["resourceVersion"], version);
                }
                assert!(
                    events.next().now_or_never().is_none(),
                    "one event of each write"
                );
            }
        }
    }
}
