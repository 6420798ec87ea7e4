//! The requests by which controllers write: the same as those of any client, by the server itself.

use std::sync::Arc;

use http::Method;
use serde_json::Value;

use super::feed::Thing;
use crate::registry::{Registry, Resource};
use crate::request::loopback::{self, RequestBody};
use crate::server::Server;
use crate::store::{Entry, GroupResource};

pub(super) use crate::request::loopback::{Agent, At, Failed};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Client<'a> {
    pub(crate) server: &'a Server,
    pub(crate) agent: Agent,
}

impl Client<'_> {
    /// Creates an object in the namespace of `at`.
    pub(crate) fn create(&self, at: At<'_>, object: &Value) -> Result<(), Failed> {
        self.send(Method::POST, at, None, RequestBody::Object, object)
    }

    /// Creates a part of the object.
    pub(crate) fn create_part(&self, at: At<'_>, part: &Value) -> Result<(), Failed> {
        self.send(
            Method::POST,
            at,
            Some(&at.key.name),
            RequestBody::Object,
            part,
        )
    }

    /// Puts an object in the place of the one that is there.
    pub(crate) fn replace(&self, at: At<'_>, object: &Value) -> Result<(), Failed> {
        self.send(
            Method::PUT,
            at,
            Some(&at.key.name),
            RequestBody::Object,
            object,
        )
    }

    /// Changes an object by a merge patch.
    pub(crate) fn merge(&self, at: At<'_>, patch: &Value) -> Result<(), Failed> {
        self.send(
            Method::PATCH,
            at,
            Some(&at.key.name),
            RequestBody::Merge,
            patch,
        )
    }

    /// Applies an object on the server's side, even if others own its fields.
    pub(crate) fn apply(&self, at: At<'_>, object: &Value) -> Result<(), Failed> {
        self.send(
            Method::PATCH,
            at,
            Some(&at.key.name),
            RequestBody::Apply,
            object,
        )
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, at: At<'_>, options: &Value) -> Result<(), Failed> {
        self.send(
            Method::DELETE,
            at,
            Some(&at.key.name),
            RequestBody::Object,
            options,
        )
    }

    /// Deletes all objects in the namespace of `at`.
    pub(crate) fn delete_all(&self, at: At<'_>, options: &Value) -> Result<(), Failed> {
        self.send(Method::DELETE, at, None, RequestBody::Object, options)
    }

    /// An object as it is.
    pub(super) fn stored(&self, thing: &Thing) -> Option<Arc<Entry>> {
        self.server.store().get(&thing.place, &thing.key)
    }

    fn send(
        &self,
        method: Method,
        at: At<'_>,
        name: Option<&str>,
        sent: RequestBody,
        body: &Value,
    ) -> Result<(), Failed> {
        let request = loopback::request(self.agent, method, at.target(name), sent, body);
        match self.server.ask(&request) {
            Ok(_) => Ok(()),
            Err(refusal) => Err(Failed::from(refusal)),
        }
    }
}

/// The resource whose objects lie at `place`, in the version that is served first.
pub(crate) fn resource_at<'a>(
    registry: &'a Registry,
    place: &GroupResource,
) -> Option<&'a Arc<Resource>> {
    let mut all = registry.all().iter();
    all.find(|resource| resource.plural == place.plural && resource.group == place.group)
}

/// A built-in resource of the core group.
pub(crate) fn core<'a>(registry: &'a Registry, plural: &str) -> Option<&'a Arc<Resource>> {
    registry.find("", "v1", plural)
}
