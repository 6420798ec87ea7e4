//! When a key runs that asked to run again: at the moment that it asked for, or earlier if many would run together.

use std::time::Duration;

use super::retry::SHORTEST_REQUEUE;

/// Keys count as due together within so long.
pub(super) const TOGETHER: Duration = Duration::from_secs(1);

/// So many are counted.
pub(super) const COUNTED: usize = 1_000;

/// So many keys may be due together without being spread.
const FEW: usize = 10;

/// Each key beyond them spreads the next one over so much more time.
const EACH: Duration = Duration::from_millis(100);

/// No key runs earlier than by this part of what it asked for.
const PART: u32 = 10;

/// How long a key waits that `asked` for a delay, if so many others are due `together` with it. `fraction`, 0 to 1,
/// says where in its span it runs. Never longer than it asked for.
pub(super) fn early(asked: Duration, together: usize, fraction: f64) -> Duration {
    let crowd = u32::try_from(together.saturating_sub(FEW)).unwrap_or(u32::MAX);
    let span = EACH.saturating_mul(crowd).min(asked / PART);
    let spread = asked.saturating_sub(span.mul_f64(fraction.clamp(0.0, 1.0)));
    spread.max(SHORTEST_REQUEUE.min(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_runs_when_it_asked_for_or_earlier_if_many_are_due_together() {
        let day = Duration::from_secs(24 * 3600);
        let (second, ms) = (Duration::from_secs(1), Duration::from_millis);
        let rows = [
            // Asked for, due together, where in the span, and when it runs.
            (day, 0, 1.0, day),
            (day, 10, 1.0, day),
            (day, 11, 1.0, day - ms(100)),
            (day, 110, 0.5, day - ms(5_000)),
            (day, COUNTED, 1.0, day - ms(99_000)),
            (day, usize::MAX, 1.0, day - day / 10),
            (day, usize::MAX, 0.0, day),
            (second, 1_000, 1.0, ms(900)),
            (ms(100), 1_000, 1.0, ms(100)),
            (ms(105), 1_000, 1.0, ms(100)),
            (Duration::ZERO, 1_000, 1.0, Duration::ZERO),
            // More than all of it is all of it.
            (day, 110, 7.0, day - ms(10_000)),
        ];
        for (asked, together, fraction, want) in rows {
            let runs = early(asked, together, fraction);
            assert_eq!(runs, want, "{asked:?} {together} {fraction}");
        }
    }
}
