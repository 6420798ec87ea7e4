//! One connection: opened, used, and perhaps used again.
//!
//! - It has no task. It moves only while a request drives it, and is closed when it is dropped.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;

use super::Message;
use super::connect::Route;
use super::dial::Dial;
use super::wire::{Stream, Wire, Written, WrittenOf};
use crate::error::{Error, Failure, chain};
use crate::headers::{BYTES, COUNT};

type Driver = http1::Connection<TokioIo<Wire>, Full<Bytes>>;

/// An open connection.
pub(super) struct Connection {
    pub(super) route: Route,
    /// Whether a request has used it before.
    pub(super) used: bool,
    sender: SendRequest<Full<Bytes>>,
    /// None once it has ended.
    driver: Option<Pin<Box<Driver>>>,
    written: WrittenOf,
}

/// A request without an answer.
pub(super) struct Unanswered {
    pub(super) failure: Failure,
    message: Option<Message>,
}

impl Unanswered {
    /// The request, if none of it was written; the failure otherwise.
    pub(super) fn unwritten(self) -> Result<Message, Failure> {
        self.message.ok_or(self.failure)
    }
}

/// Opens a connection along `route`.
pub(super) async fn open(
    dialer: &dyn Dial,
    route: &Route,
    config: Option<Arc<ClientConfig>>,
    written: &Written,
) -> Result<Connection, Failure> {
    let address = route.address;
    let refused = |what: &str, error: &dyn std::error::Error| {
        Failure::unsent(
            Error::Unavailable,
            format!("{what} {address}: {}", chain(error)),
        )
    };
    let tcp = dialer.dial(address).await;
    let tcp = tcp.map_err(|error| refused("no connection to", &error))?;
    let stream = match (route.server_name()?, config) {
        (Some(name), Some(config)) => {
            let stream = TlsConnector::from(config).connect(name, tcp).await;
            Stream::Tls(Box::new(
                stream.map_err(|error| refused("no TLS with", &error))?,
            ))
        }
        (Some(_), None) => return Err(Failure::invalid("there is no TLS for this origin")),
        (None, _) => Stream::Plain(tcp),
    };
    let noted = WrittenOf::default();
    noted.begin(written);
    let wire = TokioIo::new(Wire::new(stream, noted.clone()));
    let handshake = http1::Builder::new()
        .max_headers(COUNT)
        .max_header_size(BYTES)
        .max_buf_size(BYTES)
        .handshake(wire)
        .await;
    let (sender, driver) = handshake.map_err(|error| refused("no HTTP with", &error))?;
    Ok(Connection {
        route: route.clone(),
        used: false,
        sender,
        driver: Some(Box::pin(driver)),
        written: noted,
    })
}

impl Connection {
    /// Sends `message`, and waits for the head of the answer.
    pub(super) async fn send(
        &mut self,
        message: Message,
    ) -> Result<Response<Incoming>, Unanswered> {
        let answer = self.sender.try_send_request(message);
        let answer = drive(&mut self.driver, answer).await;
        answer.map_err(|mut error| Unanswered {
            message: error.take_message(),
            failure: failure(error.error()),
        })
    }

    /// Runs `future` and the connection together.
    pub(super) async fn drive<T>(&mut self, future: impl Future<Output = T>) -> T {
        drive(&mut self.driver, future).await
    }

    /// Whether an idle connection can take the request of `written`.
    pub(super) async fn is_usable(&mut self, written: &Written) -> bool {
        let is_ready = self.can_be_used_again().await;
        self.written.begin(written);
        is_ready
    }

    /// Whether it waits for the next request now. Bytes that nobody asked for end it.
    pub(super) async fn can_be_used_again(&mut self) -> bool {
        self.used = true;
        poll_fn(|context| {
            step(&mut self.driver, context);
            let is_ready = matches!(self.sender.poll_ready(context), Poll::Ready(Ok(())));
            Poll::Ready(is_ready && self.driver.is_some())
        })
        .await
    }
}

async fn drive<T>(driver: &mut Option<Pin<Box<Driver>>>, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    poll_fn(|context| {
        step(driver, context);
        future.as_mut().poll(context)
    })
    .await
}

/// Moves the connection on. Its error is the request's too, so it is not told twice.
fn step(driver: &mut Option<Pin<Box<Driver>>>, context: &mut Context<'_>) {
    if let Some(running) = driver
        && running.as_mut().poll(context).is_ready()
    {
        *driver = None;
    }
}

/// What an error of HTTP means to the guest.
pub(super) fn failure(error: &hyper::Error) -> Failure {
    let kind = if error.is_parse_too_large() {
        Error::TooLarge
    } else {
        Error::Unavailable
    };
    Failure::unsent(kind, format!("no whole answer: {}", chain(error)))
}
