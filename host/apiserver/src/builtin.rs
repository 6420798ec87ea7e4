//! The kinds that are part of Kubernetes, as the real server has them.
//!
//! What they look like is data (`kinds`). Here is how they are read, filled up, changed and judged.

mod convert;
mod decode;
mod default;
mod install;
mod protobuf;
pub(crate) mod quantity;
pub(crate) mod resources;
mod strategy;
mod validate;

use serde_json::Value;

pub use convert::convert;
pub use decode::{Findings, Words, decode, decode_in, decode_type};
pub use default::{counts_generations, default, default_type};
pub use install::resources;
pub use protobuf::{Unreadable, decode_protobuf, encode_event, encode_protobuf, protobuf_size};
pub use strategy::{
    BuiltInWrite, Cluster, prepare_create, prepare_update, prepare_update_approval,
    prepare_update_status,
};

pub(crate) use strategy::qos_class;
pub(crate) use validate::{is_extended, is_native};
pub use validate::{
    validate_approval, validate_create, validate_ephemeral, validate_resize,
    validate_status_update, validate_update, warnings,
};

use crate::kinds::{catalog, types};
use crate::registry::Resource;
use crate::schema::Schema;

/// What a part of a built-in resource looks like, if it is a type of its own.
pub fn subresource_schema(resource: &Resource, name: &str) -> Option<Schema> {
    let entry = catalog::resource(&resource.group, &resource.version, &resource.plural)?;
    entry.sub_type_name(name).map(types::schema)
}

/// What a Scale looks like, which is sent to built-in and other kinds.
pub fn scale_schema() -> Schema {
    types::schema(SCALE)
}

/// Reads a Scale as [`decode()`] does objects; names the fields that were dropped.
///
/// # Errors
/// The text of Go's decoder, where something has the wrong type.
pub fn decode_scale(scale: &mut Value) -> Result<Vec<String>, String> {
    decode_type(scale, SCALE)
}

/// Reads the options of a deletion as [`decode()`] does objects.
///
/// # Errors
/// The text of Go's decoder, where something has the wrong type.
pub fn decode_delete_options(options: &mut Value) -> Result<Vec<String>, String> {
    decode_type(options, catalog::DELETE_OPTIONS)
}

const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

/// The metadata that clients see who want no more than that: without what the real server keeps elsewhere.
pub fn metadata(object: &Value) -> Value {
    let mut metadata = object.get("metadata").cloned().unwrap_or_default();
    let is_set = object.get("kind").is_some_and(|kind| kind == "DaemonSet");
    if let (true, Value::Object(fields)) = (is_set, &mut metadata)
        && let Some(Value::Object(annotations)) = fields.get_mut("annotations")
        && annotations.remove(default::TEMPLATES).is_some()
        && annotations.is_empty()
    {
        fields.remove("annotations");
    }
    metadata
}
