//! What watchers of one resource cost: how fast they get events, and whether each gets an object of its own.
//!
//! Every watcher keeps what it got, and where in memory that is: as long as all hold the same bytes, a
//! thousand of them let the process grow as one does.

use std::collections::HashSet;
use std::fs;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use serde_json::json;
use tokio::task::JoinSet;
use windlass_apiserver::body::Body;
use windlass_apiserver::options::Options;
use windlass_apiserver::server::Server;
use windlass_controlplane::table::row;

use crate::serve;

const WATCHERS: [usize; 2] = [1, 1000];
const WRITES: usize = 500;
const BYTES: usize = 16 << 10;
const PATH: &str = "/api/v1/namespaces/default/configmaps";

pub(crate) async fn measure() -> Result<()> {
    for count in WATCHERS {
        let label = format!("{count} watchers, {WRITES} writes of 16 KiB");
        row(&label, crate::child(&["watch", &count.to_string()]).await?);
    }
    Ok(())
}

/// Prints what `count` watchers cost in this process.
pub(crate) async fn watch(count: usize) -> Result<()> {
    let server = serve::server(Options::default())?;
    write(&server, 0).await?;
    let mut watchers = JoinSet::new();
    let mut got = Vec::new();
    for _ in 0..count {
        let path = format!("{PATH}?watch=true&timeoutSeconds=600&resourceVersion=0");
        let body = ask(&server, Request::get(path).body(Full::default())?).await?;
        // The room for what it gets is taken before memory is looked at.
        got.push((body, vec![Bytes::new(); WRITES]));
    }
    let before = anonymous()?;
    let began = Instant::now();
    for (mut body, mut objects) in got {
        watchers.spawn(async move {
            for object in &mut objects {
                *object = next(&mut body).await?;
            }
            anyhow::Ok(objects)
        });
    }
    for number in 1..=WRITES {
        write(&server, number).await?;
    }
    let all: Result<Vec<_>> = watchers.join_all().await.into_iter().collect();
    let (all, took) = (all?, began.elapsed().as_secs_f64());
    let grown = anonymous()? - before;
    let places = |event: usize| {
        let held = all.iter().filter_map(|objects| objects.get(event));
        held.map(|object| object.as_ptr())
            .collect::<HashSet<_>>()
            .len()
    };
    println!(
        "{:.0} events/s, {:.1} MiB more, at most {} copies of an event's object",
        (count * WRITES) as f64 / took,
        grown / 1024.0,
        (0..WRITES).map(places).max().unwrap_or_default(),
    );
    Ok(())
}

async fn write(server: &Server, number: usize) -> Result<()> {
    let config_map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "watched" },
        "data": { "value": format!("{number:0>BYTES$}") },
    });
    let path = format!("{PATH}/watched?fieldManager=bench&force=true");
    let request = Request::patch(path).header("content-type", "application/apply-patch+yaml");
    let body = Full::new(Bytes::from(config_map.to_string()));
    let answer = ask(server, request.body(body)?).await?;
    drop(answer);
    // Watchers are on the same threads.
    tokio::task::yield_now().await;
    Ok(())
}

async fn ask(server: &Server, request: Request<Full<Bytes>>) -> Result<Body> {
    let response = server.handle(request).await;
    ensure!(response.status().is_success(), "{response:?}");
    Ok(response.into_body())
}

/// The object of the next event: it comes as it is kept, between a piece before it and one after it.
async fn next(body: &mut Body) -> Result<Bytes> {
    loop {
        let frame = body.frame().await.context("the watch has ended")??;
        let piece = frame.into_data().ok().context("no data")?;
        if piece.len() > BYTES {
            return Ok(piece);
        }
    }
}

/// The memory of this process that is not mapped from files, in KiB.
fn anonymous() -> Result<f64> {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Anonymous:"));
    let words = line.context("the kernel does not say")?.split_whitespace();
    Ok(words.take(1).collect::<String>().parse()?)
}
