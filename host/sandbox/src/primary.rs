//! The object that a call is about.

use windlass_kube::api::Resource;
use windlass_kube::object::{Key, Metadata};

/// The primary that a call is about.
#[derive(Clone, Debug)]
pub struct Primary {
    /// Its kind.
    pub resource: Resource,
    /// Its namespace and name.
    pub key: Key,
    /// Its UID.
    pub uid: String,
}

impl Primary {
    /// The object with this metadata, of the kind `resource`.
    pub fn of(resource: &Resource, object: &Metadata) -> Self {
        Self {
            resource: resource.clone(),
            key: object.key.clone(),
            uid: object.uid.to_string(),
        }
    }

    /// Names it among the primaries of all kinds.
    pub(crate) fn id(&self) -> String {
        object_id(&self.resource, &self.key)
    }
}

/// Names an object of a kind: `pods default/web`.
pub(crate) fn object_id(resource: &Resource, key: &Key) -> String {
    format!("{resource} {key}")
}
