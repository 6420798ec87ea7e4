//! Random requests: whatever comes, the server answers as the API has it, and stays as it should be.

use std::collections::BTreeMap;

use arbitrary::Unstructured;
use serde_json::{Value, json};
use windlass_apiserver::server::Server;

use crate::judge::answered;
use crate::random;
use crate::support::{MAPS, map, send, server};

const REQUESTS: usize = 100_000;
/// Requests that one server gets.
const EACH: usize = 500;
/// Bytes for one request.
const BYTES: usize = 96;

#[test]
fn a_hundred_thousand_random_requests_are_answered_as_the_api_has_it() {
    let threads = 2;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for round in 0..REQUESTS / EACH / threads {
                    let seed = (round * threads + thread) as u64;
                    play(seed, EACH);
                }
            });
        }
    });
}

/// Sends that many requests to a server of their own, all drawn with the seed.
fn play(seed: u64, requests: usize) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut bytes = vec![0; requests * BYTES];
    rng.fill(&mut bytes);
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = server(seed);
        let (mut codes, mut sent) = (BTreeMap::new(), 0);
        for chunk in bytes.chunks(BYTES) {
            let Ok(drawn) = random::request(&mut Unstructured::new(chunk)) else {
                continue;
            };
            let code = answered(&server, &drawn).await;
            *codes.entry(code).or_insert(0) += 1;
            sent += 1;
        }
        assert!(sent > requests / 2, "seed {seed}: only {sent} were sent");
        assert!(codes.contains_key(&201), "seed {seed}: {codes:?}");
        sound(&server).await;
    });
}

/// What holds for a server after anything.
async fn sound(server: &Server) {
    let (code, made) = send(server, "POST", MAPS, &map("afterwards", "1")).await;
    assert_eq!(code, 201, "{made}");
    let records = server.history().records();
    let revisions: Vec<u64> = records.iter().map(|record| record.revision).collect();
    assert!(revisions.is_sorted_by(|one, next| one < next));
    // What was written last is what is there.
    let mut last = BTreeMap::new();
    for record in &records {
        last.insert(
            (record.place.clone(), record.key.clone()),
            record.after.clone(),
        );
    }
    let (_, list) = send(server, "GET", "/api/v1/configmaps", &json!(null)).await;
    let listed = list["items"].as_array().unwrap().iter();
    let listed: BTreeMap<String, &Value> = { listed }
        .map(|item| {
            (
                item["metadata"]["name"].as_str().unwrap().to_owned(),
                &item["data"],
            )
        })
        .collect();
    let maps = last
        .iter()
        .filter(|((place, _), _)| place.plural == "configmaps");
    for ((_, key), after) in maps {
        let held = after.as_ref().map(|entry| entry.value()["data"].clone());
        assert_eq!(listed.get(&*key.name).map(|data| (*data).clone()), held);
    }
}
