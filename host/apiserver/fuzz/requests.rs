//! A fuzzer's bytes, as requests to a server of their own. What is looked for is what the property test
//! looks for: a panic, or an answer that the API does not have.
#![no_main]

#[path = "../tests/in_process/judge.rs"]
mod judge;
#[path = "../tests/in_process/random.rs"]
mod random;

use arbitrary::Unstructured;
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use windlass_apiserver::seams::{Clock, Rng, Seams};
use windlass_apiserver::server::Server;

/// Requests to one server.
const MOST: usize = 50;

fuzz_target!(|bytes: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = Server::new(Seams {
            clock: Clock::new(|| Timestamp::UNIX_EPOCH),
            rng: Rng::seeded(1),
        });
        let mut bytes = Unstructured::new(bytes);
        for _ in 0..MOST {
            if bytes.is_empty() {
                return;
            }
            if let Ok(drawn) = random::request(&mut bytes) {
                judge::answered(&server, &drawn).await;
            }
        }
    });
});
