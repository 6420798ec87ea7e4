//! What the proxy knows: its rules, the requests so far, and whether the host lives.
//!
//! - One lock covers all three, so a request that comes after a kill point finds the host dying.
//! - Nobody waits while holding it.

use std::fmt;
use std::sync::Arc;

use hyper::{HeaderMap, Method, Request, header};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::rule::{Fault, Rule};

/// The part of a request that rules look at.
#[derive(Clone, Debug)]
pub struct RequestHead {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
}

impl RequestHead {
    pub(super) fn of<B>(request: &Request<B>) -> Self {
        Self {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            headers: request.headers().clone(),
        }
    }

    /// Whether it may change something.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS)
    }

    /// Whether it opens a watch.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        let asks = |pair| matches!(pair, "watch=true" | "watch=1");
        self.method == Method::GET && self.query.split('&').any(asks)
    }

    /// The client program.
    #[must_use]
    pub fn user_agent(&self) -> &str {
        let value = self.headers.get(header::USER_AGENT);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct RequestRecord {
    /// Its place in the log; the first is 0.
    pub index: usize,
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// The client program.
    pub user_agent: String,
    /// The rule whose fault was applied, if one was.
    pub rule: Option<String>,
    /// The status of the API server's answer, once there is one.
    pub upstream: Option<u16>,
    /// The status of the answer the client was given, once there is one.
    pub status: Option<u16>,
}

impl fmt::Display for RequestRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            index,
            method,
            path,
            query,
            rule,
            status,
            upstream,
            ..
        } = self;
        write!(
            f,
            "{index}: {method} {path}?{query} upstream {upstream:?} answer {status:?}"
        )?;
        rule.iter().try_for_each(|rule| write!(f, " by {rule}"))
    }
}

/// What holds or cuts responses that are under way.
#[derive(Debug, Default)]
pub(super) struct Gates {
    /// How often everything held was let go.
    pub(super) released: u64,
    /// How often all watches were cut.
    pub(super) cuts: u64,
    /// Whether the events of watches are held.
    pub(super) held: bool,
}

/// Whether connections are served. A connection belongs to the generation it was made in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) generation: u64,
    /// No connection is taken, no request is passed on.
    pub(super) closed: bool,
}

type Kill = Arc<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct State {
    rules: Vec<(Rule, usize)>,
    log: Vec<RequestRecord>,
    kill: Option<Kill>,
    kills: usize,
}

/// The state of a proxy, and the channels that tell of its changes.
#[derive(Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Changes whenever the log or the number of kills does.
    pub(super) changes: watch::Sender<()>,
    pub(super) gates: watch::Sender<Gates>,
    pub(super) life: watch::Sender<Life>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("requests", &self.state().log.len())
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Enters a request of a connection of `generation` into the log, and says what it meets; `None`
    /// if its host is dead or dying.
    pub(super) fn arrive(&self, head: &RequestHead, generation: u64) -> Option<(usize, Fault)> {
        let mut state = self.state();
        if *self.life.borrow()
            != (Life {
                generation,
                closed: false,
            })
        {
            return None;
        }
        let index = state.log.len();
        let (rule, fault) = state.decide(head).unzip();
        let fault = fault.unwrap_or(Fault::Pass);
        state.log.push(RequestRecord {
            index,
            method: head.method.clone(),
            path: head.path.clone(),
            query: head.query.clone(),
            user_agent: head.user_agent().to_owned(),
            rule,
            upstream: None,
            status: None,
        });
        if fault.kills() {
            self.life.send_modify(|life| life.closed = true);
        }
        drop(state);
        self.changes.send_replace(());
        Some((index, fault))
    }

    /// Notes something about the request at `index`.
    pub(super) fn note(&self, index: usize, note: impl FnOnce(&mut RequestRecord)) {
        self.state().log.get_mut(index).map(note);
        self.changes.send_replace(());
    }

    /// Cuts all connections, calls the kill callback, and takes connections again.
    pub(super) async fn kill(&self) {
        self.partition();
        let kill = self.state().kill.clone();
        if let Some(kill) = kill {
            // If it panics, the host was not killed, and the test that waits for that says so.
            if tokio::task::spawn_blocking(move || kill()).await.is_err() {
                return;
            }
        }
        self.heal();
        self.state().kills += 1;
        self.changes.send_replace(());
    }

    pub(super) fn partition(&self) {
        self.life.send_modify(|life| {
            life.closed = true;
            life.generation += 1;
        });
    }

    pub(super) fn heal(&self) {
        self.life.send_modify(|life| life.closed = false);
    }

    pub(super) fn set_kill(&self, kill: Kill) {
        self.state().kill = Some(kill);
    }

    pub(super) fn set_rules(&self, rules: Vec<Rule>) {
        self.state().rules = rules.into_iter().map(|rule| (rule, 0)).collect();
    }

    pub(super) fn count(&self, name: &str) -> usize {
        let state = self.state();
        state
            .rules
            .iter()
            .filter(|(rule, _)| rule.name == name)
            .map(|(_, count)| count)
            .sum()
    }

    pub(super) fn kills(&self) -> usize {
        self.state().kills
    }

    pub(super) fn log(&self) -> Vec<RequestRecord> {
        self.state().log.clone()
    }

    pub(super) fn with_log<T>(&self, look: impl FnOnce(&[RequestRecord]) -> T) -> T {
        look(&self.state().log)
    }

    /// The end of the log, for messages.
    pub(super) fn last_requests(&self) -> String {
        let state = self.state();
        let mut text = format!("{} requests so far", state.log.len());
        for record in state.log.iter().skip(state.log.len().saturating_sub(10)) {
            text += &format!("\n{record}");
        }
        text
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change under the lock is whole even if a rule's closure panicked.
        self.state.lock()
    }
}

impl State {
    fn decide(&mut self, head: &RequestHead) -> Option<(String, Fault)> {
        let mut decision = None;
        for (rule, count) in &mut self.rules {
            if rule.matches(head) {
                *count += 1;
                if rule.fault != Fault::Pass && rule.is_due(*count) && decision.is_none() {
                    decision = Some((rule.name.clone(), rule.fault));
                }
            }
        }
        decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(method: Method, path_and_query: &str) -> RequestHead {
        let uri = format!("https://server{path_and_query}");
        RequestHead::of(&Request::builder().method(method).uri(uri).body(()).unwrap())
    }

    #[test]
    fn a_request_is_a_watch_only_if_it_asks_to_be_one() {
        assert!(head(Method::GET, "/api/v1/pods?limit=1&watch=true").is_watch());
        assert!(!head(Method::GET, "/api/v1/pods?x=watch=true").is_watch());
        assert!(!head(Method::POST, "/api/v1/pods?watch=true").is_watch());
    }

    #[test]
    fn every_rule_counts_and_the_first_due_one_is_applied() {
        let shared = Shared::default();
        let status = Fault::Status {
            code: 500,
            retry_after: None,
        };
        shared.set_rules(vec![
            Rule::counter("all", |_| true),
            Rule::new("second", RequestHead::is_write, status).nth(2),
            Rule::new("writes", RequestHead::is_write, Fault::Disconnect),
        ]);
        let get = head(Method::GET, "/a");
        let post = head(Method::POST, "/a");
        let faults = [&get, &post, &post, &post].map(|head| shared.arrive(head, 0).unwrap().1);
        assert_eq!(
            faults,
            [Fault::Pass, Fault::Disconnect, status, Fault::Disconnect]
        );
        assert_eq!(
            ["all", "second", "writes", "none"].map(|name| shared.count(name)),
            [4, 3, 3, 0]
        );
    }

    #[tokio::test]
    async fn nothing_of_a_dying_host_arrives_and_its_connections_stay_dead() {
        let shared = Shared::default();
        shared.set_rules(vec![Rule::new("kill", |_| true, Fault::KillBefore).nth(2)]);
        let request = head(Method::POST, "/a");
        assert_eq!(shared.arrive(&request, 0), Some((0, Fault::Pass)));
        assert_eq!(shared.arrive(&request, 0), Some((1, Fault::KillBefore)));
        assert_eq!(shared.arrive(&request, 0), None);
        shared.kill().await;
        assert_eq!(shared.arrive(&request, 0), None);
        assert_eq!(shared.arrive(&request, 1), Some((2, Fault::Pass)));
        assert_eq!(shared.kills(), 1);
    }
}
