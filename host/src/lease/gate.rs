//! The write gate: a plugin's write is sent only while nobody else can hold the plugin's Lease.
//!
//! - A write is let through until `renew-deadline` after the last renewal was *sent*, and must have ended before
//!   `lease-duration` after it: until then nobody else takes over (client-go's rule, which promises no fencing).
//! - Time counts on while the machine sleeps. A process that stands still between the gate and its socket is
//!   not caught: nothing that a client does could.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Times;
use crate::seams::Clock;

/// The gate of one Lease. Clones are the same gate. Closed at first.
#[derive(Clone, Debug)]
pub struct Gate {
    clock: Clock,
    times: Times,
    /// When the last renewal that was answered had been sent.
    renewed: Arc<Mutex<Option<Duration>>>,
}

impl Gate {
    /// A closed gate.
    pub fn new(clock: Clock, times: Times) -> Self {
        Self {
            clock,
            times,
            renewed: Arc::default(),
        }
    }

    /// The time now, for [`Gate::open`].
    pub(super) fn now(&self) -> Duration {
        self.clock.boot()
    }

    /// A renewal that was sent at `sent` was carried out.
    pub(super) fn open(&self, sent: Duration) {
        let mut renewed = self.renewed();
        *renewed = (*renewed).max(Some(sent));
    }

    /// The Lease is given up, or another's.
    pub(super) fn close(&self) {
        *self.renewed() = None;
    }

    /// How long a write that is sent now may take; `None` if none may be sent.
    pub fn allowance(&self) -> Option<Duration> {
        allowance((*self.renewed())?, self.clock.boot(), &self.times)
    }

    fn renewed(&self) -> MutexGuard<'_, Option<Duration>> {
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The decision: `renewed` and `now` count from the same moment.
fn allowance(renewed: Duration, now: Duration, times: &Times) -> Option<Duration> {
    // Clocks may run at different rates, and a request takes a moment from here to the wire.
    let margin = times.lease_duration.saturating_sub(times.renew_deadline) / 10;
    let since = now.saturating_sub(renewed);
    let until = times.renew_deadline.checked_sub(margin)?;
    if since >= until {
        return None;
    }
    times.lease_duration.checked_sub(margin + since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_ends_before_anybody_else_may_take_over() {
        let ms = Duration::from_millis;
        let times = Times::default();
        let cases = [
            (0, 0, Some(14_500)),
            (1_000, 3_000, Some(12_500)),
            (1_000, 10_499, Some(5_001)),
            (1_000, 10_500, None),
            (1_000, 60_000, None),
            (5_000, 1_000, Some(14_500)),
        ];
        for (renewed, now, want) in cases {
            assert_eq!(
                allowance(ms(renewed), ms(now), &times),
                want.map(ms),
                "renewed at {renewed}, now {now}"
            );
        }
    }
}
