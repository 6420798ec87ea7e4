//! The server as a tower service: a request in, an answer out; no socket, no task of its own.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::{Context, Poll};

use bytes::Buf;
use http::{Method, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tower_service::Service;

use crate::answer::{Answer, Warnings};
use crate::body::Body;
use crate::deep;
use crate::definitions;
use crate::faults::{self, Faults};
use crate::history::History;
pub use crate::options::Options;
use crate::policy::Policies;
use crate::rbac::{Attributes, Authorizer, impersonation};
use crate::registry::{Origin, Registry, Resource};
use crate::request::query::Query;
use crate::request::route::{Route, Target, Verb};
use crate::request::timeout;
use crate::request::{MAX_BODY, Request, User};
use crate::seams::Seams;
use crate::status::Refusal;
use crate::store::{Entry, Key, Moved, Place, Store, Write};
use crate::tokens::Tokens;
use crate::verbs;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A Kubernetes API server in memory. Clones are the same server.
#[derive(Clone, Debug)]
pub struct Server(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    seams: Seams,
    options: Options,
    authorizer: Authorizer,
    policies: Policies,
    store: Store,
    registry: RwLock<Arc<Registry>>,
    /// Held by whoever works out what is served: the later of two must also be the one with the later list.
    following: Mutex<definitions::Known>,
    tokens: Tokens,
    history: History,
    /// How many requests came so far.
    requests: AtomicU64,
    faults: Faults,
}

impl Server {
    /// A server with the built-in kinds and the namespaces that every cluster has.
    pub fn new(seams: Seams) -> Self {
        Self::with(seams, Options::default())
    }

    /// A server with options.
    pub fn with(seams: Seams, options: Options) -> Self {
        let registry = Registry::new(crate::builtin::resources());
        let server = Self(Arc::new(Shared {
            tokens: Tokens::new(seams.rng.clone()),
            seams,
            store: Store::default(),
            registry: RwLock::new(Arc::new(registry)),
            following: Mutex::default(),
            history: History::new(options.history),
            requests: AtomicU64::default(),
            authorizer: Authorizer::new(options.authorization),
            policies: Policies::default(),
            options,
            faults: Faults::default(),
        }));
        crate::boot::fill(&server);
        for resource in server.registry().all() {
            server.store().begin(&resource.place());
        }
        server
    }

    /// Time and randomness.
    pub fn seams(&self) -> &Seams {
        &self.0.seams
    }

    /// What it is like.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// The objects.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Who decides what is allowed.
    pub fn authorizer(&self) -> &Authorizer {
        &self.0.authorizer
    }

    /// The admission policies.
    pub(crate) fn policies(&self) -> &Policies {
        &self.0.policies
    }

    /// Every accepted write, if the server keeps them.
    pub fn history(&self) -> &History {
        &self.0.history
    }

    /// The faults made on purpose.
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// Who bearer tokens stand for.
    pub fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    /// Writes an object: the one way into the store. A CRD that comes, changes or goes changes what is
    /// served.
    ///
    /// # Errors
    /// [`Moved`] if another write came first.
    pub fn write(
        &self,
        call: &Call<'_>,
        key: Key,
        expected: Option<u64>,
        write: Write,
    ) -> Result<Arc<Entry>, Moved> {
        let before = expected.and_then(|_| self.0.store.get(&call.place, &key));
        let deleted = matches!(write, Write::Delete(_));
        let entry = self.0.store.write(&call.place, key, expected, write)?;
        let before = before.filter(|before| Some(before.revision) == expected);
        self.0.history.add(call, before, &entry, deleted);
        if definitions::is_crd(call.resource) {
            self.following().follow(self);
        }
        Ok(entry)
    }

    fn following(&self) -> MutexGuard<'_, definitions::Known> {
        let following = self.0.following.lock();
        following.unwrap_or_else(PoisonError::into_inner)
    }

    /// How much has been done so far to follow what definitions say.
    pub fn definitions_work(&self) -> definitions::Work {
        self.following().work()
    }

    /// What is served now.
    pub fn registry(&self) -> Arc<Registry> {
        let registry = self
            .0
            .registry
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&registry)
    }

    /// Serves something else from now on. Watches of what is not served any more end.
    pub fn serve(&self, registry: Registry) {
        let registry = Arc::new(registry);
        let before = {
            let mut held = self
                .0
                .registry
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *held, Arc::clone(&registry))
        };
        for place in before.places_not_in(&registry) {
            self.store().close(&place);
        }
        for place in registry.places_not_in(&before) {
            self.store().begin(&place);
        }
        // Who waits for a kind looks again.
        self.store().ring();
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
            Ok(mut request) => self.through_faults(&mut request).await,
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
        let decide = |asked: &Attributes| self.0.authorizer.decide(&self.0.store, asked);
        if let Some(wanted) = impersonation::wanted(&request.headers)? {
            request.user = impersonation::act(&Attributes::of(request), &wanted, decide)?;
        }
        self.0
            .authorizer
            .allow(&self.0.store, &Attributes::of(request))
    }

    async fn through_faults(&self, request: &mut Request) -> Answer {
        let faults = self.0.faults.hit(request);
        if faults.is_empty() {
            return self.answer(request);
        }
        let clock = &self.0.seams.clock;
        if let Some(answer) = faults::ahead(&faults, clock, &self.0.store, request).await {
            return answer;
        }
        let answer = self.answer(request);
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

    /// Answers one request whose body is there.
    pub fn answer(&self, request: &Request) -> Answer {
        let answer = self.ask(request).unwrap_or_else(Answer::from);
        if request.is_for_people() {
            return answer.pretty();
        }
        answer
    }

    /// The same, with a refusal as such.
    pub(crate) fn ask(&self, request: &Request) -> Result<Answer, Refusal> {
        // What is asked for may be nested deeper than the question.
        let nesting = deep::nesting(&request.body).max(self.store().deepest());
        deep::roomy(nesting, || self.dispatch(request))
    }

    fn dispatch(&self, request: &Request) -> Result<Answer, Refusal> {
        let target = match &request.route {
            Route::Objects(target) => target,
            Route::Other(parts) => {
                timeout::check(&request.query)?;
                return verbs::documents::answer(self, request, parts);
            }
        };
        if !is_long(request, target) {
            timeout::check(&request.query)?;
        }
        let registry = self.registry();
        let found = registry.find(&target.group, &target.version, &target.plural);
        let Some(resource) = found else {
            return nothing_there(&registry, target);
        };
        if request.method == Method::HEAD {
            return Err(Refusal::method_not_allowed());
        }
        if let Some(name) = &target.name
            && let [why, ..] = crate::names::path_segment(name).as_slice()
        {
            let message = format!("Name parameter invalid: {name:?}: {why}");
            return Err(Refusal::bad_request(message));
        }
        let watches = request.query.truth("watch").unwrap_or(false);
        let verb = Verb::of(&request.method, target, watches);
        let verb = verb.ok_or_else(Refusal::method_not_allowed)?;
        let call = Call {
            server: self,
            number: self.0.requests.fetch_add(1, Ordering::Relaxed),
            request,
            target,
            resource,
            place: resource.place(),
            verb,
            warnings: Warnings::default(),
        };
        let answer = verbs::answer(&call);
        let warnings = call.warnings.into_inner();
        match answer {
            Ok(answer) => Ok(answer.warning(warnings)),
            Err(refusal) => Err(refusal.warning(warnings)),
        }
    }
}

/// Whether a request may go on for ever, so that no timeout is asked for (kubernetes
/// `pkg/controlplane/apiserver/config.go`, `LongRunningFunc`).
fn is_long(request: &Request, target: &Target) -> bool {
    let watches = request.query.truth("watch").unwrap_or(false);
    let streams = ["attach", "exec", "proxy", "log", "portforward"];
    let subresource = target.subresource.as_deref().unwrap_or_default();
    Verb::of(&request.method, target, watches) == Some(Verb::Watch)
        || streams.contains(&subresource)
}

/// A path that could name objects, but none that are served: within the built-in groups that is a `Status`,
/// elsewhere a text.
fn nothing_there(registry: &Registry, target: &Target) -> Result<Answer, Refusal> {
    let built_in = |resource: &Arc<Resource>| {
        resource.group == target.group && resource.origin == Origin::BuiltIn
    };
    if registry.all().iter().any(built_in) {
        return Err(Refusal::no_such_path());
    }
    Ok(Answer::no_page())
}

/// A request about objects, with what is known about it.
#[derive(Debug)]
pub struct Call<'a> {
    /// Who answers.
    pub server: &'a Server,
    /// The number of the request.
    pub number: u64,
    /// The request.
    pub request: &'a Request,
    /// What its path names.
    pub target: &'a Target,
    /// The resource there.
    pub resource: &'a Arc<Resource>,
    /// Where its objects lie.
    pub place: Place,
    /// What is to be done.
    pub verb: Verb,
    /// What the client is to be warned of.
    pub warnings: Warnings,
}

fn too_large() -> Refusal {
    Refusal::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "RequestEntityTooLarge",
        format!("Request entity too large: limit is {MAX_BODY}"),
    )
}

fn unescaped(path: &str) -> Result<String, Refusal> {
    let text = percent_encoding::percent_decode_str(path).decode_utf8();
    let text = text.map_err(|_| Refusal::bad_request("the path is not UTF-8"))?;
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
