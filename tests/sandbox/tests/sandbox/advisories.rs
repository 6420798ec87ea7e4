//! One hostile guest for each advisory of wasmtime that code of a plugin can reach (tests/audit/advisories.toml).
//!
//! They were bugs of earlier versions. The guests show that this one withstands them: the host lives, and the plugin's
//! own call is the only one that fails.

use std::sync::Arc;

use serde_json::json;
use windlass_base::error::Chain;
use windlass_sandbox::{Action, CallError, Called, SLICE};
use windlass_sandbox_tests::handmade::Handmade;
use windlass_sandbox_tests::{House, Tenant};

use crate::common::{AMPLE, GOOD, TIGHT, api_server, grants, tenant, trapped};

/// A host with the guest, and what its `reconcile` comes to, twice.
async fn reconciled(guest: Handmade) -> [Called<Action>; 2] {
    let house = House::on_threads(api_server(&[GOOD]), 1).unwrap();
    let component = guest.build().unwrap();
    let plugin = house.load("handmade", component, &json!({}), AMPLE).await;
    let hostile = house.admit(plugin.unwrap(), grants()).await.unwrap();
    let healthy = tenant(&house, "healthy", "healthy_write", AMPLE).await;
    let call = async |tenant: &Tenant| tenant.reconcile("default", GOOD).await.unwrap();
    let called = [call(&hostile).await, call(&hostile).await];
    assert_eq!(house.sandboxes.memory_in_use(), 0);
    let next = call(&healthy).await;
    assert!(matches!(next.answer, Ok(Action::AwaitChange)), "{next:?}");
    called
}

/// That both calls went well.
fn went_well(called: &[Called<Action>; 2]) {
    for called in called {
        assert!(
            matches!(called.answer, Ok(Action::AwaitChange)),
            "{called:?}"
        );
    }
}

/// GHSA-5hhx-4wrr-3j9g: a start function that hands back its turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_function_may_take_more_than_one_turn() {
    let start = "(func $start (local $n i32)
        (loop $on
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (br_if $on (i32.ne (local.get $n) (i32.const 200000000)))))
      (start $start)";
    let called = reconciled(Handmade::default().items(start)).await;
    went_well(&called);
    assert!(called.iter().all(|called| called.cpu > SLICE), "{called:?}");
}

/// GHSA-5hhx-4wrr-3j9g: one that never ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_function_that_does_not_end_is_stopped() {
    let house = House::on_threads(api_server(&[GOOD]), 1).unwrap();
    let spin = Handmade::default().items("(func $start (loop $on (br $on))) (start $start)");
    let component = spin.build().unwrap();
    let loaded = house.load("handmade", component, &json!({}), TIGHT).await;
    let error = Chain(&loaded.map(drop).unwrap_err()).to_string();
    assert!(error.contains("used up its CPU time of 200ms"), "{error}");
    let healthy = tenant(&house, "healthy", "healthy_write", AMPLE).await;
    let next = healthy.reconcile("default", GOOD).await.unwrap();
    assert!(matches!(next.answer, Ok(Action::AwaitChange)), "{next:?}");
}

/// GHSA-7v24-42x9-pxf7: an allocator that calls the host, while the host passes it the request.
#[tokio::test(flavor = "multi_thread")]
async fn an_allocator_that_calls_the_host_traps() {
    let mut guest = Handmade::default().import("log", "log", 5);
    let text = guest.text("from the allocator");
    let log = format!("(call $log (i32.const 2) {text} (i32.const 0) (i32.const 0))");
    for called in reconciled(guest.allocate(&log)).await {
        let text = trapped(&called);
        assert!(text.contains("cannot leave component instance"), "{text}");
    }
}

/// An allocator that gives memory which is not there.
#[tokio::test(flavor = "multi_thread")]
async fn an_allocator_that_lies_traps() {
    for called in reconciled(Handmade::default().allocate("(return (i32.const -16))")).await {
        let text = trapped(&called);
        assert!(text.contains("realloc"), "{text}");
    }
}

/// An allocator that does not end, outside of the plugin's own functions.
#[tokio::test(flavor = "multi_thread")]
async fn an_allocator_that_does_not_end_is_stopped() {
    let house = House::on_threads(api_server(&[GOOD]), 1).unwrap();
    let spin = Handmade::default().allocate("(loop $on (br $on))");
    let plugin = house
        .load("handmade", spin.build().unwrap(), &json!({}), TIGHT)
        .await;
    let hostile = house.admit(plugin.unwrap(), grants()).await.unwrap();
    let called = hostile.reconcile("default", GOOD).await.unwrap();
    assert!(
        matches!(called.answer, Err(CallError::CpuExceeded(_))),
        "{called:?}"
    );
}

/// GHSA-mghf-wjfp-p5xm (on AArch64): a `br_table` so large that its jumps are far.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_branch_table_jumps_where_it_should() {
    const TARGETS: usize = 20_000;
    let labels: String = (0..TARGETS)
        .map(|target| if target % 3 == 0 { "$zero " } else { "$one " })
        .collect();
    let items = format!(
        "(func $jump (param i32) (result i32)
           (block $one (block $zero (br_table {labels} $one (local.get 0))) (return (i32.const 0)))
           (i32.const 1))"
    );
    // Each target once, and one beyond the table.
    let code = format!(
        "(loop $on
           (if (i32.ne (call $jump (local.get $n)) (i32.ne (i32.rem_u (local.get $n) (i32.const 3)) (i32.const 0)))
             (then unreachable))
           (local.set $n (i32.add (local.get $n) (i32.const 1)))
           (br_if $on (i32.lt_u (local.get $n) (i32.const {TARGETS}))))
         (if (i32.ne (call $jump (i32.const -1)) (i32.const 1)) (then unreachable))"
    );
    went_well(&reconciled(Handmade::default().items(&items).reconcile(&code)).await);
}

/// CVE-2026-44216: a table that grows beyond what a sandbox has.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_does_not_grow_without_end() {
    let grow = |elements: i64| {
        format!(
            "(if (i32.ne (table.grow $t (ref.null func) (i32.const {elements})) (i32.const -1)) (then unreachable))"
        )
    };
    let code = [20_000, 1 << 30, -1].map(grow).concat();
    let guest = Handmade::default()
        .items("(table $t 1 funcref)")
        .reconcile(&code);
    went_well(&reconciled(guest).await);
}

/// GHSA-2hw9-mc66-jc2q: bulk operations over the whole memory, with the end of a turn between and within them.
#[tokio::test(flavor = "multi_thread")]
async fn bulk_operations_keep_what_they_wrote() {
    // From 64 KiB on, where nothing else lies: 128 KiB are filled, copied by one byte, and compared.
    let code = "(loop $on
        (memory.fill (i32.const 65536) (local.get $n) (i32.const 131072))
        (memory.copy (i32.const 65537) (i32.const 65536) (i32.const 131071))
        (if (i32.ne (i32.load8_u (i32.const 196607)) (i32.and (local.get $n) (i32.const 255))) (then unreachable))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $on (i32.lt_u (local.get $n) (i32.const 10000))))";
    let called = reconciled(Handmade::default().reconcile(code)).await;
    went_well(&called);
    assert!(called.iter().all(|called| called.cpu > SLICE), "{called:?}");
}

/// CVE-2026-24116: the sign of a float is copied, and nothing beside it is read.
#[tokio::test(flavor = "multi_thread")]
async fn the_sign_of_a_float_is_copied_from_the_last_bytes_of_memory() {
    let last = (4 << 16) - 8;
    let code = format!(
        "(f64.store (i32.const {last}) (f64.const -0))
         (if (f64.ne (f64.copysign (f64.const 2.5) (f64.load (i32.const {last}))) (f64.const -2.5))
           (then unreachable))"
    );
    went_well(&reconciled(Handmade::default().reconcile(&code)).await);
}

/// CVE-2026-34988: a slot of the pool that is used again shows nothing of its user before.
#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_is_used_again_is_empty() {
    // The last 64 KiB are nobody's: zero before each call, and written to in each.
    let code = "(local.set $n (i32.const 196608))
      (loop $on
        (if (i64.ne (i64.load (local.get $n)) (i64.const 0)) (then unreachable))
        (i64.store (local.get $n) (i64.const 0x5A5A5A5A5A5A5A5A))
        (local.set $n (i32.add (local.get $n) (i32.const 8)))
        (br_if $on (i32.lt_u (local.get $n) (i32.const 262144))))";
    let guest = Handmade::default().reconcile(code);
    let house = House::on_threads(api_server(&[GOOD]), 1).unwrap();
    let component = guest.build().unwrap();
    let plugin = house.load("handmade", component, &json!({}), AMPLE).await;
    let hostile = house.admit(plugin.unwrap(), grants()).await.unwrap();
    for _ in 0..500 {
        let called = hostile.reconcile("default", GOOD).await.unwrap();
        assert!(
            matches!(called.answer, Ok(Action::AwaitChange)),
            "{called:?}"
        );
    }
}

/// CVE-2024-47813: components of many types are loaded, called and dropped by many threads at once.
#[tokio::test(flavor = "multi_thread")]
async fn components_come_and_go_at_once() {
    let house = Arc::new(House::on_threads(api_server(&[GOOD]), 2).unwrap());
    let component = |types: usize| {
        let declared = |parameters: usize| {
            format!(
                "(func (export \"f{parameters}\") (param {}))",
                "i64 ".repeat(parameters)
            )
        };
        let items: String = (0..=types).map(declared).collect();
        Handmade::default().items(&items).build().unwrap()
    };
    let components: Vec<_> = (0..6).map(component).collect();
    let task = |first: usize| {
        let (house, components) = (house.clone(), components.clone());
        tokio::spawn(async move {
            let order = components
                .iter()
                .cycle()
                .skip(first)
                .take(5 * components.len());
            for bytes in order {
                let loaded = house
                    .load("handmade", bytes.clone(), &json!({}), AMPLE)
                    .await;
                assert_eq!(loaded.unwrap().description.name, "handmade");
            }
        })
    };
    let tasks: Vec<_> = (0..8).map(task).collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(house.sandboxes.memory_in_use(), 0);
}
