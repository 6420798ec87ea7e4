//! Requests that programs of the control plane make to their own server (kube-apiserver's loopback client).

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::Value;

use super::query::Query;
use super::route::{Route, Target};
use super::{Request, User};
use crate::registry::Resource;
use crate::status::Refusal;
use crate::store::NamespacedName;

/// A program of the control plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agent {
    /// What managedFields say.
    pub(crate) program: &'static str,
    /// Who it is.
    pub(crate) user: &'static str,
}

/// How a body is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestBody {
    Object,
    Merge,
    Apply,
}

impl RequestBody {
    fn content_type(self) -> &'static str {
        match self {
            Self::Object => "application/json",
            Self::Merge => "application/merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }

    fn query(self, agent: Agent) -> Query {
        match self {
            Self::Object | Self::Merge => Query::default(),
            Self::Apply => Query::parse(&format!("fieldManager={}&force=true", agent.program)),
        }
    }
}

/// One request's object, or part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) key: &'a NamespacedName,
    pub(crate) subresource: Option<&'static str>,
}

/// Why a request came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// There is no such object (any more).
    Absent,
    /// It has changed meanwhile.
    Changed,
    /// The server refuses, for this reason.
    Refused(String),
}

impl<'a> At<'a> {
    pub(crate) fn new(resource: &'a Resource, key: &'a NamespacedName) -> Self {
        Self {
            resource,
            key,
            subresource: None,
        }
    }

    pub(crate) fn status(resource: &'a Resource, key: &'a NamespacedName) -> Self {
        Self {
            subresource: Some("status"),
            ..Self::new(resource, key)
        }
    }

    /// The path, with this name at its end if there is one.
    pub(crate) fn target(&self, name: Option<&str>) -> Target {
        let namespace = &*self.key.namespace;
        Target {
            group: self.resource.group.clone(),
            version: self.resource.version.clone(),
            namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
            plural: self.resource.plural.clone(),
            name: name.map(str::to_owned),
            subresource: self.subresource.map(str::to_owned),
            watch: false,
        }
    }
}

/// The request of a program.
pub(crate) fn request(
    agent: Agent,
    method: Method,
    target: Target,
    sent: RequestBody,
    body: &Value,
) -> Request {
    let mut headers = HeaderMap::new();
    for (name, text) in [
        (header::CONTENT_TYPE, sent.content_type()),
        (header::USER_AGENT, agent.program),
    ] {
        headers.insert(name, HeaderValue::from_static(text));
    }
    Request {
        method,
        path: target.path(),
        route: Route::Objects(target),
        query: sent.query(agent),
        headers,
        body: Bytes::from(body.to_string()),
        user: User::master(agent.user),
    }
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        match refusal.reason {
            "NotFound" => Self::Absent,
            "Conflict" => Self::Changed,
            _ => Self::Refused(refusal.message),
        }
    }
}
