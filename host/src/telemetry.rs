//! The log: text for people, JSON for machines, always on standard error.

use std::io::{self, IsTerminal, Write, stderr};
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::EnvFilter;

use crate::args::LogFormat;

/// Libraries that log each error which they also return: the host says it once, in its own words.
const REPEATED: &str = "kube_client=off,kube_runtime=off,rustls_platform_verifier=off";

/// What is held back of a log, at most, in bytes.
const MOST: usize = 64 << 10;

/// What was held back since it was taken last.
static HELD: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The end of a log that is held back.
struct Held;

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST.saturating_sub(held.len()).min(bytes.len());
        held.extend_from_slice(bytes.get(..room).unwrap_or_default());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes what was held back, for who tells it when something has failed.
pub fn taken() -> String {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&std::mem::take(&mut *held)).into_owned()
}

/// Starts the log; one that is `held` back is for [`taken`].
///
/// # Errors
/// `filter` is none.
pub fn start(format: Option<LogFormat>, filter: &str, held: bool) -> anyhow::Result<()> {
    let whole = format!("{REPEATED},{filter}");
    let filter = EnvFilter::try_new(whole).map_err(|error| {
        anyhow::anyhow!("--log {filter:?} is no filter such as info or info,plugin=debug: {error}")
    })?;
    let terminal = stderr().is_terminal();
    let format = format.unwrap_or(if terminal {
        LogFormat::Text
    } else {
        LogFormat::Json
    });
    let log = tracing_subscriber::fmt().with_env_filter(filter);
    if held {
        let log = log.with_ansi(false).with_target(false).without_time();
        log.with_writer(|| Held).init();
        return Ok(());
    }
    let log = log.with_writer(stderr);
    match format {
        LogFormat::Text => log.with_ansi(terminal).with_target(false).init(),
        LogFormat::Json => log
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .init(),
    }
    Ok(())
}
