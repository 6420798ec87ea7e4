//! Attacks that take time and memory.

use std::hint::black_box;
use std::time::Duration;

use crate::{Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::log::{self, Level};

const MIB: usize = 1 << 20;

/// Computes without end and without a call.
pub(crate) fn spin(_: &Primary) -> Outcome {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

/// Computes without end, with a call now and then.
pub(crate) fn spin_log(_: &Primary) -> Outcome {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
        if turns.is_multiple_of(100_000) {
            log::log(Level::Info, "still spinning", &[]);
        }
    }
}

/// Wants to sleep without end.
pub(crate) fn spin_sleep(_: &Primary) -> Outcome {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

/// Takes memory, as fast as it can, until there is none.
pub(crate) fn hoard(_: &Primary) -> Outcome {
    take(MIB, || ())
}

/// Takes memory with a pause before each piece.
pub(crate) fn hoard_slow(_: &Primary) -> Outcome {
    take(MIB, || std::thread::sleep(Duration::from_millis(5)))
}

/// Takes `piece` bytes again and again, and writes to them so that they are real.
fn take(piece: usize, pause: impl Fn()) -> Outcome {
    let mut held = Vec::new();
    loop {
        pause();
        held.push(black_box(vec![0xA5_u8; piece]));
    }
}
