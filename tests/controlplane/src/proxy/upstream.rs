//! The proxy's own connection to the API server.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::certificates::Authority;
use crate::kubeconfig::Credentials;

/// How long an idle connection is trusted; the API server closes its own after 90 s.
const IDLE: Duration = Duration::from_secs(30);

/// Where requests go, and as whom.
#[derive(Clone)]
pub(super) struct Target {
    port: u16,
    tls: TlsConnector,
    authorization: Option<HeaderValue>,
}

impl Target {
    pub(super) fn new(
        port: u16,
        credentials: Credentials,
        authority: &Authority,
    ) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(authority.der())?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let mut authorization = None;
        let config = match credentials {
            Credentials::Certificate(certified) => {
                let (chain, key) = certified.for_rustls();
                builder.with_client_auth_cert(chain, key)?
            }
            Credentials::Token(token) => {
                authorization = Some(HeaderValue::try_from(format!("Bearer {token}"))?);
                builder.with_no_client_auth()
            }
            Credentials::None => builder.with_no_client_auth(),
        };
        Ok(Self {
            port,
            tls: TlsConnector::from(Arc::new(config)),
            authorization,
        })
    }

    async fn connect(&self) -> anyhow::Result<SendRequest<Incoming>> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost")?;
        let stream = self.tls.connect(name, stream).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends when the sender or the last body is dropped; an error reaches the request too.
        tokio::spawn(async { drop(connection.await) });
        Ok(sender)
    }
}

/// The connection for one connection of a client: requests on it follow each other.
pub(super) struct Upstream {
    target: Target,
    idle: Option<(SendRequest<Incoming>, Instant)>,
}

impl Upstream {
    pub(super) fn new(target: Target) -> Self {
        Self { target, idle: None }
    }

    /// Passes a request on, and returns once the head of the answer is there.
    pub(super) async fn send(
        &mut self,
        mut request: Request<Incoming>,
    ) -> anyhow::Result<Response<Incoming>> {
        if let Some(authorization) = &self.target.authorization {
            request
                .headers_mut()
                .insert(AUTHORIZATION, authorization.clone());
        }
        let idle = self.idle.take().filter(|(_, since)| since.elapsed() < IDLE);
        let mut sender = match idle {
            Some((sender, _)) if !sender.is_closed() => sender,
            _ => self
                .target
                .connect()
                .await
                .context("cannot reach the API server")?,
        };
        sender.ready().await?;
        let response = sender.send_request(request).await?;
        self.idle = Some((sender, Instant::now()));
        Ok(response)
    }
}
