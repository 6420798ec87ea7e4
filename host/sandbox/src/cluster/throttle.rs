//! What a call may do over time: its requests wait for the plugin's turn, their answers count on its account, and so
//! many lines about it go into the log.

use std::sync::Arc;

use http::Method;
use serde_json::value::RawValue;

use super::{Call, WriteMode};
use crate::bindings::cluster::Error;
use crate::redact::Redactor;
use crate::shares::{Logged, VersionShare};
use crate::waited::{WaitGuard, Waited};
use windlass_base::flowcontrol::{RequestClass, RequestSeat, Throttled};
use windlass_kube::api::{ApiError, Request};

/// So many look-ups of the host do not count as requests of a call: one for each child of the largest set.
const LOOKUPS: u32 = 1_000;

/// How many of its `requests` count against the limit of a call. A guest that has the host look up without end pays
/// for what is beyond [`LOOKUPS`].
fn counted(requests: u32, lookups: u32) -> u32 {
    requests.saturating_sub(lookups.min(LOOKUPS))
}

/// The most bytes that one answer to a plugin may have.
const ANSWER: usize = 16 << 20;
/// One of fewer bytes needs no room: a plugin that is above its limit can still delete what it has made.
const SMALL: usize = 64 << 10;

impl Call {
    /// It may make so many requests.
    pub(crate) fn limited_to(self, api_calls: u32) -> Self {
        Self { api_calls, ..self }
    }

    /// It is limited over time by `share`.
    pub(crate) fn of_share(self, share: Arc<VersionShare>) -> Self {
        let share = Some(share);
        Self { share, ..self }
    }

    /// Its waits for the API server count into `waited`.
    pub(crate) fn waiting(self, waited: Waited) -> Self {
        let waited = Some(waited);
        Self { waited, ..self }
    }

    /// What people are told of it, and of what it writes, goes through `redactor`.
    pub(crate) fn hiding(self, redactor: Redactor) -> Self {
        self.cluster.view.hides(&self.primary.key, redactor.hide());
        if self.cluster.writes == WriteMode::Captured {
            self.cluster.captured.hides(&redactor);
        }
        Self { redactor, ..self }
    }

    /// It waits for the API server until the answer is dropped.
    pub(super) fn waits(&self) -> Option<WaitGuard> {
        self.waited.as_ref().map(Waited::begin)
    }

    /// What its plugin waited for, and what it lost.
    pub(crate) fn throttled(&self) -> &Throttled {
        &self.cluster.throttled
    }

    /// Waits until the plugin may send one more request, which ends when the answer is dropped. That the others keep it
    /// waiting is not its own time.
    pub(super) async fn throttle(&self) -> Option<RequestSeat> {
        let share = self.share.as_ref()?;
        let waited = self.waited.as_ref();
        Some(share.request(&self.cluster.throttled, waited).await)
    }

    /// Sends a request when the plugin may: every request of a guest but a look-up goes through here.
    pub(super) async fn request(&mut self, request: Request) -> Result<Box<RawValue>, ApiError> {
        let is_of_primary = self.is_of_primary(&request.uri);
        let kind = kind_of(&request.uri);
        let answer = self.answer_to(request).await;
        if answer.as_ref().is_err_and(ApiError::is_not_served)
            && let Some((api_version, plural)) = kind
        {
            self.cluster.discovery.doubt(&api_version);
            // Without room to remember that, the key waits for its next try.
            let _ = (self.cluster.view).misses_kind(&self.primary.key, &api_version, &plural);
        }
        // It is absent, or another object has its name.
        let is_missing = |error: &ApiError| error.is_not_found() || error.code() == Some(409);
        if is_of_primary && answer.as_ref().is_err_and(is_missing) {
            self.state.lock().misses_primary = true;
        }
        answer
    }

    /// Whether this path leads to the primary, or to a subresource of it.
    fn is_of_primary(&self, uri: &str) -> bool {
        let (resource, key) = (&self.primary.resource, &self.primary.key);
        let path = resource.path(key.namespace.as_deref(), Some(&key.name), None);
        let rest = path.ok().and_then(|path| uri.strip_prefix(&*path));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    }

    async fn answer_to(&mut self, request: Request) -> Result<Box<RawValue>, ApiError> {
        self.state.lock().requests += 1;
        let seat = self.throttle().await;
        let request = match seat {
            Some(seat) => {
                let class = class_of(&request);
                request.in_seat(seat.of_class(class))
            }
            None => request,
        };
        self.answer.set(0);
        // A list says how long its answer may be, and has made room for it.
        let _waits = self.waits();
        if request.longest <= ANSWER {
            return self.cluster.api.text(request).await;
        }
        // What is written has room for an answer of its own size.
        let held = request.body.as_ref().map_or(0, |(_, body)| body.len());
        let held = held.max(SMALL);
        let request = request.at_most(ANSWER);
        let request = request.on_account(&self.cluster.account, held);
        let answer = self.cluster.api.text(request).await?;
        // Until the next one: by then it is an object that counts by itself, or is not there any more.
        let beyond = answer.get().len().saturating_sub(held);
        if beyond > 0 {
            self.answer.grow(beyond).map_err(ApiError::NoRoom)?;
        }
        Ok(answer)
    }

    /// Sends a request of the host's own, to know what it must before a write or after one. It waits for its turn like
    /// any other, and does not count against `apiCalls`: what a write costs the host is not the plugin's choice.
    ///
    /// # Errors
    /// As [`Call::send`].
    pub(super) async fn look_up(
        &mut self,
        doing: &str,
        request: Request,
    ) -> Result<Box<RawValue>, Error> {
        self.check_requests()?;
        self.state.lock().lookups += 1;
        let answer = self.request(request).await;
        answer.map_err(|error| self.failed(doing, &error))
    }

    pub(super) fn check_requests(&self) -> Result<(), Error> {
        if self.may_request() {
            return Ok(());
        }
        let limit = self.api_calls;
        Err(Error::other(format!(
            "the call has made all {limit} API requests that it may"
        )))
    }

    /// Sends a request, if the call may make one more.
    pub(super) async fn send(
        &mut self,
        doing: &str,
        request: Request,
    ) -> Result<Box<RawValue>, Error> {
        match self.try_send(request).await? {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.failed(doing, &error)),
        }
    }

    /// As [`Call::send`], with the API server's own error.
    pub(super) async fn try_send(
        &mut self,
        request: Request,
    ) -> Result<Result<Box<RawValue>, ApiError>, Error> {
        self.check_requests()?;
        Ok(self.request(request).await)
    }

    /// Whether the call may make one more request.
    pub(super) fn may_request(&self) -> bool {
        self.requests_left() > 0
    }

    /// How many more requests the call may make.
    pub(super) fn requests_left(&self) -> u32 {
        let state = self.state.lock();
        let made = counted(state.requests, state.lookups);
        self.api_calls.saturating_sub(made)
    }

    /// The API server may have asked the plugin to wait, or be in no state in which another version could do better.
    pub(super) fn slow_down(&self, error: &ApiError) {
        let mut state = self.state.lock();
        state.slow_down = state.slow_down.max(error.slow_down());
        state.unanswered |= error.is_no_answer() || error.is_of_terminating_namespace();
    }

    /// Whether the plugin may have one more line in the log, of no great length.
    pub(super) fn may_log(&self) -> bool {
        let Some(Logged::Dropped(said)) = self.share.as_ref().map(|share| share.log(0)) else {
            return true;
        };
        self.cluster.throttled.dropped_line();
        if let Some(said) = said {
            let (plugin, object) = (&*self.cluster.plugin, self.primary.to_string());
            tracing::warn!(plugin, object, "{said}");
        }
        false
    }
}

/// With which other requests its time can be compared. A list says how long its answer may be.
fn class_of(request: &Request) -> RequestClass {
    if request.longest <= ANSWER {
        RequestClass::Other
    } else if request.method == Method::GET {
        RequestClass::Read
    } else {
        RequestClass::Write
    }
}

/// The version and the plural of a kind, from a path of its objects.
fn kind_of(uri: &str) -> Option<(String, String)> {
    let path = uri.split(['?', '#']).next()?;
    let mut parts = path.strip_prefix('/')?.split('/');
    let api_version = match parts.next()? {
        "api" => parts.next()?.to_owned(),
        "apis" => format!("{}/{}", parts.next()?, parts.next()?),
        _ => return None,
    };
    let rest: Vec<&str> = parts.collect();
    let plural = match rest[..] {
        ["namespaces", _, plural, ..] | [plural, ..] => plural,
        [] => return None,
    };
    Some((api_version, plural.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_the_kind_of_its_objects() {
        let rows = [
            ("/api/v1/namespaces/a/pods/b?x=/c", Some(("v1", "pods"))),
            ("/api/v1/namespaces/a", Some(("v1", "namespaces"))),
            (
                "/apis/x.dev/v1/namespaces/a/things",
                Some(("x.dev/v1", "things")),
            ),
            (
                "/apis/x.dev/v1/things?limit=1",
                Some(("x.dev/v1", "things")),
            ),
            ("/apis/x.dev/v1", None),
            ("/version", None),
        ];
        for (uri, want) in rows {
            let kind = kind_of(uri);
            let kind = kind
                .as_ref()
                .map(|(version, plural)| (&**version, &**plural));
            assert_eq!(kind, want, "{uri}");
        }
    }

    #[test]
    fn look_ups_do_not_count_as_long_as_they_are_not_too_many() {
        // (requests, look-ups among them; how many count)
        let rows = [
            (0, 0, 0),
            (7, 0, 7),
            (200, 100, 100),
            (2000, 1000, 1000),
            (1500, 1500, 500),
            (3000, 2000, 2000),
        ];
        for (requests, lookups, want) in rows {
            assert_eq!(counted(requests, lookups), want, "{requests} {lookups}");
        }
    }
}
