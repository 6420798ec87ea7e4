//! Writes that fail on the way: what is sent again, and what the guest is told.

use std::time::Duration;

use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::request::route::Verb;

use super::*;

/// The writes that a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    Apply,
    Merge,
    Replace,
    Append,
    Create,
    Delete,
}

/// The next `times` requests of these verbs for ConfigMaps meet the fault.
fn fault(world: &World, fault: &Fault, times: u64) {
    for verb in [Verb::Patch, Verb::Create, Verb::Delete] {
        world.server.faults().switch_on(Switch {
            name: "fault".to_owned(),
            on: Matcher {
                verb: Some(verb),
                plural: Some("configmaps".to_owned()),
                user: None,
                ..Matcher::default()
            },
            from: 0,
            times,
            fault: fault.clone(),
        });
    }
}

async fn write(world: &World, write: Writes) -> (Result<(), Error>, u32, usize) {
    let mut call = world.call().await;
    let target = || reference("v1", "ConfigMap", "page");
    let before = world.writes().len();
    let patch = |kind, patch: Value| (kind, patch.to_string());
    let answer = match write {
        Writes::Apply => {
            let object = config_map("page", &json!({ "a": "2" })).to_string();
            call.apply(object).await.map(drop)
        }
        Writes::Create => {
            let object = config_map("new", &json!({})).to_string();
            call.create(object).await.map(drop)
        }
        Writes::Delete => {
            // What it means is found out before the fault.
            call.delete(target(), NO_OPTIONS).await
        }
        Writes::Merge | Writes::Replace | Writes::Append => {
            let (kind, text) = match write {
                Writes::Merge => patch(PatchType::Merge, json!({ "data": { "a": "2" } })),
                Writes::Replace => patch(
                    PatchType::Json,
                    json!([{ "op": "replace", "path": "/data/a", "value": "2" }]),
                ),
                _ => patch(
                    PatchType::Json,
                    json!([{ "op": "add", "path": "/data/c", "value": "2" }]),
                ),
            };
            call.patch(target(), None, kind, text).await.map(drop)
        }
    };
    (
        answer,
        call.traffic().requests,
        world.writes().len() - before,
    )
}

async fn world() -> World {
    let world = World::new().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    world
        .somebody("POST", maps, &config_map("page", &json!({ "a": "1" })))
        .await;
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
    world
}

/// Once, twice and forever: what becomes of each write under `fault`, and how often it was done.
async fn under(given: Fault, expected: &[(Writes, &str, usize)]) {
    for (kind, outcome, done) in expected {
        let world = world().await;
        fault(&world, &given, 1);
        let (answer, _, writes) = write(&world, *kind).await;
        let told = match &answer {
            Ok(()) => "ok",
            Err(Error::Unavailable) => "unavailable",
            Err(other) => panic!("{given:?} {kind:?}: {other:?}"),
        };
        assert_eq!((told, writes), (*outcome, *done), "{given:?} {kind:?}");
    }
}

const ALL: [Writes; 6] = [
    Writes::Apply,
    Writes::Merge,
    Writes::Replace,
    Writes::Append,
    Writes::Create,
    Writes::Delete,
];

#[tokio::test(start_paused = true)]
async fn what_was_refused_for_now_is_sent_again_whatever_it_is() {
    under(Fault::Refuse(429), &ALL.map(|write| (write, "ok", 1))).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_perhaps_done_is_sent_again_only_where_that_is_harmless() {
    let undone: Vec<_> = ALL
        .into_iter()
        .map(|write| match write {
            Writes::Append | Writes::Create => (write, "unavailable", 0),
            _ => (write, "ok", 1),
        })
        .collect();
    for fault in [Fault::Refuse(503), Fault::Refuse(504), Fault::Reset] {
        under(fault, &undone).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_5xx_that_stays_is_told_in_its_own_words_after_one_request() {
    for kind in ALL {
        let world = world().await;
        fault(&world, &Fault::Refuse(500), u64::MAX);
        let (answer, requests, writes) = write(&world, kind).await;
        let Err(Error::Other(refusal)) = answer else {
            panic!("{kind:?}: {answer:?}")
        };
        assert_eq!((requests, writes), (1, 0), "{kind:?}");
        let told = (refusal.code, &*refusal.reason, &*refusal.message);
        let words = "this fault was made on purpose";
        assert_eq!(told, (500, "InternalError", words));
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_done_without_a_word_is_not_done_twice() {
    let done: Vec<_> = ALL
        .into_iter()
        .map(|write| match write {
            Writes::Append | Writes::Create => (write, "unavailable", 1),
            _ => (write, "ok", 1),
        })
        .collect();
    for fault in [
        Fault::RefuseDone(503),
        Fault::RefuseDone(504),
        Fault::ResetDone,
    ] {
        under(fault, &done).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_ran_out_of_time_is_not_sent_again() {
    let minute = Duration::from_secs(60);
    for (fault, done) in [(Fault::Late(minute), 0), (Fault::LateAnswer(minute), 1)] {
        under(fault, &ALL.map(|write| (write, "unavailable", done))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_within_the_time_is_an_answer() {
    let second = Duration::from_secs(1);
    for fault in [Fault::Late(second), Fault::LateAnswer(second)] {
        under(fault, &ALL.map(|write| (write, "ok", 1))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn no_write_is_sent_again_for_ever_and_a_429_slows_the_plugin_down() {
    let world = world().await;
    fault(&world, &Fault::Refuse(429), u64::MAX);
    let mut call = world.call().await;
    let object = config_map("page", &json!({})).to_string();
    assert!(matches!(call.apply(object).await, Err(Error::Unavailable)));
    let traffic = call.traffic();
    assert_eq!(
        (traffic.requests, traffic.slow_down),
        (3, Some(Duration::from_secs(1)))
    );
}

#[tokio::test(start_paused = true)]
async fn an_apply_without_conditions_outlives_a_conflict_and_one_with_a_uid_tells_of_it() {
    let world = world().await;
    fault(&world, &Fault::Refuse(409), 1);
    let (answer, requests, writes) = write(&world, Writes::Apply).await;
    assert!(answer.is_ok());
    assert_eq!((requests, writes), (2, 1));
    world.server.faults().heal();
    fault(&world, &Fault::Refuse(409), 1);
    let mut call = world.call().await;
    call.get(
        reference("v1", "ConfigMap", "page"),
        None,
        Consistency::Stored,
    )
    .await
    .unwrap();
    let object = config_map("page", &json!({ "a": "3" })).to_string();
    assert!(matches!(call.apply(object).await, Err(Error::Conflict(_))));
    assert_eq!(call.traffic().requests, 1);
}

#[tokio::test(start_paused = true)]
async fn repetitions_count_as_requests_of_the_call() {
    let world = world().await;
    fault(&world, &Fault::Refuse(503), u64::MAX);
    let mut call = world.call().await;
    for _ in 0..40 {
        let object = config_map("page", &json!({})).to_string();
        assert!(call.apply(object).await.is_err());
    }
    assert_eq!(call.traffic().requests, 100);
}

#[tokio::test(start_paused = true)]
async fn a_delete_that_was_done_without_a_word_succeeds_also_under_finalizers() {
    let world = world().await;
    let path = "/api/v1/namespaces/default/configmaps/page";
    let keep = json!({ "metadata": { "finalizers": ["theirs/keep"] } });
    world.somebody("PATCH", path, &keep).await;
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
    let mut call = world.call().await;
    let page = || reference("v1", "ConfigMap", "page");
    // Read from the store, so its version is a condition that the first attempt breaks.
    call.get(page(), None, Consistency::Stored).await.unwrap();
    fault(&world, &Fault::RefuseDone(503), 1);
    call.delete(page(), NO_OPTIONS).await.unwrap();
    assert_eq!(world.writes().len(), 1);
    let stored = parsed(call.get(page(), None, Consistency::Stored).await);
    assert!(stored["metadata"]["deletionTimestamp"].is_string());
}

#[tokio::test(start_paused = true)]
async fn a_delete_of_what_was_not_read_takes_one_request_and_means_what_is_there_now() {
    let path = "/api/v1/namespaces/default/configmaps/page";
    for (is_made_anew, requests) in [(false, 1), (true, 3)] {
        let world = world().await;
        if is_made_anew {
            world.somebody("DELETE", path, &Value::Null).await;
            let maps = "/api/v1/namespaces/default/configmaps";
            world
                .somebody("POST", maps, &config_map("page", &json!({})))
                .await;
        }
        let mut call = world.call().await;
        let page = reference("v1", "ConfigMap", "page");
        call.delete(page, NO_OPTIONS).await.unwrap();
        assert_eq!(call.traffic().requests, requests);
        assert_eq!(world.read(path).await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_patch_of_one_version_that_was_perhaps_done_is_told_so() {
    for given in [Fault::RefuseDone(503), Fault::ResetDone] {
        let world = world().await;
        let mut call = world.call().await;
        let page = || reference("v1", "ConfigMap", "page");
        let there = parsed(call.get(page(), None, Consistency::Stored).await);
        let patch = json!([
            { "op": "test", "path": "/metadata/resourceVersion", "value": there["metadata"]["resourceVersion"] },
            { "op": "add", "path": "/data/c", "value": "3" },
        ]);
        fault(&world, &given, 1);
        let answer = call
            .patch(page(), None, PatchType::Json, patch.to_string())
            .await;
        // Its repetition fails its test, since it was done the first time.
        assert!(matches!(answer, Err(Error::Unavailable)), "{answer:?}");
        assert_eq!(world.writes().len(), 1);
    }
}
