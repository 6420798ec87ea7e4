//! Answers: the API server's passed on, and those the proxy makes up.

use std::io;

use http_body_util::channel::{Channel, Sender};
use http_body_util::{Either, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::json;

/// The body of an answer: whole, or coming in pieces.
pub(super) type Body = Either<Full<Bytes>, Channel<Bytes, io::Error>>;
/// Where the pieces of a body come from.
pub(super) type Pieces = Sender<Bytes, io::Error>;

const PIECE: &[u8] = &[b' '; 64 * 1024];

/// A body whose pieces are given to the sender, and are sent as they come.
pub(super) fn in_pieces() -> (Pieces, Body) {
    let (pieces, body) = Channel::new(1);
    (pieces, Either::Right(body))
}

/// An error as the API server makes them.
pub(super) fn status(code: u16, retry_after: Option<u32>) -> Response<Body> {
    let reason = match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    };
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "made up by the fault proxy", "reason": reason, "code": code,
        "details": retry_after.map(|seconds| json!({ "retryAfterSeconds": seconds })),
    });
    let mut response = whole(code, "application/json", body.to_string());
    if let Some(seconds) = retry_after {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// An error as load balancers make them.
pub(super) fn html(code: u16) -> Response<Body> {
    let page = format!("<html><body><h1>{code}</h1>made up by the fault proxy</body></html>\n");
    whole(code, "text/html", page)
}

/// The head of a list that never ends, and the work of sending it.
pub(super) fn endless() -> (Response<Body>, impl Future<Output = ()> + Send) {
    let (mut pieces, body) = in_pieces();
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let send = async move {
        let start = Bytes::from_static(br#"{"kind":"List","apiVersion":"v1","items":["#);
        let mut sent = pieces.send_data(start).await;
        while sent.is_ok() {
            sent = pieces.send_data(Bytes::from_static(PIECE)).await;
        }
    };
    (response, send)
}

fn whole(code: u16, content_type: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::from(body)));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_GATEWAY);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
