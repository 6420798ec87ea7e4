//! SIGTERM or SIGINT drains; the second one aborts.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::seams::{Seams, Task, first};

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Everything runs.
    Run,
    /// Passes that run may end, no new ones begin.
    Drain,
    /// Calls that run are told to stop.
    Abort,
}

/// The phase, to be waited for.
pub type Phases = watch::Receiver<Phase>;

/// Listens for signals. The sender can move the phase on as well.
///
/// # Errors
/// The operating system refused.
pub fn listen(seams: &Seams) -> std::io::Result<(watch::Sender<Phase>, Phases, Task)> {
    let (sender, phases) = watch::channel(Phase::Run);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let announce = sender.clone();
    let task = seams.spawn.task(async move {
        either(&mut terminate, &mut interrupt).await;
        tracing::info!("stopping: running passes may end; signal again to abort them");
        advance(&announce, Phase::Drain);
        either(&mut terminate, &mut interrupt).await;
        tracing::warn!("aborting running passes");
        advance(&announce, Phase::Abort);
    });
    Ok((sender, phases, task))
}

/// Waits for the first of the signals, and does nothing else.
///
/// # Errors
/// The operating system refused.
pub fn signalled() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move { either(&mut terminate, &mut interrupt).await })
}

/// Waits until the terminal is gone.
///
/// # Errors
/// The operating system refused.
pub fn hung_up() -> std::io::Result<impl Future<Output = ()>> {
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        hangup.recv().await;
    })
}

/// Moves on to `phase`; never back.
pub fn advance(sender: &watch::Sender<Phase>, phase: Phase) {
    sender.send_if_modified(|held| {
        let on = phase > *held;
        *held = phase.max(*held);
        on
    });
}

/// Waits until `phase` or a later one is reached.
pub async fn reached(phases: &Phases, phase: Phase) {
    let mut phases = phases.clone();
    if phases.wait_for(|held| *held >= phase).await.is_err() {
        // Nobody can end the host any more, so nobody has.
        std::future::pending::<()>().await;
    }
}

async fn either(one: &mut Signal, other: &mut Signal) {
    first(one.recv(), other.recv()).await;
}
