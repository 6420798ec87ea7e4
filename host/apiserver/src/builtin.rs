//! The kinds that are part of Kubernetes, as the real server has them.
//!
//! - What they are is data, captured from the real server by `make apiserver-data` and unpacked when
//!   first asked for; nothing of it is typed by hand.
//! - Data that cannot be read is a fault of the build: the tests read all of it.

pub(crate) mod catalog;
mod convert;
pub(crate) mod data;
mod decode;
mod default;
mod protobuf;
mod quantity;
mod resources;
mod strategy;
pub(crate) mod structs;
pub(crate) mod types;
mod validate;

use std::sync::Arc;

pub use convert::convert;
pub use decode::{decode, decode_type};
pub use default::{counts_generations, default, default_type};
pub use protobuf::decode_protobuf;
pub use strategy::{Cluster, Write, prepare_create, prepare_update, prepare_update_status};

pub use validate::{validate_create, validate_update};

use crate::registry::Resource;
use crate::schema::Schema;

/// All built-in resources, in the order of discovery.
pub fn resources() -> Vec<Arc<Resource>> {
    catalog::resources()
}

/// What a part of a built-in resource looks like, if it is a type of its own.
pub fn subresource_schema(resource: &Resource, name: &str) -> Option<Schema> {
    let entry = catalog::entry(&resource.group, &resource.version, &resource.plural)?;
    entry.sub_type_name(name).map(types::schema)
}
