//! The whole retry policy, in one match.

use std::time::Duration;

use jiff::Timestamp;

use super::reconcile::{Done, PassError};
use windlass_base::bugs::bug;
use windlass_sandbox::{CallError, Failure};

/// A guest that asks for less is given this: it must not make the host spin.
pub(super) const SHORTEST_REQUEUE: Duration = Duration::from_millis(100);

/// The longest delay of a guest: what it may ask for in milliseconds, about 49 days.
const LONGEST_REQUEUE: Duration = Duration::from_millis(u32::MAX as u64);

/// How long it is from `now` until a guest is called that wants to be called at `time`.
pub(super) fn delay_until(time: Timestamp, now: Timestamp) -> Duration {
    let delay = Duration::try_from(time.duration_since(now)).unwrap_or_default();
    delay.clamp(SHORTEST_REQUEUE, LONGEST_REQUEUE)
}

/// What happens to a key once its pass has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Forget past failures; wait for a change.
    Rest,
    /// Forget past failures; run again at once.
    Again,
    /// Forget past failures; run again after this long.
    After(Duration),
    /// Count a failure; run again after backoff.
    Backoff,
    /// The API server is busy: run again after this long, and count nothing.
    SlowDown(Duration),
}

/// Decides what happens next. `asked` is how long the API server asked to wait, if it did.
pub(super) fn next(outcome: &Result<Done, PassError>, asked: Option<Duration>) -> Next {
    let slow_down = bug!(ThrottlingCountsAsFailure, asked, None);
    let failed = slow_down.map_or(Next::Backoff, Next::SlowDown);
    match outcome {
        Ok(Done::Rest) => Next::Rest,
        Ok(Done::Again) => Next::Again,
        Ok(Done::After(millis)) => {
            Next::After(Duration::from_millis(u64::from(*millis)).max(SHORTEST_REQUEUE))
        }
        Err(PassError::Call(CallError::Failed(Failure::Terminal(_)))) => Next::Rest,
        Err(PassError::Call(
            CallError::Failed(Failure::Transient(_)) | CallError::DeadlineExceeded { .. },
        )) => failed,
        Err(PassError::Call(
            CallError::CpuExceeded(_) | CallError::Trapped(_) | CallError::Host(_),
        )) => Next::Backoff,
        // The next run, here or elsewhere, starts from zero.
        Err(PassError::Call(CallError::Stopped | CallError::Undecided)) => Next::Rest,
        Err(PassError::Finalizer(_) | PassError::Read(_)) => failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_kube::api::ApiError;

    #[test]
    fn a_time_is_waited_for_exactly_within_bounds() {
        let time = |text: &str| -> Timestamp { text.parse().unwrap() };
        let now = time("2026-11-21T09:30:00Z");
        let rows = [
            ("2026-11-21T09:30:10.5Z", Duration::from_millis(10_500)),
            ("2026-11-21T09:30:00.05Z", SHORTEST_REQUEUE),
            ("2026-11-21T09:30:00Z", SHORTEST_REQUEUE),
            ("2020-01-01T00:00:00Z", SHORTEST_REQUEUE),
            ("2027-11-21T09:30:00Z", LONGEST_REQUEUE),
            ("9999-01-01T00:00:00Z", LONGEST_REQUEUE),
        ];
        for (at, want) in rows {
            assert_eq!(delay_until(time(at), now), want, "{at}");
        }
    }

    #[test]
    fn every_outcome_has_its_next_step() {
        let text = || "why".to_owned();
        let call = |error| Err(PassError::Call(error));
        let api = || ApiError::Unreachable(text());
        let second = Duration::from_secs(1);
        let cases = [
            (Ok(Done::Rest), None, Next::Rest),
            (Ok(Done::Again), None, Next::Again),
            (
                Ok(Done::After(5_000)),
                None,
                Next::After(Duration::from_secs(5)),
            ),
            (Ok(Done::After(0)), None, Next::After(SHORTEST_REQUEUE)),
            (
                call(CallError::Failed(Failure::Terminal(text()))),
                Some(second),
                Next::Rest,
            ),
            (
                call(CallError::Failed(Failure::Transient(text()))),
                None,
                Next::Backoff,
            ),
            (
                call(CallError::Failed(Failure::Transient(text()))),
                Some(second),
                Next::SlowDown(second),
            ),
            (
                call(CallError::DeadlineExceeded {
                    deadline: second,
                    waited: Duration::ZERO,
                }),
                None,
                Next::Backoff,
            ),
            (
                call(CallError::CpuExceeded(second)),
                Some(second),
                Next::Backoff,
            ),
            (
                call(CallError::Trapped(text())),
                Some(second),
                Next::Backoff,
            ),
            (call(CallError::Host(text())), None, Next::Backoff),
            (call(CallError::Stopped), None, Next::Rest),
            (Err(PassError::Finalizer(api())), None, Next::Backoff),
            (
                Err(PassError::Read(api())),
                Some(second),
                Next::SlowDown(second),
            ),
            (Ok(Done::Rest), Some(second), Next::Rest),
        ];
        for (outcome, slow_down, want) in cases {
            assert_eq!(next(&outcome, slow_down), want, "{outcome:?} {slow_down:?}");
        }
    }
}
