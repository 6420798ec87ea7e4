//! Does to one request what its fault says.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use hyper::{Request, Response};
use parking_lot::Mutex;
use tokio::sync::{self, Notify};
use tokio::task::JoinSet;

use super::answer::{self, Body};
use super::rule::Fault;
use super::state::{RequestHead, RequestRecord, Shared};
use super::stream::{self, Outcome, Passage, Release};
use super::upstream::{Target, Upstream};

/// One connection of a client, with one to the API server.
pub(super) struct Line {
    shared: Arc<Shared>,
    generation: u64,
    upstream: sync::Mutex<Upstream>,
    cut: Arc<Notify>,
    kill_after_answer: AtomicBool,
    /// The bodies on their way; they end with the connection.
    bodies: Mutex<JoinSet<()>>,
}

impl Line {
    pub(super) fn new(shared: Arc<Shared>, generation: u64, target: Target) -> Self {
        Self {
            shared,
            generation,
            upstream: sync::Mutex::new(Upstream::new(target)),
            cut: Arc::default(),
            kill_after_answer: AtomicBool::new(false),
            bodies: Mutex::default(),
        }
    }

    /// Waits until the connection is to be cut.
    pub(super) async fn is_cut(&self) {
        self.cut.notified().await;
    }

    /// Whether the host is to be killed now that it has its answer.
    pub(super) fn kills_after_answer(&self) -> bool {
        self.kill_after_answer.load(Ordering::Relaxed)
    }

    /// Kills the host. This line is cut meanwhile, so it cannot do it itself.
    pub(super) fn kill(&self) {
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move { shared.kill().await });
    }

    /// Answers a request, unless the connection ends first.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let head = RequestHead::of(&request);
        // Made before the log shows the request, or a test could let it go too early.
        let release = Release::after_now(&self.shared.gates);
        let Some((index, fault)) = self.shared.arrive(&head, self.generation) else {
            return pending().await;
        };
        let response = match fault {
            Fault::KillBefore => self.die().await,
            Fault::Disconnect => self.hang_up().await,
            Fault::Status { code, retry_after } => answer::status(code, retry_after),
            Fault::Html(code) => answer::html(code),
            Fault::EndlessBody => {
                let (response, send) = answer::endless();
                self.feed(send);
                response
            }
            Fault::Pass
            | Fault::KillAfterApplied
            | Fault::KillAfterAnswer
            | Fault::CutBody(_)
            | Fault::LoseAnswer
            | Fault::Hold
            | Fault::HoldAnswer
            | Fault::HoldWatch(_)
            | Fault::CutWatch(_)
            | Fault::EndWatch(_)
            | Fault::Delay(_) => self.forward(request, index, fault, release, &head).await,
        };
        let status = response.status().as_u16();
        self.shared
            .note(index, |record| record.status = Some(status));
        response
    }

    async fn forward(
        &self,
        request: Request<Incoming>,
        index: usize,
        fault: Fault,
        mut release: Release,
        head: &RequestHead,
    ) -> Response<Body> {
        match fault {
            Fault::Hold => release.reached().await,
            Fault::Delay(time) => tokio::time::sleep(time).await,
            _ => {}
        }
        let Ok(response) = self.upstream.lock().await.send(request).await else {
            return self.hang_up().await;
        };
        let mut release = Release::after_now(&self.shared.gates);
        let upstream = response.status().as_u16();
        self.shared.note(index, |record: &mut RequestRecord| {
            record.upstream = Some(upstream)
        });
        match fault {
            Fault::KillAfterApplied => return self.die().await,
            Fault::LoseAnswer => return self.hang_up().await,
            Fault::HoldAnswer => release.reached().await,
            _ => {}
        }
        let (mut parts, body) = response.into_parts();
        parts.headers.remove(TRANSFER_ENCODING);
        if fault == Fault::KillAfterAnswer {
            self.kill_after_answer.store(true, Ordering::Relaxed);
            parts
                .headers
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let (limit, then) = stream::plan(fault);
        let passage = Passage {
            limit,
            then,
            is_watch: head.is_watch(),
            release,
        };
        Response::from_parts(parts, self.pass_on(passage, body))
    }

    fn pass_on(&self, passage: Passage, body: Incoming) -> Body {
        let (mut pieces, answer) = answer::in_pieces();
        let cut = Arc::clone(&self.cut);
        self.feed(async move {
            if passage.pass(body, &mut pieces).await == Outcome::Cut {
                cut.notify_one();
                // Dropping the pieces would end the body in good order.
                pending::<()>().await;
            }
        });
        answer
    }

    fn feed(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut bodies = self.bodies.lock();
        while bodies.try_join_next().is_some() {}
        bodies.spawn(work);
    }

    async fn die(&self) -> Response<Body> {
        self.kill();
        pending().await
    }

    async fn hang_up(&self) -> Response<Body> {
        self.cut.notify_one();
        pending().await
    }
}
