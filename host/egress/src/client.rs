//! Sends one request and reads its answer, over connections that one plugin keeps.
//!
//! - A connection goes to an address that was checked for this very request.
//! - At most four connections are open. Requests wait for one in the order in which they came.
//! - A connection is used again only for the same origin, address, credential and certificate.
//! - A request is sent once. If an old connection proves closed before a byte was written, a new one is opened.

mod answer;
mod connect;
mod connection;
mod decode;
mod dial;
mod pool;
mod wire;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Version};
use http_body_util::Full;
use tokio::time::Instant;
use tokio_rustls::rustls::RootCertStore;

use crate::addresses::{ApiServers, Lookups, Resolve, SharedLookups};
use crate::clock::until;
use crate::error::{Error, Failure, Sent};
use crate::fill::Filled;
use crate::location::{Origin, Scheme};
use crate::rules::Permitted;
use crate::secrets::check_request;
use crate::tls::TlsParts;
pub use answer::Answer;
use connect::{Configs, Route};
pub use dial::{Dial, Dialing, TcpDialer};
use pool::{Pool, Slot};
use windlass_base::seams::Clock;
use wire::Written;

/// The longest time until an answer begins.
pub const ANSWER_BEGINS: Duration = Duration::from_secs(10);

type Message = http::Request<Full<bytes::Bytes>>;

/// Where bytes of an answer are counted before they are kept.
pub trait Memory: Send + Sync {
    /// Counts `bytes` more; false if there is no room for them.
    fn grow(&self, bytes: usize) -> bool;
}

/// A server on this machine that stands in for an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    address: SocketAddr,
    scheme: Scheme,
}

impl Local {
    /// A server on a loopback address; none if `address` is another one.
    pub fn new(address: SocketAddr, scheme: Scheme) -> Option<Self> {
        let is_local = address.ip().to_canonical().is_loopback();
        is_local.then_some(Self { address, scheme })
    }
}

/// What the clients of all plugins share.
#[derive(Clone)]
pub struct Settings {
    /// The authorities that are trusted where a rule names none.
    pub roots: Arc<RootCertStore>,
    /// Says which addresses are those of the API server.
    pub servers: Arc<dyn ApiServers>,
    /// Finds addresses.
    pub resolver: Arc<dyn Resolve>,
    /// How many lookups run at once.
    pub lookups: SharedLookups,
    /// Opens connections.
    pub dialer: Arc<dyn Dial>,
    /// Tells the time.
    pub clock: Clock,
    /// Servers that stand in for origins, of tests and of `dev --http`. Their addresses are not checked.
    pub local: BTreeMap<Origin, Local>,
    /// Sent where the guest sets none.
    pub user_agent: HeaderValue,
}

/// Under which terms one request is sent.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// When the whole exchange must be over.
    pub deadline: Instant,
    /// Counts the answer.
    pub memory: &'a dyn Memory,
    /// The values of the rule's `ca` and `clientCertificate`.
    pub tls: &'a TlsParts,
}

/// Sends the requests of one plugin.
pub struct Client {
    settings: Settings,
    configs: Configs,
    pool: Pool,
    lookups: Lookups,
}

impl Client {
    /// A client without connections.
    pub fn new(settings: Settings) -> Self {
        Self {
            lookups: Lookups::new(settings.lookups.clone()),
            settings,
            configs: Configs::default(),
            pool: Pool::default(),
        }
    }

    /// Sends a request and reads the whole answer. If the future is dropped, so is the connection.
    ///
    /// # Errors
    /// There is no answer; [`Failure::sent`] says whether the other side may have acted.
    pub async fn send(
        &self,
        permitted: Permitted<'_>,
        filled: Filled,
        terms: Terms<'_>,
    ) -> Result<Answer, Failure> {
        if self.settings.clock.now() >= terms.deadline {
            return Err(timeout("the time of the call is over"));
        }
        let written = Written::default();
        let exchange = self.exchange(permitted, &filled, terms, &written);
        let clock = self.settings.clock;
        let answer = until(clock, terms.deadline, exchange).await;
        let late = || Err(timeout("no whole answer before the deadline"));
        answer.unwrap_or_else(late).map_err(|failure| Failure {
            reason: filled.redactor.text(&failure.reason),
            sent: written.sent(),
            ..failure
        })
    }

    async fn exchange(
        &self,
        permitted: Permitted<'_>,
        filled: &Filled,
        terms: Terms<'_>,
        written: &Written,
    ) -> Result<Answer, Failure> {
        let clock = self.settings.clock;
        let is_head = permitted.request.method == Method::HEAD;
        let mut slot = self.pool.slot().await;
        let begins_by = clock.now() + ANSWER_BEGINS;
        let begun = self.begin(&permitted, filled, terms.tls, &mut slot, written);
        let Some(begun) = until(clock, begins_by, begun).await else {
            return Err(timeout("no answer began within 10 s"));
        };
        let (mut connection, response) = begun?;
        let reader = answer::Reader {
            is_head,
            memory: terms.memory,
            redactor: &filled.redactor,
            has_secret: !filled.headers.is_empty(),
        };
        let mut answer = connection.drive(reader.read(response)).await?;
        answer.address = connection.route.address;
        answer.reused = connection.used;
        if connection.can_be_used_again().await {
            slot.keep(connection, clock.now());
        }
        Ok(answer)
    }

    /// Writes the request to a connection, and waits for the head of the answer.
    async fn begin(
        &self,
        permitted: &Permitted<'_>,
        filled: &Filled,
        tls: &TlsParts,
        slot: &mut Slot<'_>,
        written: &Written,
    ) -> Result<
        (
            connection::Connection,
            http::Response<hyper::body::Incoming>,
        ),
        Failure,
    > {
        let rule = permitted.rule;
        if tls.has() != (rule.ca.is_some(), rule.client_certificate.is_some()) {
            let text = "the host has not read what the rule names for TLS".to_owned();
            return Err(Failure::unsent(Error::Other(text.clone()), text));
        }
        let routes = connect::routes(&self.settings, &self.lookups, permitted, filled, tls).await?;
        let mut message = self.message(permitted, filled)?;
        while let Some(mut connection) = slot.take(&routes, self.settings.clock.now()) {
            if !connection.is_usable(written).await {
                continue;
            }
            match connection.send(message).await {
                Ok(response) => return Ok((connection, response)),
                Err(unanswered) => message = unanswered.unwritten()?,
            }
        }
        slot.make_room();
        let mut connection = self.open(&routes, tls, written).await?;
        match connection.send(message).await {
            Ok(response) => Ok((connection, response)),
            Err(unanswered) => Err(unanswered.failure),
        }
    }

    /// Opens a connection to the first address that answers.
    async fn open(
        &self,
        routes: &[Route],
        tls: &TlsParts,
        written: &Written,
    ) -> Result<connection::Connection, Failure> {
        let config = self.configs.of(routes, tls, &self.settings.roots)?;
        let clock = self.settings.clock;
        let mut left = u32::try_from(routes.len()).unwrap_or(u32::MAX);
        let mut failure = Failure::unsent(Error::Unavailable, "the name has no address");
        let ends = clock.now() + ANSWER_BEGINS;
        for route in routes {
            let now = clock.now();
            let share = ends.saturating_duration_since(now) / left.max(1);
            left -= 1;
            let opened = connection::open(&*self.settings.dialer, route, config.clone(), written);
            failure = match until(clock, now + share, opened).await {
                Some(Ok(connection)) => return Ok(connection),
                Some(Err(failure)) => failure,
                None => timeout(&format!("no connection to {}", route.address)),
            };
        }
        Err(failure)
    }

    /// What goes over the wire. The location is the one that was compared.
    fn message(&self, permitted: &Permitted<'_>, filled: &Filled) -> Result<Message, Failure> {
        let request = &permitted.request;
        if !filled.headers.is_empty() {
            check_request(&request.headers)?;
        }
        let target = request.location.target();
        let mut headers = HeaderMap::with_capacity(request.headers.len() + 4);
        let host = HeaderValue::from_str(&request.location.origin().authority());
        headers.insert(
            HOST,
            host.map_err(|_| Failure::invalid("the host is no header"))?,
        );
        headers.extend(request.headers.clone());
        headers
            .entry(USER_AGENT)
            .or_insert_with(|| self.settings.user_agent.clone());
        if request
            .headers
            .get(ACCEPT_ENCODING)
            .is_none_or(|coding| coding != "identity")
        {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate"));
        }
        if !request.body.is_empty() || !is_bodiless(&request.method) {
            headers.insert(CONTENT_LENGTH, request.body.len().into());
        }
        for (name, value) in &filled.headers {
            headers.insert(name, value.clone());
        }
        let uri: http::Uri = target
            .parse()
            .map_err(|_| Failure::invalid("the path cannot be sent"))?;
        if uri.to_string() != target {
            return Err(Failure::invalid(
                "the path cannot be sent as it was compared",
            ));
        }
        let mut message = Message::new(Full::new(request.body.clone()));
        *message.method_mut() = request.method.clone();
        *message.uri_mut() = uri;
        *message.version_mut() = Version::HTTP_11;
        *message.headers_mut() = headers;
        Ok(message)
    }

    /// Closes the connections that nothing has used for a while.
    pub fn close_old(&self) {
        self.pool.close_old(self.settings.clock.now());
    }

    /// Closes all connections that no request uses.
    pub fn close_all(&self) {
        self.pool.close_all();
    }

    /// The connections that no request uses.
    pub fn idle(&self) -> usize {
        self.pool.idle()
    }
}

/// Whether a request of the method has no length if it has no body.
fn is_bodiless(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS
    )
}

fn timeout(reason: &str) -> Failure {
    Failure {
        error: Error::Timeout,
        reason: reason.to_owned(),
        sent: Sent::No,
    }
}
