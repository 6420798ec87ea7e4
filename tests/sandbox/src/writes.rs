//! What plugins wrote, read off the history of the API server.

use std::fmt::{self, Display, Formatter};

use serde_json::Value;
use windlass_apiserver::history::Record;
use windlass_apiserver::registry::Registry;
use windlass_apiserver::request::route;

/// The field manager of what the host writes for itself: finalizers.
const HOST_MANAGER: &str = "windlass";

/// A write of a plugin that changed an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// How.
    pub verb: Verb,
    /// Of what.
    pub target: Target,
    /// What was sent; null for a deletion.
    pub object: Value,
}

/// The ways to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Server-side apply.
    Apply,
    /// Server-side apply of the status.
    ApplyStatus,
    /// Creation.
    Create,
    /// A patch of either form.
    Patch,
    /// Deletion.
    Delete,
}

/// An object that was written. It is shown as `ConfigMap/default/ada`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// The namespace, if the object is in one.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl Write {
    /// The write in a record of the host; nothing if it is the host's own.
    pub(crate) fn of(record: &Record, registry: &Registry) -> Option<Self> {
        let (media_type, body) = &record.sent;
        let verb = verb(record.verb, media_type, &record.subresource);
        if record.place.plural == "events" || record.manager == HOST_MANAGER {
            return None;
        }
        let place = &record.place;
        let mut resources = registry.all().iter();
        let resource = resources.find(|resource| resource.place() == *place)?;
        let namespace = &*record.key.namespace;
        Some(Self {
            verb,
            target: Target {
                api_version: resource.api_version(),
                kind: resource.kind.clone(),
                namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
                name: record.key.name.to_string(),
            },
            object: match verb {
                Verb::Delete => Value::Null,
                _ => serde_json::from_slice(body).unwrap_or_default(),
            },
        })
    }
}

fn verb(verb: route::Verb, media_type: &str, subresource: &str) -> Verb {
    let applies = media_type == "application/apply-patch+yaml";
    match verb {
        route::Verb::Create => Verb::Create,
        route::Verb::Delete | route::Verb::DeleteCollection => Verb::Delete,
        _ if applies && subresource == "status" => Verb::ApplyStatus,
        _ if applies => Verb::Apply,
        _ => Verb::Patch,
    }
}

impl Display for Target {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            namespace,
            name,
            ..
        } = self;
        match namespace {
            Some(namespace) => write!(formatter, "{kind}/{namespace}/{name}"),
            None => write!(formatter, "{kind}/{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_of_a_write_depends_on_what_was_sent_and_where() {
        let (apply, merge) = (
            "application/apply-patch+yaml",
            "application/merge-patch+json",
        );
        let cases = [
            (route::Verb::Patch, apply, "", Verb::Apply),
            (route::Verb::Patch, apply, "status", Verb::ApplyStatus),
            (route::Verb::Patch, merge, "", Verb::Patch),
            (route::Verb::Patch, merge, "status", Verb::Patch),
            (route::Verb::Create, "application/json", "", Verb::Create),
            (route::Verb::Delete, "application/json", "", Verb::Delete),
        ];
        for (sent, media_type, subresource, want) in cases {
            let got = verb(sent, media_type, subresource);
            assert_eq!(got, want, "{sent:?} {media_type} {subresource}");
        }
    }
}
