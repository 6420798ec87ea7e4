//! SIGTERM, SIGINT or SIGHUP drains; the second one aborts.
//!
//! - A host that was started with SIGHUP ignored, such as by `nohup`, goes on when its terminal is gone.

use std::future::pending;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::seams::{Seams, Task, watch};

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShutdownPhase {
    /// Everything runs.
    Run,
    /// Passes that run may end, no new ones begin.
    Drain,
    /// Calls that run are told to stop.
    Abort,
}

/// The phase, to be waited for.
pub type Phases = watch::Receiver<ShutdownPhase>;

/// Listens for signals. The sender can move the phase on as well.
///
/// # Errors
/// The operating system refused.
pub fn listen(seams: &Seams) -> std::io::Result<(watch::Sender<ShutdownPhase>, Phases, Task)> {
    let (sender, phases) = watch::channel(ShutdownPhase::Run);
    let mut signals = Signals::listen()?;
    let announce = sender.clone();
    let task = seams.spawn.task(async move {
        signals.next().await;
        tracing::info!("stopping: running passes may end; signal again to abort them");
        advance(&announce, ShutdownPhase::Drain);
        signals.next().await;
        tracing::warn!("aborting running passes");
        advance(&announce, ShutdownPhase::Abort);
    });
    Ok((sender, phases, task))
}

/// Waits for the first of the signals, and does nothing else.
///
/// # Errors
/// The operating system refused.
pub fn signalled() -> std::io::Result<impl Future<Output = ()>> {
    let mut signals = Signals::listen()?;
    Ok(async move { signals.next().await })
}

/// Moves on to `phase`; never back.
pub fn advance(sender: &watch::Sender<ShutdownPhase>, phase: ShutdownPhase) {
    sender.send_if_modified(|held| {
        let on = phase > *held;
        *held = phase.max(*held);
        on
    });
}

/// Waits until `phase` or a later one is reached.
pub async fn reached(phases: &Phases, phase: ShutdownPhase) {
    let mut phases = phases.clone();
    if phases.wait_for(|held| *held >= phase).await.is_err() {
        // Nobody can end the host any more, so nobody has.
        pending::<()>().await;
    }
}

/// The signals that end the host.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// None if SIGHUP is ignored.
    hangup: Option<Signal>,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        // Who cannot be asked ignores nothing.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hangup = if ignores_hangup(&status) {
            None
        } else {
            Some(signal(SignalKind::hangup())?)
        };
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup,
        })
    }

    async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Whether the process ignores SIGHUP, as `/proc/PID/status` says: the first of 64 bits.
fn ignores_hangup(status: &str) -> bool {
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ignores_hangups_says_so() {
        let cases = [
            (
                "Name:\twindlass\nSigIgn:\t0000000000001001\nSigCgt:\t0\n",
                true,
            ),
            (
                "Name:\twindlass\nSigIgn:\t0000000000001000\nSigCgt:\t1\n",
                false,
            ),
            ("Name:\twindlass\n", false),
            ("SigIgn:\tx\n", false),
        ];
        for (status, want) in cases {
            assert_eq!(ignores_hangup(status), want, "{status}");
        }
    }
}
