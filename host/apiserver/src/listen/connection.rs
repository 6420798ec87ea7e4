//! One connection: hand shake, HTTP, and for each request who asks, the answer, and its end.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures::StreamExt;
use futures::future::{Either, select};
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyDataStream;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tower_service::Service;

use super::GRACE;
use super::activity::Activity;
use super::authenticate::authenticate;
use super::deadline::Deadline;
use super::spawn::Spawn;
use crate::answer::Answer;
use crate::body::Body;
use crate::server::Server;
use crate::status::Refusal;

/// A client that has not shaken hands by then is let go.
const HAND_SHAKE: Duration = Duration::from_secs(10);
/// A connection may be idle this long. The real server's time: clients count on it.
const IDLE: Duration = Duration::from_secs(90);
/// The head of a request may take this long from its first byte on (apiserver `pkg/server/secure_serving.go`).
const HEAD: Duration = Duration::from_secs(32);
/// The real server's time for all but a watch.
const REQUEST: Duration = Duration::from_secs(60);
/// Requests under way on one connection: each watch of a client is one of them.
const STREAMS: u32 = 1000;
/// What a client may send ahead on a stream, and in one frame (the real server's sizes).
const WINDOW: u32 = 256 << 10;
/// The same on a connection.
const CONNECTION_WINDOW: u32 = 16 * WINDOW;

/// What each connection has.
#[derive(Clone)]
pub(super) struct Connection<S> {
    pub(super) server: Server,
    pub(super) service: S,
    pub(super) tls: TlsAcceptor,
    pub(super) spawn: Spawn,
    /// Says whether the server stops. The server waits until nobody holds one.
    pub(super) stopped: watch::Receiver<bool>,
}

impl<S> Connection<S>
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    /// Serves the connection to its end.
    pub(super) async fn serve(self, stream: TcpStream) {
        // Events of a watch are small, and wanted at once. It is only slower without.
        let _ = stream.set_nodelay(true);
        let clock = self.server.seams().clock.clone();
        let shaken = clock.within(HAND_SHAKE, self.shake_hands(stream)).await;
        if let Some(Some(stream)) = shaken {
            self.speak(stream).await;
        }
    }

    async fn shake_hands(&self, mut stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        let mut first = [0];
        stream.peek(&mut first).await.ok()?;
        if first.iter().any(u8::is_ascii_uppercase) {
            // What can be read is, or the client would be cut off before it reads this.
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(PLAIN_HTTP).await;
            let _ = stream.shutdown().await;
            return None;
        }
        self.tls.accept(stream).await.ok()
    }

    async fn speak(self, stream: TlsStream<TcpStream>) {
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let activity = Activity::default();
        let (answers, begun) = (self.clone(), activity.clone());
        let service = service_fn(move |request| {
            let (answers, active) = (answers.clone(), begun.begin());
            async move {
                let answer = answers.answer(request).await;
                Ok::<_, Infallible>(answer.map(|body| body.holding(active)))
            }
        });
        // How a connection ends is told to the one that waits for an answer on it, by its end.
        if http2 {
            let mut builder = http2::Builder::new(self.spawn.clone());
            builder
                .timer(TokioTimer::new())
                .max_concurrent_streams(STREAMS)
                .initial_stream_window_size(WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .max_frame_size(WINDOW);
            let stream = TokioIo::new(stream);
            let mut connection = pin!(builder.serve_connection(stream, service));
            if self.until_over(connection.as_mut(), &activity).await {
                connection.as_mut().graceful_shutdown();
                self.finish(connection).await;
            }
        } else {
            let clock = &self.server.seams().clock;
            let stream = TokioIo::new(Deadline::new(stream, clock, HEAD, activity.clone()));
            let builder = http1::Builder::new();
            let mut connection = pin!(builder.serve_connection(stream, service));
            if self.until_over(connection.as_mut(), &activity).await {
                connection.as_mut().graceful_shutdown();
                self.finish(connection).await;
            }
        }
    }

    /// Drives the connection to its end, or until the server stops or nothing has been asked on it for long;
    /// says whether it is to be ended.
    async fn until_over<F: Future>(&self, connection: Pin<&mut F>, activity: &Activity) -> bool {
        let clock = &self.server.seams().clock;
        let idle = pin!(activity.idle(clock, IDLE));
        let stopped = pin!(stopped(self.stopped.clone()));
        let over = select(stopped, idle);
        matches!(select(over, connection).await, Either::Left(_))
    }

    async fn finish(&self, connection: impl Future) {
        let clock = &self.server.seams().clock;
        clock.within(GRACE, connection).await;
    }

    async fn answer(mut self, mut request: Request<Incoming>) -> Response<Body> {
        let clock = &self.server.seams().clock;
        let tokens = self.server.tokens();
        let authorization = self.server.options().authorization;
        match authenticate(tokens, authorization, clock.wall(), request.headers()) {
            Ok(user) => request.extensions_mut().insert(user),
            Err(refusal) => return Answer::from(refusal).into_response(),
        };
        // Only bodies are waited for: a watch is answered at once, and goes on after that.
        let answered = clock.within(REQUEST, self.service.call(request)).await;
        let Some(answered) = answered else {
            return Answer::from(too_late()).into_response();
        };
        let response = answered.unwrap_or_else(|never| match never {});
        response.map(|body| until(body, self.stopped))
    }
}

/// A body that ends when the server stops, if it is one that might never end.
fn until(body: Body, receiver: watch::Receiver<bool>) -> Body {
    match body.size_hint().exact() {
        Some(_) => body,
        None => Body::stream(BodyDataStream::new(body).take_until(Box::pin(stopped(receiver)))),
    }
}

async fn stopped(mut receiver: watch::Receiver<bool>) {
    // A sender that is gone has stopped too.
    let _ = receiver.wait_for(|stopped| *stopped).await;
}

/// What Go's server says to a client without TLS.
const PLAIN_HTTP: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

fn too_late() -> Refusal {
    let message = "Timeout: request did not complete within the allotted timeout";
    Refusal::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
}
