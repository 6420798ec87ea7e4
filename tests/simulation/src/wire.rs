//! The way between one host and the server: it takes time, and things get lost on it.
//!
//! - A request that has left its host reaches the server whatever becomes of the host meanwhile.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::json;
use tokio::sync::oneshot;
use tower_service::Service;
use windlass_apiserver::body::Body;
use windlass_apiserver::request::User;
use windlass_apiserver::request::route::Verb;
use windlass_base::seams::Process;

use crate::deeds;
use crate::fault::{Fault, What};
use crate::network::{Class, about, class};
use crate::trace::{Answer, What as Happened};
use crate::world::World;

/// Longer than a host waits for anything.
const NEVER: Duration = Duration::from_secs(120);

type Outcome = io::Result<Response<Body>>;
type Request = http::Request<Full<Bytes>>;

/// The way of one host.
#[derive(Clone)]
pub struct Wire {
    /// The world.
    pub world: Arc<World>,
    /// The host.
    pub process: Process,
    /// Its name, which is its user at the server as well.
    pub name: Arc<str>,
}

/// What the wire does to a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    Reset,
    Lost,
}

impl Service<http::Request<kube::client::Body>> for Wire {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Outcome> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<kube::client::Body>) -> Self::Future {
        let wire = self.clone();
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
            head.extensions.insert(User {
                name: wire.name.to_string(),
                ..User::admin()
            });
            let request = Request::from_parts(head, Full::new(body));
            let (answer, answered) = oneshot::channel();
            tokio::spawn(wire.carry(request, answer));
            answered.await.unwrap_or_else(|_| Err(reset()))
        })
    }
}

impl Wire {
    async fn carry(self, request: Request, answer: oneshot::Sender<Outcome>) {
        let (verb, plural) = about(request.method(), request.uri());
        let uri = request.uri().to_string();
        let class = class(verb, &plural);
        self.world.travel().await;
        let (fate, response) = self.exchange(request, class).await;
        let status = response.as_ref().map(Response::status);
        let shown = match (fate, status) {
            (Fate::Answered, Some(status)) => Answer::Status(status.as_u16()),
            (Fate::Reset, _) => Answer::Reset,
            (_, _) => Answer::Never,
        };
        let verb = verb.map_or("get", Verb::word);
        let request = Happened::Request {
            verb,
            uri,
            answer: shown,
        };
        self.world.trace.add(&self.name, request);
        match (fate, response) {
            (Fate::Answered, Some(response)) => {
                self.world.travel().await;
                let slow = self.clone();
                drop(answer.send(Ok(response.map(|body| slow.slowly(body, class)))));
            }
            (Fate::Reset, _) => drop(answer.send(Err(reset()))),
            (_, _) => {
                self.world.clock.sleep(NEVER).await;
                drop(answer);
            }
        }
    }

    /// Brings a request to the server, or not.
    async fn exchange(&self, request: Request, class: Class) -> (Fate, Option<Response<Body>>) {
        let world = &self.world;
        if world.network.is_cut_off(&self.name).is_some()
            || (class == Class::Renewal && world.network.is_deaf())
        {
            return (Fate::Lost, None);
        }
        if world.network.is_busy() && !request.uri().path().contains("/leases") {
            return (Fate::Answered, Some(refusal(429, Some(1))));
        }
        let lists_leases =
            request.uri().path().ends_with("/leases") && request.method() == http::Method::GET;
        if lists_leases && world.network.refuses_lists() {
            return (Fate::Answered, Some(refusal(403, None)));
        }
        let faults = world.network.meet(class);
        for fault in &faults {
            world.trace.deed("chance", format_args!("{fault}"));
        }
        for fault in &faults {
            if let Some(end) = self.ahead(fault) {
                return end;
            }
        }
        let path = request.uri().path().to_owned();
        let Ok(response) = infallible(world.server.handle(request).await);
        if class == Class::Write && faults.iter().any(|fault| fault.what == What::Fight) {
            deeds::fight(world, &path);
        }
        for fault in &faults {
            match fault.what {
                What::CrashDone => {
                    self.process.kill();
                    return (Fate::Lost, Some(response));
                }
                What::CrashAfter => self.kill_soon(),
                What::RefuseDone => return (Fate::Answered, Some(refusal(fault.size, None))),
                What::ResetDone => return (Fate::Reset, None),
                What::TimeoutDone => return (Fate::Lost, None),
                _ => {}
            }
        }
        (Fate::Answered, Some(response))
    }

    /// What happens instead of the request, or beside it.
    fn ahead(&self, fault: &Fault) -> Option<(Fate, Option<Response<Body>>)> {
        let refuse = |status, after| Some((Fate::Answered, Some(refusal(status, after))));
        match fault.what {
            What::CrashBefore => {
                self.process.kill();
                Some((Fate::Lost, None))
            }
            What::Refuse | What::ReadRefuse => refuse(fault.size, None),
            What::LeaseConflict => refuse(409, None),
            What::Throttle => refuse(429, Some(fault.size)),
            What::Quota | What::Terminating => refuse(403, None),
            What::Reset => Some((Fate::Reset, None)),
            What::Timeout | What::ReadTimeout => Some((Fate::Lost, None)),
            What::Swap => {
                deeds::swap(&self.world, fault.at);
                None
            }
            What::Remove => {
                let (world, number, seconds) = (self.world.clone(), fault.at, fault.size);
                tokio::spawn(async move { deeds::remove(&world, number, seconds).await });
                None
            }
            _ => None,
        }
    }

    /// The answer arrives, and soon after that the host dies.
    fn kill_soon(&self) {
        let wire = self.clone();
        let turns = self.world.below(12);
        let soon = Duration::from_millis(self.world.below(800));
        tokio::spawn(async move {
            wire.world.clock.sleep(soon).await;
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            wire.process.kill();
        });
    }

    /// The body of an answer of this class, a while after each of its pieces has left the server.
    fn slowly(self, body: Body, class: Class) -> Body {
        let breaks = self.world.network.breaks(&self.name);
        let state = (self, body.chunks(), breaks, class);
        let chunks = stream::unfold(state, async |(wire, mut chunks, breaks, class)| {
            let chunk = chunks.next().await?;
            wire.world.travel().await;
            if wire.world.network.breaks(&wire.name) > breaks {
                return None;
            }
            let network = &wire.world.network;
            let cut_off = network.is_cut_off(&wire.name);
            let muffled = network.is_muffled(&wire.name);
            if let Some(until) = cut_off.max(muffled.filter(|_| class == Class::Watch)) {
                wire.world.clock.sleep_until(until).await;
            }
            Some((chunk, (wire, chunks, breaks, class)))
        });
        Body::stream(chunks)
    }
}

fn infallible<T>(value: T) -> Result<T, Infallible> {
    Ok(value)
}

fn reset() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

/// An answer that says no.
fn refusal(status: u64, retry_after: Option<u64>) -> Response<Body> {
    let status = u16::try_from(status).unwrap_or(500);
    let reason = match status {
        403 => "Forbidden",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    let body = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "this was made to fail on purpose",
        "reason": reason,
        "code": status,
    });
    let mut response = Response::new(Body::from(body.to_string().into_bytes()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    let headers = response.headers_mut();
    let json = http::HeaderValue::from_static("application/json");
    headers.insert(http::header::CONTENT_TYPE, json);
    if let Some(seconds) = retry_after {
        headers.insert(http::header::RETRY_AFTER, seconds.into());
    }
    response
}
