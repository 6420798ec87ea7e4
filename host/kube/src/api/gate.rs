//! The write gate: a plugin's write is sent only while nobody else can hold the plugin's Lease.
//!
//! - A write is let through until `renew-deadline` after the last renewal of the host's session was *sent*, and must
//!   have ended before `lease-duration` after it: until then nobody else takes over (client-go's rule, which promises no fencing).
//! - Time counts on while the machine sleeps. A process that stands still between the gate and its socket is
//!   not caught: nothing that a client does could.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use windlass_base::seams::Clock;

/// The gate of one Lease. Clones are the same gate. Closed at first.
#[derive(Clone, Debug)]
pub struct Gate {
    clock: Clock,
    /// How long after a renewal writes are sent.
    renew_deadline: Duration,
    /// How long after a renewal nobody else takes over.
    lease_duration: Duration,
    /// When the last renewal that was answered had been sent.
    renewed: Arc<Mutex<Option<Duration>>>,
}

impl Gate {
    /// A closed gate.
    pub fn new(clock: Clock, renew_deadline: Duration, lease_duration: Duration) -> Self {
        Self {
            clock,
            renew_deadline,
            lease_duration,
            renewed: Arc::default(),
        }
    }

    /// A renewal that was sent at `sent`, by [`Clock::boot`], was carried out.
    pub(crate) fn open(&self, sent: Duration) {
        let mut renewed = self.renewed.lock();
        *renewed = (*renewed).max(Some(sent));
    }

    /// The Lease is given up, or another's.
    pub(crate) fn close(&self) {
        *self.renewed.lock() = None;
    }

    /// How long a write that is sent now may take; `None` if none may be sent.
    pub fn allowance(&self) -> Option<Duration> {
        let since = self.clock.boot().saturating_sub((*self.renewed.lock())?);
        allowance(since, self.renew_deadline, self.lease_duration)
    }
}

/// The decision, `since` the last renewal was sent.
fn allowance(
    since: Duration,
    renew_deadline: Duration,
    lease_duration: Duration,
) -> Option<Duration> {
    // Clocks may run at different rates, and a request takes a moment from here to the wire.
    let margin = lease_duration.saturating_sub(renew_deadline) / 10;
    if since >= renew_deadline.checked_sub(margin)? {
        return None;
    }
    lease_duration.checked_sub(margin + since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_ends_before_anybody_else_may_take_over() {
        let ms = Duration::from_millis;
        let cases = [
            (0, Some(14_500)),
            (2_000, Some(12_500)),
            (9_499, Some(5_001)),
            (9_500, None),
            (59_000, None),
        ];
        for (since, want) in cases {
            assert_eq!(
                allowance(ms(since), ms(10_000), ms(15_000)),
                want.map(ms),
                "renewed {since} ms ago"
            );
        }
    }
}
