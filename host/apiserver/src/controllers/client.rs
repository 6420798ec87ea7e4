//! The requests by which controllers write: the same as those of any client, by the server itself.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::Value;

use super::feed::Thing;
use crate::answer::JSON;
use crate::registry::{Registry, Resource};
use crate::request::query::Query;
use crate::request::route::{Route, Target};
use crate::request::{Request, User};
use crate::server::Server;
use crate::status::Refusal;
use crate::store::{Entry, Key, Place};
use std::sync::Arc;

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
enum Sent {
    Object,
    Merge,
    Apply,
}

impl Sent {
    fn content_type(self) -> &'static str {
        match self {
            Self::Object => JSON,
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
    pub(crate) key: &'a Key,
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

#[derive(Clone, Copy, Debug)]
pub(crate) struct Client<'a> {
    pub(crate) server: &'a Server,
    pub(crate) agent: Agent,
}

impl<'a> At<'a> {
    pub(crate) fn new(resource: &'a Resource, key: &'a Key) -> Self {
        Self {
            resource,
            key,
            subresource: None,
        }
    }

    pub(crate) fn status(resource: &'a Resource, key: &'a Key) -> Self {
        Self {
            subresource: Some("status"),
            ..Self::new(resource, key)
        }
    }

    fn target(&self, name: Option<&str>) -> Target {
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

impl Client<'_> {
    /// Creates an object in the namespace of `at`.
    pub(crate) fn create(&self, at: At<'_>, object: &Value) -> Result<(), Failed> {
        self.send(Method::POST, at, None, Sent::Object, object)
    }

    /// Creates a part of the object.
    pub(crate) fn create_part(&self, at: At<'_>, part: &Value) -> Result<(), Failed> {
        self.send(Method::POST, at, Some(&at.key.name), Sent::Object, part)
    }

    /// Puts an object in the place of the one that is there.
    pub(crate) fn replace(&self, at: At<'_>, object: &Value) -> Result<(), Failed> {
        self.send(Method::PUT, at, Some(&at.key.name), Sent::Object, object)
    }

    /// Changes an object by a merge patch.
    pub(crate) fn merge(&self, at: At<'_>, patch: &Value) -> Result<(), Failed> {
        self.send(Method::PATCH, at, Some(&at.key.name), Sent::Merge, patch)
    }

    /// Applies an object on the server's side, whoever owned its fields.
    pub(crate) fn apply(&self, at: At<'_>, object: &Value) -> Result<(), Failed> {
        self.send(Method::PATCH, at, Some(&at.key.name), Sent::Apply, object)
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, at: At<'_>, options: &Value) -> Result<(), Failed> {
        self.send(
            Method::DELETE,
            at,
            Some(&at.key.name),
            Sent::Object,
            options,
        )
    }

    /// Deletes all objects in the namespace of `at`.
    pub(crate) fn delete_all(&self, at: At<'_>, options: &Value) -> Result<(), Failed> {
        self.send(Method::DELETE, at, None, Sent::Object, options)
    }

    /// An object as it is.
    pub(super) fn held(&self, thing: &Thing) -> Option<Arc<Entry>> {
        self.server.store().get(&thing.place, &thing.key)
    }

    fn send(
        &self,
        method: Method,
        at: At<'_>,
        name: Option<&str>,
        sent: Sent,
        body: &Value,
    ) -> Result<(), Failed> {
        let target = at.target(name);
        let mut headers = HeaderMap::new();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(sent.content_type()),
        );
        headers.insert(
            header::USER_AGENT,
            HeaderValue::from_static(self.agent.program),
        );
        let request = Request {
            method,
            path: target.path(),
            route: Route::Objects(target),
            query: sent.query(self.agent),
            headers,
            body: Bytes::from(body.to_string()),
            user: User {
                name: self.agent.user.to_owned(),
                groups: vec![
                    "system:masters".to_owned(),
                    "system:authenticated".to_owned(),
                ],
                ..User::default()
            },
        };
        match self.server.ask(&request) {
            Ok(_) => Ok(()),
            Err(refusal) => Err(Failed::from(refusal)),
        }
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

/// The resource whose objects lie at `place`, in the version that is served first.
pub(crate) fn resource_at<'a>(registry: &'a Registry, place: &Place) -> Option<&'a Arc<Resource>> {
    let mut all = registry.all().iter();
    all.find(|resource| resource.plural == place.plural && resource.group == place.group)
}

/// A built-in resource of the core group.
pub(crate) fn core<'a>(registry: &'a Registry, plural: &str) -> Option<&'a Arc<Resource>> {
    registry.find("", "v1", plural)
}
