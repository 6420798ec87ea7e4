//! What a verb answers, and the HTTP response that it becomes.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use crate::body::Body;
use crate::status::Refusal;

/// What a verb answers.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub code: StatusCode,
    /// The body.
    pub body: Body,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
    /// The type of the body.
    pub content_type: &'static str,
}

/// The type of nearly everything.
pub const JSON: &str = "application/json";

impl Answer {
    /// An answer in JSON.
    pub fn json(code: StatusCode, value: &Value) -> Self {
        Self::bytes(code, serde_json::to_vec(value).unwrap_or_default().into())
    }

    /// An answer that is JSON already.
    pub fn bytes(code: StatusCode, json: Bytes) -> Self {
        Self::body(code, Body::pieces([json]))
    }

    /// An answer with this body, of JSON.
    pub fn body(code: StatusCode, body: Body) -> Self {
        Self {
            code,
            body,
            warnings: Vec::new(),
            content_type: JSON,
        }
    }

    /// An answer in plain text.
    pub fn text(code: StatusCode, text: &str) -> Self {
        Self {
            content_type: "text/plain; charset=utf-8",
            ..Self::bytes(code, Bytes::copy_from_slice(text.as_bytes()))
        }
    }

    /// What a path gets that nothing at all is at.
    pub fn no_page() -> Self {
        Self::text(StatusCode::NOT_FOUND, "404 page not found\n")
    }

    /// Adds warnings.
    #[must_use]
    pub fn warning(mut self, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// The HTTP response.
    pub fn into_response(self) -> Response<Body> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.code;
        let headers = response.headers_mut();
        let fixed = [
            (header::CONTENT_TYPE, self.content_type),
            (header::CACHE_CONTROL, "no-cache, private"),
        ];
        for (name, value) in fixed {
            headers.insert(name, HeaderValue::from_static(value));
        }
        for warning in &self.warnings {
            let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
                headers.append(header::WARNING, value);
            }
        }
        response
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Self::json(refusal.code, &refusal.to_value())
    }
}
