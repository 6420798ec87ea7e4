//! A process of a command: its threads, and its exit code.

use std::process::ExitCode;
use std::thread::available_parallelism;

use windlass_base::error::Chain;
use windlass_base::screen::complain;
use windlass_base::seams::{Clock, Rng, Seams, Spawn, guest_threads};
use windlass_base::text::clean_lines;
use windlass_sandbox::compiler::{CompileError, REFUSED};

/// The exit code of what has failed.
pub const FAILED: u8 = 1;

/// The longest line of an error.
const LONGEST: usize = 64 << 10;

/// Runs `work` on threads of its own. `log` is started before, and dropped when `work` has ended. Guests have so many
/// `threads`, or one for each processor.
///
/// # Errors
/// What has failed.
pub fn run<T, W>(
    threads: Option<usize>,
    log: impl FnOnce(&Seams) -> anyhow::Result<T>,
    work: impl FnOnce(usize, Seams) -> W,
) -> anyhow::Result<()>
where
    W: Future<Output = anyhow::Result<()>>,
{
    let threads = threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let host = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let guests = guest_threads(threads)?;
    let spawn = Spawn::on_threads(host.handle().clone(), guests.handle().clone());
    let seams = Seams {
        clock: Clock::system(),
        rng: Rng::from_system(),
        spawn,
    };
    let logged = log(&seams)?;
    let ended = host.block_on(work(threads, seams));
    // What is still to be sent needs the host's threads.
    drop(logged);
    // Whatever still blocks is not waited for.
    guests.shutdown_background();
    host.shutdown_background();
    ended
}

/// Says how a command has ended, in the log of a daemon and on standard error otherwise; `failed` is the exit code of an
/// error.
pub fn exit(ended: anyhow::Result<()>, failed: u8, is_daemon: bool) -> ExitCode {
    let Err(error) = ended else {
        return ExitCode::SUCCESS;
    };
    // The host that started this says the rest.
    if let Some(CompileError::Refused(refused)) = error.downcast_ref() {
        complain(&refused.to_string());
        return ExitCode::from(REFUSED);
    }
    // Some of it may be what a guest or a server said.
    let said = clean_lines(&Chain(&*error).to_string(), LONGEST);
    if is_daemon && tracing::enabled!(tracing::Level::ERROR) {
        tracing::error!("{said}");
    } else {
        complain(&format!("error: {said}"));
    }
    ExitCode::from(failed)
}
