//! The import that sends HTTP requests.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::answer::{Recordable, RecordedError, Reply};
use super::words::length;
use super::{Effect, Import, ImportInfo};
use crate::bindings::http::{Error, Header, Request, Response};

/// `fetch`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Fetch {
    method: String,
    url: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(flatten)]
    body: Body,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credential: Option<String>,
}

/// A body: as text if it is one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    body: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    body_base64: String,
}

/// An answer, as it is recorded.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RecordedResponse {
    status: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(flatten)]
    body: Body,
}

impl Body {
    fn of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(body) => Self {
                body,
                ..Self::default()
            },
            Err(error) => Self {
                body_base64: STANDARD.encode(error.as_bytes()),
                ..Self::default()
            },
        }
    }

    fn bytes(self) -> Option<Vec<u8>> {
        if self.body_base64.is_empty() {
            return Some(self.body.into_bytes());
        }
        STANDARD.decode(self.body_base64).ok()
    }
}

impl Import for Fetch {
    const ABOUT: ImportInfo = ImportInfo {
        name: "fetch",
        interface: "http",
        verbs: "none; a rule in `spec.http` that allows the request",
        effect: Effect::Send,
    };
    type Answer = Result<Response, Error>;

    fn bytes(&self) -> usize {
        let headers = self.headers.iter();
        let headers: usize = headers
            .map(|(name, value)| name.len() + value.len() + 64)
            .sum();
        let body = self.body.body.len() + self.body.body_base64.len();
        self.method.len() + self.url.len() + headers + body + length(&self.credential)
    }
}

impl From<Request> for Fetch {
    fn from(request: Request) -> Self {
        Self {
            method: request.method,
            url: request.url,
            headers: pairs(request.headers),
            body: Body::of(request.body),
            timeout_ms: request.timeout_ms,
            credential: request.credential,
        }
    }
}

impl From<Fetch> for Request {
    fn from(fetch: Fetch) -> Self {
        Self {
            method: fetch.method,
            url: fetch.url,
            headers: headers(fetch.headers),
            // It was made of bytes a moment ago.
            body: fetch.body.bytes().unwrap_or_default(),
            timeout_ms: fetch.timeout_ms,
            credential: fetch.credential,
        }
    }
}

fn pairs(headers: Vec<Header>) -> Vec<(String, String)> {
    let pairs = headers.into_iter();
    pairs.map(|header| (header.name, header.value)).collect()
}

fn headers(pairs: Vec<(String, String)>) -> Vec<Header> {
    let headers = pairs.into_iter();
    headers
        .map(|(name, value)| Header { name, value })
        .collect()
}

impl Error {
    /// Its word in the contract.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::TooLarge => "too-large",
            Self::Invalid(_) => "invalid",
            Self::Other(_) => "other",
        }
    }

    fn of(recorded: &RecordedError) -> Option<Self> {
        let text = || recorded.text.clone().unwrap_or_default();
        Some(match &*recorded.code {
            "denied" => Self::Denied,
            "timeout" => Self::Timeout,
            "unavailable" => Self::Unavailable,
            "too-large" => Self::TooLarge,
            "invalid" => Self::Invalid(text()),
            "other" => Self::Other(text()),
            _ => return None,
        })
    }
}

impl Recordable for Result<Response, Error> {
    fn reply(&self) -> Reply {
        match self {
            Ok(response) => {
                let recorded = RecordedResponse {
                    status: response.status,
                    headers: pairs(response.headers.clone()),
                    body: Body::of(response.body.clone()),
                };
                // It cannot fail: all keys are texts.
                Reply::Ok(serde_json::to_value(recorded).unwrap_or_default())
            }
            Err(error) => Reply::Errors(vec![RecordedError {
                index: None,
                code: error.word().to_owned(),
                text: match error {
                    Error::Invalid(text) | Error::Other(text) => Some(text.clone()),
                    Error::Denied | Error::Timeout | Error::Unavailable | Error::TooLarge => None,
                },
                status: None,
            }]),
        }
    }

    fn bytes(&self) -> usize {
        let Ok(response) = self else {
            return 64;
        };
        let headers = response.headers.iter();
        let headers: usize = headers.map(|it| it.name.len() + it.value.len() + 64).sum();
        response.body.len() + headers
    }

    fn objects(&self, _: &mut dyn FnMut(&str)) {}

    fn from_reply(reply: Reply) -> Option<Self> {
        Some(match reply {
            Reply::Ok(value) => {
                let recorded: RecordedResponse = serde_json::from_value(value).ok()?;
                Ok(Response {
                    status: recorded.status,
                    headers: headers(recorded.headers),
                    body: recorded.body.bytes()?,
                })
            }
            Reply::Errors(errors) => Err(Error::of(errors.first()?)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_request_and_its_answer_are_recorded_as_text_where_they_are_text() {
        let request = |body: &[u8]| Request {
            method: "PUT".into(),
            url: "https://api.example.com/v1".into(),
            headers: vec![Header {
                name: "accept".into(),
                value: "text/plain".into(),
            }],
            body: body.to_vec(),
            timeout_ms: Some(7),
            credential: None,
        };
        let rows: [(&[u8], Value); 3] = [
            (b"", json!({})),
            (b"a\n", json!({ "body": "a\n" })),
            (&[0xff, 0], json!({ "bodyBase64": "/wA=" })),
        ];
        for (body, want) in rows {
            let fetch = Fetch::from(request(body));
            let recorded = fetch.to_json();
            for (field, value) in want.as_object().unwrap() {
                assert_eq!(recorded[field], *value, "{recorded}");
            }
            let again: Fetch = serde_json::from_value(recorded).unwrap();
            let again = Request::from(again);
            assert_eq!((&*again.body, again.timeout_ms), (body, Some(7)));
            assert_eq!(again.headers[0].value, "text/plain");
            let response = Ok::<_, Error>(Response {
                status: 404,
                headers: request(body).headers,
                body: body.to_vec(),
            });
            let back = Result::<Response, Error>::from_reply(response.reply());
            let back = back.unwrap().unwrap();
            assert_eq!((back.status, &*back.body), (404, body));
        }
    }

    #[test]
    fn errors_are_the_same_after_they_were_recorded() {
        let errors = [
            Error::Denied,
            Error::Timeout,
            Error::Unavailable,
            Error::TooLarge,
            Error::Invalid("a".into()),
            Error::Other("b".into()),
        ];
        for error in errors {
            let reply = Err::<Response, _>(error).reply();
            let back = Result::<Response, Error>::from_reply(reply.clone()).unwrap();
            assert_eq!(back.reply(), reply);
        }
    }
}
