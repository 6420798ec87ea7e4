//! The session of a host: the one Lease that it renews, whatever number of plugins it runs.
//!
//! - After each renewal the Leases of all plugins are listed, with the sessions of others: one request for all.
//! - A session has a name of its own, and is never renewed again once it was ended or deleted: the host opens another one
//!   then, and names that on the Leases that it holds. So who wants the Lease of a dead host ends its session first,
//!   which fails if that was renewed meanwhile.

mod list;
mod name;
mod others;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::observed::ObservedSessions;
use super::record::{LeaderElectionRecord, LeaseWrite, SESSION};
use super::{Times, collection};
use crate::api::{Api, ApiError, Request};
use name::name_for;
use windlass_base::seams::{Seams, watch};

/// How long a host waits before it asks again for what it may not do, or clears away again.
const PAUSE: Duration = Duration::from_secs(60);

/// The Leases of plugins, by name.
pub(super) type PluginLeases = BTreeMap<String, LeaderElectionRecord>;

/// The session of a host. Clones are the same.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    api: Api,
    seams: Seams,
    namespace: String,
    identity: String,
    times: Times,
    state: Mutex<State>,
    beats: watch::Sender<Arc<Heartbeat>>,
    /// Whether the host asks others for their Leases.
    insists: AtomicBool,
    /// Held while a session of another host is looked at: one of the plugins that want its Leases ends it.
    looking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    own: Own,
    /// What it was called before somebody ended it.
    former: Vec<String>,
    sessions: ObservedSessions,
    /// How many heartbeats have begun.
    begun: u64,
    /// When Leases are listed again, if that was refused.
    refused: Option<Instant>,
    /// When old sessions are looked for again.
    buries: Option<Instant>,
}

/// The host's own session.
#[derive(Default)]
struct Own {
    name: String,
    /// As the last renewal left it, if that is known.
    record: Option<LeaderElectionRecord>,
    /// Of the Lease that was renewed at least once.
    uid: Option<String>,
    /// Whether it may be there.
    sent: bool,
}

/// What became of one heartbeat.
#[derive(Default)]
pub(super) struct Heartbeat {
    /// Its place among all heartbeats.
    pub(super) number: u64,
    /// Nothing if the session could not be renewed.
    pub(super) renewal: Option<Renewal>,
}

/// A renewal of the session, and what was listed after it.
pub(super) struct Renewal {
    /// When it was sent.
    pub(super) sent: Instant,
    /// The same, for gates.
    pub(super) opened: Duration,
    /// The session that was renewed.
    pub(super) session: String,
    /// Nothing if Leases may not be listed.
    pub(super) leases: Option<PluginLeases>,
}

impl Session {
    /// The session of the host `identity`, with its Leases in `namespace`. It is not there before it is kept.
    pub fn new(api: Api, seams: Seams, namespace: &str, identity: &str, times: Times) -> Self {
        let own = Own {
            name: name_for(identity, seams.rng.number()),
            ..Own::default()
        };
        Self(Arc::new(Inner {
            api,
            seams,
            namespace: namespace.to_owned(),
            identity: identity.to_owned(),
            times,
            state: Mutex::new(State {
                own,
                ..State::default()
            }),
            beats: watch::Sender::default(),
            insists: AtomicBool::new(false),
            looking: tokio::sync::Mutex::default(),
        }))
    }

    /// Renews the session for as long as it is polled.
    pub async fn keep(&self) -> Infallible {
        let Inner {
            seams: Seams { clock, .. },
            times,
            ..
        } = &*self.0;
        let (mut renewed, mut said) = (clock.now(), false);
        loop {
            let number = self.begins();
            let beats = Box::pin(self.beat());
            let renewal = clock.within(times.renew_deadline, beats).await;
            let renewal = renewal.unwrap_or_else(|| Err(late()));
            match &renewal {
                Ok(renewal) => (renewed, said) = (renewal.sent, false),
                Err(error) => {
                    tracing::warn!("cannot renew the session of this host: {error}");
                    if !said && clock.now() - renewed > times.renew_deadline {
                        tracing::error!("the session could not be renewed in time");
                        said = true;
                    }
                }
            }
            let renewal = renewal.ok();
            let beat = Arc::new(Heartbeat { number, renewal });
            self.0.beats.send_replace(beat);
            Box::pin(self.bury()).await;
            clock.sleep(times.retry_period).await;
        }
    }

    /// Ends the session, when the host holds no Lease any more.
    pub async fn end(&self) {
        let (name, uid, sent) = {
            let state = self.0.state.lock();
            let Own {
                name, uid, sent, ..
            } = &state.own;
            (name.clone(), uid.clone(), *sent)
        };
        if sent {
            let preconditions = uid.map_or(Value::Null, |uid| json!({ "uid": uid }));
            let ended = Box::pin(self.delete_or_take_off(&name, &preconditions));
            let ended = self
                .0
                .seams
                .clock
                .within(self.0.times.renew_deadline, ended);
            if let Err(error) = ended.await.unwrap_or_else(|| Err(late())) {
                tracing::warn!(session = name, "cannot end the session: {error}");
            }
        }
    }

    pub(super) fn api(&self) -> &Api {
        &self.0.api
    }

    pub(super) fn seams(&self) -> &Seams {
        &self.0.seams
    }

    pub(super) fn namespace(&self) -> &str {
        &self.0.namespace
    }

    /// The name of the host.
    pub fn identity(&self) -> &str {
        &self.0.identity
    }

    /// From now on the host asks those that have the Leases of its plugins to hand them over.
    pub fn insist(&self) {
        self.0.insists.store(true, Ordering::Relaxed);
    }

    /// It has handed one over itself: it does not ask for it back.
    pub(super) fn relent(&self) {
        self.0.insists.store(false, Ordering::Relaxed);
    }

    /// Whether the host asks for the Leases of its plugins.
    pub fn insists(&self) -> bool {
        self.0.insists.load(Ordering::Relaxed)
    }

    /// The times of the session.
    pub fn times(&self) -> Times {
        self.0.times
    }

    /// What becomes of each heartbeat from now on, and of the last one.
    pub(super) fn beats(&self) -> watch::Receiver<Arc<Heartbeat>> {
        self.0.beats.subscribe()
    }

    /// How many heartbeats have begun: what a later one lists was there after this.
    pub(super) fn begun(&self) -> u64 {
        self.0.state.lock().begun
    }

    /// Whether the host had a session of that name.
    pub(super) fn was(&self, name: &str) -> bool {
        let state = self.0.state.lock();
        state.own.name == name || state.former.iter().any(|former| former == name)
    }

    /// Reads a Lease.
    pub(super) async fn read(&self, name: &str) -> Result<Option<LeaderElectionRecord>, ApiError> {
        let read: Option<Value> = self.0.api.read(self.path(name)).await?;
        Ok(read.as_ref().map(LeaderElectionRecord::of))
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", collection(&self.0.namespace))
    }

    fn begins(&self) -> u64 {
        let mut state = self.0.state.lock();
        state.begun += 1;
        state.begun
    }

    /// Renews, and lists.
    async fn beat(&self) -> Result<Renewal, ApiError> {
        let clock = self.0.seams.clock;
        let (sent, opened) = (clock.now(), clock.boot());
        let session = self.renew().await?;
        Ok(Renewal {
            sent,
            opened,
            session,
            leases: self.list().await?,
        })
    }

    /// Renews from what the last renewal left; reads first if that is not known, or not so any more. Answers what the
    /// session is called.
    async fn renew(&self) -> Result<String, ApiError> {
        let (name, last, uid, sent) = {
            let mut state = self.0.state.lock();
            let own = &mut state.own;
            (
                own.name.clone(),
                own.record.take(),
                own.uid.clone(),
                own.sent,
            )
        };
        if let Some(last) = last {
            match self.write(&name, Some(&last)).await {
                Err(error) if error.is_race() || error.is_not_found() => {}
                written => return written.map(|()| name),
            }
        }
        if !sent {
            return self.write(&name, None).await.map(|()| name);
        }
        match self.read(&name).await? {
            Some(there)
                if there.holder == self.0.identity
                    && there.is_for(SESSION)
                    && uid.as_ref().is_none_or(|uid| *uid == there.uid) =>
            {
                self.write(&name, Some(&there)).await.map(|()| name)
            }
            // It was never there, so nobody can have missed it.
            None if uid.is_none() => self.write(&name, None).await.map(|()| name),
            _ => {
                let next = self.rename();
                tracing::warn!(
                    session = name,
                    next,
                    "the session of this host was ended by somebody else: opening another one"
                );
                self.write(&next, None).await.map(|()| next)
            }
        }
    }

    /// Another name, for another session.
    fn rename(&self) -> String {
        let next = name_for(&self.0.identity, self.0.seams.rng.number());
        let own = Own {
            name: next.clone(),
            ..Own::default()
        };
        let mut state = self.0.state.lock();
        let before = std::mem::replace(&mut state.own, own);
        state.former.push(before.name);
        next
    }

    async fn write(
        &self,
        name: &str,
        before: Option<&LeaderElectionRecord>,
    ) -> Result<(), ApiError> {
        self.0.state.lock().own.sent = true;
        let write = LeaseWrite {
            namespace: &self.0.namespace,
            name,
            purpose: SESSION,
            holder: &self.0.identity,
            session: None,
            duration: self.0.times.lease_duration,
            now: &super::now(&self.0.seams),
            keeps_request: false,
            before,
        };
        let (method, uri) = match before {
            Some(_) => (Method::PUT, self.path(name)),
            None => (Method::POST, collection(&self.0.namespace)),
        };
        let request = Request::json(method, uri, &write.object());
        let written = LeaderElectionRecord::of(&self.0.api.send(request).await?);
        let mut state = self.0.state.lock();
        state.own.uid = Some(written.uid.clone());
        state.own.record = Some(written);
        Ok(())
    }
}

fn late() -> ApiError {
    ApiError::Unreachable("no answer in time".to_owned())
}
