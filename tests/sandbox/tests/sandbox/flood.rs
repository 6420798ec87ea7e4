//! Guests that do too much of what they may.

use std::time::Duration;

use serde_json::json;
use windlass_sandbox::{Action, CallError, Failure};
use windlass_sandbox_tests::House;
use windlass_sandbox_tests::handmade::{ANSWER, Handmade};
use windlass_sandbox_tests::logs::Line;

use crate::common::{AMPLE, GOOD, Siege, TIGHT, api_server, grants};

/// What a call can log.
const LINES: usize = 200;

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_log_lines_is_cut_off_and_said_once() {
    let siege = Siege::begin("flood_log", AMPLE).await;
    let called = siege.attack().await;
    assert!(
        matches!(called.answer, Ok(Action::AwaitChange)),
        "{called:?}"
    );
    let lines = siege.lines();
    let (own, hosts): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| line.target == "plugin");
    assert_eq!(own.len(), LINES);
    assert!(own.iter().all(|line| line.plugin == "hostile"));
    assert_eq!(hosts.len(), 1, "{hosts:?}");
    assert!(hosts[0].message.contains("more are dropped"), "{hosts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_events_waits_for_nobody_and_is_dropped() {
    let siege = Siege::begin("flood_events", AMPLE).await;
    let called = siege.attack().await;
    assert!(
        matches!(called.answer, Ok(Action::AwaitChange)),
        "{called:?}"
    );
    assert!(siege.house.api.events().len() < 100_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_numbers_is_dropped_and_said_once() {
    let siege = Siege::begin("flood_metrics", AMPLE).await;
    let called = siege.attack().await;
    assert!(
        matches!(called.answer, Ok(Action::AwaitChange)),
        "{called:?}"
    );
    let lines = siege.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].message.contains("is dropped, and more may be"),
        "{lines:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn printing_more_than_is_kept_goes_well() {
    let mut guest = Handmade::default().stdout();
    let line = guest.text(&"printed \n".repeat(100));
    // 200 times 900 bytes; each answer must be a success.
    let guest = guest.reconcile(&format!(
        "(loop $on
           (call $print (call $get-stdout) {line} (i32.const {ANSWER}))
           (if (i32.load8_u (i32.const {ANSWER})) (then unreachable))
           (local.set $n (i32.add (local.get $n) (i32.const 1)))
           (br_if $on (i32.lt_u (local.get $n) (i32.const 200))))"
    ));
    let house = House::on_threads(api_server(&[GOOD]), 1).unwrap();
    let component = guest.build().unwrap();
    let plugin = house.load("handmade", component, &json!({}), AMPLE).await;
    let tenant = house.admit(plugin.unwrap(), grants()).await.unwrap();
    let called = tenant.reconcile("default", GOOD).await.unwrap();
    assert!(
        matches!(called.answer, Ok(Action::AwaitChange)),
        "{called:.300?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_too_many_is_refused() {
    let siege = Siege::begin("flood_api", AMPLE).await;
    let called = siege.attack().await;
    let Err(CallError::Failed(Failure::Transient(text))) = &called.answer else {
        panic!("{called:?}")
    };
    assert!(text.starts_with("stopped after 100 reads"), "{text}");
    assert!(text.contains("all 100 API requests that it may"), "{text}");
    assert_eq!(called.traffic.requests, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_the_api_server_costs_no_cpu_time() {
    // 100 answers of 50 ms each: 25 times the CPU limit.
    let siege = Siege::slow("wait_api", TIGHT, Duration::from_millis(50)).await;
    let called = siege.attack().await;
    assert!(
        matches!(called.answer, Ok(Action::AwaitChange)),
        "{called:?}"
    );
    assert_eq!(called.traffic.requests, 100);
    assert!(called.cpu <= TIGHT.cpu, "{called:?}");
}
