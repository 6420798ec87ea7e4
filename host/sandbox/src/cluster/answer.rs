//! What the guest is told of a failed request: what it would do differently about, and no more.

use crate::bindings::cluster::{Error, Refusal};
use windlass_base::text::clean;
use windlass_kube::api::{ApiError, RefusedBy};

/// The longest text from the API server that a guest is given.
const TEXT: usize = 2 << 10;
/// So many causes it is given, and so much of each.
const CAUSES: usize = 16;
const CAUSE: usize = 256;

/// The guest's error for the server's.
pub(super) fn error(error: &ApiError) -> Error {
    let (code, reason, message, causes) = match error {
        ApiError::NotLeader | ApiError::Unreachable(_) | ApiError::Garbled(_) => {
            return Error::Unavailable;
        }
        ApiError::TooLarge => {
            return Error::other("the answer is too large: narrow it by selector or limit");
        }
        ApiError::ReadOnly => return Error::other(error.to_string()),
        ApiError::NoRoom(exceeded) => return Error::other(exceeded.to_string()),
        ApiError::NotAsAccount(_) => return Error::denied(error.to_string()),
        ApiError::Status {
            code,
            reason,
            message,
            causes,
            ..
        } => (*code, reason, message, causes),
    };
    let names = |wanted: &str| causes.iter().any(|cause| cause == wanted);
    let refusal = || Refusal {
        code,
        reason: clean(reason, CAUSE),
        message: clean(message, TEXT),
        causes: (causes.iter().take(CAUSES))
            .map(|cause| clean(cause, CAUSE))
            .collect(),
    };
    match code {
        404 if error.is_not_served() => Error::not_served("the kind"),
        404 => Error::NotFound,
        403 if names("NamespaceTerminating") => Error::Gone,
        403 if error.refusal() == Some(RefusedBy::Rights) => Error::Denied(refusal()),
        409 => Error::Conflict(refusal()),
        422 if names("metadata.uid") => Error::Conflict(refusal()),
        400 | 405 | 406 | 413 | 415 | 422 => Error::Invalid(refusal()),
        _ if error.is_retryable() => Error::Unavailable,
        _ => Error::Other(refusal()),
    }
}

/// What people are told of it, as the guest is if that is given a text; none if it is an everyday answer.
pub(super) fn words(error: &ApiError, answer: &Error) -> Option<String> {
    match answer {
        Error::NotFound | Error::Conflict(_) => None,
        Error::Invalid(refusal) => Some(refusal.message.clone()),
        Error::Other(refusal) if answer.is_not_served() => Some(refusal.message.clone()),
        Error::Denied(_) | Error::Gone | Error::Unavailable | Error::Other(_) => {
            Some(clean(&error.to_string(), TEXT))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, cause: &str) -> ApiError {
        ApiError::Status {
            code,
            reason: String::new(),
            message: "why".into(),
            causes: vec![cause.into()],
            retry_after: None,
        }
    }

    fn not_found() -> ApiError {
        let body =
            br#"{"kind":"Status","code":404,"reason":"NotFound","message":"pods \"a\" not found"}"#;
        ApiError::from_status(404, None, body)
    }

    fn forbidden() -> ApiError {
        ApiError::Status {
            code: 403,
            reason: "Forbidden".into(),
            message: "pods is forbidden: User \"windlass\" cannot list resource \"pods\"".into(),
            causes: Vec::new(),
            retry_after: None,
        }
    }

    #[test]
    fn people_are_told_what_the_guest_is_not() {
        let cases = [
            (not_found(), None),
            (
                ApiError::from_status(404, None, b"404 page not found"),
                Some("the cluster does not serve the kind"),
            ),
            (status(409, ""), None),
            (status(422, "spec.replicas"), Some("why")),
            (status(500, ""), Some("API server answered 500: why")),
            (status(503, ""), Some("API server answered 503: why")),
            (
                status(403, "NamespaceTerminating"),
                Some("API server answered 403: why"),
            ),
            (
                ApiError::Unreachable("refused".into()),
                Some("cannot reach the API server: refused"),
            ),
        ];
        for (from, want) in cases {
            assert_eq!(words(&from, &error(&from)).as_deref(), want, "{from}");
        }
    }

    #[test]
    fn the_guest_is_given_the_refusal_of_the_api_server_within_limits() {
        let error = ApiError::Status {
            code: 422,
            reason: "Invalid".into(),
            message: "m".repeat(TEXT * 2),
            causes: vec!["c".repeat(CAUSE * 2); CAUSES * 2],
            retry_after: None,
        };
        let Error::Invalid(refusal) = super::error(&error) else {
            panic!("it is invalid")
        };
        assert_eq!((refusal.code, &*refusal.reason), (422, "Invalid"));
        assert!(refusal.message.len() <= TEXT + 3);
        assert_eq!(refusal.causes.len(), CAUSES);
        assert!(refusal.causes.iter().all(|cause| cause.len() <= CAUSE + 3));
        let Error::Conflict(refusal) = super::error(&status(409, "")) else {
            panic!("it is a conflict")
        };
        assert_eq!((refusal.code, &*refusal.message), (409, "why"));
    }

    #[test]
    fn the_guest_is_told_what_it_would_act_on() {
        let cases = [
            (not_found(), "NotFound"),
            (
                ApiError::from_status(404, None, b"404 page not found"),
                "NoKindMatch",
            ),
            (
                ApiError::from_status(404, None, b"<html>nothing</html>"),
                "NoKindMatch",
            ),
            (status(401, ""), "Other(Refusal { code: 401"),
            (status(403, ""), "Other(Refusal { code: 403"),
            (forbidden(), "Denied"),
            (status(403, "NamespaceTerminating"), "Gone"),
            (status(409, ""), "Conflict"),
            (status(422, "metadata.uid"), "Conflict"),
            (status(422, "spec.replicas"), "Invalid"),
            (status(400, ""), "Invalid"),
            (status(429, ""), "Unavailable"),
            (status(500, ""), "Other(Refusal { code: 500"),
            (status(503, ""), "Unavailable"),
            (status(504, ""), "Unavailable"),
            (status(418, ""), "Other"),
            (ApiError::NotLeader, "Unavailable"),
            (ApiError::ReadOnly, "Other"),
            (ApiError::Unreachable("x".into()), "Unavailable"),
            (ApiError::Garbled("x".into()), "Unavailable"),
        ];
        for (from, want) in cases {
            let got = format!("{:?}", error(&from));
            assert!(got.contains(want), "{from}: {got}");
        }
    }
}
