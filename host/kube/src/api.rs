//! Every request to the Kubernetes API, the host's own and those of plugins.
//!
//! - Every request has a deadline, and every answer a largest size.
//! - Requests and pauses run as host tasks: a guest's thread has neither I/O nor timers.
//! - A plugin's writes pass the gate of its Lease.
//! - Nothing is repeated here: whether that is safe is for the caller to know.

pub mod builtin;
mod discovery;
mod error;
mod gate;
mod identity;
mod lines;
mod request;
mod requests;
mod resource;
#[cfg(test)]
mod tests;

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
pub use kube::client::Body as RequestBody;
pub use kube::core::{ApiResource, Duration as GoDuration, GroupVersionKind};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::Instrument;

pub use builtin::is_cluster_scoped;
pub use discovery::{Discovery, Lookup, ServedKind, Unserved};
pub use error::{ApiError, RefusedBy};
pub use gate::Gate;
pub use identity::{InvalidServiceAccount, ServiceAccount};
pub use lines::Lines;
pub use request::{Accept, Request};
pub(crate) use requests::InFlightRequest;
pub use requests::Requests;
pub use resource::{BadName, Resource, api_path, group_of, segment};

use identity::Identity;
use request::{JSON, LARGEST_ANSWER, METADATA};
use windlass_base::bugs::bug;
use windlass_base::flowcontrol::RequestEnd;
use windlass_base::memory::{Account, Charge};
use windlass_base::seams::{Clock, Rng, Seams};
use windlass_base::spans;

/// How long one request may take, from sending it to the last byte of its answer; of a watch, to the
/// head of its answer.
const REQUEST_DEADLINE: Duration = Duration::from_secs(20);

/// A JSON object of the fields that are there.
pub fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let present = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(present.collect())
}

/// Sends requests. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    client: kube::Client,
    seams: Seams,
    gate: Option<Gate>,
    /// Whether it sends reads alone.
    read_only: bool,
    requests: Requests,
    identity: Identity,
}

impl Api {
    /// Sends to the server that `client` speaks to.
    pub fn new(client: kube::Client, seams: Seams) -> Self {
        Self {
            client,
            seams,
            gate: None,
            read_only: false,
            requests: Requests::default(),
            identity: Identity::Own,
        }
    }

    /// Sends to an API server in this process.
    pub fn in_process<S, B>(service: S, seams: Seams) -> Self
    where
        S: tower::Service<http::Request<Body>, Response = http::Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<tower::BoxError>,
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<tower::BoxError>,
    {
        Self::new(kube::Client::new(service, "default"), seams)
    }

    /// What is counted of its requests.
    pub fn requests(&self) -> Requests {
        self.requests.clone()
    }

    /// The same, but writes pass `gate` first, and must have ended while it is open.
    #[must_use]
    pub fn gated(&self, gate: Gate) -> Self {
        Self {
            gate: Some(gate),
            ..self.clone()
        }
    }

    /// The same, over a connection that itself names somebody else in each request.
    #[must_use]
    pub fn acting_as_other(self) -> Self {
        let identity = Identity::Other;
        Self { identity, ..self }
    }

    /// The same, but every request is made as `account`.
    #[must_use]
    pub fn acting_as(&self, account: &ServiceAccount) -> Self {
        Self {
            identity: self.identity.acting_as(account),
            ..self.clone()
        }
    }

    /// The same, but it sends reads alone: whatever is asked of it, nothing is written.
    #[must_use]
    pub fn read_only(&self) -> Self {
        Self {
            read_only: true,
            ..self.clone()
        }
    }

    /// Why no request can be made as the account that it acts as.
    pub fn problem(&self) -> Option<String> {
        self.identity.problem()
    }

    /// Whether it sends reads alone.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Opens a watch, with lines of at most `longest` bytes.
    ///
    /// # Errors
    /// As [`Api::send`].
    pub async fn watch(
        &self,
        uri: String,
        accept: Accept,
        longest: usize,
    ) -> Result<Lines, ApiError> {
        let accept = match accept {
            Accept::Whole => JSON,
            Accept::Metadata => METADATA,
        };
        // Some servers compress a watch event by event, which saves nothing.
        let request = self
            .identity
            .add_to(http::Request::builder())?
            .uri(uri)
            .header(http::header::ACCEPT, accept)
            .header(http::header::ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .map_err(|error| ApiError::Garbled(error.to_string()))?;
        let counted = self.requests.begin(Method::GET, self.seams.clock);
        let opened = async {
            let response = self.client.send(request).await;
            let response = response.map_err(|error| ApiError::from_client(&error))?;
            counted.answered(response.status());
            if response.status().is_success() {
                return Ok(Lines::new(response.into_body(), longest));
            }
            let (head, body) = response.into_parts();
            let (body, _) = whole(body, LARGEST_ANSWER, None).await?;
            Err(refusal(&head, &body))
        };
        let clock = self.seams.clock;
        let opened = clock.within(REQUEST_DEADLINE, opened).await;
        opened.unwrap_or_else(|| Err(late(REQUEST_DEADLINE)))
    }

    /// Sends `request` and waits for the whole answer.
    ///
    /// # Errors
    /// The server said no, gave no answer in time, or gave one that is not Kubernetes'; a write was not let
    /// through.
    pub async fn send(&self, request: Request) -> Result<Value, ApiError> {
        self.fetch(request).await
    }

    /// As [`Api::send`], with the answer as it is written.
    ///
    /// # Errors
    /// As [`Api::send`].
    pub async fn text(&self, request: Request) -> Result<Box<RawValue>, ApiError> {
        self.fetch(request).await
    }

    /// As [`Api::send`], of which only a part is wanted.
    ///
    /// # Errors
    /// As [`Api::send`].
    pub async fn fetch<T: DeserializeOwned + Send + 'static>(
        &self,
        request: Request,
    ) -> Result<T, ApiError> {
        if self.read_only && request.method != Method::GET {
            return Err(ApiError::ReadOnly);
        }
        let (client, clock) = (self.client.clone(), self.seams.clock);
        let requests = self.requests.clone();
        let identity = self.identity.clone();
        let gate = self.gate.clone().filter(|_| request.method != Method::GET);
        let span = spans::request(&request.method, &request.uri);
        let exchange = async move {
            // Asked as late as can be: the task may have waited for its turn.
            let allowance = match &gate {
                Some(gate) => bug!(TheGateIsOpen, gate.allowance(), Some(REQUEST_DEADLINE))
                    .ok_or(ApiError::NotLeader)?,
                None => REQUEST_DEADLINE,
            };
            let deadline = allowance.min(REQUEST_DEADLINE);
            let (seat, began) = (request.seat.clone(), clock.now());
            let counted = requests.begin(request.method.clone(), clock);
            let answer = clock.within(deadline, exchange(client, (request, identity), counted));
            let answer = answer.await.unwrap_or_else(|| Err(late(deadline)));
            if let Some(seat) = seat {
                let took = clock.now() - began;
                seat.lock().ended(request_end(&answer, took));
            }
            answer.inspect_err(spans::broken)
        };
        let exchange = self.seams.spawn.task(exchange.instrument(span));
        let lost = |error: tokio::task::JoinError| {
            Err(ApiError::Unreachable(format!(
                "the request was dropped: {error}"
            )))
        };
        exchange.await.unwrap_or_else(lost)
    }

    /// Waits before a request is sent again, a little longer each time for somebody else.
    pub async fn pause(&self, wait: Duration) {
        let (clock, wait) = (self.seams.clock, self.seams.rng.spread(wait, 0.5));
        let pause = self
            .seams
            .spawn
            .task(async move { clock.sleep(wait).await });
        // It can only be lost with the host.
        drop(pause.await);
    }

    /// Waits for `work` at most so long. Answers whether it is done.
    pub async fn within(
        &self,
        longest: Duration,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> bool {
        let clock = self.seams.clock;
        let work = async move { clock.within(longest, work).await.is_some() };
        // It can only be lost with the host.
        self.seams.spawn.task(work).await.unwrap_or(false)
    }

    /// Whether writes pass the gate now.
    pub fn may_write(&self) -> bool {
        let gate = self.gate.as_ref();
        !self.read_only && gate.is_none_or(|gate| gate.allowance().is_some())
    }

    /// The time, for who sends requests again.
    pub fn clock(&self) -> Clock {
        self.seams.clock
    }

    /// Random numbers, for calls.
    pub fn rng(&self) -> &Rng {
        &self.seams.rng
    }

    /// Reads one object; `None` if there is none.
    ///
    /// # Errors
    /// As [`Api::send`], but for 404.
    pub async fn read<T: DeserializeOwned + Send + 'static>(
        &self,
        uri: String,
    ) -> Result<Option<T>, ApiError> {
        match self.fetch(Request::get(uri)).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// How a request ended, for the limit of those in flight.
fn request_end<T>(answer: &Result<T, ApiError>, took: Duration) -> RequestEnd {
    match answer {
        Ok(_) => RequestEnd::Answered(took),
        Err(error) if error.code() == Some(429) && error.slow_down().is_some() => {
            RequestEnd::Refused
        }
        Err(error) if error.is_no_answer() => RequestEnd::Unknown,
        Err(error) if error.code().is_some() => RequestEnd::Answered(took),
        Err(_) => RequestEnd::Unknown,
    }
}

async fn exchange<T: DeserializeOwned>(
    client: kube::Client,
    (request, identity): (Request, Identity),
    counted: InFlightRequest,
) -> Result<T, ApiError> {
    let mut builder = identity
        .add_to(http::Request::builder())?
        .method(request.method)
        .uri(request.uri)
        .header(http::header::ACCEPT, request.accept);
    let (longest, account) = (request.longest, request.account);
    let body = match request.body {
        Some((media_type, bytes)) => {
            builder = builder.header(http::header::CONTENT_TYPE, media_type);
            Body::from(bytes)
        }
        None => Body::empty(),
    };
    let request = builder
        .body(body)
        .map_err(|error| ApiError::Garbled(error.to_string()))?;
    let response = client
        .send(request)
        .await
        .map_err(|error| ApiError::from_client(&error))?;
    let (head, body) = response.into_parts();
    // It counts until it is taken apart.
    let (body, _charge) = whole(body, longest, account.as_ref()).await?;
    counted.answered(head.status);
    spans::status(head.status);
    if head.status.is_success() {
        return serde_json::from_slice(&body).map_err(|_| ApiError::not_json(&body));
    }
    Err(refusal(&head, &body))
}

/// Reads a body of at most `longest` bytes. What is more than there is room for counts on the account as it comes, until
/// what is returned with it is dropped: twice, since it is taken apart then.
async fn whole<B>(
    body: B,
    longest: usize,
    account: Option<&(Account, usize)>,
) -> Result<(Bytes, Option<Charge>), ApiError>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = pin!(Limited::new(body, longest));
    let mut charge = account.map(|(account, held)| (account.passing(), *held));
    let (mut chunks, mut length) = (Vec::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| ApiError::from_body(&*error))?;
        // Trailers say nothing.
        let Ok(data) = frame.into_data() else {
            continue;
        };
        length += data.len();
        if let Some((charge, held)) = &mut charge {
            let beyond = length.saturating_sub(*held);
            let more = (2 * beyond).saturating_sub(charge.bytes());
            if more > 0 {
                charge.grow(more).map_err(ApiError::NoRoom)?;
            }
        }
        chunks.push(data);
    }
    // A short answer is one chunk, which is not copied.
    let body = match <[Bytes; 1]>::try_from(chunks) {
        Ok([only]) => only,
        Err(chunks) => chunks.concat().into(),
    };
    Ok((body, charge.map(|(charge, _)| charge)))
}

fn late(deadline: Duration) -> ApiError {
    let message = format!("no answer within {} s", deadline.as_secs());
    ApiError::Unreachable(message)
}

fn refusal(head: &http::response::Parts, body: &[u8]) -> ApiError {
    let retry_after = head.headers.get(http::header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|seconds| seconds.to_str().ok()?.parse().ok());
    ApiError::from_status(head.status.as_u16(), retry_after, body)
}
