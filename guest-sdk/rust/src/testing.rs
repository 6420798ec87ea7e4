//! A cluster in memory, and fixture files that run on it, for plain `cargo test`.
//!
//! The command `windlass` plays the cluster: this module starts `windlass fake`, which has the API server and the host of
//! `windlass test`. So a pass on a [`FakeCluster`] does what it does in a cluster: schemas and defaults, grants, owner
//! references, finalizers, sets and HTTP rules are the same. Only the plugin itself runs here, where a debugger works.
//!
//! - In a project, the grants and the name are those of `plugin.yaml`, and the kinds those of the folder. Without a
//!   `plugin.yaml`, the plugin may do what it needs, is called `plugin`, and its own kinds have no schema.
//! - `WINDLASS` names the command; without it, it is the `windlass` of `PATH`.
//! - No controller runs on the cluster: a deleted object's dependents stay, and a Deployment gets no pods.

mod call;
mod description;
mod fake_cluster;
mod fetch;
mod fixtures;
mod pass;
mod process;
#[cfg(test)]
mod tests;

pub use fake_cluster::FakeCluster;
pub use fixtures::run_dir;
#[doc(hidden)]
pub use fixtures::run_list;
pub use pass::{Answer, Pass, Verb, Write};
pub use process::FakeError;
