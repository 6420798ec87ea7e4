//! Sends one request over a connection of its own, and reads its answer with a limit.
//!
//! - The name is resolved once. If one of its addresses is forbidden, none is used.
//! - The connection has no task: it moves while a request or a body drives it.

mod connect;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, RETRY_AFTER, USER_AGENT,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use url::Url;
use windlass_base::seams::Clock;
use windlass_egress::{chain, until};

use crate::problem::Problem;
use crate::settings::{Role, Settings};
use connect::{Stream, open};

/// The longest time until an answer begins.
pub const ANSWER_BEGINS: Duration = Duration::from_secs(10);
/// The longest time without a byte of an answer that has begun. The pull ends then, and another one gets its memory.
const STALLED: Duration = Duration::from_secs(30);
/// The largest head of an answer, in bytes.
const LARGEST_HEAD: usize = 64 << 10;
/// The longest time that a registry can ask to be left alone.
const LONGEST_RETRY: u64 = 3600;

type Driver = Pin<Box<http1::Connection<TokioIo<Box<dyn Stream>>, Full<Bytes>>>>;

/// A request.
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a Url,
    pub(crate) role: Role,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The head of an answer, and what reads its body.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Who answers.
    pub(crate) host: String,
    clock: Clock,
    incoming: Incoming,
    driver: Option<Driver>,
}

/// How long a body is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    AtMost(u64),
    Exactly(u64),
}

impl Length {
    /// The bytes that may come.
    fn room(self) -> usize {
        let (Self::AtMost(bytes) | Self::Exactly(bytes)) = self;
        usize::try_from(bytes).unwrap_or(0)
    }
}

/// Sends a request, and waits until its answer begins. What is uploaded may take its time.
pub(crate) async fn exchange(settings: &Settings, request: Request<'_>) -> Result<Answer, Problem> {
    let clock = settings.clock;
    let host = host_of(request.url);
    let late = || Problem::unavailable(format!("no answer of {host} began within 10 s"));
    let begins_by = clock.now() + ANSWER_BEGINS;
    let opened = until(clock, begins_by, open(settings, request.url, request.role)).await;
    let stream = opened.ok_or_else(late)??;
    let handshake = http1::Builder::new()
        .max_header_size(LARGEST_HEAD)
        .handshake(TokioIo::new(stream))
        .await;
    let (mut sender, driver) = handshake.map_err(|error| broken(&host, &error))?;
    let mut driver = Some(Box::pin(driver));
    let is_upload = !request.body.is_empty();
    let message = message(settings, request)?;
    let answer = drive(&mut driver, sender.send_request(message));
    let answer = if is_upload {
        answer.await
    } else {
        until(clock, begins_by, answer).await.ok_or_else(late)?
    };
    let (head, incoming) = answer.map_err(|error| broken(&host, &error))?.into_parts();
    Ok(Answer {
        status: head.status,
        headers: head.headers,
        host,
        clock: settings.clock,
        incoming,
        driver,
    })
}

fn message(
    settings: &Settings,
    request: Request<'_>,
) -> Result<http::Request<Full<Bytes>>, Problem> {
    let url = request.url;
    let invalid = |error: &dyn std::error::Error| {
        Problem::Refused(format!(
            "a URL of {} cannot be asked: {error}",
            host_of(url)
        ))
    };
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let mut headers = request.headers;
    let host = HeaderValue::from_str(&host_of(url)).map_err(|error| invalid(&error))?;
    headers.insert(HOST, host);
    headers.insert(USER_AGENT, settings.user_agent.clone());
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    if request.method != Method::GET && request.method != Method::HEAD {
        headers.insert(CONTENT_LENGTH, request.body.len().into());
    }
    let message = http::Request::builder().method(request.method).uri(target);
    let message = message.body(Full::new(request.body));
    let mut message = message.map_err(|error| invalid(&error))?;
    *message.headers_mut() = headers;
    Ok(message)
}

impl Answer {
    /// The value of a header, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Reads the body. Nothing is read beyond its length.
    pub(crate) async fn read(mut self, what: &str, length: Length) -> Result<Vec<u8>, Problem> {
        let host = &self.host;
        if self
            .header(CONTENT_ENCODING.as_str())
            .is_some_and(|coding| coding != "identity")
        {
            return Err(Problem::Refused(format!(
                "{host} answers with a compressed {what}"
            )));
        }
        let declared = self.header(CONTENT_LENGTH.as_str());
        if let Some(declared) = declared.and_then(|text| text.parse().ok()) {
            check(what, length, declared, true)?;
        }
        let mut body = Vec::with_capacity(length.room());
        loop {
            let frame = drive(&mut self.driver, self.incoming.frame());
            let stalled = self.clock.now() + STALLED;
            let frame = until(self.clock, stalled, frame).await;
            let Some(frame) = frame.ok_or_else(|| stalls(host, what))? else {
                break;
            };
            let frame = frame.map_err(|error| broken(host, &error))?;
            if let Some(bytes) = frame.data_ref() {
                check(what, length, (body.len() + bytes.len()) as u64, false)?;
                body.extend_from_slice(bytes);
            }
        }
        check(what, length, body.len() as u64, true)?;
        Ok(body)
    }

    /// What a status other than the expected one means.
    pub(crate) fn problem(&self, what: &str) -> Problem {
        let status = self.status.as_u16();
        let text = format!("{} answers {status} for {what}", self.host);
        match status {
            401 => Problem::Unauthorized(format!(
                "{text}: check the credentials for it in Docker's config.json"
            )),
            403 => Problem::Denied(format!(
                "{text}: ask its owner for the right, or check the credentials"
            )),
            404 => Problem::NotFound(format!("{text}: check the name, tag and digest")),
            408 | 425 | 429 | 500..=599 => Problem::Unavailable(text, self.retry_after()),
            413 => Problem::TooLarge(format!("{text}: the registry takes nothing that large")),
            300..=399 => Problem::Refused(format!("{text}: a redirect is only followed for blobs")),
            _ => Problem::Refused(text),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        let seconds = self.header(RETRY_AFTER.as_str())?.parse::<u64>().ok()?;
        Some(Duration::from_secs(seconds.min(LONGEST_RETRY)))
    }
}

/// Compares what came so far, or all of it, with what may come.
fn check(what: &str, length: Length, found: u64, is_all: bool) -> Result<(), Problem> {
    match length {
        Length::AtMost(limit) if found > limit => Err(Problem::TooLarge(format!(
            "the {what} has more than {limit} bytes"
        ))),
        Length::Exactly(size) if found > size => Err(Problem::Refused(format!(
            "the {what} is longer than the {size} bytes that the manifest declares"
        ))),
        Length::Exactly(size) if is_all && found < size => Err(Problem::Refused(format!(
            "the {what} has {found} bytes, and the manifest declares {size}"
        ))),
        Length::AtMost(_) | Length::Exactly(_) => Ok(()),
    }
}

/// The host of a URL with its port. Nothing else of it is told: a query may hold a signature.
pub(crate) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn stalls(host: &str, what: &str) -> Problem {
    let seconds = STALLED.as_secs();
    Problem::unavailable(format!("{host} sent nothing of the {what} for {seconds} s"))
}

fn broken(host: &str, error: &hyper::Error) -> Problem {
    let text = format!("no whole answer of {host}: {}", chain(error));
    if error.is_parse_too_large() {
        return Problem::TooLarge(text);
    }
    Problem::unavailable(text)
}

/// Runs `future` and the connection together.
async fn drive<T>(driver: &mut Option<Driver>, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    poll_fn(|context| {
        // Its error is the request's too, so it is not told twice.
        if let Some(running) = driver
            && running.as_mut().poll(context).is_ready()
        {
            *driver = None;
        }
        future.as_mut().poll(context)
    })
    .await
}
