//! Guests that take more time or memory than they have.

use std::time::Duration;

use windlass_policy::manifest::Limits;
use windlass_sandbox::CallError;
use windlass_sandbox_tests::House;

use crate::common::{GOOD, Siege, TIGHT, paused_api_server, tenant, trapped};

/// An end for the test that waits: the one limit here that is meant to be reached.
const SHORT: Limits = Limits {
    deadline: Duration::from_millis(500),
    ..TIGHT
};

/// With it 100 requests last much longer than [`SHORT`] allows.
const LATENCY: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread")]
async fn spinning_uses_up_the_cpu_time() {
    for attack in ["spin", "spin_log"] {
        let siege = Siege::begin(attack, TIGHT).await;
        let called = siege.attack().await;
        let exceeded =
            matches!(called.answer, Err(CallError::CpuExceeded(limit)) if limit == TIGHT.cpu);
        assert!(exceeded && called.cpu >= TIGHT.cpu, "{attack}: {called:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sleeping_ends_the_call_at_once_and_says_what_to_do() {
    for attack in ["spin_sleep", "hoard_slow"] {
        let siege = Siege::begin(attack, TIGHT).await;
        let called = siege.attack().await;
        let text = "time does not advance during a call; return requeue-after";
        assert_eq!(trapped(&called), text, "{attack}");
        assert!(called.cpu <= TIGHT.cpu, "{attack}: {called:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_late_tells_what_of_it_was_the_wait_for_the_api_server() {
    let api = paused_api_server(&[GOOD]);
    api.delay_requests(Duration::from_secs(7));
    let house = House::inline(api).unwrap();
    let late = tenant(&house, "late", "wait_api", TIGHT).await;
    let answer = late.reconcile("default", GOOD).await.unwrap().answer;
    let Err(CallError::DeadlineExceeded { deadline, waited }) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(deadline, TIGHT.deadline);
    assert!(waited >= deadline / 2, "{waited:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_late_does_not_stop_the_plugins_next_one() {
    let siege = Siege::slow("wait_api", SHORT, LATENCY).await;
    for _ in 0..2 {
        let called = siege.attack().await;
        let late = matches!(called.answer, Err(CallError::DeadlineExceeded { .. }));
        assert!(late, "{called:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_shuts_down_stops_calls_that_run() {
    let siege = Siege::slow("wait_api", TIGHT, LATENCY).await;
    let (called, ()) = tokio::join!(siege.hostile.reconcile("default", "wait-api"), async {
        while siege.house.sandboxes.memory_in_use() == 0 {
            tokio::task::yield_now().await;
        }
        siege.hostile.cancel.stop();
    });
    assert!(matches!(called.unwrap().answer, Err(CallError::Stopped)));
}

#[tokio::test(flavor = "multi_thread")]
async fn hoarding_is_refused_and_the_trap_says_so() {
    let siege = Siege::begin("hoard", TIGHT).await;
    let called = siege.attack().await;
    let text = trapped(&called);
    assert!(
        text.contains("limit of 16 MiB: raise spec.limits.memory"),
        "{text}"
    );
    assert!(called.memory <= TIGHT.memory, "{}", called.memory);
}
