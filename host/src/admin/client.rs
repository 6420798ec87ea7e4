//! Asks a host that runs, on its status port.

use std::time::Duration;

use anyhow::{Context, bail};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;

use crate::seams::Seams;
use crate::text::clean;

/// How long an answer may take, the API server's included.
const PATIENCE: Duration = Duration::from_secs(30);
/// The largest answer that is read.
const LARGEST: usize = 16 << 20;

/// The document under `path` at `base`, and its text.
///
/// # Errors
/// As [`fetch`]; also that something else answers there.
pub async fn document<T: DeserializeOwned>(
    base: &str,
    path: &str,
    seams: &Seams,
) -> anyhow::Result<(T, String)> {
    let fetched = fetch(base, path, seams).await?;
    let document = serde_json::from_slice(&fetched)
        .with_context(|| format!("what answers at {base} is not a windlass of this version"))?;
    Ok((document, String::from_utf8_lossy(&fetched).into_owned()))
}

/// What is under `path` at `base`, a plain URL such as `http://127.0.0.1:8082`.
///
/// # Errors
/// No host answers there, or what is asked for is none.
pub async fn fetch(base: &str, path: &str, seams: &Seams) -> anyhow::Result<Bytes> {
    let address = base.trim_end_matches('/');
    let Some(address) = address.strip_prefix("http://") else {
        bail!("--admin-url must be a plain address, such as http://127.0.0.1:8082");
    };
    let exchange = async {
        let stream = TcpStream::connect(address).await.with_context(|| {
            format!("no host answers at {base}: is `windlass run` at work there? Name another with --admin-url; of one in a cluster, `kubectl port-forward` its pod's port 8082")
        })?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let _connection = seams.spawn.task(async move {
            // Its end is the answer's.
            let _ = connection.await;
        });
        let request = hyper::Request::get(path)
            .header(hyper::header::HOST, address)
            .body(Empty::<Bytes>::new())?;
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LARGEST).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!("{error}"))?.to_bytes();
        if !status.is_success() {
            bail!(
                "{base} answers {status}: {}",
                clean(&String::from_utf8_lossy(&body), 500)
            );
        }
        Ok(body)
    };
    let answer = seams.clock.within(PATIENCE, exchange).await;
    answer.unwrap_or_else(|| {
        Err(anyhow::anyhow!(
            "{base} gives no answer within {} s",
            PATIENCE.as_secs()
        ))
    })
}
