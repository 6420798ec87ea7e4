//! Takes the connections of clients, and ends them when the host dies.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::server::TlsStream;

use super::handle::Line;
use super::state::Shared;
use super::upstream::Target;
use crate::certificates::Certified;

/// How long a client may take to read its last answer and close.
const LAST_ANSWER: Duration = Duration::from_secs(5);

/// The listening side of a proxy.
pub(super) struct Server {
    listener: std::net::TcpListener,
    tls: TlsAcceptor,
    target: Target,
    shared: Arc<Shared>,
}

impl Server {
    pub(super) fn new(
        listener: std::net::TcpListener,
        certified: &Certified,
        target: Target,
        shared: Arc<Shared>,
    ) -> anyhow::Result<Self> {
        let (chain, key) = certified.for_rustls();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        Ok(Self {
            listener,
            tls: TlsAcceptor::from(Arc::new(config)),
            target,
            shared,
        })
    }

    /// Serves until dropped.
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let listener = TcpListener::from_std(self.listener).context("cannot listen")?;
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.context("cannot accept")?;
            while connections.try_join_next().is_some() {}
            let life = *self.shared.life.borrow();
            if life.closed {
                continue;
            }
            let line = Line::new(
                Arc::clone(&self.shared),
                life.generation,
                self.target.clone(),
            );
            let (line, tls) = (Arc::new(line), self.tls.clone());
            let mut lives = self.shared.life.subscribe();
            connections.spawn(async move {
                tokio::select! {
                    () = serve(line, tls, stream) => {}
                    _ = lives.wait_for(|now| now.generation != life.generation) => {}
                }
            });
        }
    }
}

/// Serves one connection until it ends or is cut.
async fn serve(line: Arc<Line>, tls: TlsAcceptor, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let Ok(stream) = tls.accept(stream).await else {
        return;
    };
    let service = service_fn(|request| {
        let line = Arc::clone(&line);
        async move { Ok::<_, Infallible>(line.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .without_shutdown();
    tokio::select! {
        // First what there is to write is written, then the connection is cut.
        biased;
        ended = connection => if line.kills_after_answer() {
            if let Ok(parts) = ended {
                until_read(parts.io.into_inner()).await;
            }
            line.kill();
        },
        () = line.is_cut() => {}
    }
}

/// Waits until the client has read everything, which it shows by closing its side.
async fn until_read(mut stream: TlsStream<TcpStream>) {
    let closed = async {
        stream.shutdown().await?;
        stream.read(&mut [0]).await
    };
    let _ = tokio::time::timeout(LAST_ANSWER, closed).await;
}
