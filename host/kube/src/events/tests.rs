use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::seams as server;
use windlass_apiserver::server::Server;

use super::*;
use crate::api::Request;
use http::Method;
use serde_json::{Value, json};

/// How many Events of each plugin are taken, if each publishes so many at once.
async fn taken(plugins: &[(&str, u32, u64)], seconds: u64) -> Vec<u64> {
    let (_server, api, seams) = served();
    let (recorder, _task) = Recorder::start(api, &seams, "host");
    let throttled: Vec<_> = plugins.iter().map(|_| Throttled::default()).collect();
    for ((plugin, weight, _), throttled) in plugins.iter().zip(&throttled) {
        recorder.knows(&(*plugin).into(), *weight, throttled);
    }
    seams.clock.sleep(Duration::from_secs(seconds)).await;
    let count = plugins.iter().map(|(_, _, count)| *count).max().unwrap();
    for number in 0..count {
        for (plugin, _, _) in plugins.iter().filter(|(_, _, count)| number < *count) {
            let plugin = (*plugin).into();
            recorder.publish(Event {
                plugin,
                reporter: None,
                ..note("ada", "Tested")
            });
        }
        // The queue is not what is tested.
        recorder.flush().await;
    }
    let counts = plugins.iter().zip(&throttled);
    counts
        .map(|((_, _, count), throttled)| count - throttled.events())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_plugin_may_publish_by_its_weight_and_all_together_no_more_than_the_maximum() {
    // (name, weight, Events that it publishes at once; how many are taken)
    type Row<'a> = (&'a [(&'a str, u32, u64)], &'a [u64]);
    let rows: [Row<'_>; 4] = [
        (&[("a", 10, 1000)], &[100]),
        (&[("a", 20, 1000)], &[200]),
        (&[("a", 10, 1000), ("b", 10, 1)], &[100, 1]),
        (
            &[
                ("a", 20, 300),
                ("b", 20, 300),
                ("c", 20, 300),
                ("d", 20, 300),
            ],
            &[125, 125, 125, 125],
        ),
    ];
    for (plugins, want) in rows {
        assert_eq!(taken(plugins, 0).await, want, "{plugins:?}");
    }
}

/// A server in memory, and a host's way to it.
#[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
fn served() -> (Server, Api, Seams) {
    let seams = Seams {
        clock: Clock::starting_at("2026-11-21T09:30:00Z".parse().unwrap()),
        rng: windlass_base::seams::Rng::seeded(1),
        spawn: windlass_base::seams::Spawn::inline(tokio::runtime::Handle::current()),
    };
    let clock = seams.clock;
    let server = Server::new(server::Seams {
        clock: server::Clock::new(move || clock.wall()),
        rng: server::Rng::seeded(1),
    });
    let api = Api::new(kube::Client::new(server.clone(), "default"), seams.clone());
    (server, api, seams)
}

fn note(name: &str, reason: &str) -> Event {
    Event {
        plugin: "greeter".into(),
        reporter: None,
        regarding: Regarding {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            key: Key::new(Some("default"), name),
            uid: None,
        },
        related: None,
        severity: Severity::Normal,
        reason: reason.into(),
        action: "Test".into(),
        note: "last words".into(),
    }
}

const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

async fn events(api: &Api) -> Vec<Value> {
    let list = api.send(Request::get(EVENTS.to_owned())).await.unwrap();
    list.pointer("/items")
        .and_then(Value::as_array)
        .cloned()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn repetitions_are_one_series_which_begins_anew_when_its_event_is_gone() {
    let (_, api, seams) = served();
    let (recorder, _task) = Recorder::start(api.clone(), &seams, "host");
    for _ in 0..5 {
        recorder.publish(note("ada", "Tested"));
    }
    recorder.flush().await;
    let told = events(&api).await;
    let count = |event: &Value| event.pointer("/series/count").and_then(Value::as_u64);
    assert_eq!((told.len(), count(&told[0])), (1, Some(4)), "{told:#?}");
    let name = told[0]
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap();
    let delete = Request::json(Method::DELETE, format!("{EVENTS}/{name}"), &json!({}));
    api.send(delete).await.unwrap();
    for _ in 0..4 {
        recorder.publish(note("ada", "Tested"));
    }
    recorder.flush().await;
    assert_eq!(
        events(&api).await.len(),
        1,
        "the one that could not be changed is made again"
    );
}

#[tokio::test(start_paused = true)]
async fn every_object_has_its_events_whatever_it_is_called() {
    let (_, api, seams) = served();
    let (recorder, _task) = Recorder::start(api.clone(), &seams, &"é".repeat(100));
    let dot = format!("{}.{}", "a".repeat(199), "b".repeat(20));
    let (dash, long) = (dot.replace('.', "-"), "a".repeat(253));
    let cluster_scoped = ["team:reader", "Upper", "with space", "cost$", "é"];
    let names = [&*dot, &*dash, &*long].into_iter().chain(cluster_scoped);
    for name in names.clone() {
        let mut note = note(name, "Tested");
        note.regarding.key = Key::new(None, name);
        recorder.publish(note);
    }
    recorder.flush().await;
    let told = events(&api).await;
    let about = |name: &str| {
        let of = |event: &&Value| event.pointer("/regarding/name") == Some(&name.into());
        told.iter().filter(of).count()
    };
    for name in names {
        assert_eq!(about(name), 1, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_series_has_the_newest_text() {
    let (server, api, seams) = served();
    let (recorder, _task) = Recorder::start(api.clone(), &seams, "host");
    let say = async |text: &str| {
        let note = Event {
            note: text.into(),
            ..note("ada", "Tested")
        };
        recorder.publish(note);
        recorder.flush().await;
        let told = events(&api).await;
        assert_eq!(told.len(), 1, "{told:#?}");
        (told[0]["note"].clone(), told[0]["series"]["count"].clone())
    };
    assert_eq!(say("one").await, (json!("one"), Value::Null));
    assert_eq!(say("two").await, (json!("two"), json!(2)));
    // The third is not a power of two, and says something new.
    assert_eq!(say("three").await, (json!("three"), json!(3)));
    assert_eq!(say("three").await, (json!("three"), json!(4)));
    assert_eq!(say("three").await, (json!("three"), json!(4)), "as before");
    // A role of an earlier version of the host does not let texts change.
    server.faults().switch_on(Switch {
        name: "core".to_owned(),
        on: Matcher {
            sent: Some(json!({ "message": "six" })),
            ..Matcher::default()
        },
        from: 0,
        times: 1,
        fault: Fault::Refuse(403),
    });
    assert_eq!(say("six").await, (json!("three"), json!(6)));
}

#[tokio::test(start_paused = true)]
async fn what_the_server_does_not_take_is_counted() {
    let (_, api, seams) = served();
    let (recorder, _task) = Recorder::start(api.clone(), &seams, "host");
    let throttled = Throttled::default();
    recorder.knows(&"greeter".into(), 10, &throttled);
    for name in ["ada", "bob"] {
        recorder.publish(note(name, ""));
    }
    recorder.publish(note("ada", "Tested"));
    recorder.flush().await;
    assert_eq!(events(&api).await.len(), 1, "an Event has a reason");
    assert_eq!((throttled.failed_events(), throttled.events()), (2, 0));
}

#[test]
fn each_reason_for_a_lost_event_is_logged_once() {
    let mut shared = RecorderState {
        quota: Quota::new(ALL),
        plugins: HashMap::new(),
    };
    let status = |reason: &str| ApiError::Status {
        code: 422,
        reason: reason.to_owned(),
        message: String::new(),
        causes: Vec::new(),
        retry_after: None,
    };
    let (one, other) = ("one".into(), "other".into());
    let mut logged = |plugin, error: &ApiError| shared.failed(plugin, error);
    assert_eq!(logged(&one, &status("Invalid")).as_deref(), Some("Invalid"));
    assert_eq!(logged(&one, &status("Invalid")), None);
    assert_eq!(
        logged(&other, &status("Invalid")).as_deref(),
        Some("Invalid")
    );
    let lost = ApiError::Unreachable("no answer".into());
    assert_eq!(logged(&one, &lost).as_deref(), Some("NoAnswer"));
    assert_eq!(logged(&one, &lost), None);
    let many = (0..100).filter_map(|number| logged(&one, &status(&number.to_string())));
    assert_eq!(many.count(), REASONS - 2);
}

#[test]
fn that_a_terminating_namespace_takes_no_event_is_no_failure() {
    let (plugin, throttled): (Arc<str>, _) = ("one".into(), Throttled::default());
    let known = PluginQuota {
        throttled: throttled.clone(),
        ..PluginQuota::default()
    };
    let mut shared = RecorderState {
        quota: Quota::new(ALL),
        plugins: HashMap::from([(plugin.clone(), known)]),
    };
    let forbidden = |causes: &[&str]| ApiError::Status {
        code: 403,
        reason: "Forbidden".to_owned(),
        message: String::new(),
        causes: causes.iter().map(|&cause| cause.to_owned()).collect(),
        retry_after: None,
    };
    let going = forbidden(&["metadata.namespace", "NamespaceTerminating"]);
    assert_eq!(shared.failed(&plugin, &going), None);
    // The same Event was taken before.
    let there = ApiError::Status {
        code: 409,
        reason: "AlreadyExists".to_owned(),
        message: String::new(),
        causes: Vec::new(),
        retry_after: None,
    };
    assert_eq!(shared.failed(&plugin, &there), None);
    assert_eq!(throttled.failed_events(), 0);
    // A right that is missing has the same reason, and is logged all the same.
    let reason = shared.failed(&plugin, &forbidden(&[]));
    assert_eq!(reason.as_deref(), Some("Forbidden"));
    assert_eq!(throttled.failed_events(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_series_that_goes_on_is_sent_again_before_the_server_forgets_it() {
    let (_, api, seams) = served();
    let (recorder, _task) = Recorder::start(api.clone(), &seams, "host");
    let mut counts = Vec::new();
    for _ in 0..22 {
        recorder.publish(note("ada", "Tested"));
        recorder.flush().await;
        let told = events(&api).await;
        assert_eq!(told.len(), 1, "{told:#?}");
        let count = told[0].pointer("/series/count").and_then(Value::as_u64);
        counts.push(count.unwrap_or(1));
        seams.clock.sleep(Duration::from_secs(300)).await;
    }
    // Doublings; and 14 and 22, half an hour after 8 and 16.
    let want = [
        1, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 14, 14, 16, 16, 16, 16, 16, 16, 22,
    ];
    assert_eq!(counts, want);
}

#[tokio::test(start_paused = true)]
async fn one_object_has_few_events_and_others_have_theirs() {
    let (_, api, seams) = served();
    let (recorder, _task) = Recorder::start(api.clone(), &seams, "host");
    let throttled = Throttled::default();
    recorder.knows(&"greeter".into(), 10, &throttled);
    for number in 0..60 {
        recorder.publish(note("ada", &format!("Reason{number}")));
    }
    recorder.publish(note("bob", "Tested"));
    recorder.flush().await;
    let told = events(&api).await;
    let about = |name: &str| {
        let of = |event: &&Value| event.pointer("/regarding/name") == Some(&name.into());
        told.iter().filter(of).count()
    };
    assert_eq!((about("ada"), about("bob")), (25, 1));
    assert_eq!(throttled.events(), 35, "the others are counted as dropped");
}

#[tokio::test(start_paused = true)]
async fn what_was_published_is_sent_before_the_host_ends() {
    let (server, api, seams) = served();
    let slow = |name: &str, latency| Switch {
        name: name.to_owned(),
        on: Matcher::default(),
        from: 0,
        times: 1,
        fault: Fault::Late(Duration::from_secs(latency)),
    };
    server.faults().switch_on(slow("first", 1));
    let (recorder, _task) = Recorder::start(api.clone(), &seams, "host");
    recorder.publish(note("ada", "Tested"));
    recorder.flush().await;
    let told = events(&api).await;
    assert_eq!(told[0].get("note"), Some(&"last words".into()));
}
