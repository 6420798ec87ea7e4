//! The session of a host: the one Lease that it renews, whatever number of plugins it runs.
//!
//! - After each renewal the Leases of all plugins are listed, with the sessions of others: one request for all.
//! - A session has a name of its own, and is never renewed again once it was ended or deleted: the host opens another one
//!   then, and names that on the Leases that it holds. So who wants the Lease of a dead host ends its session first,
//!   which fails if that was renewed meanwhile.

mod others;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::observed::ObservedSessions;
use super::record::{LABEL, LeaderElectionRecord, LeaseWrite, PLUGIN, SESSION, ended};
use super::{Times, collection};
use crate::api::{Accept, Api, ApiError, Request};
use crate::seams::Seams;

/// How long a host waits before it asks again for what it may not do, or clears away again.
const PAUSE: Duration = Duration::from_secs(60);

/// The longest part of a session's name that tells whose it is.
const LONGEST: usize = 100;

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

    /// The Leases of all plugins; nothing if the host may not list them. Takes in the sessions of others.
    async fn list(&self) -> Result<Option<PluginLeases>, ApiError> {
        let clock = self.0.seams.clock;
        let again = self.0.state.lock().refused;
        if again.is_some_and(|again| clock.now() < again) {
            return Ok(None);
        }
        // Without a resourceVersion the answer is at least as new as the request.
        let selector = LABEL.replace('/', "%2F");
        let uri = format!("{}?labelSelector={selector}", collection(&self.0.namespace));
        let list = match self.0.api.send(Request::list(uri, Accept::Whole)).await {
            Ok(list) => list,
            Err(error) if error.code() == Some(403) => {
                self.0.state.lock().refused = Some(clock.now() + PAUSE);
                if again.is_none() {
                    tracing::warn!("cannot list Leases, reading them one by one: {error}");
                }
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let items = list.get("items").and_then(Value::as_array);
        let records = items.into_iter().flatten().map(LeaderElectionRecord::of);
        let named = records.map(|record| (record.name.clone(), record));
        let (sessions, leases): (BTreeMap<_, _>, BTreeMap<_, _>) =
            named.partition(|(_, record)| record.is_for(SESSION));
        let mut state = self.0.state.lock();
        state.refused = None;
        let shortest = self.0.times.lease_duration;
        // What is seen counts from the answer on: a renewal may have been sent while it was on its way.
        state.sessions.sees_all(&sessions, clock.now(), shortest);
        let is_of_plugin = |(_, record): &(_, LeaderElectionRecord)| record.is_for(PLUGIN);
        Ok(Some(leases.into_iter().filter(is_of_plugin).collect()))
    }

    /// Deletes a session; takes its holder off if the host may not.
    async fn delete_or_take_off(&self, name: &str, preconditions: &Value) -> Result<(), ApiError> {
        match self.delete(name, preconditions).await {
            Err(error) if error.code() == Some(403) => match self.read(name).await? {
                Some(there) if !there.holder.is_empty() => self.take_off(&there).await.map(drop),
                _ => Ok(()),
            },
            deleted => deleted,
        }
    }

    async fn delete(&self, name: &str, preconditions: &Value) -> Result<(), ApiError> {
        let options = json!({ "preconditions": preconditions });
        let request = Request::json(Method::DELETE, self.path(name), &options);
        match self.0.api.send(request).await {
            // Somebody else was first.
            Err(error) if error.is_not_found() || error.is_race() => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    /// Takes the holder off a session, if it is still as `record` says.
    async fn take_off(
        &self,
        record: &LeaderElectionRecord,
    ) -> Result<LeaderElectionRecord, ApiError> {
        let object = ended(&self.0.namespace, record);
        let request = Request::json(Method::PUT, self.path(&record.name), &object);
        Ok(LeaderElectionRecord::of(&self.0.api.send(request).await?))
    }
}

fn late() -> ApiError {
    ApiError::Unreachable("no answer in time".to_owned())
}

/// A name for a session of the host `identity`: `windlass-session-web-1-0badcafe`.
fn name_for(identity: &str, number: u64) -> String {
    let letter = |letter: char| {
        let letter = letter.to_ascii_lowercase();
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '-'
        }
    };
    let slug: String = identity.chars().map(letter).take(LONGEST).collect();
    let number = number & 0xffff_ffff;
    format!("windlass-session-{slug}-{number:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_name_that_may_be_that_of_an_object() {
        let long = "x".repeat(300);
        let rows = [
            ("web-1", "windlass-session-web-1-0000002a"),
            ("Node.A_3F", "windlass-session-node-a-3f-0000002a"),
            ("", "windlass-session--0000002a"),
            ("ü", "windlass-session---0000002a"),
        ];
        for (identity, want) in rows {
            assert_eq!(name_for(identity, 42), want);
        }
        assert!(name_for(&long, u64::MAX).len() < 253);
    }
}
