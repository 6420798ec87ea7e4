//! What the host says about a call: what it may not do, what it does not find, and which of its requests failed.
//!
//! - A text that was logged for the last pass as well is not logged again.

use super::{Call, answer};
use crate::bindings::cluster::Error;
use windlass_kube::api::{ApiError, RefusedBy};

/// So many lines are written about one call.
pub(super) const MOST: u32 = 20;
/// The longest answer of the API server that people are told.
const WORDS: usize = 1 << 10;

impl Call {
    /// Logs what the plugin may not do, and what would change that: not again if the last pass was told the same.
    pub(super) fn deny(&mut self, what: &str) -> Error {
        let error = Error::denied(format!("the plugin may not {what}"));
        let is_news = self.cluster.view.denied(&self.primary.key, what);
        if !is_news || !self.may_remark() {
            return error;
        }
        self.cluster.view.reported(&self.primary.key, what);
        let (plugin, object) = (&*self.cluster.plugin, self.primary.to_string());
        tracing::warn!(plugin, object, "plugin {plugin} may not {what}");
        error
    }

    pub(crate) fn remark(&mut self, what: &str) {
        if !self.may_remark() {
            return;
        }
        let (plugin, object) = (&*self.cluster.plugin, self.primary.to_string());
        tracing::info!(plugin, object, "{what}");
    }

    /// Whether one more line may be written: a guest can repeat what it may not do without end.
    pub(super) fn may_remark(&mut self) -> bool {
        let mut state = self.state.lock();
        let left = state.remarks_left;
        state.remarks_left = left.saturating_sub(1);
        drop(state);
        left > 0 && self.may_log()
    }

    /// Logs a failed request, and gives the guest its part of the news.
    pub(super) fn failed(&mut self, doing: &str, error: &ApiError) -> Error {
        self.slow_down(error);
        let (plugin, object) = (self.cluster.plugin.clone(), self.primary.to_string());
        let plugin = &*plugin;
        let text = self.redactor.line(&error.to_string(), WORDS);
        let answer = match error {
            ApiError::NoRoom(exceeded) => return self.exceeded(*exceeded),
            error => answer::error(error),
        };
        tracing::debug!(plugin, object, "cannot {doing}: {text}");
        let is_ours = matches!(
            error.refusal(),
            Some(RefusedBy::Credentials | RefusedBy::Rights)
        );
        let news = match &answer {
            Error::Denied(_) => {
                let what = format!("{doing}, since {}: {text}", self.cluster.api.lacks());
                let is_news = self.cluster.view.denied(&self.primary.key, &what);
                is_news.then_some(what)
            }
            answer => answer::words(error, answer).and_then(|words| {
                let words = self.redactor.line(&words, WORDS);
                let is_news = self.cluster.view.failed(&self.primary.key, &words);
                is_news.then_some(words)
            }),
        };
        // What else went wrong the plugin is told in full, and its answer is logged.
        if let Some(news) = news.filter(|_| is_ours)
            && self.may_remark()
        {
            self.cluster.view.reported(&self.primary.key, &news);
            let hint = self.cluster.api.hint(error);
            tracing::warn!(
                plugin,
                object,
                "the API server forbids plugin {plugin} to {doing}: {text}{hint}"
            );
        }
        answer
    }
}
