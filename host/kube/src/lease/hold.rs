//! How a host keeps the Lease of a plugin.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::session::{Heartbeat, Renewal};
use super::{LeaderElectionRecord, Lease};
use crate::api::ApiError;
use windlass_base::bugs::bug;

/// What a Lease says to the host that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Claim {
    /// It names the host and its session.
    Holds,
    /// Nobody else has it, and it is to be written again.
    IsTakenAgain,
    /// Another host has it.
    Lost(String),
}

/// The host that holds a Lease, or did so a moment ago.
struct Holder<'a> {
    identity: &'a str,
    /// The session that it has now.
    session: &'a str,
    /// Whether it had a session of this name.
    was: &'a (dyn Fn(&str) -> bool + Sync),
    /// The `renewTime` that it has written last.
    renewed: &'a str,
}

impl Holder<'_> {
    /// What the Lease says. One that somebody has deleted or emptied is taken again, as client-go does.
    fn claim(&self, lease: Option<&LeaderElectionRecord>) -> Claim {
        let Some(lease) = lease else {
            return Claim::IsTakenAgain;
        };
        match lease.session() {
            _ if lease.holder.is_empty() => Claim::IsTakenAgain,
            _ if lease.holder != self.identity => Claim::Lost(lease.holder.clone()),
            Some(session) if session == self.session => Claim::Holds,
            Some(session) if (self.was)(session) => Claim::IsTakenAgain,
            // Somebody has taken the annotation off.
            None if lease.renewed == self.renewed => Claim::IsTakenAgain,
            Some(_) | None => Claim::Lost(format!("another host that is called {}", lease.holder)),
        }
    }
}

impl Lease {
    /// Holds the Lease until it is lost: another host has it, or the session could not be renewed for too long. At rest
    /// it costs no request.
    pub async fn hold(&self) {
        self.follow().await;
        self.gate.close();
    }

    async fn follow(&self) {
        let (clock, times) = (self.session.seams().clock, self.session.times());
        let mut beats = self.session.beats();
        let mut renewed = clock.now();
        let period = self.session.seams().rng.spread(times.lasts() / 3, 0.2);
        loop {
            if beats.changed().await.is_err() {
                // The session is there as long as this Lease.
                return pending().await;
            }
            let beat: Arc<Heartbeat> = beats.borrow_and_update().clone();
            let is_too_late = |renewed: Instant| clock.now() - renewed > times.renew_deadline;
            let Some(renewal) = &beat.renewal else {
                // The session says why.
                if is_too_late(renewed) {
                    return;
                }
                continue;
            };
            if beat.number <= self.written.lock().begun {
                continue;
            }
            let confirmed = Box::pin(self.confirm(renewal, period));
            let confirmed = clock.within(times.renew_deadline, confirmed).await;
            let late = || Err(ApiError::Unreachable("no answer in time".to_owned()));
            match confirmed.unwrap_or_else(late) {
                Ok(None) => {
                    renewed = renewal.sent;
                    self.gate.open(renewal.opened);
                }
                Ok(Some(holder)) => {
                    let lease = &self.name;
                    tracing::error!(lease, holder, "another host has taken the lease");
                    return;
                }
                Err(error) => {
                    tracing::warn!(lease = self.name, "cannot keep the lease: {error}");
                    if is_too_late(renewed) {
                        tracing::error!(lease = self.name, "the lease could not be kept in time");
                        return;
                    }
                }
            }
        }
    }

    /// Makes sure that the Lease is ours after `renewal`; answers the holder if that is another one. Writes it if
    /// somebody has changed it, and once in each `period`.
    async fn confirm(
        &self,
        renewal: &Renewal,
        period: Duration,
    ) -> Result<Option<String>, ApiError> {
        let clock = self.session.seams().clock;
        let written = self.written.lock().clone();
        let holder = Holder {
            identity: self.session.identity(),
            session: &renewal.session,
            was: &|session| self.session.was(session),
            renewed: &written.renewed,
        };
        let mut record = self.look(renewal.leases.as_ref()).await?;
        let listed = renewal.leases.as_ref().map(|all| all.get(&self.name));
        let mut claim = holder.claim(record.as_ref());
        bug!(TheListIsNotHeeded, return Ok(None));
        match (listed, &claim) {
            // Its label is gone.
            (Some(None), Claim::Holds) => claim = Claim::IsTakenAgain,
            // The Lease itself has the last word.
            (Some(Some(_)), Claim::IsTakenAgain | Claim::Lost(_)) => {
                self.gate.close();
                record = self.read().await?;
                claim = holder.claim(record.as_ref());
            }
            _ => {}
        }
        let since = written.sent.map_or(period, |sent| clock.now() - sent);
        match claim {
            Claim::Lost(holder) => return Ok(Some(holder)),
            Claim::Holds if since < period => {
                if !self.notice_request(record.as_ref()).await {
                    return Ok(None);
                }
            }
            Claim::Holds | Claim::IsTakenAgain => {}
        }
        let again = self.write(record.as_ref(), Some(&renewal.session)).await;
        let times = self.session.times();
        match again {
            Err(error) if claim == Claim::Holds && since + times.lease_duration < times.lasts() => {
                tracing::warn!(lease = self.name, "cannot write the lease again: {error}");
                Ok(None)
            }
            again => again.map(|()| None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{LeaseWrite, PLUGIN};
    use super::*;

    fn lease(holder: &str, session: Option<&str>, renewed: &str) -> LeaderElectionRecord {
        let write = LeaseWrite {
            namespace: "default",
            name: "windlass-greeter",
            purpose: PLUGIN,
            holder,
            session,
            duration: Duration::from_secs(3600),
            now: renewed,
            keeps_request: false,
            before: None,
        };
        LeaderElectionRecord::of(&write.object())
    }

    #[test]
    fn a_lease_is_held_by_its_session_and_by_nobody_else_of_the_same_name() {
        let holder = Holder {
            identity: "a",
            session: "now",
            was: &|session| ["before", "now"].contains(&session),
            renewed: "1",
        };
        let other = || Claim::Lost("another host that is called a".to_owned());
        let rows = [
            (lease("a", Some("now"), "1"), Claim::Holds),
            // It was written, and the answer was lost.
            (lease("a", Some("now"), "2"), Claim::Holds),
            (lease("a", Some("before"), "1"), Claim::IsTakenAgain),
            (lease("a", Some("life"), "1"), other()),
            (lease("a", None, "1"), Claim::IsTakenAgain),
            (lease("a", None, "2"), other()),
            (lease("", None, "2"), Claim::IsTakenAgain),
            (lease("b", Some("now"), "1"), Claim::Lost("b".to_owned())),
            (lease("b", None, "2"), Claim::Lost("b".to_owned())),
        ];
        for (lease, want) in rows {
            assert_eq!(holder.claim(Some(&lease)), want, "{lease:?}");
        }
        assert_eq!(holder.claim(None), Claim::IsTakenAgain);
    }
}
