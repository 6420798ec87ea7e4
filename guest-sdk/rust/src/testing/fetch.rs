//! HTTP requests and answers, as recordings have them: a body is a text, or base64 if it is not UTF-8.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::process::RecordedError;
use crate::fetch::{FetchCode, FetchError, FetchOptions, FetchRequest, FetchResponse};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    status: u16,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    body_base64: String,
}

/// Has `import` send a request; its answer.
pub(super) fn sent(
    request: &FetchRequest,
    options: &FetchOptions,
    import: impl FnOnce(&Value) -> Result<Value, Vec<RecordedError>>,
) -> Result<FetchResponse, FetchError> {
    let failed = |code| FetchError {
        code,
        call: format!("{} {}", request.method(), request.uri()),
    };
    let garbled = |error: &dyn std::fmt::Display| failed(FetchCode::Other(error.to_string()));
    let headers = request.headers().iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str(), value)
    });
    let timeout = options.timeout.map(|timeout| timeout.as_millis());
    let body = request.body();
    let (field, body) = match std::str::from_utf8(body) {
        Ok(text) => ("body", text.to_owned()),
        Err(_) => ("bodyBase64", STANDARD.encode(body)),
    };
    let given = json!({
        "method": request.method().as_str(),
        "url": request.uri().to_string(),
        "headers": headers.collect::<Vec<_>>(),
        field: body,
        "timeoutMs": timeout.map(|millis| u32::try_from(millis).unwrap_or(u32::MAX)),
        "credential": options.credential,
    });
    let answer = import(&given).map_err(|errors| {
        let RecordedError { code, text, .. } = errors.into_iter().next().unwrap_or_default();
        failed(match &*code {
            "denied" => FetchCode::Denied,
            "timeout" => FetchCode::Timeout,
            "unavailable" => FetchCode::Unavailable,
            "too-large" => FetchCode::TooLarge,
            "invalid" => FetchCode::Invalid(text),
            _ => FetchCode::Other(text),
        })
    })?;
    let answer: Response = serde_json::from_value(answer).map_err(|error| garbled(&error))?;
    let body = if answer.body_base64.is_empty() {
        answer.body.into_bytes()
    } else {
        let bytes = STANDARD.decode(&answer.body_base64);
        bytes.map_err(|error| garbled(&error))?
    };
    let mut response = http::Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    response.body(body).map_err(|error| garbled(&error))
}
