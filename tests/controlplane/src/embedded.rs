//! The embedded API server in the place of the three real ones, on threads of this process.
//!
//! - It has the authority, the users and the audit log that the real one has: tests see no difference.
//! - RBAC is on, and the controllers run that it has.

use std::convert::Infallible;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tower_service::Service;
use windlass_apiserver::body::Body;
use windlass_apiserver::listen::{Certificates, Listener, Spawn};
use windlass_apiserver::options::{Authorization, Options};
use windlass_apiserver::request::User;
use windlass_apiserver::request::query::Query;
use windlass_apiserver::request::route::{Route, Verb};
use windlass_apiserver::seams::{Clock, Rng, Seams};
use windlass_apiserver::server::Server;

use crate::audit::{AuditEvent, AuditObject, AuditStatus, AuditUser};
use crate::certificates::Authority;
use crate::kubeconfig::{Credentials, Identity};
use crate::process::Guarded;

/// A running embedded server. It ends with this value.
#[derive(Debug)]
pub(crate) struct Embedded {
    server: Server,
    port: u16,
    /// The token of an administrator.
    token: String,
    seen: Seen,
    folder: TempDir,
    /// Removes the folder if this process ends without dropping anything.
    _guard: Guarded,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

type Seen = Arc<Mutex<Vec<AuditEvent>>>;

impl Embedded {
    /// Starts one with RBAC, whose certificate `authority` signs.
    pub(crate) fn start(authority: &Authority, options: Options) -> anyhow::Result<Self> {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
        let seams = Seams {
            clock: Clock::new(Timestamp::now),
            rng: Rng::seeded(u64::try_from(seed).unwrap_or_default()),
        };
        let options = Options {
            authorization: Authorization::Rbac,
            ..options
        };
        let server = Server::with(seams, options);
        let (chain, key) = authority.server()?.for_rustls();
        let certificates = Certificates {
            authority: authority.pem(),
            chain,
            key,
        };
        let listener = Listener::bind(server.clone(), 0, certificates)?;
        let (port, token) = (listener.port(), listener.token().to_owned());
        let seen = Seen::default();
        let recorded = Recorded {
            server: server.clone(),
            seen: Arc::clone(&seen),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let controllers = server.controllers();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("apiserver".to_owned());
        let thread = thread.spawn(move || {
            let handle = runtime.handle().clone();
            let controllers = handle.spawn(controllers);
            let spawn = Spawn::new(move |task| drop(handle.spawn(task)));
            let served = runtime.block_on(listener.serve(recorded, spawn, async {
                // If nobody can tell it to stop any more, it stops.
                let _ = stopped.await;
            }));
            if let Err(error) = served {
                eprintln!("the embedded API server has ended: {error}");
            }
            controllers.abort();
            runtime.shutdown_background();
        })?;
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("windlass-controlplane-").tempdir();
        let folder = folder.context("no folder for kubeconfigs")?;
        let guard = Guarded::start("sleep".as_ref(), &["infinity".into()], folder.path())?;
        Ok(Self {
            server,
            port,
            token,
            seen,
            folder,
            _guard: guard,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What the server was asked so far.
    pub(crate) fn audit(&self) -> Vec<AuditEvent> {
        let seen = self.seen.lock();
        seen.clone()
    }

    /// What `identity` shows: a token here, where the real server takes certificates as well.
    pub(crate) fn credentials(&self, identity: &Identity) -> Credentials {
        let now = self.server.seams().clock.wall();
        match identity {
            Identity::Admin => Credentials::Token(self.token.clone()),
            Identity::User { name, groups } => self.token(name, groups, None),
            Identity::Expired(name) => self.token(name, &[], Some(now)),
            Identity::Token(token) => Credentials::Token(token.clone()),
            Identity::Anonymous => Credentials::None,
        }
    }

    fn token(&self, name: &str, groups: &[String], ends: Option<Timestamp>) -> Credentials {
        let token = self.server.seams().rng.uid();
        let user = User {
            name: name.to_owned(),
            groups: [groups, &["system:authenticated".to_owned()]].concat(),
            ..User::default()
        };
        self.server.tokens().add(&token, user, ends);
        Credentials::Token(token)
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The server, with a record of what it is asked.
#[derive(Clone)]
struct Recorded {
    server: Server,
    seen: Seen,
}

impl Service<Request<Incoming>> for Recorded {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let Self { server, seen } = self.clone();
        Box::pin(async move {
            let clock = server.seams().clock.clone();
            let received = MicroTime(clock.wall());
            let (head, body) = request.into_parts();
            // A body that breaks off is one that the server cannot read either.
            let body = body.collect().await;
            let body = body.map(|body| body.to_bytes()).unwrap_or_default();
            let mut event = described(&head, &body, received);
            let request = Request::from_parts(head, Full::new(body));
            let response = server.handle(request).await;
            event.response_status = Some(AuditStatus {
                code: Some(response.status().as_u16()),
            });
            event.reached = MicroTime(clock.wall());
            let mut seen = seen.lock();
            event.audit_id = seen.len().to_string();
            seen.push(event);
            Ok(response)
        })
    }
}

/// A request as the real server's audit log has it.
fn described(head: &Parts, body: &Bytes, received: MicroTime) -> AuditEvent {
    let watches = Query::parse(head.uri.query().unwrap_or_default()).truth("watch");
    let user = head.extensions.get::<User>().cloned().unwrap_or_default();
    let agent = head.headers.get(hyper::header::USER_AGENT);
    let acts_as = head.headers.get("impersonate-user");
    let acts_as = acts_as.and_then(|name| name.to_str().ok());
    let method = head.method.as_str().to_lowercase();
    let (verb, object_ref) = match Route::parse(head.uri.path()) {
        Route::Other(_) => (method, None),
        Route::Objects(target) => {
            let verb = Verb::of(&head.method, &target, watches.unwrap_or(false));
            let object = AuditObject {
                api_group: target.group,
                api_version: target.version,
                resource: target.plural,
                subresource: target.subresource.unwrap_or_default(),
                namespace: target.namespace.unwrap_or_default(),
                name: target.name.unwrap_or_default(),
            };
            (
                verb.map_or(method, |verb| verb.word().to_owned()),
                Some(object),
            )
        }
    };
    let mut event = AuditEvent {
        audit_id: String::new(),
        stage: "ResponseComplete".to_owned(),
        received: received.clone(),
        reached: received,
        verb,
        request_uri: head.uri.to_string(),
        user: AuditUser {
            username: user.name,
            groups: user.groups,
        },
        impersonated_user: acts_as.map(|name| AuditUser {
            username: name.to_owned(),
            groups: Vec::new(),
        }),
        user_agent: agent.and_then(|agent| Some(agent.to_str().ok()?.to_owned())),
        object_ref,
        response_status: None,
        request_object: serde_json::from_slice(body).ok(),
        annotations: Default::default(),
    };
    name_from_body(&mut event);
    event
}

/// A create has its object's name in the body alone.
fn name_from_body(event: &mut AuditEvent) {
    let (Some(object), Some(body)) = (&mut event.object_ref, &event.request_object) else {
        return;
    };
    let name = body
        .pointer("/metadata/name")
        .and_then(|name| name.as_str());
    if object.name.is_empty() && event.verb == "create" {
        object.name = name.unwrap_or_default().to_owned();
    }
}
