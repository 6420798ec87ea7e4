//! A no, as Kubernetes says it: the `Status` object with its code, reason, message and causes.
//!
//! The texts are those of apimachinery's `api/errors` and of the generic API server, since clients and
//! people search for them.

mod causes;
pub mod shown;

use http::StatusCode;
use serde_json::{Map, Value, json};

pub use causes::Cause;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The HTTP status.
    pub code: StatusCode,
    /// The machine-readable reason, such as `NotFound`; empty where the real server has none.
    pub reason: &'static str,
    /// What a person reads.
    pub message: String,
    /// What it is about; boxed, since most refusals have little.
    pub details: Box<Details>,
    /// Where an expired list may go on, without consistency.
    pub continue_token: Option<String>,
    /// What the client is warned of besides.
    pub warnings: Vec<String>,
}

/// What a refusal is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// The resource's group.
    pub group: String,
    /// The resource's plural, or the kind where the real server says the kind.
    pub kind: String,
    /// The object's uid.
    pub uid: String,
    /// Each thing that is wrong.
    pub causes: Vec<Cause>,
    /// When to try again, in seconds; 0 says nothing.
    pub retry_after: u32,
    /// Whether they are shown even if they say nothing.
    pub shown: bool,
}

/// The resource that a request names: for messages.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The group; empty for the core one.
    pub group: &'a str,
    /// The plural (or the kind, in [`Refusal::invalid`]).
    pub resource: &'a str,
}

impl Named<'_> {
    /// `deployments.apps`, `pods`.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }
}

impl Refusal {
    /// A refusal without details.
    pub fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: Box::default(),
            continue_token: None,
            warnings: Vec::new(),
        }
    }

    /// 500 without a reason: the real server has no word for what is wrong.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    /// Adds warnings.
    #[must_use]
    pub fn warning(mut self, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    fn about(
        code: StatusCode,
        reason: &'static str,
        named: Named<'_>,
        name: &str,
        message: String,
    ) -> Self {
        let mut refusal = Self::new(code, reason, message);
        name.clone_into(&mut refusal.details.name);
        named.group.clone_into(&mut refusal.details.group);
        named.resource.clone_into(&mut refusal.details.kind);
        refusal
    }

    /// 404: there is no such object.
    pub fn not_found(named: Named<'_>, name: &str) -> Self {
        let message = format!("{} {name:?} not found", named.qualified());
        Self::about(StatusCode::NOT_FOUND, "NotFound", named, name, message)
    }

    /// 404: nothing is served at this path.
    pub fn no_such_path() -> Self {
        let mut refusal = Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "the server could not find the requested resource",
        );
        refusal.details.shown = true;
        refusal
    }

    /// 409: there is such an object already.
    pub fn already_exists(named: Named<'_>, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", named.qualified());
        Self::about(StatusCode::CONFLICT, "AlreadyExists", named, name, message)
    }

    /// 409: the object is not as the request takes it to be.
    pub fn conflict(named: Named<'_>, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            named.qualified()
        );
        Self::about(StatusCode::CONFLICT, "Conflict", named, name, message)
    }

    /// 422: the object breaks rules. `kind` has the kind, not the plural.
    pub fn invalid(kind: Named<'_>, name: &str, causes: Vec<Cause>) -> Self {
        let mut lines: Vec<String> = Vec::new();
        for line in causes.iter().map(Cause::line) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let all = match lines.as_slice() {
            [one] => one.clone(),
            _ => format!("[{}]", lines.join(", ")),
        };
        let message = format!("{} {name:?} is invalid: {all}", kind.qualified());
        let code = StatusCode::UNPROCESSABLE_ENTITY;
        let mut refusal = Self::about(code, "Invalid", kind, name, message);
        refusal.details.causes = causes;
        refusal
    }

    /// 403: not allowed. `named` has the plural.
    pub fn forbidden(named: Named<'_>, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{} is forbidden: {why}", named.qualified())
        } else {
            format!("{} {name:?} is forbidden: {why}", named.qualified())
        };
        Self::about(StatusCode::FORBIDDEN, "Forbidden", named, name, message)
    }

    /// 403: not allowed at a path that names no objects.
    pub fn forbidden_path(why: &str) -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "Forbidden",
            format!("forbidden: {why}"),
        )
    }

    /// 401: nobody knows who asks.
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// 400: the request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// 405: the resource has no such verb.
    pub fn method_not_allowed() -> Self {
        Self::generic(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// A refusal by the layer that finds the way to a resource: it has details that say nothing.
    pub fn generic(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        let mut refusal = Self::new(code, reason, message);
        refusal.details.shown = true;
        refusal
    }

    /// 410: what was asked for has been compacted away.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// 500: a promise inside the server is broken.
    pub fn internal(message: &str) -> Self {
        let message = format!("Internal error occurred: {message}");
        let mut refusal = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message);
        refusal.details.causes = vec![Cause {
            reason: "",
            message: refusal
                .message
                .trim_start_matches("Internal error occurred: ")
                .to_owned(),
            field: String::new(),
        }];
        refusal
    }

    /// The `Status` object.
    pub fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code.as_u16(),
        });
        if let Value::Object(status) = &mut status {
            if let Some(token) = &self.continue_token {
                status.insert("metadata".to_owned(), json!({ "continue": token }));
            }
            put(status, "reason", self.reason);
            let details = self.details.to_map();
            if !details.is_empty()
                || self.details.shown
                || matches!(self.reason, "Invalid" | "Forbidden")
            {
                status.insert("details".to_owned(), Value::Object(details));
            }
        }
        status
    }
}

impl Details {
    fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        put(&mut map, "name", &self.name);
        put(&mut map, "group", &self.group);
        put(&mut map, "kind", &self.kind);
        put(&mut map, "uid", &self.uid);
        if !self.causes.is_empty() {
            let causes = self.causes.iter().map(|cause| {
                let mut map = Map::new();
                put(&mut map, "reason", cause.reason);
                put(&mut map, "message", &cause.message);
                put(&mut map, "field", &cause.field);
                Value::Object(map)
            });
            map.insert("causes".to_owned(), causes.collect());
        }
        if self.retry_after > 0 {
            map.insert("retryAfterSeconds".to_owned(), self.retry_after.into());
        }
        map
    }
}

fn put(map: &mut Map<String, Value>, name: &str, text: &str) {
    if !text.is_empty() {
        map.insert(name.to_owned(), text.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_read_as_the_real_servers() {
        let deployments = Named {
            group: "apps",
            resource: "deployments",
        };
        let missing = Refusal::not_found(deployments, "web");
        assert_eq!(
            missing.to_value(),
            json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "deployments.apps \"web\" not found", "reason": "NotFound",
                "details": { "name": "web", "group": "apps", "kind": "deployments" }, "code": 404,
            })
        );
        let kind = Named {
            group: "apps",
            resource: "Deployment",
        };
        let causes = vec![
            Cause::invalid(
                "spec.replicas",
                &json!(-1),
                "must be greater than or equal to 0",
            ),
            Cause::required("spec.selector", ""),
        ];
        assert_eq!(
            Refusal::invalid(kind, "web", causes).message,
            "Deployment.apps \"web\" is invalid: [spec.replicas: Invalid value: -1: must be greater \
             than or equal to 0, spec.selector: Required value]"
        );
    }
}
