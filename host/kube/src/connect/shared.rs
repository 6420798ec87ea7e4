//! Few HTTP/2 connections to one server, for many requests that last.
//!
//! - A connection takes [`STREAMS`] requests at most, and fewer if the server says so; then another is opened. One that
//!   is empty while another has room is closed.
//! - One is opened at a time: who comes meanwhile waits for it, and fails with it.
//! - A request that a dying connection has not sent goes to another. What it has sent ends with an error.
//! - A server that speaks no HTTP/2 is asked once.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared as Together, WeakShared};
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::rt::{Executor, Read, Write};
use hyper_util::client::legacy::connect::Connection as Stream;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::Body;
use parking_lot::Mutex;
use tower::{BoxError, Service, ServiceExt};

/// How many requests one connection takes. kube-apiserver allows 100, and takes a while to see that one has ended.
const STREAMS: usize = 64;
/// What the server may send ahead of one request's reader: enough for a first list over 2 ms at 250 MB/s.
const WINDOW: u32 = 512 << 10;
/// The same for all together: no reader, however slow, takes room from another.
const CONNECTION_WINDOW: u32 = WINDOW * STREAMS as u32;
/// A connection that was silent for so long is asked whether it is alive, as client-go does.
const SILENT: Duration = Duration::from_secs(30);
/// By then it has answered, or is dead.
const ANSWER: Duration = Duration::from_secs(15);
/// How many connections may die under a request before it was sent.
const TRIES: usize = 3;

/// Opens connections.
pub(super) trait Connector:
    Service<Uri, Response = Self::Io, Error = BoxError, Future = Self::Opening>
    + Clone
    + Send
    + Sync
    + 'static
{
    /// A connection, which knows what was agreed on it.
    type Io: Read + Write + Stream + Send + Unpin + 'static;
    /// On its way.
    type Opening: Future<Output = Result<Self::Io, BoxError>> + Send;
}

impl<C> Connector for C
where
    C: Service<Uri, Error = BoxError> + Clone + Send + Sync + 'static,
    C::Response: Read + Write + Stream + Send + Unpin + 'static,
    C::Future: Send,
{
    type Io = C::Response;
    type Opening = C::Future;
}

/// The connections. Cheap to clone.
#[derive(Clone)]
pub(super) struct SharedConnections<C> {
    connector: C,
    server: Uri,
    state: Arc<Mutex<ConnectionsState>>,
}

/// A request, after an attempt to send it.
pub(super) enum SendResult {
    /// The answer's head is there. Its body must not outlive its place.
    Answered(Response<Incoming>, StreamPermit),
    /// The server speaks no HTTP/2.
    Refused(Request<Body>),
}

/// One request's place on its connection, until it is dropped.
pub(super) struct StreamPermit {
    _counted: Arc<()>,
}

/// No connection could be opened, for anybody who waited for it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot connect")]
struct Unconnected(#[source] Arc<dyn Error + Send + Sync>);

#[derive(Default)]
struct ConnectionsState {
    connections: Vec<Connection>,
    /// What those who need one wait for.
    opening: Option<WeakShared<Opening>>,
    /// The server speaks no HTTP/2.
    refused: bool,
}

type Opening = BoxFuture<'static, Result<(), Unconnected>>;

struct Connection {
    sender: SendRequest<Body>,
    /// Held by each place.
    places: Arc<()>,
    /// How many requests the server allows.
    room: Arc<AtomicUsize>,
}

/// Where a request goes.
enum Way {
    Over(SendRequest<Body>, StreamPermit),
    Refused,
    Wait(Together<Opening>),
}

impl<C: Connector> SharedConnections<C> {
    /// Connections to `server`, none yet.
    pub(super) fn new(connector: C, server: Uri) -> Self {
        Self {
            connector,
            server,
            state: Arc::default(),
        }
    }

    /// Sends `request`, and waits for the head of the answer.
    ///
    /// # Errors
    /// There is no connection, or it broke.
    pub(super) async fn send(&self, mut request: Request<Body>) -> Result<SendResult, BoxError> {
        let mut tries = TRIES;
        loop {
            let (mut sender, place) = match self.way() {
                Way::Over(sender, place) => (sender, place),
                Way::Refused => return Ok(SendResult::Refused(request)),
                Way::Wait(opening) => {
                    opening.await?;
                    continue;
                }
            };
            tries -= 1;
            let mut failed = match sender.try_send_request(request).await {
                Ok(response) => return Ok(SendResult::Answered(response, place)),
                Err(failed) => failed,
            };
            request = match failed.take_message() {
                Some(unsent) if tries > 0 => unsent,
                Some(_) | None => return Err(failed.into_error().into()),
            };
        }
    }

    fn way(&self) -> Way {
        let mut state = self.state.lock();
        if state.refused {
            return Way::Refused;
        }
        if let Some((sender, place)) = state.take() {
            return Way::Over(sender, place);
        }
        let under_way = state.opening.as_ref().and_then(WeakShared::upgrade);
        Way::Wait(under_way.unwrap_or_else(|| {
            let opening = self.clone().open().boxed().shared();
            state.opening = opening.downgrade();
            opening
        }))
    }

    async fn open(self) -> Result<(), Unconnected> {
        let opened = self.connect().await;
        let mut state = self.state.lock();
        state.opening = None;
        match opened {
            Ok(Some(connection)) => state.connections.push(connection),
            Ok(None) => state.refused = true,
            Err(error) => return Err(Unconnected(error.into())),
        }
        Ok(())
    }

    /// A connection; none if the server speaks no HTTP/2.
    async fn connect(&self) -> Result<Option<Connection>, BoxError> {
        let io = self.connector.clone().oneshot(self.server.clone()).await?;
        if !io.connected().is_negotiated_h2() {
            return Ok(None);
        }
        let executor = TokioExecutor::new();
        let (sender, connection) = http2::Builder::new(executor.clone())
            .timer(TokioTimer::new())
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .keep_alive_interval(SILENT)
            .keep_alive_timeout(ANSWER)
            .keep_alive_while_idle(true)
            .handshake(io)
            .await?;
        let room = Arc::new(AtomicUsize::new(STREAMS));
        let allowed = Arc::clone(&room);
        executor.execute(async move {
            let mut connection = pin!(connection);
            poll_fn(|context| {
                let ended = connection.as_mut().poll(context);
                let allows = connection.current_max_send_streams();
                allowed.store(allows.clamp(1, STREAMS), Ordering::Relaxed);
                ended
            })
            .await
        });
        Ok(Some(Connection {
            sender,
            places: Arc::default(),
            room,
        }))
    }
}

impl ConnectionsState {
    /// A place on a connection, if one has room.
    fn take(&mut self) -> Option<(SendRequest<Body>, StreamPermit)> {
        self.connections.retain(|one| !one.sender.is_closed());
        let loads: Vec<Load> = self.connections.iter().map(Connection::load).collect();
        let chosen = choose(&loads)?;
        let connection = self.connections.get(chosen)?;
        let taken = (connection.sender.clone(), connection.place());
        self.connections.truncate(needed(&loads, chosen));
        Some(taken)
    }
}

impl Connection {
    fn place(&self) -> StreamPermit {
        StreamPermit {
            _counted: Arc::clone(&self.places),
        }
    }

    fn load(&self) -> Load {
        Load {
            taken: Arc::strong_count(&self.places) - 1,
            room: self.room.load(Ordering::Relaxed),
        }
    }
}

/// How full a connection is.
#[derive(Clone, Copy, Debug)]
struct Load {
    taken: usize,
    room: usize,
}

/// Which connection takes another request: the first that can, so that the last ones run empty.
fn choose(loads: &[Load]) -> Option<usize> {
    loads.iter().position(|load| load.taken < load.room)
}

/// How many of the connections are needed, once `chosen` was chosen: the empty ones at the end are not.
fn needed(loads: &[Load], chosen: usize) -> usize {
    let last = loads.iter().rposition(|load| load.taken > 0);
    last.map_or(chosen, |last| last.max(chosen)) + 1
}
