//! The host, but for one thing: it dies at the step of loading a plugin that `CRASH_AT` names, once the
//! file `CRASH_WHEN` is there.
//!
//! The host says each step in its log; this program's log kills it there and then.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use windlass_host::cli::{self, HostArgs};

/// Dies when an event says that its step is reached.
struct CrashAt {
    step: String,
    when: PathBuf,
}

impl<S: Subscriber> Layer<S> for CrashAt {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut reached = Reached(None);
        event.record(&mut reached);
        if reached.0.as_ref() == Some(&self.step) && self.when.exists() {
            std::process::abort();
        }
    }
}

/// The field `reached` of an event.
struct Reached(Option<String>);

impl Visit for Reached {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "reached" {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

fn main() -> ExitCode {
    cli::main(HostArgs::parse(), |_, _| {
        let lines = tracing_subscriber::fmt::layer()
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .with_writer(std::io::stderr)
            .with_filter(LevelFilter::from_level(Level::INFO));
        let crash = CrashAt {
            step: std::env::var("CRASH_AT")?,
            when: std::env::var_os("CRASH_WHEN").unwrap_or_default().into(),
        };
        let crash = crash.with_filter(LevelFilter::from_level(Level::DEBUG));
        tracing_subscriber::registry()
            .with(lines)
            .with(crash)
            .init();
        Ok(())
    })
}
