//! Guests that crash are told from guests that answer, and crash alone.

use crate::common::{AMPLE, Siege, TIGHT, trapped};

#[tokio::test(flavor = "multi_thread")]
async fn a_trap_is_named() {
    let siege = Siege::begin("trap", TIGHT).await;
    let called = siege.attack().await;
    assert!(trapped(&called).contains("unreachable"), "{called:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_shows_its_text_and_its_place() {
    let siege = Siege::begin("panic", TIGHT).await;
    let called = siege.attack().await;
    trapped(&called);
    assert!(
        called.output.contains("hostile panic for panic"),
        "{called:?}"
    );
    let at = called.output.split_once("crash.rs:").unwrap().1;
    assert!(at.starts_with(|c: char| c.is_ascii_digit()), "{called:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_without_end_overflows_its_own() {
    let siege = Siege::begin("recurse", TIGHT).await;
    let called = siege.attack().await;
    assert!(trapped(&called).contains("stack"), "{called:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exit_is_no_answer() {
    let siege = Siege::begin("exit", TIGHT).await;
    let called = siege.attack().await;
    assert!(
        trapped(&called).contains("exited with code 1"),
        "{called:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_printed_is_kept_from_its_beginning_and_bounded() {
    let siege = Siege::begin("print", AMPLE).await;
    let called = siege.attack().await;
    trapped(&called);
    assert!(called.output.contains("hostile stdout begins"));
    assert!(called.output.contains("hostile stderr begins"));
    assert!(called.output.len() <= 64 << 10, "{}", called.output.len());
}
