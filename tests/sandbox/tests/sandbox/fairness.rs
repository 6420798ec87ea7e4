//! One plugin's calls do not keep another's from their turn.

use std::cell::Cell;

use futures::FutureExt;
use futures::future::{Either, join_all, select};
use windlass_policy::manifest::Limits;
use windlass_sandbox::{Action, CallError, SLICE};
use windlass_sandbox_tests::House;

use crate::common::{AMPLE, GOOD, TIGHT, api_server, paused_api_server, tenant};

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_plugin_goes_on_while_another_spins() {
    let names = ["spinner-1", "spinner-2", "spinner-3", "spinner-4"];
    let api = api_server(&[&names[..], &[GOOD]].concat());
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

/// One of them has 32 calls under way at any time, each as long as a slice; the others have one of three
/// slices each. Were turns dealt to calls, and not to plugins, each of the 32 would end while the others wait.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_plugins_one_floods_and_the_others_make_their_passes() {
    let house = House::on_threads(api_server(&[GOOD]), 1).unwrap();
    let spinner = async |name: String, slices| {
        let cpu = slices * SLICE;
        tenant(&house, &name, "spin", Limits { cpu, ..AMPLE }).await
    };
    let flood = spinner("flood".to_owned(), 1).await;
    let mut others = Vec::new();
    for number in 0..99 {
        others.push(spinner(format!("plugin-{number}"), 3).await);
    }
    let passes_of_flood = Cell::new(0);
    let flooding = join_all((0..32).map(async |_| {
        loop {
            flood.reconcile("default", GOOD).await.unwrap();
            passes_of_flood.set(passes_of_flood.get() + 1);
        }
    }));
    let passes = join_all(
        others
            .iter()
            .map(|plugin| plugin.reconcile("default", GOOD)),
    );
    let flooding = Box::pin(flooding);
    let Either::Right((passes, _)) = select(flooding, Box::pin(passes)).await else {
        unreachable!("a flood has no end")
    };
    assert_eq!(passes.len(), 99);
    for called in passes {
        let answer = called.unwrap().answer;
        assert!(
            matches!(answer, Err(CallError::CpuExceeded(_))),
            "{answer:?}"
        );
    }
    let passes = passes_of_flood.get();
    assert!(passes < 32, "the flood has made {passes} passes");
}

#[tokio::test(start_paused = true)]
async fn in_a_simulation_fuel_ends_a_spinning_call_and_no_time_passes() {
    let house = House::inline(paused_api_server(&[GOOD])).unwrap();
    let start = house.clock().wall();
    let spinner = tenant(&house, "spinner", "spin", TIGHT).await;
    let called = spinner.reconcile("default", GOOD).await.unwrap();
    assert!(
        matches!(called.answer, Err(CallError::CpuExceeded(_))),
        "{:?}",
        called.answer
    );
    assert_eq!(house.clock().wall(), start);
}
