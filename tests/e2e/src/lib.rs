//! What the tests on a control plane share: the cluster, hosts as processes, plugin folders.
//!
//! - One control plane for each test binary, one namespace for each test.
//! - A host is the service account of `deploy/base`, with what `windlass rbac` prints for its plugins.
//! - Every wait is for a condition, with a deadline that is far longer than the condition needs.

mod account;
mod ask;
mod cluster;
mod dev;
mod epochs;
mod host;
mod memory;
mod mirror;
mod mirrored;
mod objects;
mod origin;
mod plugins;
mod pod;
mod scene;
mod scrape;
mod server;
pub mod variant;
mod wire;

use std::time::Duration;

pub use account::{Account, HOME, documents, rbac};
pub use ask::{ask, ask_as, ask_by};
pub use cluster::{Cluster, apply, control_plane};
pub use dev::Dev;
pub use epochs::{Epochs, group};
pub use host::{Host, Line, windlass, windlass_alone, without_settings};
pub use memory::{MemoryLimit, MemoryUse};
pub use objects::Objects;
pub use plugins::{ALL, Acknowledge, Greeter, Plugins};
pub use pod::{Pod, Volume};
pub use scene::Scene;
pub use scrape::Scrape;
pub use server::TestServer;
pub use windlass_controlplane::{
    Fault, FaultProxy, Identity, RequestHead, RequestRecord, Rule, eventually,
};
pub use windlass_harness::{host_binary, workspace};
pub use wire::Wire;

/// How long a condition may take to come about before a test gives up on it.
pub const DEADLINE: Duration = Duration::from_secs(60);
