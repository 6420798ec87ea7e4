//! What a service account may do, as the API server says.
//!
//! - What plugins watch, the host watches for all of them, as itself. So a plugin that acts as a service account is answered
//!   from a store only what that account may read: a SubjectAccessReview says so. What goes to the API server is sent as
//!   the account ([`PluginApi`]), and the API server decides by itself.
//! - An answer counts for a while, and is asked for again then: rights are given and taken while a plugin runs.
//! - If there is no answer, the last one counts for a while longer. After that the account may not.

mod answers;
mod plugin_api;
mod right;

use std::sync::Arc;

use http::Method;
use parking_lot::Mutex;
use serde_json::Value;

use answers::{Answers, Judgement};
pub use plugin_api::PluginApi;
pub use right::Right;
use windlass_base::seams::Clock;
use windlass_kube::api::{Api, ApiError, RefusedBy, Request, ServiceAccount};

/// Where reviews are made.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Whether an account has a right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has.
    Allowed,
    /// It has not.
    Denied,
    /// Nobody knows, for this reason. It counts as denied.
    Unknown(String),
}

/// What is known of the rights of service accounts. Clones are the same.
#[derive(Clone)]
pub struct Rights {
    /// As the host: an account need not be able to ask about itself.
    api: Api,
    clock: Clock,
    answers: Arc<Mutex<Answers>>,
}

impl Rights {
    /// Nothing is known yet. The API server is asked by `api`, which is the host's own.
    pub fn new(api: Api, clock: Clock) -> Self {
        Self {
            api,
            clock,
            answers: Arc::default(),
        }
    }

    /// What is known without asking; nothing if the API server has to be asked.
    pub fn known(&self, account: &ServiceAccount, right: &Right) -> Option<Verdict> {
        let now = self.clock.now();
        match self.answers.lock().judge(account, right, now) {
            Judgement::Known(verdict) => Some(verdict),
            Judgement::Ask => None,
        }
    }

    /// Whether `account` has `right`. The API server is asked if that is not known, once for all who wait.
    pub async fn has(&self, account: &ServiceAccount, right: &Right) -> Verdict {
        let asking = self.answers.lock().asking(account, right, self.clock.now());
        let _asks = asking.lock().await;
        if let Some(verdict) = self.known(account, right) {
            return verdict;
        }
        let asked = self.ask(account, right).await;
        let now = self.clock.now();
        self.answers.lock().answered(account, right, asked, now)
    }

    /// Asks the API server.
    async fn ask(&self, account: &ServiceAccount, right: &Right) -> Result<bool, String> {
        let uri = REVIEWS.to_owned();
        let request = Request::json(Method::POST, uri, &right.review(account));
        let answer = self.api.send(request).await;
        let answer = answer.map_err(|error| said(&error))?;
        let allowed = answer.pointer("/status/allowed").and_then(Value::as_bool);
        allowed.ok_or_else(|| "its answer is not a SubjectAccessReview".to_owned())
    }
}

/// What the API server said, and what helps.
fn said(error: &ApiError) -> String {
    match error.refusal() {
        Some(RefusedBy::Rights) => format!(
            "{error}; `windlass` itself may not create subjectaccessreviews.authorization.k8s.io: apply what `windlass rbac` prints"
        ),
        Some(refused) => format!("{error}{}", refused.hint()),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
