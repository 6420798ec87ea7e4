//! Plugins with the usual limits that take all they can get leave the others their shares: of call slots, of requests
//! to the API server, and of the log.

use std::cell::Cell;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{Either, join_all, select};
use windlass_policy::manifest::{ApiRate, Limits};
use windlass_sandbox::Action;
use windlass_sandbox_tests::{House, Tenant, logs};

use crate::common::{AMPLE, GOOD, api_server, paused_api_server, tenant};

/// The usual limits, but for a deadline that nobody lives to see, and a CPU time that is not what ends a call.
const USUAL: Limits = Limits {
    deadline: Duration::from_secs(600),
    concurrency: 8,
    api_rate: Some(ApiRate {
        per_second: 200,
        burst: 400,
    }),
    log_bytes_per_second: 64 << 10,
    ..AMPLE
};

/// Changes that the good plugin is to answer.
const CHANGES: usize = 100;

/// Eight plugins that do `attack` in as many calls as they may have at once, forever.
async fn attackers(house: &House, attack: &str) -> Vec<Tenant> {
    let mut attackers = Vec::new();
    for number in 0..8 {
        let name = format!("{attack}-{number}").replace('_', "-");
        attackers.push(tenant(house, &name, attack, USUAL).await);
    }
    attackers
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_plugins_that_never_end_their_calls_do_not_stop_a_ninth() {
    let house = House::on_threads(api_server(&[GOOD]), 2).unwrap();
    let attackers = attackers(&house, "spin").await;
    let good = tenant(&house, "good", "healthy_write", USUAL).await;
    let mut attacks = Box::pin(join_all(attackers.iter().flat_map(|attacker| {
        (0..USUAL.concurrency).map(|_| attacker.reconcile("default", GOOD))
    })));
    // Polled once, all of them have a slot, or wait for one.
    assert!((&mut attacks).now_or_never().is_none());
    for change in 0..CHANGES {
        // As many at once as its limit allows, now and then.
        let at_once = if change % 10 == 0 {
            USUAL.concurrency
        } else {
            1
        };
        let calls = join_all((0..at_once).map(|_| good.reconcile("default", GOOD)));
        let Either::Right((calls, _)) = select(&mut attacks, Box::pin(calls)).await else {
            unreachable!("an attack has no end")
        };
        for called in calls {
            let answer = called.unwrap().answer;
            assert!(matches!(answer, Ok(Action::AwaitChange)), "{answer:?}");
        }
    }
    for attacker in &attackers {
        attacker.cancel.stop();
    }
    attacks.await;
    assert_eq!(house.sandboxes.memory_in_use(), 0);
}

/// Time is virtual: each plugin sends what it may in it, and no more.
#[tokio::test(start_paused = true)]
async fn requests_over_time_are_limited_for_each_plugin_and_shared() {
    let house = House::inline(paused_api_server(&[GOOD])).unwrap();
    let few = Limits {
        api_rate: Some(ApiRate {
            per_second: 20,
            burst: 40,
        }),
        ..USUAL
    };
    let flood = tenant(&house, "flood", "wait_api", few).await;
    let good = tenant(&house, "good", "healthy_write", few).await;
    let (calls, answered) = (Cell::new(0), Cell::new(0));
    let flooding = join_all((0..4).map(async |_| {
        loop {
            let called = flood.reconcile("default", GOOD).await.unwrap();
            assert!(called.answer.is_ok(), "it waits: {:?}", called.answer);
            calls.set(calls.get() + 1);
        }
    }));
    let clock = house.clock();
    let began = clock.now();
    let answering = async {
        for _ in 0..CHANGES {
            let called = good.reconcile("default", GOOD).await.unwrap();
            assert!(matches!(called.answer, Ok(Action::AwaitChange)));
            answered.set(answered.get() + 1);
            clock.sleep(Duration::from_secs(1)).await;
        }
    };
    let both = select(Box::pin(flooding), Box::pin(answering)).await;
    assert!(flood.throttled().waits(), "a request of its waits");
    drop(both);
    assert_eq!(answered.get(), CHANGES);
    let seconds = (clock.now() - began).as_secs();
    assert!(seconds <= 101, "it waited {seconds} s for {CHANGES} s");
    // 100 requests in each call: 40 at once, and 20 in each of 100 s, of four calls at a time.
    let calls = calls.get();
    assert!(
        (16..=20).contains(&calls),
        "the flood has made {calls} calls"
    );
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_log_lines_is_cut_and_said() {
    logs::keep();
    let house = House::inline(paused_api_server(&["log-flood", GOOD])).unwrap();
    let little = Limits {
        log_bytes_per_second: 1 << 10,
        ..USUAL
    };
    let flood = tenant(&house, "flood", "flood_log", little).await;
    for _ in 0..10 {
        let called = flood.reconcile("default", "log-flood").await.unwrap();
        assert!(called.answer.is_ok(), "{:?}", called.answer);
    }
    let lines = logs::about("Greeting/default/log-flood");
    let said = lines
        .iter()
        .filter(|line| line.message.contains("logBytesPerSecond"));
    assert_eq!(said.count(), 1, "{lines:?}");
    // 16 KiB at once, at about 280 bytes for each line.
    let written = lines.iter().filter(|line| line.message == "hostile flood");
    let written = written.count();
    assert!((40..=64).contains(&written), "{written} lines");
    assert!(flood.throttled().log_lines() >= 1900);
    let good = tenant(&house, "good", "flood_log", USUAL).await;
    let before = good.throttled().log_lines();
    let called = good.reconcile("default", GOOD).await.unwrap();
    assert!(called.answer.is_ok());
    assert_eq!(good.throttled().log_lines(), before, "what it may");
}
