//! The words of the contract for the crate's own types, and back.

use crate::bindings::windlass::plugin::{cluster as wit, http, types};
use crate::failed::{Code, Refused, Status};
use crate::fetch::FetchCode;
use crate::query::{
    ChildrenQuery, Consistency, DeleteOptions, ListQuery, ObjectRef, Propagation, Served,
};

impl From<&ObjectRef> for types::ObjectRef {
    fn from(target: &ObjectRef) -> Self {
        let ObjectRef {
            api_version,
            kind,
            namespace,
            name,
        } = target.clone();
        Self {
            api_version,
            kind,
            namespace,
            name,
        }
    }
}

impl From<Consistency> for wit::Consistency {
    fn from(consistency: Consistency) -> Self {
        match consistency {
            Consistency::Stored => Self::Stored,
            Consistency::Latest => Self::Latest,
        }
    }
}

impl From<wit::Served> for Served {
    fn from(served: wit::Served) -> Self {
        Self {
            api_version: served.api_version,
            kind: served.kind,
            plural: served.plural,
            namespaced: served.namespaced,
            verbs: served.verbs,
        }
    }
}

impl From<&ListQuery> for wit::ListQuery {
    fn from(query: &ListQuery) -> Self {
        let query = query.clone();
        Self {
            api_version: query.api_version,
            kind: query.kind,
            namespace: query.namespace,
            label_selector: query.label_selector,
            field_selector: query.field_selector,
            limit: query.limit,
            consistency: query.consistency.into(),
        }
    }
}

impl From<&ChildrenQuery> for wit::ChildrenQuery {
    fn from(query: &ChildrenQuery) -> Self {
        let query = query.clone();
        Self {
            api_version: query.api_version,
            kind: query.kind,
            namespace: query.namespace,
            owner: query.owner,
            orphans: query.orphans,
            metadata_only: query.metadata_only,
        }
    }
}

impl From<&DeleteOptions> for wit::DeleteOptions {
    fn from(options: &DeleteOptions) -> Self {
        Self {
            uid: options.uid.clone(),
            resource_version: options.resource_version.clone(),
            propagation: options.propagation.map(|propagation| match propagation {
                Propagation::Background => wit::Propagation::Background,
                Propagation::Foreground => wit::Propagation::Foreground,
                Propagation::Orphan => wit::Propagation::Orphan,
            }),
            grace_period_seconds: options.grace_period_seconds,
        }
    }
}

impl From<wit::Error> for Refused {
    fn from(error: wit::Error) -> Self {
        let (code, refusal) = match error {
            wit::Error::NotFound => (Code::NotFound, None),
            wit::Error::Denied(refusal) => (Code::Denied, Some(refusal)),
            wit::Error::Conflict(refusal) => (Code::Conflict, Some(refusal)),
            wit::Error::Invalid(refusal) => (Code::Invalid(refusal.message.clone()), Some(refusal)),
            wit::Error::Gone => (Code::Gone, None),
            wit::Error::Unavailable => (Code::Unavailable, None),
            wit::Error::Other(refusal) => (Code::Other(refusal.message.clone()), Some(refusal)),
        };
        let status = refusal.map(|refusal| {
            Box::new(Status {
                code: refusal.code,
                reason: refusal.reason,
                message: refusal.message,
                causes: refusal.causes,
            })
        });
        Self { code, status }
    }
}

impl From<http::Error> for FetchCode {
    fn from(error: http::Error) -> Self {
        match error {
            http::Error::Denied => Self::Denied,
            http::Error::Timeout => Self::Timeout,
            http::Error::Unavailable => Self::Unavailable,
            http::Error::TooLarge => Self::TooLarge,
            http::Error::Invalid(text) => Self::Invalid(text),
            http::Error::Other(text) => Self::Other(text),
        }
    }
}
