//! What is asked of the API server: method, path, body, and how much of an answer is taken.

use std::sync::Arc;

use http::Method;
use parking_lot::Mutex;
use serde_json::Value;

use windlass_base::flowcontrol::RequestSeat;
use windlass_base::memory::Account;

/// An answer larger than this is refused. The API server itself takes objects of 3 MiB at most, and
/// lists are asked for in pages.
pub(super) const LARGEST_ANSWER: usize = 64 << 20;

/// A request to the API server.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `PATCH`, ...
    pub method: Method,
    /// Path and query, as [`crate::api::api_path`] makes it.
    pub uri: String,
    /// The body and its media type.
    pub body: Option<(&'static str, Vec<u8>)>,
    /// What the answer should be.
    pub accept: &'static str,
    /// The most bytes that its answer may have.
    pub longest: usize,
    /// The account that pays for its answer while that is read, but for so many bytes; none if nobody does.
    pub account: Option<(Account, usize)>,
    /// The seat that the request has until the API server has answered; none if nobody shares.
    pub seat: Option<Arc<Mutex<RequestSeat>>>,
}

pub(super) const JSON: &str = "application/json";
pub(super) const METADATA: &str =
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

/// What is wanted of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// All of them.
    Whole,
    /// Their metadata.
    Metadata,
}

impl Request {
    fn new(method: Method, uri: String, body: Option<(&'static str, &Value)>) -> Self {
        Self {
            method,
            uri,
            body: body.map(|(media_type, body)| (media_type, body.to_string().into_bytes())),
            accept: JSON,
            longest: LARGEST_ANSWER,
            account: None,
            seat: None,
        }
    }

    /// A read.
    pub fn get(uri: String) -> Self {
        Self::new(Method::GET, uri, None)
    }

    /// A list.
    pub fn list(uri: String, accept: Accept) -> Self {
        let accept = match accept {
            Accept::Whole => JSON,
            Accept::Metadata => METADATA_LIST,
        };
        Self {
            accept,
            ..Self::get(uri)
        }
    }

    /// The same, of which only so much is wanted.
    #[must_use]
    pub fn accepting(self, accept: Accept) -> Self {
        let accept = match accept {
            Accept::Whole => JSON,
            Accept::Metadata => METADATA,
        };
        Self { accept, ..self }
    }

    /// The same, with an answer of at most so many bytes.
    #[must_use]
    pub fn at_most(self, longest: usize) -> Self {
        Self { longest, ..self }
    }

    /// The same, whose answer counts on `account` while it is read, but for `held` bytes: there is room for those.
    #[must_use]
    pub fn on_account(self, account: &Account, held: usize) -> Self {
        let account = Some((account.clone(), held));
        Self { account, ..self }
    }

    /// The same, which has this seat until the API server has answered.
    #[must_use]
    pub fn in_seat(self, seat: RequestSeat) -> Self {
        let seat = Some(Arc::new(Mutex::new(seat)));
        Self { seat, ..self }
    }

    /// A JSON patch (RFC 6902).
    pub fn json_patch(uri: String, operations: &Value) -> Self {
        let body = ("application/json-patch+json", operations);
        Self::new(Method::PATCH, uri, Some(body))
    }

    /// A JSON merge patch (RFC 7386).
    pub fn merge_patch(uri: String, patch: &Value) -> Self {
        let body = ("application/merge-patch+json", patch);
        Self::new(Method::PATCH, uri, Some(body))
    }

    /// Server-side apply. JSON is YAML.
    pub fn apply(uri: String, object: &Value) -> Self {
        let body = ("application/apply-patch+yaml", object);
        Self::new(Method::PATCH, uri, Some(body))
    }

    /// Deletes the objects of a collection. Its answer is the metadata of what was deleted.
    pub fn delete_collection(uri: String, options: &Value) -> Self {
        Self {
            accept: METADATA_LIST,
            ..Self::json(Method::DELETE, uri, options)
        }
    }

    /// A request with a JSON body.
    pub fn json(method: Method, uri: String, body: &Value) -> Self {
        Self::new(method, uri, Some((JSON, body)))
    }
}
