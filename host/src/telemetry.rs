//! The log: text for people, JSON for machines, always on standard error.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::EnvFilter;

use crate::args::LogFormat;

/// Libraries that log each error which they also return: the host says it once, in its own words.
const REPEATED: &str = "kube_client=off,kube_runtime=off,rustls_platform_verifier=off";

/// Starts the log.
///
/// # Errors
/// `filter` is none.
pub fn start(format: Option<LogFormat>, filter: &str) -> anyhow::Result<()> {
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
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr);
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
