//! The host's side of every import: checked against the end of the call, then handed on.

mod by_name;
mod cluster;
mod hints;
mod http;
mod run;

use std::time::Duration;

use tracing::{Instrument, Level, Span};

use super::bindings::{clock, config, log, metrics, types};
use super::calls::Ending;
use super::cancel::Stop;
use super::cluster::Call;
use super::custom_metrics::{LABELS, MetricKind};
use super::import::Recordable;
use super::sandbox::SandboxState;
use super::shares::Logged;
use super::transcript::Arguments;
pub(super) use by_name::by_name;
use run::Run;
use windlass_base::spans;
use windlass_base::text::clean;

/// The longest log message, and the most bytes of its fields together.
const LOG_LINE: usize = 8 << 10;
const LOG_FIELDS: usize = 32;

/// What a guest gets that reaches for the cluster while it describes itself.
#[derive(Debug, thiserror::Error)]
#[error("`describe` called an import other than `log`: it must answer from nothing but itself")]
struct NothingHere;

/// A recording that says something else than its call asks for.
#[derive(Debug, thiserror::Error)]
#[error("the recorded answer to `{0}` does not fit this import")]
struct Unreadable(&'static str);

impl SandboxState {
    fn call(&mut self) -> wasmtime::Result<&mut Call> {
        self.cancel.check()?;
        self.call.as_mut().ok_or_else(|| NothingHere.into())
    }

    fn not_describing(&mut self) -> wasmtime::Result<()> {
        if self.player.is_some() {
            return Ok(self.cancel.check()?);
        }
        self.call().map(drop)
    }

    /// Runs an import's work until it answers, or until the call is to stop.
    async fn until_stopped<'a, T, F>(
        &'a mut self,
        work: impl FnOnce(&'a mut Call) -> F,
    ) -> wasmtime::Result<T>
    where
        F: Future<Output = T> + 'a,
    {
        let cancel = self.cancel.clone();
        let work = work(self.call()?);
        tokio::select! {
            biased;
            () = cancel.stopped() => Err(Stop::Cancelled.into()),
            answer = work => Ok(answer),
        }
    }
}

impl SandboxState {
    /// The span of a call of `import`.
    fn span(&mut self, import: &'static str) -> Span {
        let Some(left) = self.spans_left.checked_sub(1) else {
            return Span::none();
        };
        self.spans_left = left;
        spans::import(import)
    }

    /// Has `import` answered: from the recording that is played, or by its work. Counts how the work ends, and notes it.
    async fn answer<I: Run>(&mut self, import: I) -> wasmtime::Result<I::Answer> {
        import.show(&self.redactor);
        let name = I::ABOUT.name;
        if let Some(player) = &self.player {
            self.cancel.check()?;
            let reply = player.answer(name, import.to_json());
            return I::Answer::from_reply(reply).ok_or_else(|| Unreadable(name).into());
        }
        let calls = self.call.as_ref().map(Call::calls);
        let recorder = self.call.as_ref().and_then(Call::recorder).cloned();
        let recorded = recorder.map(|recorder| (recorder, Arguments::of(&import)));
        let redactor = self.redactor.clone();
        let span = self.span(name);
        let answer = self.until_stopped(|call| import.run(call));
        let answer = answer.instrument(span.clone()).await;
        let answer = answer.inspect_err(|_| spans::answered(&span, "stopped"))?;
        if self.call.as_ref().is_some_and(Call::is_undecided) {
            return Err(Stop::Undecided.into());
        }
        answer.objects(&mut |object| redactor.sees(object));
        spans::answered(&span, answer.word());
        if let Some(calls) = calls {
            calls.note(name, answer.word());
        }
        if let Some((recorder, arguments)) = recorded {
            recorder.note(name, arguments, &answer);
        }
        Ok(answer)
    }
}

/// Whether somebody reads lines of this level.
fn is_logged(level: log::Level) -> bool {
    // tracing wants the level at compile time.
    match level {
        log::Level::Trace => tracing::enabled!(target: "plugin", Level::TRACE),
        log::Level::Debug => tracing::enabled!(target: "plugin", Level::DEBUG),
        log::Level::Info => tracing::enabled!(target: "plugin", Level::INFO),
        log::Level::Warn => tracing::enabled!(target: "plugin", Level::WARN),
        log::Level::Error => tracing::enabled!(target: "plugin", Level::ERROR),
    }
}

impl SandboxState {
    /// Whether the plugin may write one more line, of so many bytes. Says now and then what is dropped.
    fn may_log(&self, bytes: usize) -> bool {
        let Logged::Dropped(said) = self.share.log(bytes) else {
            return true;
        };
        if let Some(call) = &self.call {
            call.throttled().dropped_line();
        }
        if let Some(said) = said {
            tracing::warn!(plugin = &*self.plugin, object = &*self.object, "{said}");
        }
        false
    }
}

impl log::Host for SandboxState {
    async fn log(
        &mut self,
        level: log::Level,
        message: String,
        fields: Vec<log::Field>,
    ) -> wasmtime::Result<()> {
        self.cancel.check()?;
        let Some(left) = self.log_lines_left.checked_sub(1) else {
            return Ok(());
        };
        self.log_lines_left = left;
        // Before anything is searched: nobody reads it.
        if !is_logged(level) {
            return Ok(());
        }
        let mut fields_text = String::new();
        for field in fields.into_iter().take(LOG_FIELDS) {
            let room = LOG_LINE.saturating_sub(fields_text.len());
            if room == 0 {
                break;
            }
            let key = self.redactor.line(&field.key, 64);
            let value = self.redactor.line(&field.value, room);
            fields_text.push_str(&format!("{key}={value:?} "));
        }
        let message = self.redactor.line(&message, LOG_LINE);
        let fields = fields_text.trim_end();
        if !self.may_log(message.len() + fields.len()) {
            return Ok(());
        }
        let (plugin, object) = (&*self.plugin, &*self.object);
        let trace_id = spans::trace_id(&Span::current());
        // tracing wants the level at compile time.
        macro_rules! line {
            ($level:expr) => {
                tracing::event!(target: "plugin", $level, plugin, object, fields, trace_id, "{message}")
            };
        }
        match level {
            log::Level::Trace => line!(Level::TRACE),
            log::Level::Debug => line!(Level::DEBUG),
            log::Level::Info => line!(Level::INFO),
            log::Level::Warn => line!(Level::WARN),
            log::Level::Error => line!(Level::ERROR),
        }
        if left == 0 && self.may_log(0) {
            tracing::warn!(
                plugin,
                object,
                "the call has written all the log lines that it may; more are dropped"
            );
        }
        Ok(())
    }
}

impl config::Host for SandboxState {
    async fn get(&mut self) -> wasmtime::Result<String> {
        self.not_describing()?;
        Ok(self.config.to_string())
    }
}

impl clock::Host for SandboxState {
    async fn now(&mut self) -> wasmtime::Result<String> {
        self.not_describing()?;
        let millis =
            Duration::from_millis(u64::try_from(self.now.subsec_millisecond()).unwrap_or(0));
        let seconds = self.now.as_second();
        let whole = jiff::Timestamp::from_second(seconds).unwrap_or(self.now);
        // Always three digits, as the contract says.
        Ok(format!(
            "{}.{:03}Z",
            whole.to_string().trim_end_matches('Z'),
            millis.as_millis()
        ))
    }

    async fn wake_at(&mut self, time: String) -> wasmtime::Result<()> {
        self.note_wake_at(&time)
    }
}

impl SandboxState {
    /// Notes when the guest wants to be called again.
    fn note_wake_at(&mut self, time: &str) -> wasmtime::Result<()> {
        if self.player.is_some() {
            return Ok(self.cancel.check()?);
        }
        let call = self.call()?;
        match time.parse() {
            Ok(time) => call.wake_at(time),
            Err(_) => {
                let text = clean(time, 64);
                call.no_time(format!(
                    "wake-at: {text:?} is not a time such as 2026-11-21T09:30:00Z"
                ));
            }
        }
        Ok(())
    }

    /// Takes a number of the guest's own. A call that is made again or is not meant counts nothing.
    fn measure(
        &mut self,
        kind: MetricKind,
        name: &str,
        mut labels: Vec<metrics::Label>,
        value: f64,
    ) -> wasmtime::Result<()> {
        // With one label too many it is refused as with all of them, and not all are searched.
        labels.truncate(LABELS + 1);
        self.redactor.labels(&mut labels);
        if self.player.is_some() {
            return Ok(self.cancel.check()?);
        }
        let taken = self
            .call()?
            .custom_metrics()
            .take(kind, name, labels, value);
        if let Err(Some(why)) = taken {
            let (plugin, object, name) = (&*self.plugin, &*self.object, clean(name, 64));
            tracing::warn!(
                plugin,
                object,
                "a number of the plugin's own, {name:?}, is dropped, and more may be: {why}"
            );
        }
        Ok(())
    }
}

impl metrics::Host for SandboxState {
    async fn add(
        &mut self,
        name: String,
        labels: Vec<metrics::Label>,
        by: f64,
    ) -> wasmtime::Result<()> {
        self.measure(MetricKind::Counter, &name, labels, by)
    }

    async fn set(
        &mut self,
        name: String,
        labels: Vec<metrics::Label>,
        to: f64,
    ) -> wasmtime::Result<()> {
        self.measure(MetricKind::Gauge, &name, labels, to)
    }

    async fn observe(
        &mut self,
        name: String,
        labels: Vec<metrics::Label>,
        value: f64,
    ) -> wasmtime::Result<()> {
        self.measure(MetricKind::Histogram, &name, labels, value)
    }
}

impl types::Host for SandboxState {}
