//! The server as a tower service: a request in, an answer out; no socket, no task of its own.

mod boot;
mod dispatch;
mod encoded;

use std::convert::Infallible;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Buf;
use http::{Method, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tower_service::Service;

use crate::answer::Answer;
use crate::body::Body;
use crate::faults;
pub use crate::options::Options;
use crate::rbac::{Attributes, impersonation};
use crate::request::query::Query;
use crate::request::route::Route;
use crate::request::{MAX_BODY, Request, User};
use crate::seams::Seams;
use crate::state::State;
use crate::status::Refusal;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A Kubernetes API server in memory. Clones are the same server.
#[derive(Clone, Debug)]
pub struct Server(Arc<State>);

impl Deref for Server {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl Server {
    /// A server with the built-in kinds and the namespaces that every cluster has.
    pub fn new(seams: Seams) -> Self {
        Self::with(seams, Options::default())
    }

    /// A server with options.
    pub fn with(seams: Seams, options: Options) -> Self {
        let state = State::new(seams, options);
        boot::fill(&state);
        for resource in state.registry().all() {
            state.store().begin(&resource.place());
        }
        Self(Arc::new(state))
    }

    /// Answers one request whose body is complete; a refusal is its answer.
    pub fn answer(&self, request: &Request) -> Answer {
        dispatch::answer(self, request)
    }

    /// Answers a request of the server's own.
    pub(crate) fn ask(&self, request: &Request) -> Result<Answer, Refusal> {
        dispatch::ask(self, request)
    }

    /// Answers one request.
    pub async fn handle<B>(&self, request: http::Request<B>) -> Response<Body>
    where
        B: http_body::Body,
        B::Data: Buf,
        B::Error: Into<BoxError>,
    {
        let head = request.method() == Method::HEAD;
        let permitted = match self.read(request).await {
            Ok(mut request) => self.permit(&mut request).map(|()| request),
            Err(refusal) => Err(refusal),
        };
        let mut answer = match permitted {
            Ok(mut request) => {
                let answer = self.through_faults(&mut request).await;
                encoded::encoded(&request, answer)
            }
            Err(refusal) => refusal.into(),
        };
        if head {
            answer.body = Body::pieces([]);
        }
        answer.into_response()
    }

    /// Lets a request be made as whom its headers say, and only if that user may make it.
    ///
    /// # Errors
    /// 403 if not; 400 if the headers do not say as whom.
    pub fn permit(&self, request: &mut Request) -> Result<(), Refusal> {
        let (authorizer, store) = (self.authorizer(), self.store());
        let decide = |asked: &Attributes| authorizer.decide(store, asked);
        if let Some(wanted) = impersonation::wanted(&request.headers)? {
            request.user = impersonation::act(&Attributes::of(request), &wanted, decide)?;
        }
        authorizer.allow(store, &Attributes::of(request))
    }

    async fn through_faults(&self, request: &mut Request) -> Answer {
        let faults = self.faults().hit(request);
        if faults.is_empty() {
            return dispatch::answer(self, request);
        }
        let clock = &self.seams().clock;
        if let Some(answer) = faults::ahead(&faults, clock, self.store(), request).await {
            return answer;
        }
        let answer = dispatch::answer(self, request);
        faults::instead(&faults, clock, request, answer).await
    }

    async fn read<B>(&self, request: http::Request<B>) -> Result<Request, Refusal>
    where
        B: http_body::Body,
        B::Data: Buf,
        B::Error: Into<BoxError>,
    {
        let (head, body) = request.into_parts();
        let user = head.extensions.get::<User>().cloned();
        let body = match Limited::new(body, MAX_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return Err(too_large()),
            Err(error) => return Err(Refusal::bad_request(error.to_string())),
        };
        let path = unescaped(head.uri.path())?;
        Ok(Request {
            route: Route::parse(&path),
            path,
            query: Query::parse(head.uri.query().unwrap_or_default()),
            method: head.method,
            headers: head.headers,
            body,
            user: user.unwrap_or_else(User::admin),
        })
    }
}

fn too_large() -> Refusal {
    Refusal::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "RequestEntityTooLarge",
        format!("Request entity too large: limit is {MAX_BODY}"),
    )
}

fn unescaped(path: &str) -> Result<String, Refusal> {
    let text = percent_encoding::percent_decode_str(path)
        .decode_utf8()
        .map_err(|_| Refusal::bad_request("the path is not UTF-8"))?;
    Ok(text.into_owned())
}

impl<B> Service<http::Request<B>> for Server
where
    B: http_body::Body + Send + 'static,
    B::Data: Buf + Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.handle(request).await) })
    }
}
