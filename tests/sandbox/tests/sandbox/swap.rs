//! A version that takes over has limits of its own at once. All that the plugin has beside its code stays as it is: its
//! access to the cluster, its account, and its name.

use std::time::Duration;

use serde_json::json;
use windlass_base::memory::Bounds;
use windlass_policy::manifest::Limits;
use windlass_sandbox::{Action, CallError, Called};

use crate::common::{AMPLE, Siege, TIGHT, trapped, wasm};

/// Makes `attack` after a version with the limits `after` has taken over from one with the limits `before`.
async fn swapped(attack: &str, before: Limits, after: Limits) -> Called<Action> {
    let latency = Duration::from_millis(20);
    let mut siege = Siege::slow(attack, before, latency).await;
    siege.hostile.plugin.take_over();
    let config = json!({ "attack": attack });
    let plugin = siege
        .house
        .load("hostile", wasm("hostile"), &config, after)
        .await;
    siege.hostile.plugin = plugin.unwrap();
    siege.hostile.plugin.take_over();
    siege.attack().await
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_that_of_the_version_that_is_called() {
    let memory = 24 << 20;
    let called = swapped("hoard", TIGHT, Limits { memory, ..TIGHT }).await;
    let text = trapped(&called);
    assert!(text.contains("limit of 24 MiB"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cpu_time_is_that_of_the_version_that_is_called() {
    let cpu = Duration::from_millis(100);
    let called = swapped("spin", AMPLE, Limits { cpu, ..AMPLE }).await;
    let answer = &called.answer;
    let is_limit = matches!(answer, Err(CallError::CpuExceeded(limit)) if *limit == cpu);
    assert!(is_limit, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deadline_is_that_of_the_version_that_is_called() {
    let deadline = Duration::from_millis(200);
    let called = swapped("wait_api", AMPLE, Limits { deadline, ..AMPLE }).await;
    let Err(CallError::DeadlineExceeded { deadline: got, .. }) = called.answer else {
        unreachable!("it is late: {called:?}")
    };
    assert_eq!(got, deadline);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_requests_of_a_call_are_those_of_the_version_that_is_called() {
    for (before, after) in [(100, 7), (7, 100)] {
        let limits = |api_calls| Limits { api_calls, ..AMPLE };
        let called = swapped("flood_api", limits(before), limits(after)).await;
        assert_eq!(called.traffic.requests, after, "{before}: {called:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn host_memory_is_that_of_the_version_that_took_over() {
    let limits = |soft| Limits {
        host_memory: Bounds {
            soft,
            hard: soft + (64 << 20),
        },
        ..AMPLE
    };
    let called = swapped("hoard", limits(256 << 20), limits(20 << 20)).await;
    let text = trapped(&called);
    assert!(text.contains("for memory in the host (20 MiB)"), "{text}");
}
