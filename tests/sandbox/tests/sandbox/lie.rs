//! Guests whose arguments and answers are malformed.

use std::time::Duration;

use serde_json::Value;
use windlass_sandbox::Action;
use windlass_sandbox_tests::House;
use windlass_sandbox_tests::api_server::SentRequest;

use crate::common::{AMPLE, GOOD, Siege, assert_tame, terminal};

/// The longest text that is kept, with the sign that it was cut.
const TEXT: usize = (4 << 10) + '…'.len_utf8();

#[tokio::test(flavor = "multi_thread")]
async fn a_failures_text_is_cut_and_tamed() {
    for attack in ["garbage_failure", "garbage"] {
        let siege = Siege::begin(attack, AMPLE).await;
        let called = siege.attack().await;
        let text = terminal(&called);
        assert!(
            text.len() <= TEXT && text.contains("owned"),
            "{attack}: {}",
            text.len()
        );
        assert_tame(text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_object_patch_or_set_is_not_applied() {
    for attack in [
        "garbage_json",
        "garbage_deep",
        "garbage_patch",
        "garbage_set",
    ] {
        let siege = Siege::begin(attack, AMPLE).await;
        let called = siege.attack().await;
        assert!(
            matches!(called.answer, Ok(Action::AwaitChange)),
            "{attack}: {called:?}"
        );
        assert_eq!(siege.writes(), []);
        if attack != "garbage_set" {
            let requests = siege.house.api.requests();
            let healthy = format!("/{GOOD}-ok?");
            let mut lines = requests.iter().map(|sent| &sent.line);
            let sent = lines.find(|line| !line.starts_with("GET") && !line.contains(&healthy));
            assert_eq!(sent, None, "{attack}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_absurd_delay_is_only_a_number() {
    let siege = Siege::begin("garbage_requeue", AMPLE).await;
    let called = siege.attack().await;
    assert!(
        matches!(called.answer, Ok(Action::RequeueAfter(u32::MAX))),
        "{called:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_cut_tamed_and_sent_to_no_other_path() {
    let siege = Siege::begin("garbage_event", AMPLE).await;
    let called = siege.attack().await;
    assert!(called.answer.is_ok(), "{called:?}");
    // The first names an object that cannot be. Three are about its primary, of which the API server refuses the one
    // without a reason.
    assert_eq!(events(&siege.house, 2).await.len(), 2);
    let requests = siege.house.api.requests();
    let is_event =
        |sent: &&SentRequest| sent.line.starts_with("POST") && sent.line.contains("/events");
    let events: Vec<Value> = requests.iter().filter(is_event).map(event_of).collect();
    assert_eq!(events.len(), 3);
    for event in &events {
        for (field, limit) in [("reason", 128), ("action", 128), ("note", 1024)] {
            let text = event[field].as_str().unwrap();
            assert!(text.len() <= limit, "{field}: {}", text.len());
            assert_tame(text);
        }
        assert_eq!(event["regarding"]["name"], "garbage-event", "{event}");
    }
    let mut lines = requests.iter().map(|sent| &sent.line);
    assert_eq!(lines.find(|line| line.contains("..")), None);
}

fn event_of(sent: &SentRequest) -> Value {
    serde_json::from_slice(&sent.body).unwrap()
}

/// The Events, once there are `count`. They are sent off the call's path.
async fn events(house: &House, count: usize) -> Vec<Value> {
    let enough = async {
        while house.api.events().len() < count {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), enough).await;
    assert!(waited.is_ok(), "{:?}", house.api.events());
    house.api.events()
}
