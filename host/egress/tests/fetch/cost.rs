//! What the checks of a request cost: beside hyper's own client, which is what reqwest sends by. It measures, and asserts
//! no time: `cargo test --profile measured -p windlass-egress --test fetch -- --ignored --nocapture cost`.

use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use windlass_egress::PER_CALL;

use crate::server::{Reply, Server};
use crate::world::{World, get};

const ROUNDS: u32 = 300;

/// The middle one of times.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it measures, and can only fail if a request does"]
async fn a_fetch_beside_the_client_alone() {
    let server = Server::start(|_| Reply::ok(&"x".repeat(2000))).await;
    let url = format!("http://{}/zones/a", server.address);
    let (mut through, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // A call may send so many; each round has a connection of its own on both sides.
        let world = World::of(&server);
        let began = Instant::now();
        for _ in 0..PER_CALL {
            let answer = world.answer(get("https://api.example.com/zones/a")).await;
            assert_eq!(answer.body.len(), 2000);
        }
        through.push(began.elapsed() / PER_CALL);
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<bytes::Bytes>>();
        let began = Instant::now();
        for _ in 0..PER_CALL {
            let answer = client.get(url.parse().unwrap()).await.unwrap();
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body.len(), 2000);
        }
        alone.push(began.elapsed() / PER_CALL);
    }
    let (through, alone) = (median(through), median(alone));
    let ratio = through.as_secs_f64() / alone.as_secs_f64();
    println!(
        "a request: {through:?} through the host, {alone:?} by the client alone: {ratio:.2} times"
    );
}
