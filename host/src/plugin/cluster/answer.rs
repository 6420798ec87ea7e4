//! What the guest is told of a failed request: what it would do differently about, and no more.

use crate::api::{ApiError, RefusedBy};
use crate::plugin::bindings::cluster::Error;
use crate::text::clean;

/// The longest text from the API server that a guest is given.
const TEXT: usize = 2 << 10;

/// The guest's error for the server's.
pub(super) fn error(error: &ApiError) -> Error {
    let (code, message, causes) = match error {
        ApiError::NotLeader | ApiError::Unreachable(_) | ApiError::Garbled(_) => {
            return Error::Unavailable;
        }
        ApiError::TooLarge => {
            return Error::Other("the answer is too large: narrow it by selector or limit".into());
        }
        ApiError::NoRoom(exceeded) => return Error::Other(exceeded.to_string()),
        ApiError::Status {
            code,
            message,
            causes,
            ..
        } => (*code, message, causes),
    };
    let names = |wanted: &str| causes.iter().any(|cause| cause == wanted);
    let text = || clean(message, TEXT);
    match code {
        404 => Error::NotFound,
        403 if names("NamespaceTerminating") => Error::Gone,
        403 if error.refusal() == Some(RefusedBy::Rights) => Error::Denied,
        409 => Error::Conflict,
        422 if names("metadata.uid") => Error::Conflict,
        400 | 405 | 406 | 413 | 415 | 422 => Error::Invalid(text()),
        _ if error.is_retryable() => Error::Unavailable,
        _ => Error::Other(clean(&error.to_string(), TEXT)),
    }
}

/// What people are told of it, as the guest is if that is given a text; none if it is an everyday answer.
pub(super) fn words(error: &ApiError, answer: &Error) -> Option<String> {
    match answer {
        Error::NotFound | Error::Conflict => None,
        Error::Invalid(text) | Error::Other(text) => Some(text.clone()),
        Error::Denied | Error::Gone | Error::Unavailable => Some(error.to_string()),
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
            (status(404, ""), None),
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
    fn the_guest_is_told_what_it_would_act_on() {
        let cases = [
            (status(404, ""), "NotFound"),
            (status(401, ""), "Other(\"API server answered 401: why\")"),
            (status(403, ""), "Other(\"API server answered 403: why\")"),
            (forbidden(), "Denied"),
            (status(403, "NamespaceTerminating"), "Gone"),
            (status(409, ""), "Conflict"),
            (status(422, "metadata.uid"), "Conflict"),
            (status(422, "spec.replicas"), "Invalid"),
            (status(400, ""), "Invalid"),
            (status(429, ""), "Unavailable"),
            (status(500, ""), "Other(\"API server answered 500: why\")"),
            (status(503, ""), "Unavailable"),
            (status(504, ""), "Unavailable"),
            (status(418, ""), "Other"),
            (ApiError::NotLeader, "Unavailable"),
            (ApiError::Unreachable("x".into()), "Unavailable"),
            (ApiError::Garbled("x".into()), "Unavailable"),
        ];
        for (from, want) in cases {
            let got = format!("{:?}", error(&from));
            assert!(got.contains(want), "{from}: {got}");
        }
    }
}
