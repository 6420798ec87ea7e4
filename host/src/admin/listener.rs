//! Serves HTTP/1.1 on one port, with deadlines and a limit of connections.
//!
//! - A client that opens many connections, or sends half a request, does not keep others out: a new
//!   connection is always accepted, and the one that has sent no request for the longest time is closed for it.
//! - Each port has its own limit, so the process keeps its file descriptors whatever happens at its ports.

mod deadline;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tower::ServiceExt;

use deadline::{Deadline, Heads};
use windlass_base::seams::{Clock, Seams, Task};

/// Open connections of one port at most.
const CONNECTIONS: usize = 64;
/// The head of a request must be complete so long after its first byte, and after the connection was accepted
/// (controller-runtime: `ReadHeaderTimeout`).
const HEAD: Duration = Duration::from_secs(32);
/// A connection may be idle for so long between two requests (controller-runtime: `IdleTimeout`). A scraper that comes each
/// minute keeps its connection.
const IDLE: Duration = Duration::from_secs(90);
/// A client must take some of an answer in this time.
const WRITE: Duration = Duration::from_secs(10);
/// The longest head of a request, in bytes.
const HEAD_BYTES: usize = 16 << 10;
/// The pause after the operating system refused a connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections on `listener`, and has `router` answer their requests, until it is dropped.
pub(super) async fn serve(listener: TcpListener, router: Router, seams: Seams) {
    let open = Arc::new(OpenConnections::default());
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Most often there is no file descriptor left.
            open.close_one();
            seams.clock.sleep(PAUSE).await;
            continue;
        };
        // An answer is small, and only slower without.
        let _ = stream.set_nodelay(true);
        open.add(|seat| {
            let (router, clock) = (router.clone(), seams.clock);
            seams.spawn.task(async move {
                converse(stream, router, clock, || seat.used()).await;
            })
        });
    }
}

/// Serves one connection to its end. Calls `used` for each request.
async fn converse<T>(stream: T, router: Router, clock: Clock, used: impl Fn())
where
    T: AsyncRead + AsyncWrite + Send + Unpin,
{
    let heads = Heads::default();
    let stream = Deadline::new(stream, clock, (HEAD, WRITE), heads.clone());
    let service = service_fn(|request: Request<Incoming>| {
        heads.complete();
        used();
        router.clone().oneshot(request.map(Body::new))
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(clock.timer())
        // hyper's own timer runs from the end of the request before.
        .header_read_timeout(IDLE)
        .max_buf_size(HEAD_BYTES);
    // An error concerns nobody but the client, and the client has seen it.
    let _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// The open connections of one port.
#[derive(Default)]
struct OpenConnections(Mutex<Recent<Task>>);

/// One connection's place among them, which it gives up when it is dropped.
struct Seat {
    id: u64,
    open: Weak<OpenConnections>,
}

impl OpenConnections {
    /// Starts one more connection, and closes another one if there are too many.
    fn add(self: &Arc<Self>, start: impl FnOnce(Seat) -> Task) {
        let open = Arc::downgrade(self);
        let mut recent = self.0.lock();
        // The lock is held until the task is in: it may end before.
        let id = recent.next();
        recent.insert(id, start(Seat { id, open }));
        let closed = (recent.len() > CONNECTIONS).then(|| recent.take_oldest());
        drop(recent);
        drop(closed);
    }

    /// Closes the connection that has sent no request for the longest time.
    fn close_one(&self) {
        let closed = self.0.lock().take_oldest();
        drop(closed);
    }
}

impl Seat {
    /// The connection has sent a request.
    fn used(&self) {
        if let Some(open) = self.open.upgrade() {
            open.0.lock().used(self.id);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(open) = self.open.upgrade() {
            let ended = open.0.lock().remove(self.id);
            drop(ended);
        }
    }
}

/// Things by when they were last used.
struct Recent<T> {
    last: u64,
    things: BTreeMap<u64, (u64, T)>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self {
            last: 0,
            things: BTreeMap::new(),
        }
    }
}

impl<T> Recent<T> {
    /// A number that was not there before.
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn len(&self) -> usize {
        self.things.len()
    }

    /// Takes in a thing with a new number, as used now.
    fn insert(&mut self, id: u64, thing: T) {
        self.things.insert(id, (id, thing));
    }

    /// The thing is used now.
    fn used(&mut self, id: u64) {
        let now = self.next();
        if let Some((used, _)) = self.things.get_mut(&id) {
            *used = now;
        }
    }

    fn remove(&mut self, id: u64) -> Option<T> {
        self.things.remove(&id).map(|(_, thing)| thing)
    }

    /// Takes out the thing that was last used before all others.
    fn take_oldest(&mut self) -> Option<T> {
        let things = self.things.iter();
        let (id, _) = things.min_by_key(|(_, (used, _))| *used)?;
        let id = *id;
        self.remove(id)
    }
}
