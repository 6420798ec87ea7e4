//! The host's own work for a guest, in slices: as the guest, it hands back its turn, is charged, and can be stopped.

use std::time::Duration;

use super::Call;
use crate::bindings::cluster::Error;
use crate::cpu_meter::Cpu;
use crate::engine::SLICE;

/// So much work is done before the clock is looked at: comparisons, or some bytes that are copied.
const WORK: usize = 4096;

/// The CPU time of a call, and how much it may use.
#[derive(Clone)]
pub(crate) struct Slices {
    cpu: Cpu,
    limit: Duration,
    /// The work that was done since the clock was looked at.
    done: usize,
}

impl Slices {
    /// Of a call that counts into `cpu` and may use `limit`.
    pub(crate) fn new(cpu: Cpu, limit: Duration) -> Self {
        Self {
            cpu,
            limit,
            done: 0,
        }
    }

    /// So much more is done. Whether it is time to look at the clock.
    fn is_due(&mut self, work: usize) -> bool {
        self.done = self.done.saturating_add(work);
        let is_due = self.done >= WORK;
        if is_due {
            self.done = 0;
        }
        is_due
    }
}

impl Call {
    /// Its work counts into `slices`.
    pub(crate) fn sliced(self, slices: Slices) -> Self {
        let slices = Some(slices);
        Self { slices, ..self }
    }

    /// The host has done so much `work` for the guest. If the slice is over, the turn goes to another.
    ///
    /// # Errors
    /// The call has used up its CPU time: the guest is stopped where it goes on.
    pub(super) async fn work(&mut self, work: usize) -> Result<(), Error> {
        let Some(slices) = &mut self.slices else {
            return Ok(());
        };
        if !slices.is_due(work) {
            return Ok(());
        }
        if slices.cpu.used_now() > slices.limit {
            return Err(Error::other("the call used up its CPU time"));
        }
        if slices.cpu.slice() < SLICE {
            return Ok(());
        }
        slices.cpu.end_slice();
        tokio::task::yield_now().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::seams::Clock;

    #[test]
    fn the_clock_is_looked_at_from_time_to_time() {
        let clock = Clock::starting_at("2026-11-21T09:30:00Z".parse().unwrap());
        let mut slices = Slices::new(Cpu::new(clock), SLICE);
        let due: Vec<bool> = [WORK - 1, 0, 1, WORK, usize::MAX, 1]
            .map(|work| slices.is_due(work))
            .to_vec();
        assert_eq!(due, [false, false, true, true, true, false]);
    }
}
