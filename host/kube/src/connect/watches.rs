//! Sends a watch over a connection that it shares with others, and any other request over one of its own.
//!
//! - A read or a write never waits for what a watch is sent.
//! - A server that speaks no HTTP/2 gets everything over HTTP/1.1.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::Connect;
use kube::client::Body;
use tower::{BoxError, Service};

use super::shared::{Connector, SendResult, SharedConnections, StreamPermit};

/// All connections to the API server.
#[derive(Clone)]
pub(super) struct Connections<C, S> {
    own: Client<C, Body>,
    shared: SharedConnections<S>,
}

impl<C, S> Connections<C, S> {
    /// Watches go over `shared`, all else over `own`.
    pub(super) fn new(own: Client<C, Body>, shared: SharedConnections<S>) -> Self {
        Self { own, shared }
    }
}

impl<C, S> Service<Request<Body>> for Connections<C, S>
where
    C: Connect + Clone + Send + Sync + 'static,
    S: Connector,
{
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { own, shared } = self.clone();
        Box::pin(async move {
            let request = if is_watch(request.method(), request.uri()) {
                match shared.send(request).await? {
                    SendResult::Answered(response, place) => {
                        return Ok(response.map(|body| ResponseBody::new(body, Some(place))));
                    }
                    SendResult::Refused(request) => request,
                }
            } else {
                request
            };
            let response = own.request(request).await?;
            Ok(response.map(|body| ResponseBody::new(body, None)))
        })
    }
}

/// Whether the answer goes on until somebody has had enough of it.
fn is_watch(method: &Method, uri: &Uri) -> bool {
    let asks = |(name, value): (_, _)| name == "watch" && matches!(value, "true" | "1");
    let pairs = uri.query().unwrap_or_default().split('&');
    method == Method::GET && pairs.filter_map(|pair| pair.split_once('=')).any(asks)
}

/// What comes after an answer's head. It holds the answer's place on its connection.
pub(super) struct ResponseBody {
    body: Incoming,
    _place: Option<StreamPermit>,
}

impl ResponseBody {
    fn new(body: Incoming, place: Option<StreamPermit>) -> Self {
        Self {
            body,
            _place: place,
        }
    }
}

impl hyper::body::Body for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_asks_to_go_on_is_a_watch() {
        let cases = [
            (Method::GET, "/api/v1/pods?watch=true", true),
            (Method::GET, "/api/v1/pods?limit=1&watch=1&x=y", true),
            (
                Method::GET,
                "/api/v1/pods?watch=true&sendInitialEvents=true",
                true,
            ),
            (Method::GET, "/api/v1/pods?watch=false", false),
            (
                Method::GET,
                "/api/v1/pods?fieldSelector=watch%3Dtrue",
                false,
            ),
            (Method::GET, "/api/v1/pods?limit=500", false),
            (Method::GET, "/api/v1/pods", false),
            (Method::POST, "/api/v1/pods?watch=true", false),
        ];
        for (method, uri, want) in cases {
            let uri = Uri::from_static(uri);
            assert_eq!(is_watch(&method, &uri), want, "{method} {uri}");
        }
    }
}
