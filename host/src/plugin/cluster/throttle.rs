//! What a call may do over time: its requests wait for the plugin's turn, and so many lines about it go into the log.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::Call;
use crate::api::{ApiError, Request};
use crate::metrics::Throttled;
use crate::plugin::shares::{Logged, Share};
use crate::plugin::waited::{Waited, Waiting};

impl Call {
    /// It is limited over time by `share`.
    pub(in crate::plugin) fn of_share(self, share: Arc<Share>) -> Self {
        let share = Some(share);
        Self { share, ..self }
    }

    /// Its waits for the API server count into `waited`.
    pub(in crate::plugin) fn waiting(self, waited: Waited) -> Self {
        let waited = Some(waited);
        Self { waited, ..self }
    }

    /// It waits for the API server until the answer is dropped.
    pub(super) fn waits(&self) -> Option<Waiting> {
        self.waited.as_ref().map(Waited::begin)
    }

    /// What its plugin waited for, and what it lost.
    pub(in crate::plugin) fn throttled(&self) -> &Throttled {
        &self.door.throttled
    }

    /// Waits until the plugin may send one more request.
    pub(super) async fn throttle(&self) {
        if let Some(share) = &self.share {
            share.request(&self.door.throttled).await;
        }
    }

    /// Sends a request when the plugin may: every request of a guest but a look-up goes through here.
    pub(super) async fn request(&mut self, request: Request) -> Result<Box<RawValue>, ApiError> {
        self.requests += 1;
        self.throttle().await;
        let _waits = self.waits();
        self.door.api.text(request).await
    }

    /// Whether the plugin may have one more line in the log, of no great length.
    pub(super) fn may_log(&self) -> bool {
        let Some(Logged::Dropped(said)) = self.share.as_ref().map(|share| share.log(0)) else {
            return true;
        };
        self.door.throttled.dropped_line();
        if let Some(said) = said {
            let (plugin, object) = (&*self.door.plugin, self.primary.to_string());
            tracing::warn!(plugin, object, "{said}");
        }
        false
    }
}
