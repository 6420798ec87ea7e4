//! Asks a host that runs, on its status port.

use std::time::Duration;

use anyhow::{Context, bail};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::TcpStream;

use windlass_base::seams::Seams;
use windlass_base::text::{clean, clean_lines};

/// How long an answer may take, the API server's included.
const PATIENCE: Duration = Duration::from_secs(30);
/// The largest answer that is read.
const LARGEST: usize = 16 << 20;

/// The document under `path` at `base`, and its text. The texts in the document move no cursor: whatever answers there may be
/// no host.
///
/// # Errors
/// No host answers at `base`, the host has nothing under `path`, or the answer is not of a host.
pub async fn document<T: DeserializeOwned>(
    base: &str,
    path: &str,
    seams: &Seams,
) -> anyhow::Result<(T, String)> {
    let fetched = fetch(base, path, seams).await?;
    let document = serde_json::from_slice(&fetched).map(cleaned);
    let document = document
        .and_then(serde_json::from_value)
        .with_context(|| format!("what answers at {base} is not a windlass of this version"))?;
    Ok((document, String::from_utf8_lossy(&fetched).into_owned()))
}

/// The text under `path` at `base`, for people.
///
/// # Errors
/// No host answers at `base`, or the host has nothing under `path`.
pub async fn text(base: &str, path: &str, seams: &Seams) -> anyhow::Result<String> {
    let fetched = fetch(base, path, seams).await?;
    Ok(clean_lines(&String::from_utf8_lossy(&fetched), usize::MAX))
}

/// `value` without what moves a cursor.
fn cleaned(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean_lines(&text, usize::MAX)),
        Value::Array(items) => items.into_iter().map(cleaned).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields
                .map(|(name, value)| (clean(&name, usize::MAX), cleaned(value)))
                .collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// What is under `path` at `base`, a plain URL such as `http://127.0.0.1:8082`.
///
/// # Errors
/// No host answers there, or what is asked for is none.
async fn fetch(base: &str, path: &str, seams: &Seams) -> anyhow::Result<Bytes> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_that_a_host_says_moves_the_cursor() {
        let said =
            json!({ "a\u{1b}[2J": [{ "b": "\u{1b}]0;x\u{7}\u{9b}1mred\u{202e}\nnext" }], "c": 1 });
        let want =
            json!({ "a\u{fffd}[2J": [{ "b": "\u{fffd}]0;x\u{fffd}\u{fffd}1mred\nnext" }], "c": 1 });
        assert_eq!(cleaned(said), want);
    }
}
