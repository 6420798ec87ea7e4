//! One plugin's calls do not keep another's from their turn.

use futures::FutureExt;
use futures::future::join_all;
use windlass::plugin::{Action, CallError};
use windlass_sandbox_tests::{FakeApi, House};

use crate::common::{AMPLE, GOOD, TIGHT, cluster, tenant};

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_plugin_goes_on_while_another_spins() {
    let names = ["spinner-1", "spinner-2", "spinner-3", "spinner-4"];
    let api = FakeApi::new(cluster(&[&names[..], &[GOOD]].concat()));
    let house = House::on_threads(api, 1).unwrap();
    let spinner = tenant(&house, "spinner", "spin", AMPLE).await;
    let healthy = tenant(&house, "healthy", "healthy_write", AMPLE).await;
    let mut spinning = Box::pin(join_all(
        names.map(|name| spinner.reconcile("default", name)),
    ));
    // Polled once, all of them are on their way.
    assert!((&mut spinning).now_or_never().is_none());
    while house.sandboxes.memory_in_use() == 0 {
        assert!((&mut spinning).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    for call in 0..50 {
        let called = healthy.reconcile("default", GOOD).await.unwrap();
        assert!(
            matches!(called.answer, Ok(Action::AwaitChange)),
            "{call}: {called:?}"
        );
        assert!(
            (&mut spinning).now_or_never().is_none(),
            "a spinner has ended"
        );
    }
    spinner.cancel.stop();
    for called in spinning.await {
        assert!(matches!(called.unwrap().answer, Err(CallError::Stopped)));
    }
    assert_eq!(house.sandboxes.memory_in_use(), 0);
}

#[tokio::test(start_paused = true)]
async fn in_a_simulation_fuel_ends_a_spinning_call_and_no_time_passes() {
    let start = "2026-11-21T09:30:00Z".parse().unwrap();
    let house = House::inline(FakeApi::new(cluster(&[GOOD])), start).unwrap();
    let spinner = tenant(&house, "spinner", "spin", TIGHT).await;
    let called = spinner.reconcile("default", GOOD).await.unwrap();
    assert!(
        matches!(called.answer, Err(CallError::CpuExceeded(_))),
        "{:?}",
        called.answer
    );
    assert_eq!(house.clock().wall(), start);
}
