//! Pulls plugins from OCI registries, and pushes them.
//!
//! A pull's journey:
//!
//! 1. [`Reference`] says where a plugin is: in a registry, or in a folder with an OCI image layout.
//! 2. [`Client::resolve`] asks once which digest the tag stands for. All that follows is pulled by digest.
//! 3. [`Client::pull`] reads manifest, config and layer, and compares each with its digest and size while it reads.
//!
//! - A connection goes to an address that was checked. A redirect leads neither to this machine nor to a private network.
//! - Only the registry and the token server that it names get credentials. A redirect's host never does.
//! - Proxies of the environment are not used.
//! - Nothing here reads a clock or the environment by itself, and no task is spawned.
//!
//! ```layers
//! client
//! session
//! exchange, layout
//! challenge, settings, artifact
//! docker, manifest, reference
//! digest, problem
//! error
//! ```

mod artifact;
mod challenge;
mod client;
mod digest;
mod docker;
mod error;
mod exchange;
mod layout;
mod manifest;
mod problem;
mod reference;
mod session;
mod settings;

pub use artifact::Artifact;
pub use client::{Client, PULL, PUSH, Pulled};
pub use digest::Digest;
pub use docker::{Credentials, DockerConfig};
pub use error::Error;
pub use exchange::ANSWER_BEGINS;
pub use manifest::{
    Annotations, CONFIG_TYPE, LARGEST_CONFIG, LARGEST_LAYER, LARGEST_MANIFEST, LAYER_TYPE,
    MANIFEST_TYPE,
};
pub use reference::{Image, Layout, Reference};
pub use settings::{HostSettings, Settings};

/// For the fuzz target of manifests (`tests/fuzz`).
#[cfg(feature = "testing")]
pub mod testing {
    pub use crate::manifest::rewritten;
}
