//! Attacks that end the call without an answer.

use std::hint::black_box;

use crate::{Failure, Outcome, Primary};

/// Executes `unreachable`.
pub(crate) fn trap(_: &Primary) -> Outcome {
    core::arch::wasm32::unreachable()
}

/// Panics, with a text on standard error.
#[expect(clippy::panic, reason = "it is the attack")]
pub(crate) fn panic(primary: &Primary) -> Outcome {
    panic!("hostile panic for {}", primary.name)
}

/// Overflows the stack.
pub(crate) fn recurse(_: &Primary) -> Outcome {
    Err(Failure::Terminal(deeper(1).to_string()))
}

/// Calls itself without end; the sum after the call keeps it from becoming a loop.
#[expect(unconditional_recursion, reason = "it is the attack")]
fn deeper(depth: u64) -> u64 {
    let frame = black_box([depth; 32]);
    black_box(deeper(depth + 1)) + frame.iter().sum::<u64>()
}

/// Leaves through WASI.
pub(crate) fn exit(_: &Primary) -> Outcome {
    std::process::exit(1)
}

/// Writes to standard output and error, more than is kept, then panics.
#[expect(clippy::panic, reason = "it is the attack")]
pub(crate) fn print(_: &Primary) -> Outcome {
    println!("hostile stdout begins");
    eprintln!("hostile stderr begins");
    for line in 0..20_000 {
        println!("hostile stdout \u{1b}[31m line {line}\u{7}");
        eprintln!("hostile stderr \u{1b}]0;owned\u{7} line {line}");
    }
    println!("hostile stdout ends");
    eprintln!("hostile stderr ends");
    panic!("hostile panic after printing")
}
