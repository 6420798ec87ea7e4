//! What 100,000 ConfigMaps of 1 KiB take: all of a process that has nothing but them and the server.

use std::time::Instant;

use anyhow::{Result, ensure};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use serde_json::json;
use windlass_apiserver::options::Options;
use windlass_controlplane::table::{memory, row};

use crate::serve;

const OBJECTS: usize = 100_000;
const BYTES: usize = 1024;

pub(crate) async fn measure() -> Result<()> {
    let label = format!("{OBJECTS} ConfigMaps of 1 KiB in a server");
    row(&label, crate::child(&["fill", &OBJECTS.to_string()]).await?);
    Ok(())
}

/// Prints what this process holds after as many were created.
pub(crate) async fn fill(count: usize) -> Result<()> {
    let server = serve::server(Options::default())?;
    let path = "/api/v1/namespaces/default/configmaps";
    let began = Instant::now();
    for number in 0..count {
        let config_map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": format!("map-{number}") },
            "data": { "value": format!("{number:0>BYTES$}") },
        });
        let body = Full::new(Bytes::from(config_map.to_string()));
        let response = server.handle(Request::post(path).body(body)?).await;
        ensure!(response.status() == StatusCode::CREATED, "{response:?}");
    }
    let held = memory(std::process::id())?;
    println!("{held}; created in {:.1} s", began.elapsed().as_secs_f64());
    Ok(())
}
