//! Makes fetches in the order in which the host makes them.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use http::HeaderValue;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::rustls::RootCertStore;
use windlass_base::seams::Clock;
use windlass_egress::*;

use super::server::Server;

/// Names of a test. Each lookup takes the next list of addresses; the last one stays.
#[derive(Default)]
pub(crate) struct Names(pub(crate) Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>);

impl Names {
    pub(crate) fn set(&self, name: &str, answers: &[&[&str]]) {
        let addresses =
            |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        let answers = answers.iter().map(addresses).collect();
        self.0.lock().insert(name.to_owned(), answers);
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        let mut names = self.0.lock();
        let answer = names.get_mut(name).map(|answers| {
            if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers[0].clone()
            }
        });
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("no such name")) })
    }
}

/// Notes which addresses are dialled, and connects to a server of the test instead.
#[derive(Default)]
pub(crate) struct Dialer {
    pub(crate) dialled: Mutex<Vec<SocketAddr>>,
    pub(crate) server: Mutex<Option<SocketAddr>>,
    /// Whether nothing is dialled at all.
    pub(crate) is_off: AtomicBool,
}

impl Dial for Dialer {
    fn dial(&self, address: SocketAddr) -> Dialing<'_> {
        self.dialled.lock().push(address);
        let server = self.server.lock().unwrap_or(address);
        let is_off = self.is_off.load(Ordering::Relaxed);
        Box::pin(async move {
            if is_off {
                return Err(io::Error::other("nothing is dialled"));
            }
            assert!(
                server.ip().is_loopback(),
                "a test connects to 127.0.0.1 alone"
            );
            TcpStream::connect(server).await
        })
    }
}

/// Memory with a limit.
pub(crate) struct Account(pub(crate) AtomicUsize);

impl Memory for Account {
    fn grow(&self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes);
        self.0
            .try_update(Ordering::AcqRel, Ordering::Acquire, take)
            .is_ok()
    }
}

/// Where a fetch was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The request is not a request.
    Check,
    /// No rule allows it.
    Rule,
    /// Too many requests.
    Budget,
    /// A Secret may not be used.
    Secret,
    /// The address, the connection or the answer.
    Send,
}

#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The annotation of the Secret that the guest chooses.
    pub(crate) credential: Option<String>,
}

pub(crate) fn get(url: &str) -> Fetch {
    Fetch {
        method: "GET".to_owned(),
        url: url.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        credential: None,
    }
}

impl Fetch {
    pub(crate) fn method(mut self, method: &str) -> Self {
        self.method = method.to_owned();
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn credential(mut self, origins: &str) -> Self {
        self.credential = Some(origins.to_owned());
        self
    }
}

/// One plugin with its rules and its client.
pub(crate) struct World {
    pub(crate) rules: Rules,
    pub(crate) client: Client,
    pub(crate) names: Arc<Names>,
    pub(crate) dialer: Arc<Dialer>,
    pub(crate) secrets: SecretData,
    pub(crate) tls: TlsParts,
    pub(crate) memory: Account,
    pub(crate) budget: Mutex<CallBudget>,
    pub(crate) deadline: Duration,
    /// The same deadline for all fetches, whenever they begin.
    pub(crate) ends: Option<Instant>,
}

/// Settings that a test changes before the client is made.
pub(crate) struct Setup {
    pub(crate) rules: Value,
    pub(crate) settings: Settings,
    names: Arc<Names>,
    dialer: Arc<Dialer>,
}

impl Setup {
    pub(crate) fn new(rules: Value) -> Self {
        let (names, dialer) = (Arc::new(Names::default()), Arc::new(Dialer::default()));
        let settings = Settings {
            roots: Arc::new(RootCertStore::empty()),
            servers: Arc::new(ApiServerAddresses::default()),
            resolver: Arc::clone(&names) as Arc<dyn Resolve>,
            lookups: SharedLookups::default(),
            dialer: Arc::clone(&dialer) as Arc<dyn Dial>,
            clock: Clock::system(),
            local: BTreeMap::new(),
            user_agent: HeaderValue::from_static("windlass"),
        };
        Self {
            rules,
            settings,
            names,
            dialer,
        }
    }

    /// The names that the test's resolver knows.
    pub(crate) fn names(&self) -> Arc<Names> {
        Arc::clone(&self.names)
    }

    pub(crate) fn local(mut self, origin: &str, server: &Server, scheme: Scheme) -> Self {
        let local = Local::new(server.address, scheme).unwrap();
        self.settings
            .local
            .insert(Origin::parse(origin).unwrap(), local);
        self
    }

    pub(crate) fn build(self) -> World {
        World {
            rules: Rules::read(&self.rules).unwrap(),
            client: Client::new(self.settings),
            names: self.names,
            dialer: self.dialer,
            secrets: SecretData::new(),
            tls: TlsParts::default(),
            memory: Account(AtomicUsize::new(64 << 20)),
            budget: Mutex::default(),
            deadline: Duration::from_secs(60),
            ends: None,
        }
    }
}

impl World {
    /// One origin that a server stands in for, with all methods that tests use.
    pub(crate) fn of(server: &Server) -> Self {
        let rules = serde_json::json!({"allow": [{
            "origin": "https://api.example.com",
            "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"],
        }]});
        Setup::new(rules)
            .local("https://api.example.com", server, Scheme::Http)
            .build()
    }

    pub(crate) async fn fetch(&self, fetch: Fetch) -> Result<Answer, (Stop, Failure)> {
        let request = Request::check(RawRequest {
            method: fetch.method,
            url: fetch.url,
            headers: fetch.headers,
            body: fetch.body,
        });
        let request = request.map_err(|failure| (Stop::Check, failure))?;
        let permitted = self
            .rules
            .permit(request)
            .map_err(|failure| (Stop::Rule, failure))?;
        self.budget
            .lock()
            .take()
            .map_err(|failure| (Stop::Budget, failure))?;
        let chosen = match &fetch.credential {
            None => None,
            Some(origins) => {
                let annotations =
                    BTreeMap::from([(ORIGINS_ANNOTATION.to_owned(), origins.clone())]);
                let origin = permitted.request().location().origin();
                consents(&annotations, origin).map_err(|failure| (Stop::Secret, failure))?;
                Some(&self.secrets)
            }
        };
        let filled = permitted.fill(|_| Some(&self.secrets), chosen);
        let filled = filled.map_err(|failure| (Stop::Secret, failure))?;
        let terms = Terms {
            deadline: self.ends.unwrap_or_else(|| Instant::now() + self.deadline),
            memory: &self.memory,
            tls: &self.tls,
        };
        let answer = self.client.send(permitted, filled, terms).await;
        answer.map_err(|failure| (Stop::Send, failure))
    }

    /// The answer.
    pub(crate) async fn answer(&self, fetch: Fetch) -> Answer {
        self.fetch(fetch).await.unwrap()
    }

    /// The failure of sending.
    pub(crate) async fn failure(&self, fetch: Fetch) -> Failure {
        let (stop, failure) = self.fetch(fetch).await.unwrap_err();
        assert_eq!(stop, Stop::Send, "{failure:?}");
        failure
    }
}
