//! Reads an answer: its head, its body, and what the guest may see of both.

use std::net::SocketAddr;

use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HeaderName, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::Memory;
use super::connection::failure;
use super::decode::{BODY, Body, Coding};
use crate::error::{Error, Failure};
use crate::secrets::{Redactor, check_answer, is_digest};

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// In the order received; names in lower case, no header of the connection.
    pub headers: Vec<(String, String)>,
    /// Decoded.
    pub body: Vec<u8>,
    /// Who answered.
    pub address: SocketAddr,
    /// Whether the connection was used before.
    pub reused: bool,
}

/// Reads one answer.
pub(super) struct Reader<'a> {
    pub(super) is_head: bool,
    pub(super) memory: &'a dyn Memory,
    pub(super) redactor: &'a Redactor,
    /// Whether the host has put a secret into the request.
    pub(super) has_secret: bool,
}

impl Reader<'_> {
    /// Reads the whole answer. Who answered is filled in later.
    pub(super) async fn read(self, response: Response<Incoming>) -> Result<Answer, Failure> {
        let (head, mut incoming) = response.into_parts();
        check(head.status, &head.headers)?;
        if self.has_secret {
            check_answer(head.status, &head.headers)?;
        }
        let has_body = !self.is_head
            && head.status != StatusCode::NO_CONTENT
            && head.status != StatusCode::NOT_MODIFIED;
        let coding = if has_body {
            if declared(&head.headers).is_some_and(|length| length > BODY) {
                return Err(Failure::unsent(
                    Error::TooLarge,
                    "the answer has more than 8 MiB",
                ));
            }
            let values = head.headers.get_all(CONTENT_ENCODING);
            Coding::read(values.iter().map(|value| value.as_bytes()))?
        } else {
            Coding::Identity
        };
        let mut headers = self.headers(&head.headers, has_body)?;
        let mut body = Body::new(coding, self.memory);
        while let Some(frame) = incoming.frame().await {
            let frame = frame.map_err(|error| failure(&error))?;
            if let Some(bytes) = frame.data_ref() {
                body = body.push(bytes).await?;
            }
        }
        let mut body = body.finish()?;
        let repeats = self.redactor.clean_body(&mut body).await || self.is_head;
        if self.has_secret && repeats {
            headers.retain(|(name, _)| !is_digest(name));
        }
        if has_body && head.headers.contains_key(CONTENT_LENGTH) {
            let length = (CONTENT_LENGTH.to_string(), body.len().to_string());
            headers.push(length);
        }
        Ok(Answer {
            status: head.status.as_u16(),
            headers,
            body,
            address: SocketAddr::from(([0, 0, 0, 0], 0)),
            reused: false,
        })
    }

    /// The headers that the guest sees.
    fn headers(
        &self,
        headers: &HeaderMap,
        has_body: bool,
    ) -> Result<Vec<(String, String)>, Failure> {
        let mut seen = Vec::with_capacity(headers.len());
        let mut bytes = 0;
        for (name, value) in headers {
            let is_length = has_body && *name == CONTENT_LENGTH;
            let is_secret = self.redactor.finds(name.as_str().as_bytes());
            if is_length || is_secret || is_of_connection(name) {
                continue;
            }
            let mut value = value.as_bytes().to_vec();
            self.redactor.clean(&mut value);
            let value = String::from_utf8_lossy(&value).into_owned();
            bytes += name.as_str().len() + value.len();
            seen.push((name.as_str().to_owned(), value));
        }
        if self.memory.grow(bytes) {
            Ok(seen)
        } else {
            let reason = "the call has no memory left for the answer";
            Err(Failure::unsent(Error::TooLarge, reason))
        }
    }
}

/// Refuses an answer whose end two readers could see in two places.
fn check(status: StatusCode, headers: &HeaderMap) -> Result<(), Failure> {
    let broken = |reason: &str| Err(Failure::unsent(Error::Unavailable, reason));
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return broken("the other side switches to a protocol that nobody asked for");
    }
    if headers.contains_key(TRANSFER_ENCODING) {
        if headers.contains_key(CONTENT_LENGTH) {
            return broken("the answer has both Content-Length and Transfer-Encoding");
        }
        let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
        let is_chunked = codings
            .next()
            .is_some_and(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"));
        if !is_chunked || codings.next().is_some() {
            return broken("the answer has a transfer encoding other than chunked");
        }
    }
    Ok(())
}

fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_of_connection(name: &HeaderName) -> bool {
    [
        CONNECTION,
        TRANSFER_ENCODING,
        CONTENT_ENCODING,
        TRAILER,
        UPGRADE,
    ]
    .contains(name)
        || *name == "keep-alive"
        || name.as_str().starts_with("proxy-")
}
