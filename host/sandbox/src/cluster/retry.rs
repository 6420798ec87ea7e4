//! Which failed writes are sent again within the call, and when.
//!
//! - What the server has surely not done may always be sent again; what it may have done only if doing it
//!   twice is as doing it once.
//! - What failed for a reason that stays is not sent again: only what client-go would send again is.
//! - A server that asks for a long pause gets it from the whole plugin, between calls.

use std::time::Duration;

use serde_json::value::RawValue;

use super::Call;
use crate::bindings::cluster::Error;
use windlass_kube::api::{ApiError, Request};

/// How often a write is sent again.
const REPEATS: u32 = 2;

/// How long it waits the first time after a failure that says nothing about when.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Longer pauses are not waited for inside a call.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// A write that has taken this long is not sent again: the guest is to hear of it before its deadline.
const PATIENCE: Duration = Duration::from_secs(5);

/// What sending a write again can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// The refusal is an answer of its own: an eviction that would disturb too much.
    Never,
    /// Twice is not once: a creation.
    IfUndone,
    /// Twice is as once.
    Harmless,
    /// Twice is as once, and a conflict can only be a race with another write, since the request names
    /// neither a UID nor a version.
    Unconditional,
}

/// What a failure says about the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Not done: later perhaps.
    Undone,
    /// Not done: another write was first.
    Raced,
    /// Done or not.
    Unclear,
    /// Nothing that a repetition changes.
    Settled,
}

/// A write that failed for good.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: ApiError,
    /// Whether it may have been done, in one of its attempts.
    pub(super) perhaps_done: bool,
}

impl Failed {
    /// Whether it has perhaps created an object, though the guest gets no answer.
    pub(super) fn has_perhaps_created(&self) -> bool {
        let is_unread = matches!(self.error, ApiError::TooLarge | ApiError::NoRoom(_));
        self.perhaps_done || is_unread
    }
}

fn fate(error: &ApiError) -> Fate {
    match error {
        ApiError::Unreachable(_) | ApiError::Garbled(_) => Fate::Unclear,
        // Between two calls it is known whether the lease is still ours.
        ApiError::NotLeader | ApiError::NotAsAccount(_) | ApiError::ReadOnly => Fate::Settled,
        // It was done, and its answer would be as large the next time.
        ApiError::TooLarge | ApiError::NoRoom(_) => Fate::Settled,
        ApiError::Status { code, .. } => match code {
            429 if error.slow_down().is_some() => Fate::Undone,
            409 => Fate::Raced,
            408 | 500..=599 => Fate::Unclear,
            _ => Fate::Settled,
        },
    }
}

/// How long to wait before the write is sent again after `repeats` repetitions; `None` if it is not.
fn wait(error: &ApiError, repeat: Repeat, repeats: u32) -> Option<Duration> {
    let again = match (fate(error), repeat) {
        (Fate::Settled, _) | (_, Repeat::Never) => false,
        (Fate::Undone, Repeat::IfUndone | Repeat::Harmless | Repeat::Unconditional) => true,
        (Fate::Raced, Repeat::Unconditional) => true,
        (Fate::Raced, Repeat::IfUndone | Repeat::Harmless) => false,
        // A 5xx that names what is wrong with the request names it the next time as well.
        (Fate::Unclear, Repeat::Harmless | Repeat::Unconditional) => error.is_retryable(),
        (Fate::Unclear, Repeat::IfUndone) => false,
    };
    let asked = error
        .retry_after()
        .unwrap_or(FIRST_WAIT * 2u32.pow(repeats.min(8)));
    (again && repeats < REPEATS && asked <= LONGEST_WAIT).then_some(asked)
}

impl Call {
    /// Sends a write, again where that is safe, and as long as the call may make requests.
    pub(super) async fn try_write(
        &mut self,
        request: Request,
        repeat: Repeat,
    ) -> Result<Box<RawValue>, Failed> {
        let clock = self.cluster.api.clock();
        let (began, mut repeats, mut perhaps_done) = (clock.now(), 0, false);
        loop {
            let error = match self.request(request.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            // A server that refused it before, and says now that it conflicts, may have done it.
            let is_there = repeats > 0 && repeat == Repeat::IfUndone;
            perhaps_done |= match fate(&error) {
                Fate::Unclear => true,
                Fate::Raced => is_there,
                Fate::Undone | Fate::Settled => false,
            };
            self.slow_down(&error);
            let may = clock.now() - began < PATIENCE && self.may_request();
            let wait = wait(&error, repeat, repeats).filter(|_| may);
            if let Some(wait) = wait {
                let _waits = self.waits();
                self.cluster.api.pause(wait).await;
            }
            // Another branch may have made the last request meanwhile.
            if wait.is_none() || !self.may_request() {
                return Err(Failed {
                    error,
                    perhaps_done,
                });
            }
            repeats += 1;
        }
    }

    /// As [`Call::try_write`], with the guest's error.
    pub(super) async fn send_write(
        &mut self,
        doing: &str,
        request: Request,
        repeat: Repeat,
    ) -> Result<Box<RawValue>, Error> {
        self.check_requests()?;
        let sent = self.try_write(request, repeat).await;
        sent.map_err(|failed| self.failed(doing, &failed.error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::memory::Exceeded;

    fn status(code: u16, retry_after: Option<u64>) -> ApiError {
        ApiError::Status {
            code,
            reason: String::new(),
            message: String::new(),
            causes: Vec::new(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    #[test]
    fn a_write_is_sent_again_only_where_that_is_safe() {
        use Repeat::{Harmless, IfUndone, Never, Unconditional};
        let rows: [(ApiError, &[Repeat]); 17] = [
            (status(429, Some(1)), &[IfUndone, Harmless, Unconditional]),
            (status(429, None), &[IfUndone, Harmless, Unconditional]),
            (status(429, Some(30)), &[]),
            (status(409, None), &[Unconditional]),
            (status(408, None), &[Harmless, Unconditional]),
            (status(500, None), &[]),
            (status(500, Some(1)), &[Harmless, Unconditional]),
            (status(503, Some(2)), &[Harmless, Unconditional]),
            (status(503, Some(9)), &[]),
            (status(504, None), &[Harmless, Unconditional]),
            (
                ApiError::Unreachable(String::new()),
                &[Harmless, Unconditional],
            ),
            (ApiError::Garbled(String::new()), &[Harmless, Unconditional]),
            (ApiError::TooLarge, &[]),
            (ApiError::NoRoom(Exceeded::Plugin(1)), &[]),
            (status(404, None), &[]),
            (status(403, None), &[]),
            (status(422, None), &[]),
        ];
        for (error, safe) in rows {
            for repeat in [Never, IfUndone, Harmless, Unconditional] {
                let again = wait(&error, repeat, 0).is_some();
                assert_eq!(again, safe.contains(&repeat), "{error} {repeat:?}");
                assert_eq!(wait(&error, repeat, REPEATS), None, "not for ever");
            }
        }
    }

    #[test]
    fn waits_are_what_the_server_asks_for_or_grow() {
        let wait = |error: &ApiError, repeats| wait(error, Repeat::Harmless, repeats).unwrap();
        assert_eq!(wait(&status(429, Some(2)), 1), Duration::from_secs(2));
        assert_eq!(wait(&status(503, None), 0), FIRST_WAIT);
        assert_eq!(wait(&status(503, None), 1), FIRST_WAIT * 2);
    }

    #[test]
    fn a_disruption_budget_is_an_answer() {
        let budget = ApiError::Status {
            code: 429,
            reason: "TooManyRequests".into(),
            message: String::new(),
            causes: vec!["DisruptionBudget".into()],
            retry_after: Some(Duration::from_secs(1)),
        };
        assert_eq!(wait(&budget, Repeat::Unconditional, 0), None);
        assert_eq!(budget.slow_down(), None, "nobody else is to wait for it");
    }
}
