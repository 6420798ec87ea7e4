//! Why a request to the API server gave no object.

use std::error::Error;
use std::time::Duration;

use kube::core::response::Status;
use serde_json::Value;

use windlass_base::memory::Exceeded;

/// A longer wait than this is not asked for by a healthy server.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// What went wrong with a request.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApiError {
    /// The server answered no.
    #[error("API server answered {code}{}", words(.reason, .message))]
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
    /// The write was not sent: the plugin observes.
    #[error("not sent: the plugin observes, and nothing is written for it")]
    ReadOnly,
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
    /// The request was not sent: it cannot be made as the service account that it was to be made as.
    #[error("not sent: {0}")]
    NotAsAccount(String),
}

/// Who refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedBy {
    /// Authentication: the host's credentials are not valid, or no longer.
    Credentials,
    /// Authorization: the host lacks a right.
    Rights,
    /// Admission, such as a quota, a terminating namespace, a policy or a webhook: the host has the right.
    Admission,
}

impl RefusedBy {
    /// What to add to the server's words, after a semicolon; empty if they say all.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Credentials => {
                "; the credentials of `windlass` itself are not valid: have they expired?"
            }
            Self::Rights => "; `windlass` itself lacks the right",
            Self::Admission => "",
        }
    }
}

impl ApiError {
    pub(super) fn from_client(error: &kube::Error) -> Self {
        Self::Unreachable(windlass_base::error::Chain(error).to_string())
    }

    pub(super) fn from_body(error: &(dyn Error + 'static)) -> Self {
        match error.downcast_ref::<http_body_util::LengthLimitError>() {
            Some(_) => Self::TooLarge,
            None => Self::Unreachable(windlass_base::error::Chain(error).to_string()),
        }
    }

    pub(super) fn not_json(body: &[u8]) -> Self {
        Self::Garbled(format!("it is not JSON: {}", start_of(body)))
    }

    /// The error that ends a watch, as its last event says it.
    pub(crate) fn from_event(status: &Value) -> Self {
        let code = status.get("code").and_then(Value::as_u64);
        let code = code.and_then(|code| u16::try_from(code).ok());
        Self::from_status(code.unwrap_or(500), None, status.to_string().as_bytes())
    }

    /// The error of an answer with this status code, `Retry-After` in seconds, and body.
    pub fn from_status(code: u16, retry_after: Option<u64>, body: &[u8]) -> Self {
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
            | Self::ReadOnly
            | Self::Unreachable(_)
            | Self::Garbled(_)
            | Self::TooLarge
            | Self::NoRoom(_)
            | Self::NotAsAccount(_) => None,
        }
    }

    /// Whether there is no such object: the API server knows the kind, and says so.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Status { code: 404, reason, .. } if reason == "NotFound")
    }

    /// Whether nobody serves the path: the API server does not serve the kind, or not yet, or a proxy does not find the
    /// API server. It says nothing about objects. The API server answers `404 page not found`, which is not a Status.
    pub fn is_not_served(&self) -> bool {
        self.code() == Some(404) && !self.is_not_found()
    }

    /// Whether an object that was to be created is there already.
    pub fn is_already_there(&self) -> bool {
        matches!(self, Self::Status { code: 409, reason, .. } if reason == "AlreadyExists")
    }

    /// Whether somebody else was first, so that reading again and deciding again may help: a
    /// conflict, or a failed `test` of a JSON patch.
    pub fn is_race(&self) -> bool {
        matches!(self.code(), Some(409 | 422))
    }

    /// Whether the request may not be made as this user.
    pub fn is_forbidden(&self) -> bool {
        matches!(self.code(), Some(401 | 403))
    }

    /// Who refused the request, if somebody did. As in kubectl, authorization is told by its sentence: it has the same
    /// code and reason as admission.
    pub fn refusal(&self) -> Option<RefusedBy> {
        let Self::Status { code, message, .. } = self else {
            return None;
        };
        match code {
            401 => Some(RefusedBy::Credentials),
            403 if is_of_authorization(message) => Some(RefusedBy::Rights),
            403 => Some(RefusedBy::Admission),
            _ => None,
        }
    }

    /// Whether the same request may succeed in a moment: there was no whole answer, or it is one that client-go sends
    /// requests again after. Any other 5xx is the server's last word on the request.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Status {
                code: 408 | 429 | 502..=504,
                ..
            } => true,
            Self::Status {
                code: 500..=599,
                reason,
                retry_after,
                ..
            } => {
                let reasons = [
                    "ServerTimeout",
                    "ServiceUnavailable",
                    "Timeout",
                    "TooManyRequests",
                ];
                retry_after.is_some() || reasons.contains(&reason.as_str())
            }
            Self::NotLeader | Self::Unreachable(_) | Self::Garbled(_) => true,
            Self::Status { .. }
            | Self::ReadOnly
            | Self::TooLarge
            | Self::NoRoom(_)
            | Self::NotAsAccount(_) => false,
        }
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
            | Self::ReadOnly
            | Self::Unreachable(_)
            | Self::Garbled(_)
            | Self::TooLarge
            | Self::NoRoom(_)
            | Self::NotAsAccount(_) => None,
        }
    }

    /// Whether the server gave no answer to what was asked: it is away or too busy, or the request was not sent.
    pub fn is_no_answer(&self) -> bool {
        match self {
            Self::NotLeader | Self::Unreachable(_) | Self::Garbled(_) => true,
            Self::Status { code: 429, .. } => self.slow_down().is_some(),
            Self::Status { code, .. } => matches!(code, 408 | 500..=599),
            Self::TooLarge | Self::NoRoom(_) | Self::ReadOnly | Self::NotAsAccount(_) => false,
        }
    }

    /// Whether the namespace is terminating, so that nothing can be created in it.
    pub fn is_of_terminating_namespace(&self) -> bool {
        match self {
            Self::Status { causes, .. } => causes.iter().any(|it| it == "NamespaceTerminating"),
            _ => false,
        }
    }

    /// How long to wait before the request is sent again, if the server said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => self.slow_down().or(*retry_after),
            Self::NotLeader
            | Self::ReadOnly
            | Self::Unreachable(_)
            | Self::Garbled(_)
            | Self::TooLarge
            | Self::NoRoom(_)
            | Self::NotAsAccount(_) => None,
        }
    }
}

/// The reason and the message of an answer that may have neither.
fn words(reason: &str, message: &str) -> String {
    let reason = match reason {
        "" => String::new(),
        reason => format!(" {reason}"),
    };
    match message {
        "" => reason,
        message => format!("{reason}: {message}"),
    }
}

/// Whether a 403 says what authorizers say: that the user cannot do it, or grants rights that it does not have.
fn is_of_authorization(message: &str) -> bool {
    let lacks = message.contains("forbidden: User \"") && message.contains(" cannot ");
    lacks || message.contains("is attempting to grant RBAC permissions not currently held")
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

    fn answer(code: u16, reason: &str, message: &str) -> ApiError {
        let body = json!({ "kind": "Status", "code": code, "reason": reason, "message": message });
        ApiError::from_status(code, None, body.to_string().as_bytes())
    }

    #[test]
    fn an_answer_is_told_in_its_own_words() {
        let schema =
            "failed to create typed patch object: .spec.mdoe: field not declared in schema";
        let cases = [
            (answer(500, "", schema), format!("500: {schema}")),
            (
                answer(500, "InternalError", "no webhook"),
                "500 InternalError: no webhook".into(),
            ),
            (
                answer(503, "ServiceUnavailable", ""),
                "503 ServiceUnavailable".into(),
            ),
        ];
        for (error, want) in cases {
            assert_eq!(error.to_string(), format!("API server answered {want}"));
        }
    }

    #[test]
    fn a_refusal_is_of_authorization_only_if_its_sentence_says_so() {
        let rights = [
            r#"pods is forbidden: User "system:serviceaccount:windlass:windlass" cannot list resource "pods" in API group "" at the cluster scope"#,
            r#"pods "x" is forbidden: User "bob" cannot get resource "pods/log" in API group "" in the namespace "a": RBAC: role "r" not found"#,
            r#"forbidden: User "bob" cannot get path "/version""#,
            "roles.rbac.authorization.k8s.io \"new\" is forbidden: user \"bob\" (groups=[\"a\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"]}",
        ];
        let admission = [
            r#"pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3"#,
            r#"configmaps "x" is forbidden: unable to create new content in namespace a because it is being terminated"#,
            r#"pods "x" is forbidden: violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)"#,
            r#"pods "x" is forbidden: error looking up service account a/b: serviceaccount "b" not found"#,
            r#"admission webhook "x.example.dev" denied the request: you cannot do that"#,
            "",
        ];
        for message in rights {
            assert_eq!(
                answer(403, "Forbidden", message).refusal(),
                Some(RefusedBy::Rights),
                "{message}"
            );
        }
        for message in admission {
            assert_eq!(
                answer(403, "Forbidden", message).refusal(),
                Some(RefusedBy::Admission),
                "{message}"
            );
        }
        assert_eq!(
            answer(401, "Unauthorized", rights[0]).refusal(),
            Some(RefusedBy::Credentials)
        );
        assert_eq!(answer(500, "InternalError", rights[0]).refusal(), None);
        assert_eq!(ApiError::Unreachable(rights[0].into()).refusal(), None);
    }

    #[test]
    fn what_client_go_sends_again_is_retryable_and_no_other_5xx() {
        let after = |code| ApiError::from_status(code, Some(1), b"{}");
        let cases = [
            (answer(500, "", "field not declared in schema"), false),
            (
                answer(500, "InternalError", "failed calling webhook"),
                false,
            ),
            (answer(500, "ServerTimeout", ""), true),
            (after(500), true),
            (answer(501, "", ""), false),
            (answer(503, "ServiceUnavailable", ""), true),
            (answer(504, "Timeout", ""), true),
            (
                ApiError::from_status(502, None, b"<html>no backend</html>"),
                true,
            ),
            (answer(429, "TooManyRequests", ""), true),
            (after(403), false),
            (answer(409, "Conflict", ""), false),
            (ApiError::Unreachable(String::new()), true),
            (ApiError::Garbled(String::new()), true),
            (ApiError::TooLarge, false),
        ];
        for (error, want) in cases {
            assert_eq!(error.is_retryable(), want, "{error:?}");
        }
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
