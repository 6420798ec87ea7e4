//! What a verb answers, and the HTTP response that it becomes.

use std::cell::RefCell;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use crate::body::Body;
use crate::encode::{self, Part};
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
    /// The type of the body; empty where there is none.
    pub content_type: &'static str,
    /// When to try again, in seconds; 0 says nothing.
    pub retry_after: u32,
    /// What tells a document from its earlier and later ones, in quotes; it differs by what is accepted.
    pub etag: Option<String>,
}

/// What the client is to be warned of, noted while a request is answered; the same text counts once.
#[derive(Debug, Default)]
pub struct Warnings(RefCell<Vec<String>>);

/// Together, warnings are no longer than this, in characters; else each is cut.
const ALL_WARNINGS: usize = 4096;
const CUT_WARNING: usize = 256;

impl Warnings {
    /// Notes a warning.
    pub fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut held = self.0.borrow_mut();
        if !text.is_empty() && !held.contains(&text) {
            held.push(text);
        }
    }

    /// Notes several.
    pub fn extend(&self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.add(text));
    }

    /// All of them, in order.
    pub fn into_inner(self) -> Vec<String> {
        self.0.into_inner()
    }
}

/// The warnings that fit into the headers (apiserver `endpoints/filters/warning.go`).
fn shortened(warnings: &[String]) -> Vec<String> {
    let all: usize = warnings.iter().map(|text| text.chars().count()).sum();
    if all <= ALL_WARNINGS {
        return warnings.to_vec();
    }
    let mut written = 0;
    let mut kept = Vec::new();
    for text in warnings {
        if written >= ALL_WARNINGS {
            break;
        }
        let text: String = text.chars().take(CUT_WARNING).collect();
        written += text.chars().count();
        kept.push(text);
    }
    kept
}

/// The type of nearly everything.
pub const JSON: &str = "application/json";

impl Answer {
    /// An answer in JSON: an object, which ends with a line.
    pub fn json(code: StatusCode, value: &Value) -> Self {
        let mut text = encode::to_vec(value);
        text.push(b'\n');
        Self::bytes(code, text.into())
    }

    /// An answer in JSON that is not an object of the API: it ends with no line.
    pub fn document(code: StatusCode, value: &Value) -> Self {
        Self::bytes(code, encode::to_vec(value).into())
    }

    /// The same for people to read.
    pub(crate) fn indented(code: StatusCode, value: &Value, part: Part) -> Self {
        let mut text = Vec::new();
        encode::write(&mut text, value, part);
        Self::bytes(code, encode::indented(&text).into())
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
            retry_after: 0,
            etag: None,
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

    /// Indents an object of the API.
    #[must_use]
    pub(crate) fn pretty(mut self) -> Self {
        if self.content_type.starts_with(JSON) {
            self.body = self.body.indented();
        }
        self
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
        for (name, value) in fixed.into_iter().filter(|(_, value)| !value.is_empty()) {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if let Some(Ok(etag)) = self.etag.as_deref().map(HeaderValue::from_str) {
            headers.insert(header::ETAG, etag);
            headers.insert(header::VARY, HeaderValue::from_static("Accept"));
        }
        if self.retry_after > 0 {
            headers.insert(header::RETRY_AFTER, self.retry_after.into());
        }
        for warning in shortened(&self.warnings) {
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
        Self {
            retry_after: refusal.details.retry_after,
            ..Self::json(refusal.code, &refusal.to_value()).warning(refusal.warnings)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_counts_once_and_many_long_ones_are_cut() {
        let warnings = Warnings::default();
        warnings.extend(["a", "b", "", "a"].map(str::to_owned));
        assert_eq!(warnings.into_inner(), ["a", "b"]);
        let long: Vec<String> = (0..20)
            .map(|at| format!("{at}{}", "x".repeat(300)))
            .collect();
        let short = shortened(&long);
        assert_eq!((short.len(), short[0].len()), (16, 256));
        assert_eq!(shortened(&long[..13]), long[..13]);
    }

    #[test]
    fn a_refusal_says_when_to_try_again_and_what_was_odd() {
        let mut refusal = Refusal::unknown("no").warning(vec!["odd".to_owned()]);
        refusal.details.retry_after = 1;
        let response = Answer::from(refusal).into_response();
        assert_eq!(response.headers()[header::RETRY_AFTER], "1");
        assert_eq!(response.headers()[header::WARNING], "299 - \"odd\"");
    }
}
