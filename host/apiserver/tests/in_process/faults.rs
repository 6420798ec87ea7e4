//! Faults on purpose: each does what it says, to the requests that it is for, and to no others.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::request::route::Verb;
use windlass_apiserver::server::Server;

use crate::support::{MAPS, map, next, send, server, watch};

fn on(server: &Server, verb: Verb, fault: Fault) {
    server.faults().switch_on(Switch {
        name: "it".to_owned(),
        on: Matcher {
            verb: Some(verb),
            plural: Some("configmaps".to_owned()),
            user: None,
            ..Matcher::default()
        },
        from: 0,
        times: 1,
        fault,
    });
}

async fn breaks(server: &Server, method: &str, path: &str, body: &Value) -> bool {
    let request = Request::builder().method(method).uri(path);
    let body = Full::new(Bytes::from(body.to_string()));
    let response = server.handle(request.body(body).unwrap()).await;
    response.into_body().collect().await.is_err()
}

#[tokio::test(start_paused = true)]
async fn a_request_is_refused_before_or_after_it_is_done() {
    let server = server(1);
    let path = format!("{MAPS}/a");
    on(&server, Verb::Create, Fault::Refuse(503));
    assert_eq!(send(&server, "POST", MAPS, &map("a", "1")).await.0, 503);
    assert_eq!(send(&server, "GET", &path, &Value::Null).await.0, 404);
    on(&server, Verb::Create, Fault::RefuseDone(504));
    assert_eq!(send(&server, "POST", MAPS, &map("a", "1")).await.0, 504);
    assert_eq!(send(&server, "GET", &path, &Value::Null).await.0, 200);
    on(&server, Verb::Delete, Fault::Reset);
    assert!(breaks(&server, "DELETE", &path, &json!({})).await);
    assert_eq!(send(&server, "GET", &path, &Value::Null).await.0, 200);
    on(&server, Verb::Delete, Fault::ResetDone);
    assert!(breaks(&server, "DELETE", &path, &json!({})).await);
    assert_eq!(send(&server, "GET", &path, &Value::Null).await.0, 404);
    server.faults().heal();
    assert_eq!(send(&server, "POST", MAPS, &map("a", "1")).await.0, 201);
}

#[tokio::test(start_paused = true)]
async fn only_the_requests_with_the_index_are_hit() {
    let server = server(1);
    server.faults().switch_on(Switch {
        name: "second and third".to_owned(),
        on: Matcher::default(),
        from: 1,
        times: 2,
        fault: Fault::Refuse(500),
    });
    let mut codes = Vec::new();
    for name in ["a", "b", "c", "d"] {
        codes.push(send(&server, "POST", MAPS, &map(name, "1")).await.0);
    }
    assert_eq!(codes, [201, 500, 500, 201]);
    assert_eq!(server.faults().seen(), [("second and third".to_owned(), 4)]);
    server.faults().switch_off("second and third");
    assert_eq!(server.faults().seen(), []);
}

#[tokio::test(start_paused = true)]
async fn lists_are_old_or_out_of_order() {
    let server = server(1);
    for name in ["a", "b", "c", "d", "e"] {
        send(&server, "POST", MAPS, &map(name, "1")).await;
    }
    let names = async || -> String {
        let (_, list) = send(&server, "GET", MAPS, &Value::Null).await;
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| item["metadata"]["name"].as_str().unwrap())
            .collect()
    };
    on(&server, Verb::List, Fault::Stale(2));
    assert_eq!(names().await, "abc");
    on(&server, Verb::List, Fault::Shuffled(3));
    let shuffled = names().await;
    assert_ne!(shuffled, "abcde");
    assert_eq!(shuffled.len(), 5);
    assert_eq!(names().await, "abcde");
}

#[tokio::test(start_paused = true)]
async fn time_passes_before_or_after_a_request() {
    let server = server(1);
    on(&server, Verb::Create, Fault::Late(Duration::from_secs(10)));
    let slow = map("slow", "1");
    let late = std::pin::pin!(send(&server, "POST", MAPS, &slow));
    let early = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        send(&server, "GET", &format!("{MAPS}/slow"), &Value::Null)
            .await
            .0
    };
    let ((made, _), seen) = futures::join!(late, early);
    assert_eq!((made, seen), (201, 404));
}

/// The events that come of five objects added one after the other, as letters.
async fn seen(fault: Fault) -> String {
    let server = server(1);
    on(&server, Verb::Watch, fault);
    let mut events = watch(&server, &format!("{MAPS}?watch=1&timeoutSeconds=60")).await;
    for name in ["a", "b", "c", "d", "e"] {
        send(&server, "POST", MAPS, &map(name, "1")).await;
    }
    let mut all = String::new();
    while let Some(frame) = events.next().await {
        let Ok(frame) = frame else {
            all.push('!');
            break;
        };
        let Ok(event) = serde_json::from_slice::<Value>(&frame.into_data().unwrap()) else {
            all.push('?');
            continue;
        };
        match event["type"].as_str().unwrap() {
            "ERROR" => all.push('#'),
            _ => all.push_str(event["object"]["metadata"]["name"].as_str().unwrap()),
        }
    }
    all
}

#[tokio::test(start_paused = true)]
async fn events_get_lost_late_doubled_and_cut() {
    let cases = [
        (Fault::Lost(1), "acde"),
        (Fault::Doubled(2), "abccde"),
        (Fault::Postponed { event: 0, by: 2 }, "bcade"),
        (
            Fault::Error {
                event: 3,
                status: 410,
            },
            "abc#",
        ),
        (Fault::Cut(0), "!"),
        (Fault::Cut(100), "?"),
    ];
    for (fault, want) in cases {
        assert_eq!(seen(fault.clone()).await, want, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_events_of_an_object_become_one() {
    let server = server(1);
    on(&server, Verb::Watch, Fault::Merged(0));
    let mut events = watch(&server, &format!("{MAPS}?watch=1&timeoutSeconds=60")).await;
    send(&server, "POST", MAPS, &map("a", "1")).await;
    send(&server, "POST", MAPS, &map("b", "1")).await;
    let change = json!({ "data": { "key": "2" } });
    send(&server, "PATCH", &format!("{MAPS}/a"), &change).await;
    let (first, second) = (
        next(&mut events).await.unwrap(),
        next(&mut events).await.unwrap(),
    );
    assert_eq!(first["object"]["metadata"]["name"], "b");
    assert_eq!(second["type"], "ADDED");
    assert_eq!(second["object"]["data"]["key"], "2");
}

#[tokio::test(start_paused = true)]
async fn bookmarks_can_be_missing() {
    let server = server(1);
    on(&server, Verb::Watch, Fault::NoBookmarks);
    let path = format!("{MAPS}?watch=1&allowWatchBookmarks=1&timeoutSeconds=200");
    let mut events = watch(&server, &path).await;
    assert!(next(&mut events).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_dead_watch_says_nothing_any_more() {
    let server = server(1);
    on(&server, Verb::Watch, Fault::Silent(1));
    let path = format!("{MAPS}?watch=1&timeoutSeconds=60");
    let mut events = watch(&server, &path).await;
    for name in ["a", "b"] {
        send(&server, "POST", MAPS, &map(name, "1")).await;
    }
    let first = next(&mut events).await.unwrap();
    assert_eq!(first["object"]["metadata"]["name"], "a");
    let later = tokio::time::timeout(Duration::from_secs(3600), next(&mut events));
    assert!(later.await.is_err(), "not even its end");
}

#[test]
fn a_seed_draws_the_same_faults_again_and_each_has_a_name() {
    let drawn = Fault::drawn(7);
    assert_eq!(drawn, Fault::drawn(7));
    let mut names: Vec<_> = drawn.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), drawn.len());
}

#[tokio::test(start_paused = true)]
async fn the_history_has_what_really_happened() {
    let server = server(1);
    on(&server, Verb::Create, Fault::RefuseDone(500));
    send(&server, "POST", MAPS, &map("a", "1")).await;
    let change = json!({ "data": { "key": "2" } });
    send(&server, "PATCH", &format!("{MAPS}/a"), &change).await;
    send(&server, "PATCH", &format!("{MAPS}/a"), &change).await;
    send(&server, "DELETE", &format!("{MAPS}/a"), &Value::Null).await;
    let records = server.history().records();
    let ours = records
        .iter()
        .filter(|record| record.place.plural == "configmaps");
    let ours: Vec<_> = ours
        .map(|record| (record.verb, record.before.is_some(), record.after.is_some()))
        .collect();
    assert_eq!(
        ours,
        [
            (Verb::Create, false, true),
            (Verb::Patch, true, true),
            (Verb::Delete, true, false),
        ]
    );
    assert!(records.iter().all(|record| record.user == "admin"));
}
