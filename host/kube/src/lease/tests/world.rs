//! An embedded server, and hosts that want a Lease.

use super::*;

/// What was asked of the server.
pub(super) type Asked = Arc<Mutex<Vec<(Method, String)>>>;

pub(super) struct World {
    pub(super) server: Server,
    pub(super) seams: Seams,
    pub(super) asked: Asked,
    seed: Mutex<u64>,
}

/// A Lease of a host that keeps its session until this is dropped: then it is dead.
pub(super) struct Held {
    pub(super) lease: Lease,
    pub(super) session: Session,
    pub(super) keeps: Task<Infallible>,
}

impl Deref for Held {
    type Target = Lease;

    fn deref(&self) -> &Lease {
        &self.lease
    }
}

impl World {
    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    pub(super) fn new() -> Self {
        let start = "2026-11-21T09:30:00Z".parse().unwrap();
        let seams = Seams {
            clock: Clock::starting_at(start),
            rng: Rng::seeded(1),
            spawn: Spawn::inline(tokio::runtime::Handle::current()),
        };
        let clock = seams.clock;
        let server = Server::new(server::Seams {
            clock: server::Clock::new(move || clock.wall()),
            rng: server::Rng::seeded(1),
        });
        Self {
            server,
            seams,
            asked: Asked::default(),
            seed: Mutex::new(1),
        }
    }

    pub(super) fn api(&self) -> Api {
        let (server, asked) = (self.server.clone(), self.asked.clone());
        let counted = service_fn(move |request: http::Request<kube::client::Body>| {
            let (method, uri) = (request.method().clone(), request.uri().to_string());
            asked.lock().push((method, uri));
            server.clone().call(request)
        });
        Api::new(kube::Client::new(counted, "default"), self.seams.clone())
    }

    /// The session of a host, which is not kept.
    pub(super) fn session(&self, identity: &str) -> Session {
        let mut seed = self.seed.lock();
        *seed += 1;
        let seams = Seams {
            rng: Rng::seeded(*seed),
            ..self.seams.clone()
        };
        Session::new(self.api(), seams, "default", identity, Times::default())
    }

    /// A host that wants the Lease of the greeter.
    pub(super) fn lease(&self, identity: &str) -> Held {
        self.host(&self.session(identity))
    }

    pub(super) fn host(&self, session: &Session) -> Held {
        let kept = session.clone();
        Held {
            lease: Lease::new(session, "greeter"),
            keeps: self.seams.spawn.task(async move { kept.keep().await }),
            session: session.clone(),
        }
    }

    pub(super) async fn wait(&self, duration: Duration) {
        self.seams.clock.sleep(duration).await;
    }
    /// The next request of this verb for a lease meets the fault.
    pub(super) fn next(&self, verb: Verb, fault: Fault) {
        self.next_of("leases", verb, fault);
    }

    pub(super) fn next_of(&self, plural: &str, verb: Verb, fault: Fault) {
        self.switch_on(plural, verb, 1, fault);
    }

    /// Every request of this verb for a lease meets the fault.
    pub(super) fn always(&self, verb: Verb, fault: Fault) {
        self.switch_on("leases", verb, u64::MAX, fault);
    }

    /// The next update that sends this meets the fault.
    pub(super) fn next_update(&self, sent: Value, fault: Fault) {
        self.server.faults().switch_on(Switch {
            name: "update".to_owned(),
            on: Matcher {
                verb: Some(Verb::Update),
                sent: Some(sent),
                ..Matcher::default()
            },
            from: 0,
            times: 1,
            fault,
        });
    }

    pub(super) fn switch_on(&self, plural: &str, verb: Verb, times: u64, fault: Fault) {
        self.server.faults().switch_on(Switch {
            name: format!("{verb:?}"),
            on: Matcher {
                verb: Some(verb),
                plural: Some(plural.to_owned()),
                user: None,
                ..Matcher::default()
            },
            from: 0,
            times,
            fault,
        });
    }
}

impl Held {
    pub(super) fn listening(self, crashes: Crashes) -> Self {
        Self {
            lease: self.lease.listening(crashes),
            ..self
        }
    }

    pub(super) async fn takes(&self) {
        self.acquire(ObservedLease::default(), |_| {}).await;
    }

    /// Tries to take the Lease after the next heartbeat; answers who has it.
    pub(super) async fn tries(&self, watched: &mut ObservedLease) -> Option<String> {
        let beat = next_beat(&self.session).await;
        let renewal = beat.renewal.as_ref().unwrap();
        let tried = self.try_acquire(renewal, renewal.leases.as_ref(), watched);
        tried.await.unwrap()
    }

    /// Whether it still holds the Lease after `duration`.
    pub(super) async fn holds_for(&self, world: &World, duration: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.hold() => false,
            () = world.wait(duration) => true,
        }
    }
}
