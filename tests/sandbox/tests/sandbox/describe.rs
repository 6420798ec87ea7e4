//! A description may depend on nothing but the component itself.

use serde_json::json;
use windlass_base::error::Chain;
use windlass_sandbox_tests::House;
use windlass_sandbox_tests::handmade::{ANSWER, Handmade};

use crate::common::{AMPLE, GOOD, TIGHT, api_server};

/// What is said of a guest.
async fn told(guest: Handmade) -> Result<String, String> {
    let house = House::on_threads(api_server(&[GOOD]), 1).unwrap();
    let component = guest.build().unwrap();
    let loaded = house.load("handmade", component, &json!({}), TIGHT).await;
    loaded
        .map(|plugin| plugin.description.name)
        .map_err(|error| Chain(&error).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_made_by_hand_describes_itself() {
    assert_eq!(told(Handmade::default()).await.as_deref(), Ok("handmade"));
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_may_log() {
    let mut guest = Handmade::default().import("log", "log", 5);
    let text = guest.text("here I am");
    let code = format!("(call $log (i32.const 2) {text} (i32.const 0) (i32.const 0))");
    assert_eq!(told(guest.describe(&code)).await.as_deref(), Ok("handmade"));
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_may_not_ask_for_anything() {
    let ask = |interface: &str, function: &str| {
        let code = format!("(call ${function} (i32.const {ANSWER}))");
        Handmade::default()
            .import(interface, function, 1)
            .describe(&code)
    };
    let mut apply = Handmade::default().import("cluster", "apply", 3);
    let object = apply.text("{}");
    let apply = apply.describe(&format!("(call $apply {object} (i32.const {ANSWER}))"));
    for guest in [ask("config", "get"), ask("clock", "now"), apply] {
        let error = told(guest).await.unwrap_err();
        assert!(error.contains("`describe` failed"), "{error}");
        assert!(
            error.contains("it must answer from nothing but itself"),
            "{error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_describe_that_does_not_end_is_stopped() {
    let error = told(Handmade::default().describe("(loop $on (br $on))"))
        .await
        .unwrap_err();
    assert!(error.contains("used up its CPU time of 200ms"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_from_the_start_counts_like_memory_that_is_asked_for() {
    let house = House::on_threads(api_server(&[GOOD]), 1).unwrap();
    let limits = windlass_policy::manifest::Limits {
        memory: 128 << 10,
        ..AMPLE
    };
    let component = Handmade::default().build().unwrap();
    let loaded = house.load("handmade", component, &json!({}), limits).await;
    let error = Chain(&loaded.map(drop).unwrap_err()).to_string();
    assert!(error.contains("raise spec.limits.memory"), "{error}");
    assert_eq!(house.sandboxes.memory_in_use(), 0);
}
