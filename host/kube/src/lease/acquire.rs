//! How a host gets the Lease of a plugin, or learns who has it.

use super::{Lease, ObservedLease, PluginLeases, Renewal};
use crate::api::ApiError;
use windlass_base::text::LogOnce;

/// The one that a Lease is kept for, before it has it.
const WANTED: &str = "another host, which has asked for it";

impl Lease {
    /// Waits until the Lease is ours. Says once whom it waits for. Calls `waits` when it cannot be had at once, with its
    /// holder, if that is another one.
    /// `watched` is what is known of the Lease from before: a holder that was watched once need not be watched again.
    pub async fn acquire(&self, mut watched: ObservedLease, waits: impl Fn(Option<&str>)) {
        let mut logged = LogOnce::default();
        let mut beats = self.session.beats();
        let mut is_first = true;
        loop {
            let beat = beats.borrow_and_update().clone();
            let tried = match &beat.renewal {
                // The last list may be old: it is read once by itself.
                Some(renewal) => {
                    let listed = renewal.leases.as_ref().filter(|_| !is_first);
                    is_first = false;
                    Some(self.try_acquire(renewal, listed, &mut watched).await)
                }
                None => None,
            };
            match tried {
                Some(Ok(None)) => return,
                Some(Ok(Some(holder))) => {
                    waits(Some(&holder));
                    if logged.is_new(holder.clone()) {
                        tracing::info!(
                            lease = self.name,
                            holder,
                            "waiting: another host runs this plugin"
                        );
                    }
                }
                Some(Err(error)) => {
                    waits(None);
                    let text = error.to_string();
                    if logged.is_new(text.clone()) {
                        tracing::warn!(
                            lease = self.name,
                            "cannot take the lease, trying again: {text}"
                        );
                    }
                }
                // The session has said why, if it has been tried.
                None if beat.number > 0 => waits(None),
                None => {}
            }
            // The session is there as long as this Lease.
            let _ = beats.changed().await;
        }
    }

    /// `None` if the Lease is ours now, otherwise whose it is.
    pub(super) async fn try_acquire(
        &self,
        renewal: &Renewal,
        listed: Option<&PluginLeases>,
        watched: &mut ObservedLease,
    ) -> Result<Option<String>, ApiError> {
        let there = self.look(listed).await?;
        let (clock, shortest) = (
            self.session.seams().clock,
            self.session.times().lease_duration,
        );
        match &there {
            // Somebody has deleted it, and its holder may not know that yet.
            None => {
                if let Some(holder) = watched.alive(clock.now(), self.session.identity()) {
                    return Ok(Some(holder));
                }
            }
            Some(record) if record.holder == self.session.identity() => {}
            Some(record) => {
                let is_free = match record.session() {
                    None => watched.is_free(record, clock.now(), shortest),
                    Some(session) => {
                        let is_over = self.session.is_over(session).await?;
                        watched.is_held(record, clock.now(), self.session.lasts(session));
                        is_over
                    }
                };
                if !is_free {
                    if self.session.insists() {
                        self.ask_for(record, &renewal.session).await?;
                    }
                    return Ok(Some(record.holder.clone()));
                }
                // It was given up for another host.
                if self.is_wanted(record).await? {
                    return Ok(Some(WANTED.to_owned()));
                }
            }
        }
        match self.write(there.as_ref(), Some(&renewal.session)).await {
            Ok(()) => {
                // Others go by the session, not by this write.
                self.gate.open(renewal.opened);
                Ok(None)
            }
            Err(error) if error.is_race() => Ok(Some(watched.was_beaten(clock.now(), shortest))),
            Err(error) => Err(error),
        }
    }

    /// Whether another host holds the Lease that may be alive. It is only looked at: of a host that died it takes a while
    /// until it is known.
    ///
    /// # Errors
    /// The API server could not be asked.
    pub async fn is_held_elsewhere(&self) -> Result<bool, ApiError> {
        let Some(record) = self.read().await? else {
            return Ok(false);
        };
        if record.holder.is_empty() || record.holder == self.session.identity() {
            return Ok(false);
        }
        match record.session() {
            Some(session) => Ok(!self.session.watch(session).await?.1),
            // A host from before sessions: its successor finds out.
            None => Ok(true),
        }
    }

    /// Who runs the plugin now, if anybody does. Watches a holder that shows no life for as long as
    /// its lease lasts, before it calls it dead; `watched` keeps what was seen.
    ///
    /// # Errors
    /// The API server could not be asked.
    pub async fn holder(&self, watched: &mut ObservedLease) -> Result<Option<String>, ApiError> {
        let (clock, times) = (self.session.seams().clock, self.session.times());
        let mut logged = LogOnce::default();
        loop {
            let Some(record) = self.read().await? else {
                return Ok(None);
            };
            let before = watched.record().cloned();
            let (moves, is_over, lasts) = match record.session() {
                Some(session) => {
                    let (moves, is_over) = self.session.watch(session).await?;
                    (moves, is_over, self.session.lasts(session))
                }
                None => {
                    let moves = before.is_some_and(|before| !before.is_as(&record));
                    let is_free = watched.is_free(&record, clock.now(), times.lease_duration);
                    (moves, is_free, record.duration)
                }
            };
            if moves {
                return Ok((!record.holder.is_empty()).then_some(record.holder));
            }
            if is_over {
                return Ok(None);
            }
            let (holder, seconds) = (&record.holder, lasts.as_secs());
            if logged.is_new(holder.clone()) {
                tracing::info!(
                    lease = self.name,
                    holder,
                    "waiting for up to {seconds} s to see whether its holder is alive"
                );
            }
            clock.sleep(times.retry_period / 2).await;
        }
    }
}
