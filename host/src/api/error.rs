//! Why a request to the API server gave no object.

use std::error::Error;
use std::time::Duration;

use kube::core::response::Status;
use serde_json::Value;

use crate::memory::Exceeded;

/// A longer wait than this is not asked for by a healthy server.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// What went wrong with a request.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApiError {
    /// The server answered no.
    #[error("API server answered {code} {reason}: {message}")]
    Status {
        /// The HTTP status.
        code: u16,
        /// Kubernetes' word for it: `AlreadyExists`.
        reason: String,
        /// Its sentence.
        message: String,
        /// The fields or reasons that `details.causes` names.
        causes: Vec<String>,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// The write was not sent: the host could not be sure that it still holds the plugin's Lease.
    #[error("not sent: the lease was not renewed recently enough")]
    NotLeader,
    /// No answer, or half of one. A write may have been carried out.
    #[error("cannot reach the API server: {0}")]
    Unreachable(String),
    /// A longer answer than is taken. A write has been carried out.
    #[error("the API server's answer is longer than is taken")]
    TooLarge,
    /// A longer answer than the plugin has room for. A write has been carried out.
    #[error("the API server's answer is longer than there is room for: {0}")]
    NoRoom(Exceeded),
    /// An answer, but not Kubernetes'. A write may have been carried out.
    #[error("the API server's answer is not Kubernetes': {0}")]
    Garbled(String),
}

impl ApiError {
    pub(super) fn from_client(error: &kube::Error) -> Self {
        Self::Unreachable(crate::error::Chain(error).to_string())
    }

    pub(super) fn from_body(error: &(dyn Error + 'static)) -> Self {
        match error.downcast_ref::<http_body_util::LengthLimitError>() {
            Some(_) => Self::TooLarge,
            None => Self::Unreachable(crate::error::Chain(error).to_string()),
        }
    }

    pub(super) fn not_json(body: &[u8]) -> Self {
        Self::Garbled(format!("it is no JSON: {}", start_of(body)))
    }

    /// The error that ends a watch, as its last event says it.
    pub(crate) fn from_event(status: &Value) -> Self {
        let code = status.get("code").and_then(Value::as_u64);
        let code = code.and_then(|code| u16::try_from(code).ok());
        Self::from_status(code.unwrap_or(500), None, status.to_string().as_bytes())
    }

    pub(crate) fn from_status(code: u16, retry_after: Option<u64>, body: &[u8]) -> Self {
        // A proxy in between answers in its own words, often HTML.
        let status: Status = serde_json::from_slice(body).unwrap_or_else(|_| Status {
            reason: canonical_reason(code).to_owned(),
            message: start_of(body),
            ..Status::default()
        });
        let details = status.details;
        let asked = details
            .as_ref()
            .map_or(0, |details| details.retry_after_seconds);
        let retry_after = retry_after.or((asked > 0).then_some(u64::from(asked)));
        let causes = details.map_or_else(Vec::new, |details| details.causes);
        Self::Status {
            code,
            reason: status.reason,
            message: status.message,
            causes: causes
                .into_iter()
                .flat_map(|cause| [cause.field, cause.reason])
                .collect(),
            retry_after: retry_after.map(|s| Duration::from_secs(s).min(LONGEST_RETRY_AFTER)),
        }
    }

    /// The HTTP status, if there was one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Status { code, .. } => Some(*code),
            Self::NotLeader
            | Self::Unreachable(_)
            | Self::Garbled(_)
            | Self::TooLarge
            | Self::NoRoom(_) => None,
        }
    }

    /// Whether there is no such object.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Whether somebody else was first, so that reading again and deciding anew may help: a
    /// conflict, or a failed `test` of a JSON patch.
    pub fn is_race(&self) -> bool {
        matches!(self.code(), Some(409 | 422))
    }

    /// Whether the request may not be made as this user.
    pub fn is_forbidden(&self) -> bool {
        matches!(self.code(), Some(401 | 403))
    }

    /// How long to wait before anything else is sent: what the server asked for. A 429 without a word of it
    /// means a second; one of a disruption budget is about an eviction alone.
    pub fn slow_down(&self) -> Option<Duration> {
        match self {
            Self::Status {
                code: 429,
                retry_after,
                causes,
                ..
            } if !causes.iter().any(|cause| cause == "DisruptionBudget") => {
                Some(retry_after.unwrap_or(Duration::from_secs(1)))
            }
            // By then the lease is renewed, or lost.
            Self::NotLeader => Some(Duration::from_secs(1)),
            Self::Status { .. }
            | Self::Unreachable(_)
            | Self::Garbled(_)
            | Self::TooLarge
            | Self::NoRoom(_) => None,
        }
    }

    /// How long to wait before the request is sent again, if the server said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => self.slow_down().or(*retry_after),
            Self::NotLeader
            | Self::Unreachable(_)
            | Self::Garbled(_)
            | Self::TooLarge
            | Self::NoRoom(_) => None,
        }
    }
}

/// The beginning of an answer that is not Kubernetes'.
fn start_of(body: &[u8]) -> String {
    let start: String = String::from_utf8_lossy(body).chars().take(60).collect();
    format!("it begins with {start:?}")
}

fn canonical_reason(code: u16) -> &'static str {
    let code = http::StatusCode::from_u16(code).ok();
    code.and_then(|code| code.canonical_reason())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_keeps_what_decisions_need() {
        let body = json!({
            "kind": "Status", "code": 422, "reason": "Invalid", "message": "it is wrong",
            "details": { "causes": [{ "field": "metadata.uid", "reason": "FieldValueInvalid" }] },
        });
        let error = ApiError::from_status(422, None, body.to_string().as_bytes());
        assert!(error.is_race() && !error.is_not_found());
        let ApiError::Status { causes, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(causes, ["metadata.uid", "FieldValueInvalid"]);
    }

    #[test]
    fn an_answer_in_other_words_is_quoted() {
        let error = ApiError::from_status(502, None, b"<html>no backend</html>");
        let want =
            "API server answered 502 Bad Gateway: it begins with \"<html>no backend</html>\"";
        assert_eq!(error.to_string(), want);
    }

    #[test]
    fn a_429_says_how_long_to_wait_within_reason() {
        let cases = [(Some(3), 3), (Some(86_400), 60), (None, 1)];
        for (header, seconds) in cases {
            let error = ApiError::from_status(429, header, b"<html>too many</html>");
            assert_eq!(
                error.slow_down(),
                Some(Duration::from_secs(seconds)),
                "{header:?}"
            );
        }
        assert_eq!(ApiError::from_status(503, Some(9), b"").slow_down(), None);
    }
}
