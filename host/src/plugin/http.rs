//! The HTTP requests of plugins: what all plugins of a host share, and what one of them has.

mod requests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use parking_lot::Mutex;
use windlass_egress::{
    Client, Forbidden, Local, Origin, RequestBucket, Rules, Settings, Sleeping, SystemResolver,
    TcpDialer, system_roots,
};

pub use requests::HttpRequests;

use crate::seams::Clock;

/// What servers know the host by.
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("windlass/", env!("CARGO_PKG_VERSION")));

/// What all plugins of a host send HTTP requests by. Clones are the same.
#[derive(Clone)]
pub struct HttpMeans {
    settings: Settings,
    clock: Clock,
}

impl HttpMeans {
    /// Requests go to the network, but to no address of the API server, which are `forbidden`; `local` servers stand in
    /// for their origins.
    pub fn new(clock: Clock, forbidden: Vec<SocketAddr>, local: BTreeMap<Origin, Local>) -> Self {
        let (roots, problems) = system_roots();
        for problem in problems {
            tracing::debug!("an authority of the system is left out: {problem}");
        }
        let servers = Forbidden::default();
        servers.replace(Vec::new(), forbidden);
        Self {
            settings: Settings {
                roots: Arc::new(roots),
                forbidden: Arc::new(servers),
                resolver: Arc::new(SystemResolver::default()),
                dialer: Arc::new(TcpDialer),
                clock: Arc::new(clock),
                local,
                user_agent: AGENT,
            },
            clock,
        }
    }
}

impl windlass_egress::Clock for Clock {
    fn now(&self) -> tokio::time::Instant {
        Clock::now(self)
    }

    fn sleep_until(&self, instant: tokio::time::Instant) -> Sleeping<'_> {
        Box::pin(Clock::sleep_until(self, instant))
    }
}

/// What one plugin may send, and by what. It shares no connection with others.
pub struct HttpAccess {
    pub(super) rules: Rules,
    pub(super) client: Client,
    bucket: Mutex<RequestBucket>,
    clock: Clock,
    pub(super) requests: HttpRequests,
}

impl HttpAccess {
    /// That of a plugin with these `rules`; its requests are counted in `requests`.
    pub fn new(means: &HttpMeans, rules: Rules, requests: HttpRequests) -> Self {
        Self {
            rules,
            client: Client::new(means.settings.clone()),
            bucket: Mutex::new(RequestBucket::full(means.clock.now())),
            clock: means.clock,
            requests,
        }
    }

    /// Waits until the plugin may send one more request.
    pub(super) async fn turn(&self) {
        loop {
            let taken = self.bucket.lock().take(self.clock.now());
            let Err(wait) = taken else { return };
            self.clock.sleep(wait).await;
        }
    }

    /// When an exchange that may take so long has to be over.
    pub(super) fn deadline(&self, most: Duration) -> tokio::time::Instant {
        self.clock.now() + most
    }
}
