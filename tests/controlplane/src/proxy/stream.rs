//! Passes a body on as it comes, up to where a fault says.

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use tokio::sync::watch;

use super::answer::Pieces;
use super::rule::Fault;
use super::state::Gates;

/// How much of a body is passed on before something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    None,
    Bytes(usize),
    /// Watch events, each of which is a line.
    Events(usize),
}

/// What happens then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Cut,
    End,
    Hold,
}

/// Whether the connection goes on after a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ended,
    /// The connection is to be cut, after what was passed on is written.
    Cut,
}

/// What a fault does to a body.
pub(super) fn plan(fault: Fault) -> (Limit, Then) {
    match fault {
        Fault::CutBody(bytes) => (Limit::Bytes(bytes), Then::Cut),
        Fault::CutWatch(events) => (Limit::Events(events), Then::Cut),
        Fault::EndWatch(events) => (Limit::Events(events), Then::End),
        Fault::HoldWatch(events) => (Limit::Events(events), Then::Hold),
        Fault::Pass
        | Fault::KillBefore
        | Fault::KillAfterApplied
        | Fault::KillAfterAnswer
        | Fault::Status { .. }
        | Fault::Html(_)
        | Fault::EndlessBody
        | Fault::Disconnect
        | Fault::LoseAnswer
        | Fault::Hold
        | Fault::HoldAnswer
        | Fault::Delay(_) => (Limit::None, Then::End),
    }
}

impl Limit {
    /// Splits what may be passed on off the front of `data`.
    fn take(&mut self, data: &mut Bytes) -> Bytes {
        match self {
            Self::None => data.split_off(0),
            Self::Bytes(left) => {
                let now = data.split_to(data.len().min(*left));
                *left -= now.len();
                now
            }
            Self::Events(left) => {
                let mut end = 0;
                for line in data.split_inclusive(|&byte| byte == b'\n') {
                    if *left == 0 {
                        break;
                    }
                    end += line.len();
                    *left -= usize::from(line.ends_with(b"\n"));
                }
                data.split_to(end)
            }
        }
    }

    fn is_reached(self) -> bool {
        matches!(self, Self::Bytes(0) | Self::Events(0))
    }
}

/// The moment at which all that is held is let go, counted from when this was made.
pub(super) struct Release {
    gates: watch::Receiver<Gates>,
    before: u64,
}

impl Release {
    pub(super) fn after_now(gates: &watch::Sender<Gates>) -> Self {
        let gates = gates.subscribe();
        let before = gates.borrow().released;
        Self { gates, before }
    }

    pub(super) async fn reached(&mut self) {
        // An error means that the proxy is gone, and so is the task that waits.
        let _ = self
            .gates
            .wait_for(|gates| gates.released > self.before)
            .await;
    }
}

/// One body on its way.
pub(super) struct Passage {
    pub(super) limit: Limit,
    pub(super) then: Then,
    /// Whether it heeds the gates that hold and cut watches.
    pub(super) is_watch: bool,
    pub(super) release: Release,
}

impl Passage {
    /// Passes `body` on to `pieces`.
    pub(super) async fn pass(mut self, body: Incoming, pieces: &mut Pieces) -> Outcome {
        let mut gates = self.release.gates.clone();
        let (before, is_watch) = (gates.borrow().cuts, self.is_watch);
        tokio::select! {
            biased;
            _ = gates.wait_for(|gates| gates.cuts > before), if is_watch => Outcome::Cut,
            outcome = self.copy(body, pieces) => outcome,
        }
    }

    async fn copy(&mut self, mut body: Incoming, pieces: &mut Pieces) -> Outcome {
        let mut data = Bytes::new();
        loop {
            if self.limit.is_reached() {
                match self.then {
                    Then::Cut => return Outcome::Cut,
                    Then::End => return Outcome::Ended,
                    Then::Hold => self.release.reached().await,
                }
                self.limit = Limit::None;
            }
            if data.is_empty() {
                data = match body.frame().await {
                    Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                    Some(Err(_)) => return Outcome::Cut,
                    None => return Outcome::Ended,
                };
            }
            if self.is_watch {
                let _ = self.release.gates.wait_for(|gates| !gates.held).await;
            }
            let now = self.limit.take(&mut data);
            if !now.is_empty() && pieces.send_data(now).await.is_err() {
                return Outcome::Ended;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(mut limit: Limit, data: &'static str) -> (String, String, bool) {
        let mut data = Bytes::from_static(data.as_bytes());
        let now = limit.take(&mut data);
        let text = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        (text(now), text(data), limit.is_reached())
    }

    #[test]
    fn a_limit_splits_exactly_where_it_says() {
        let cases = [
            (Limit::None, "ab", "", false),
            (Limit::Bytes(3), "ab", "", false),
            (Limit::Bytes(1), "a", "b", true),
            (Limit::Events(1), "ab", "", false),
        ];
        for (limit, now, later, reached) in cases {
            assert_eq!(
                taken(limit, "ab"),
                (now.into(), later.into(), reached),
                "{limit:?}"
            );
        }
        let lines = taken(Limit::Events(2), "a\nb\nc\n");
        assert_eq!(lines, ("a\nb\n".into(), "c\n".into(), true));
        let half = taken(Limit::Events(2), "a\nb");
        assert_eq!(half, ("a\nb".into(), String::new(), false));
    }
}
