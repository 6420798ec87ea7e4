//! WASI with nothing in it: no environment, no files, no sockets, output kept, time standing still.
//!
//! - Clocks show the instant at which the call began, so a guest cannot time what it does.
//! - A guest that only waits for time to pass traps ([`sleep`]).

mod sleep;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::io::AsyncWrite;
use wasmtime::component::Linker;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::clocks::{HostMonotonicClock, HostWallClock};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{WasiCtx, WasiView, async_trait};

pub(super) use sleep::{OnlyWaits, Sleeper, Sleeps};

/// Where the monotonic clock stands, in nanoseconds. Not at zero, which Go's runtime takes for a clock
/// that is broken.
const STANDS: u64 = 1_000_000_000;

/// How much of standard output and error is kept for each call.
const OUTPUT: usize = 64 << 10;

/// What a guest wrote to standard output and error, one after the other as it came. What is more
/// than is kept is dropped, and the guest notices nothing.
#[derive(Clone, Default)]
pub(super) struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    /// The text so far.
    pub(super) fn text(&self) -> String {
        let kept = self.0.lock();
        String::from_utf8_lossy(&kept).into_owned()
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    /// For WASI 0.3, which is not linked.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }
}

impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut kept = self.0.lock();
        let room = OUTPUT.saturating_sub(kept.len()).min(bytes.len());
        kept.extend(bytes.iter().take(room));
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(OUTPUT)
    }
}

#[async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

/// A context for one call that begins at `now`, with randomness from `seed`.
pub(super) fn context(now: Timestamp, seed: [u8; 32]) -> (WasiCtx, Output) {
    let output = Output::default();
    let mut random = StdRng::from_seed(seed);
    let insecure = (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64());
    let context = WasiCtx::builder()
        .stdout(output.clone())
        .stderr(output.clone())
        .wall_clock(Frozen(now))
        .monotonic_clock(Frozen(now))
        .insecure_random_seed(insecure)
        .secure_random(StdRng::from_seed(seed))
        .insecure_random(random)
        .max_random_size(64 << 10)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build();
    (context, output)
}

/// The data of a store in which WASI is linked.
pub(super) trait WasiStore: WasiView + Send + 'static {
    /// The timers of the call.
    fn sleeper(&mut self) -> Sleeper<'_>;
}

/// Links WASI 0.2, with our own way of sleeping.
///
/// # Errors
/// Two definitions of the same name.
pub(super) fn link<S: WasiStore>(linker: &mut Linker<S>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    sleep::link(linker)?;
    linker.allow_shadowing(false);
    Ok(())
}

struct Frozen(Timestamp);

impl HostWallClock for Frozen {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.as_millisecond()).unwrap_or(0))
    }
}

impl HostMonotonicClock for Frozen {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        STANDS
    }
}
