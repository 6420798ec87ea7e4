//! The server on a loopback port: TLS, HTTP/1.1 and HTTP/2, bearer tokens, and the kubeconfig for it.
//!
//! - Each connection is a task of its own; what starts tasks is handed in.
//! - Nothing waits for a client without an end: its hand shake, the heads and the bodies of its requests
//!   have deadlines.
//! - When the server stops, watches end, requests that are there are answered, and a client that is still
//!   connected after [`GRACE`] is cut off.

mod activity;
mod authenticate;
mod certificates;
mod connection;
mod deadline;
mod kubeconfig;
mod spawn;

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tower_service::Service;

use crate::body::Body;
use crate::request::User;
use crate::server::Server;

pub use certificates::{CertificateError, Certificates};
pub use kubeconfig::NAME;
pub use spawn::{Spawn, Task};

use connection::Connection;

/// More connections than this wait until others end.
const CONNECTIONS: usize = 4096;
/// What may be under way takes at most this long after the server was told to stop.
pub const GRACE: Duration = Duration::from_secs(5);
/// The pause after the operating system refused a connection, of which it may have too many.
const PAUSE: Duration = Duration::from_millis(50);

/// Why a port cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else has it.
    #[error("port {0} of 127.0.0.1 is in use: choose another one, or 0 for any that is free")]
    Taken(u16),
    /// The operating system refused it.
    #[error("cannot listen on port {port} of 127.0.0.1")]
    Refused {
        /// The port.
        port: u16,
        /// What it said.
        source: io::Error,
    },
    /// The certificates are no good.
    #[error("cannot use the certificates")]
    Certificates(#[from] CertificateError),
}

/// A port that waits for [`Listener::run`]. Clients that connect before that wait as well.
#[derive(Debug)]
pub struct Listener {
    server: Server,
    socket: std::net::TcpListener,
    address: SocketAddr,
    tls: Arc<ServerConfig>,
    authority: String,
    token: String,
}

impl Listener {
    /// Takes `port` of 127.0.0.1, or any that is free if it is 0.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(server: Server, port: u16, certificates: Certificates) -> Result<Self, BindError> {
        let authority = certificates.authority.clone();
        let tls = certificates.config()?;
        let refused = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::Taken(port),
            _ => BindError::Refused { port, source },
        };
        let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
        socket.set_nonblocking(true).map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        let rng = &server.seams().rng;
        let token = format!("{}{}", rng.uid(), rng.uid()).replace('-', "");
        server.tokens().add(&token, User::admin(), None);
        Ok(Self {
            server,
            socket,
            address,
            tls,
            authority,
            token,
        })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The address, as clients name it.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The bearer token of an administrator.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A kubeconfig for an administrator, which needs no other file.
    pub fn kubeconfig(&self) -> String {
        kubeconfig::render(&self.url(), &self.authority, &self.token)
    }

    /// Serves until `shutdown`.
    ///
    /// # Errors
    /// The socket cannot be waited for.
    pub async fn run(self, spawn: Spawn, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let server = self.server.clone();
        self.serve(server, spawn, shutdown).await
    }

    /// As [`Listener::run`], with a service around the server; requests have a [`User`] as extension.
    ///
    /// # Errors
    /// The socket cannot be waited for.
    pub async fn serve<S>(
        self,
        service: S,
        spawn: Spawn,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()>
    where
        S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        let clock = self.server.seams().clock.clone();
        let socket = TcpListener::from_std(self.socket)?;
        #[expect(clippy::disallowed_methods, reason = "simulations have no sockets")]
        let (stop, stopped) = watch::channel(false);
        let connection = Connection {
            server: self.server,
            service,
            tls: TlsAcceptor::from(self.tls),
            spawn: spawn.clone(),
            stopped,
        };
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let mut shutdown = pin!(shutdown);
        while let Some((accepted, permit)) = next(&socket, &room, shutdown.as_mut()).await {
            let Ok((stream, _)) = accepted else {
                clock.sleep(PAUSE).await;
                continue;
            };
            let connection = connection.clone();
            spawn.task(async move {
                connection.serve(stream).await;
                drop(permit);
            });
        }
        drop((socket, connection));
        stop.send_replace(true);
        // Every connection holds a receiver for as long as it is open.
        clock.within(GRACE, stop.closed()).await;
        Ok(())
    }
}

type AcceptedConnection = io::Result<(tokio::net::TcpStream, SocketAddr)>;

/// Waits for a connection, and for room for it; nothing on `shutdown`.
async fn next(
    socket: &TcpListener,
    room: &Arc<Semaphore>,
    shutdown: Pin<&mut impl Future<Output = ()>>,
) -> Option<(AcceptedConnection, Option<OwnedSemaphorePermit>)> {
    let accept = pin!(async {
        let permit = Arc::clone(room).acquire_owned().await.ok();
        (socket.accept().await, permit)
    });
    match select(shutdown, accept).await {
        Either::Left(_) => None,
        Either::Right((accepted, _)) => Some(accepted),
    }
}
