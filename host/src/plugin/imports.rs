//! The host's side of every import: checked against the end of the call, then handed on.

use std::time::Duration;

use tracing::Level;

use super::bindings::{clock, cluster, config, events, log, types};
use super::calls::Ending;
use super::cancel::Stop;
use super::cluster::Call;
use super::sandbox::State;
use crate::seams::{Either, first};
use crate::text::clean;

/// The longest log message, and the most bytes of its fields together.
const LOG_LINE: usize = 8 << 10;
const LOG_FIELDS: usize = 32;

/// What a guest gets that reaches for the cluster while it describes itself.
#[derive(Debug, thiserror::Error)]
#[error("`describe` called an import other than `log`: it must answer from nothing but itself")]
struct NothingHere;

impl State {
    fn call(&mut self) -> wasmtime::Result<&mut Call> {
        self.cancel.check()?;
        self.call.as_mut().ok_or_else(|| NothingHere.into())
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
        match first(cancel.stopped(), work).await {
            Either::Left(()) => Err(Stop::Cancelled.into()),
            Either::Right(answer) => Ok(answer),
        }
    }
}

impl State {
    /// Counts how the work of `import` ends.
    async fn counted<'a, T: Ending, F>(
        &'a mut self,
        import: &'static str,
        work: impl FnOnce(&'a mut Call) -> F,
    ) -> wasmtime::Result<T>
    where
        F: Future<Output = T> + 'a,
    {
        let calls = self.call.as_ref().map(Call::calls);
        let answer = self.until_stopped(work).await?;
        if let Some(calls) = calls {
            calls.note(import, answer.word());
        }
        Ok(answer)
    }
}

type Answer<T> = wasmtime::Result<Result<T, cluster::Error>>;

impl cluster::Host for State {
    async fn get(
        &mut self,
        target: types::ObjectRef,
        subresource: Option<String>,
        consistency: cluster::Consistency,
    ) -> Answer<String> {
        self.counted("get", |call| call.get(target, subresource, consistency))
            .await
    }

    async fn list(&mut self, query: cluster::ListQuery) -> Answer<Vec<String>> {
        self.counted("list", |call| call.list(query)).await
    }

    async fn apply(&mut self, object: String) -> Answer<String> {
        self.counted("apply", |call| call.apply(object)).await
    }

    async fn apply_status(&mut self, object: String) -> Answer<String> {
        self.counted("apply-status", |call| call.apply_status(object))
            .await
    }

    async fn apply_set(
        &mut self,
        children: Vec<String>,
    ) -> wasmtime::Result<Result<Vec<String>, Vec<cluster::SetError>>> {
        self.counted("apply-set", |call| call.apply_set(children))
            .await
    }

    async fn create(&mut self, object: String) -> Answer<String> {
        self.counted("create", |call| call.create(object)).await
    }

    async fn create_subresource(
        &mut self,
        parent: types::ObjectRef,
        subresource: String,
        object: String,
    ) -> Answer<String> {
        self.counted("create-subresource", |call| {
            call.create_subresource(parent, subresource, object)
        })
        .await
    }

    async fn patch(
        &mut self,
        target: types::ObjectRef,
        subresource: Option<String>,
        patch_type: cluster::PatchType,
        patch: String,
    ) -> Answer<String> {
        self.counted("patch", |call| {
            call.patch(target, subresource, patch_type, patch)
        })
        .await
    }

    async fn delete(
        &mut self,
        target: types::ObjectRef,
        options: cluster::DeleteOptions,
    ) -> Answer<()> {
        self.counted("delete", |call| call.delete(target, options))
            .await
    }
}

impl events::Host for State {
    async fn publish(&mut self, event: events::Event) -> wasmtime::Result<()> {
        self.until_stopped(|call| call.publish(event)).await
    }
}

impl log::Host for State {
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
        let mut fields_text = String::new();
        for field in fields.into_iter().take(LOG_FIELDS) {
            let room = LOG_LINE.saturating_sub(fields_text.len());
            let (key, value) = (clean(&field.key, 64), clean(&field.value, room));
            fields_text.push_str(&format!("{key}={value:?} "));
        }
        let (plugin, object) = (&*self.plugin, &*self.object);
        let (message, fields) = (clean(&message, LOG_LINE), fields_text.trim_end());
        // tracing wants the level at compile time.
        macro_rules! line {
            ($level:expr) => {
                tracing::event!(target: "plugin", $level, plugin, object, fields, "{message}")
            };
        }
        match level {
            log::Level::Trace => line!(Level::TRACE),
            log::Level::Debug => line!(Level::DEBUG),
            log::Level::Info => line!(Level::INFO),
            log::Level::Warn => line!(Level::WARN),
            log::Level::Error => line!(Level::ERROR),
        }
        if left == 0 {
            tracing::warn!(
                plugin,
                object,
                "the call has written all the log lines that it may; more are dropped"
            );
        }
        Ok(())
    }
}

impl config::Host for State {
    async fn get(&mut self) -> wasmtime::Result<String> {
        self.call()?;
        Ok(self.config.to_string())
    }
}

impl clock::Host for State {
    async fn now(&mut self) -> wasmtime::Result<String> {
        self.call()?;
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
}

impl types::Host for State {}
