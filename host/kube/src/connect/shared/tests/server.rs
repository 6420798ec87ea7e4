//! A server over pipes, and the connector to it.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::{BoxFuture, Either, select};
use futures::stream::{self, BoxStream, StreamExt};
use http::{Request, Response, Uri};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::rt::{Executor, Read, ReadBufCursor, Write};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::DuplexStream;
use tokio::sync::oneshot;
use tower::{BoxError, Service};
use windlass_base::seams::watch;

use super::SharedConnections;

/// What the server does with the connections that it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    Serve,
    /// Ends what is under way, and takes nothing new.
    ShutDown,
    Break,
    /// Stands still.
    Freeze,
}

/// How a connection comes about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Welcome {
    Http2,
    Http1,
    Refused,
    Never,
}

/// Both, cheap to clone.
#[derive(Clone)]
pub(super) struct Server {
    allows: u32,
    opened: Arc<AtomicUsize>,
    open: watch::Sender<usize>,
    welcome: watch::Sender<Welcome>,
    orders: watch::Sender<Order>,
    ticks: watch::Sender<()>,
}

impl Server {
    pub(super) fn new() -> Self {
        Self::allowing(100)
    }

    /// One that allows so many requests on a connection.
    pub(super) fn allowing(allows: u32) -> Self {
        Self {
            allows,
            opened: Arc::default(),
            open: watch::Sender::new(0),
            welcome: watch::Sender::new(Welcome::Http2),
            orders: watch::Sender::new(Order::Serve),
            ticks: watch::Sender::new(()),
        }
    }

    pub(super) fn shared(&self) -> SharedConnections<Self> {
        SharedConnections::new(self.clone(), Uri::from_static("https://server"))
    }

    pub(super) fn welcome(&self, welcome: Welcome) {
        self.welcome.send_replace(welcome);
    }

    pub(super) fn orders(&self, order: Order) {
        self.orders.send_replace(order);
    }

    /// Sends a piece of four bytes of each answer to `/ticks`.
    pub(super) fn tick(&self) {
        self.ticks.send_replace(());
    }

    /// How often a connection was asked for.
    pub(super) fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }

    /// Waits until it has so many connections.
    pub(super) async fn until_open(&self, count: usize) {
        let mut open = self.open.subscribe();
        open.wait_for(|open| *open == count).await.unwrap();
    }

    async fn serve(self, io: DuplexStream) {
        self.open.send_modify(|open| *open += 1);
        self.until_ordered(io).await;
        self.open.send_modify(|open| *open -= 1);
    }

    async fn until_ordered(&self, io: DuplexStream) {
        let mut orders = self.orders.subscribe();
        let service = service_fn(|request| {
            let answer = self.answer(&request);
            async { Ok::<_, Infallible>(answer) }
        });
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.max_concurrent_streams(self.allows);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
        while let Either::Left(_) = select(pin!(orders.changed()), connection.as_mut()).await {
            let order = *self.orders.borrow();
            match order {
                Order::Serve => {}
                Order::ShutDown => connection.as_mut().graceful_shutdown(),
                Order::Break => return,
                Order::Freeze => pending().await,
            }
        }
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<StreamBody<Pieces>> {
        let pieces = match request.uri().path() {
            "/flood" => stream::repeat(Bytes::from_static(&[b' '; 16 << 10])).boxed(),
            _ => {
                let ticks = stream::unfold(self.ticks.subscribe(), |mut ticks| async {
                    ticks.changed().await.ok()?;
                    Some((Bytes::from_static(b"tick"), ticks))
                });
                ticks.boxed()
            }
        };
        Response::new(StreamBody::new(
            pieces.map(|piece| Ok(Frame::data(piece))).boxed(),
        ))
    }
}

type Pieces = BoxStream<'static, Result<Frame<Bytes>, Infallible>>;

impl Service<Uri> for Server {
    type Response = Pipe;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Pipe, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            // Others come meanwhile.
            let (arrives, arrived) = oneshot::channel();
            TokioExecutor::new().execute(async { arrives.send(()) });
            arrived.await?;
            server.opened.fetch_add(1, Ordering::Relaxed);
            let welcome = *server.welcome.borrow();
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            match welcome {
                Welcome::Http2 => TokioExecutor::new().execute(server.serve(theirs)),
                Welcome::Http1 => {}
                Welcome::Refused => return Err(io::Error::other("connection refused").into()),
                Welcome::Never => pending().await,
            }
            Ok(Pipe {
                welcome,
                io: TokioIo::new(ours),
            })
        })
    }
}

/// The client's end.
pub(super) struct Pipe {
    welcome: Welcome,
    io: TokioIo<DuplexStream>,
}

impl Connection for Pipe {
    fn connected(&self) -> Connected {
        match self.welcome {
            Welcome::Http2 => Connected::new().negotiated_h2(),
            Welcome::Http1 | Welcome::Refused | Welcome::Never => Connected::new(),
        }
    }
}

impl Read for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for Pipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
