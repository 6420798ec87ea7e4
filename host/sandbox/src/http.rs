//! The HTTP requests of plugins: what all plugins of a host share, and what one of them has.

mod requests;
mod servers;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http::HeaderValue;
use parking_lot::Mutex;
use windlass_egress::{
    ANSWER_BEGINS, Answer, ApiServers, Client, Error, Failure, Local, Memory, ObjectName, Origin,
    Request, RequestBucket, Rules, SecretData, Sent, Settings, SharedLookups, SystemResolver,
    TcpDialer, Terms, TlsParts, system_roots,
};

pub use requests::HttpRequests;
pub use servers::ServerAddresses;

use windlass_base::memory::Charge;
use windlass_base::seams::Seams;

/// What servers know the host by.
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("windlass/", env!("CARGO_PKG_VERSION")));

/// Answers in the place of all servers, as those of a fixture. It is asked once the document allows a request and its
/// headers are filled.
pub trait StandIn: Send + Sync {
    /// Answers a request. The host waits for it as long as for a server.
    ///
    /// # Errors
    /// There is no answer.
    fn answer(&self, request: &Request) -> Answering;
}

/// An answer that is still to come.
pub type Answering = BoxFuture<'static, Result<Answer, Failure>>;

/// What all plugins of a host send HTTP requests by. Clones are the same.
#[derive(Clone)]
pub struct HttpMeans {
    servers: Servers,
    seams: Seams,
}

/// Who answers.
#[derive(Clone)]
enum Servers {
    Network(Settings),
    StandIn(Arc<dyn StandIn>),
}

/// How one plugin reaches them.
enum Connections {
    Network(Box<Client>),
    StandIn(Arc<dyn StandIn>),
}

impl HttpMeans {
    /// Requests go to the network, but to no address that `servers` names; `local` servers stand in for their origins.
    pub fn new(
        seams: &Seams,
        servers: Arc<dyn ApiServers>,
        local: BTreeMap<Origin, Local>,
    ) -> Self {
        let (roots, problems) = system_roots();
        for problem in problems {
            tracing::debug!("an authority of the system is left out: {problem}");
        }
        Self {
            servers: Servers::Network(Settings {
                roots: Arc::new(roots),
                servers,
                resolver: Arc::new(SystemResolver::default()),
                lookups: SharedLookups::default(),
                dialer: Arc::new(TcpDialer),
                clock: seams.clock,
                local,
                user_agent: AGENT,
            }),
            seams: seams.clone(),
        }
    }

    /// Nothing goes to the network: `stand_in` answers.
    pub fn answered_by(stand_in: Arc<dyn StandIn>, seams: &Seams) -> Self {
        Self {
            servers: Servers::StandIn(stand_in),
            seams: seams.clone(),
        }
    }
}

/// What one plugin may send, and by what. It shares no connection with others.
pub struct HttpAccess {
    pub(super) rules: Rules,
    connections: Connections,
    bucket: Mutex<RequestBucket>,
    seams: Seams,
    requests: HttpRequests,
}

/// What one request is sent with.
pub(super) struct Exchange {
    /// What the guest asks for, checked.
    pub(super) request: Request,
    /// The Secrets that the rule names.
    pub(super) named: BTreeMap<ObjectName, SecretData>,
    /// The Secret that the guest has chosen.
    pub(super) chosen: Option<SecretData>,
    /// What the rule says of TLS.
    pub(super) tls: TlsParts,
    /// The longest time that it takes.
    pub(super) most: Duration,
    /// Where the answer counts.
    pub(super) memory: Charge,
}

/// The answer of an exchange counts on the plugin's account before it is kept.
struct AnswerMemory(Mutex<Charge>);

impl Memory for AnswerMemory {
    fn grow(&self, bytes: usize) -> bool {
        self.0.lock().grow(bytes).is_ok()
    }
}

impl HttpAccess {
    /// That of a plugin with these `rules`; its requests are counted in `requests`.
    pub fn new(means: &HttpMeans, rules: Rules, requests: HttpRequests) -> Self {
        Self {
            rules,
            connections: match &means.servers {
                Servers::Network(settings) => {
                    Connections::Network(Box::new(Client::new(settings.clone())))
                }
                Servers::StandIn(stand_in) => Connections::StandIn(stand_in.clone()),
            },
            bucket: Mutex::new(RequestBucket::full(means.seams.clock.now())),
            seams: means.seams.clone(),
            requests,
        }
    }

    /// Sends a request, and counts it. The connection belongs to the host's own threads: where guests run, nothing waits
    /// for sockets.
    pub(super) async fn exchange(
        self: &Arc<Self>,
        exchange: Exchange,
    ) -> (Result<Answer, Failure>, Option<Charge>) {
        let access = self.clone();
        let sent = async move { access.send(exchange).await };
        match self.seams.spawn.task(sent).await {
            Ok((answer, memory)) => (answer, Some(memory)),
            Err(error) => {
                let lost = Failure::unreadable(format!("the request was dropped: {error}"));
                (Err(lost), None)
            }
        }
    }

    async fn send(&self, exchange: Exchange) -> (Result<Answer, Failure>, Charge) {
        let memory = AnswerMemory(Mutex::new(exchange.memory));
        let (origin, method) = (
            exchange.request.location().origin().to_string(),
            exchange.request.method().to_owned(),
        );
        let answer = async {
            let permitted = self.rules.permit(exchange.request)?;
            let named = |name: &ObjectName| exchange.named.get(name);
            let filled = permitted.fill(named, exchange.chosen.as_ref())?;
            let client = match &self.connections {
                Connections::Network(client) => client,
                Connections::StandIn(stand_in) => {
                    let answering = stand_in.answer(permitted.request());
                    let most = exchange.most.min(ANSWER_BEGINS);
                    let answer = self.seams.clock.within(most, answering).await;
                    return answer.unwrap_or_else(|| Err(late()));
                }
            };
            self.turn().await;
            let terms = Terms {
                deadline: self.seams.clock.now() + exchange.most,
                memory: &memory,
                tls: &exchange.tls,
            };
            let answer = client.send(permitted, filled, terms).await;
            // Nothing else closes what is idle.
            client.close_old();
            answer
        };
        let answer = answer.await;
        self.requests.note(&origin, &method, &code(&answer));
        (answer, memory.0.into_inner())
    }

    /// Waits until the plugin may send one more request.
    async fn turn(&self) {
        loop {
            let taken = self.bucket.lock().take(self.seams.clock.now());
            let Err(wait) = taken else { return };
            self.seams.clock.sleep(wait).await;
        }
    }
}

/// There was no answer in time.
fn late() -> Failure {
    Failure {
        error: Error::Timeout,
        reason: "there was no answer in time".to_owned(),
        sent: Sent::Maybe,
    }
}

/// How a request ended: the status code, or the word of an error.
pub(super) fn code(answer: &Result<Answer, Failure>) -> String {
    match answer {
        Ok(answer) => answer.status.to_string(),
        Err(failure) => failure.error.label().to_owned(),
    }
}
