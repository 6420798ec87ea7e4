//! `windlass why`: asks a host that runs.

use std::io::Write;

use anyhow::{Context, bail};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::answer::Answer;
use super::{dot, text};
use crate::args::{WhyFlags, WhyOutput};
use crate::seams::Seams;

/// How long an answer may take, the API server's included.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);
/// The largest answer that is read.
const LARGEST: usize = 16 << 20;

/// Asks, and prints the answer.
///
/// # Errors
/// No host answers there, or what is asked for is none.
pub async fn ask(flags: WhyFlags, seams: Seams) -> anyhow::Result<()> {
    let object = match &flags.object[..] {
        [one] => one.split_once('/'),
        [kind, name] => Some((kind.as_str(), name.as_str())),
        _ => None,
    };
    let Some((kind, name)) = object.filter(|(kind, name)| !kind.is_empty() && !name.is_empty())
    else {
        bail!("name one object, as KIND/NAME or KIND NAME");
    };
    let query: String = form_urlencoded::Serializer::new(String::new())
        .append_pair("kind", kind)
        .append_pair("name", name)
        .append_pair("namespace", &flags.namespace)
        .append_pair("o", "json")
        .finish();
    let fetched = fetch(&flags.admin_url, &format!("/why?{query}"), &seams).await?;
    let answer: Answer = serde_json::from_slice(&fetched).with_context(|| {
        format!(
            "what answers at {} is no windlass of this version",
            flags.admin_url
        )
    })?;
    let shown = match flags.output {
        WhyOutput::Text => text(&answer),
        WhyOutput::Json => String::from_utf8_lossy(&fetched).into_owned(),
        WhyOutput::Dot => dot(&answer),
    };
    Ok(std::io::stdout().lock().write_all(shown.as_bytes())?)
}

/// What is under `path` at `base`, a plain URL such as `http://127.0.0.1:8082`.
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
                crate::text::clean(&String::from_utf8_lossy(&body), 500)
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
