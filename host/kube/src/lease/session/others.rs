//! What a host does about the sessions of others: it judges them, ends them, and clears them away.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{PAUSE, Session, late};
use crate::api::{ApiError, Request};
use crate::lease::observed::Verdict;
use crate::lease::record::{LeaderElectionRecord, ended};

impl Session {
    /// Whether nothing more comes of the session `name`, and it cannot be renewed any more: it is ended first, if it is
    /// only known not to have been renewed in time.
    pub(in crate::lease) async fn is_over(&self, name: &str) -> Result<bool, ApiError> {
        let _turn = self.0.looking.lock().await;
        let clock = self.0.seams.clock;
        let is_fresh = {
            let (state, window) = (self.0.state.lock(), self.0.times.retry_period / 2);
            state.sessions.is_fresh(name, clock.now(), window)
        };
        if !is_fresh {
            self.look_at(name).await?;
        }
        let verdict = || self.0.state.lock().sessions.verdict(name, clock.now());
        match verdict() {
            Verdict::Alive => Ok(false),
            Verdict::Ended => Ok(true),
            Verdict::Absent => {
                self.look_at(name).await?;
                Ok(verdict() == Verdict::Absent)
            }
            Verdict::Expired(record) => {
                match self.take_off(&record).await {
                    Ok(ended) => self.sees(name, Some(&ended)),
                    Err(error) if error.is_race() || error.is_not_found() => {
                        self.look_at(name).await?;
                    }
                    Err(error) => return Err(error),
                }
                let is_over = verdict() == Verdict::Ended;
                if is_over {
                    let host = &record.holder;
                    tracing::info!(session = name, host, "ended the session of a dead host");
                }
                Ok(is_over)
            }
        }
    }

    /// Whether the session `name` has moved since it was first seen, and whether nothing more comes of it. It is only
    /// looked at.
    pub(in crate::lease) async fn watch(&self, name: &str) -> Result<(bool, bool), ApiError> {
        self.look_at(name).await?;
        let state = self.0.state.lock();
        let is_over = state.sessions.verdict(name, self.0.seams.clock.now()) != Verdict::Alive;
        Ok((state.sessions.has_moved(name), is_over))
    }

    /// Whether the session `name` is there and has a holder, who may be alive. It is only looked at.
    pub(in crate::lease) async fn is_alive(&self, name: &str) -> Result<bool, ApiError> {
        self.look_at(name).await?;
        let state = self.0.state.lock();
        Ok(state.sessions.is_alive(name, self.0.seams.clock.now()))
    }

    /// How long the session `name` lasts after a renewal.
    pub(in crate::lease) fn lasts(&self, name: &str) -> Duration {
        let lasts = self.0.state.lock().sessions.lasts(name);
        lasts.unwrap_or(self.0.times.lease_duration)
    }

    /// Deletes a session that nobody can need any more, if there is one.
    pub(super) async fn bury(&self) {
        let now = self.0.seams.clock.now();
        let stale = {
            let mut state = self.0.state.lock();
            let is_early = state.buries.is_some_and(|again| now < again);
            let stale = state.sessions.stale(now).filter(|_| !is_early).cloned();
            state.buries = stale.as_ref().map_or(state.buries, |_| Some(now + PAUSE));
            stale
        };
        let Some(stale) = stale else { return };
        let name = &stale.name;
        let as_it_was = json!({ "uid": stale.uid, "resourceVersion": stale.version });
        let deleted = Box::pin(self.delete(name, &as_it_was));
        let deleted = self
            .0
            .seams
            .clock
            .within(self.0.times.retry_period, deleted);
        match deleted.await.unwrap_or_else(|| Err(late())) {
            Ok(()) => tracing::info!(session = name, "deleted the old session of a host"),
            Err(error) => tracing::debug!(session = name, "cannot delete an old session: {error}"),
        }
    }

    /// Deletes a session; takes its holder off if the host may not.
    pub(super) async fn delete_or_take_off(
        &self,
        name: &str,
        preconditions: &Value,
    ) -> Result<(), ApiError> {
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

    async fn look_at(&self, name: &str) -> Result<(), ApiError> {
        let there = self.read(name).await?;
        self.sees(name, there.as_ref());
        Ok(())
    }

    fn sees(&self, name: &str, record: Option<&LeaderElectionRecord>) {
        let (now, shortest) = (self.0.seams.clock.now(), self.0.times.lease_duration);
        let mut state = self.0.state.lock();
        state.sessions.sees(name, record, now, shortest);
    }
}
