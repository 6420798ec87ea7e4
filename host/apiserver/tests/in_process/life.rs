//! The server as a service without a socket: the life of objects, lists, watches, and a seed's history.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{MAPS, map, next, send, server, watch};

#[tokio::test(start_paused = true)]
async fn an_object_lives_and_dies() {
    let server = server(1);
    let (code, made) = send(&server, "POST", MAPS, &map("a", "1")).await;
    assert_eq!(code, 201, "{made}");
    assert_eq!(
        made["metadata"]["creationTimestamp"],
        "2026-11-21T09:30:00Z"
    );
    let (code, again) = send(&server, "POST", MAPS, &map("a", "1")).await;
    assert_eq!((code, &again["reason"]), (409, &json!("AlreadyExists")));
    let path = format!("{MAPS}/a");
    let patch = json!({ "data": { "key": "2" }, "metadata": { "finalizers": ["x.y/z"] } });
    let (code, patched) = send(&server, "PATCH", &path, &patch).await;
    assert_eq!(
        (code, &patched["data"]["key"]),
        (200, &json!("2")),
        "{patched}"
    );
    let (code, same) = send(&server, "PATCH", &path, &patch).await;
    assert_eq!(code, 200);
    assert_eq!(
        same["metadata"]["resourceVersion"],
        patched["metadata"]["resourceVersion"]
    );
    let (code, late) = send(&server, "PUT", &path, &made).await;
    assert_eq!((code, &late["reason"]), (409, &json!("Conflict")));
    let (code, waits) = send(&server, "DELETE", &path, &Value::Null).await;
    assert_eq!(code, 200);
    assert_eq!(
        waits["metadata"]["deletionGracePeriodSeconds"], 0,
        "{waits}"
    );
    let release = json!({ "metadata": { "finalizers": null } });
    let (code, _) = send(&server, "PATCH", &path, &release).await;
    assert_eq!(code, 200);
    let (code, gone) = send(&server, "GET", &path, &Value::Null).await;
    assert_eq!(
        (code, &gone["message"]),
        (404, &json!("configmaps \"a\" not found"))
    );
}

#[tokio::test(start_paused = true)]
async fn pages_of_a_list_show_one_moment() {
    let server = server(1);
    for name in ["a", "b", "c", "d"] {
        send(&server, "POST", MAPS, &map(name, "1")).await;
    }
    let (_, first) = send(&server, "GET", &format!("{MAPS}?limit=2"), &Value::Null).await;
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    send(&server, "DELETE", &format!("{MAPS}/d"), &Value::Null).await;
    send(&server, "POST", MAPS, &map("bb", "1")).await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let rest = format!("{MAPS}?limit=5&continue={token}");
    let (_, second) = send(&server, "GET", &rest, &Value::Null).await;
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(
        second["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    server.store().compact();
    let (code, expired) = send(&server, "GET", &rest, &Value::Null).await;
    assert_eq!((code, &expired["reason"]), (410, &json!("Expired")));
    let token = expired["metadata"]["continue"].as_str().unwrap();
    let rest = format!("{MAPS}?continue={token}");
    let (_, inconsistent) = send(&server, "GET", &rest, &Value::Null).await;
    assert_eq!(names(&inconsistent), ["bb", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_objects_enter_and_leave_its_selection() {
    let server = server(1);
    send(&server, "POST", MAPS, &map("a", "1")).await;
    let path =
        format!("{MAPS}?watch=1&labelSelector=app%3Da&allowWatchBookmarks=1&timeoutSeconds=90");
    let mut events = watch(&server, &path).await;
    let kind = |event: &Value| event["type"].as_str().unwrap().to_owned();
    assert_eq!(kind(&next(&mut events).await.unwrap()), "ADDED");
    let bookmark = next(&mut events).await.unwrap();
    assert_eq!(
        bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    send(&server, "POST", MAPS, &map("b", "1")).await;
    let relabel = |label: &str| json!({ "metadata": { "labels": { "app": label } } });
    send(&server, "PATCH", &format!("{MAPS}/a"), &relabel("x")).await;
    let left = next(&mut events).await.unwrap();
    assert_eq!(kind(&left), "DELETED");
    assert_eq!(left["object"]["metadata"]["labels"]["app"], "a");
    send(&server, "PATCH", &format!("{MAPS}/b"), &relabel("a")).await;
    assert_eq!(kind(&next(&mut events).await.unwrap()), "ADDED");
    send(&server, "DELETE", &format!("{MAPS}/b"), &Value::Null).await;
    assert_eq!(kind(&next(&mut events).await.unwrap()), "DELETED");
    tokio::time::timeout(Duration::from_secs(100), async {
        assert_eq!(kind(&next(&mut events).await.unwrap()), "BOOKMARK");
        assert!(next(&mut events).await.is_none(), "it ends in time");
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_what_is_compacted_gets_a_410() {
    let server = server(1);
    send(&server, "POST", MAPS, &map("a", "1")).await;
    server.store().compact();
    let mut events = watch(&server, &format!("{MAPS}?watch=1&resourceVersion=1")).await;
    let error = next(&mut events).await.unwrap();
    assert_eq!(error["type"], "ERROR");
    assert_eq!(error["object"]["code"], 410);
    assert!(next(&mut events).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_history() {
    let history = async |seed| {
        let server = server(seed);
        let mut all = Vec::new();
        for name in ["a", "b"] {
            all.push(send(&server, "POST", MAPS, &map(name, "1")).await.1);
            let generated = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "g-" },
            });
            all.push(send(&server, "POST", MAPS, &generated).await.1);
        }
        all.push(
            send(&server, "GET", "/api/v1/configmaps", &Value::Null)
                .await
                .1,
        );
        serde_json::to_string(&all).unwrap()
    };
    assert_eq!(history(7).await, history(7).await);
    assert_ne!(history(7).await, history(8).await);
}
