//! Answers as an API server gives them: an object, or a `Status` that says why not.

use http::Response;
use kube::client::Body;
use serde_json::{Value, json};
use windlass_sdk::Code;

/// The HTTP status, and the body.
pub(super) type Answer = (u16, Value);

/// All is well.
pub(super) fn object(object: Value) -> Answer {
    (200, object)
}

/// Why not, as Kubernetes says it.
pub(super) fn fail(code: &Code) -> Answer {
    let text = code.to_string();
    match code {
        Code::NotFound => status(404, "NotFound", &text, None),
        Code::Denied => status(403, "Forbidden", &text, None),
        Code::Conflict => status(409, "Conflict", &text, None),
        Code::Invalid(_) => status(422, "Invalid", &text, None),
        Code::Gone => status(403, "Forbidden", &text, Some("NamespaceTerminating")),
        Code::Unavailable => status(503, "ServiceUnavailable", &text, None),
        // No 5xx: that would be as good as unavailable.
        Code::Other(_) => status(418, "Unknown", &text, None),
    }
}

/// A `Status` of a failure.
pub(super) fn status(code: u16, reason: &str, message: &str, cause: Option<&str>) -> Answer {
    let causes: Vec<_> = cause
        .into_iter()
        .map(|reason| json!({ "reason": reason }))
        .collect();
    let body = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message, "details": { "causes": causes },
    });
    (code, body)
}

/// The answer as HTTP.
pub(super) fn respond((code, body): Answer) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string().into_bytes()));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
    let json = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    response
}
