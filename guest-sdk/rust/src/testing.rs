//! A cluster in memory, and fixture files that run on it, for plain `cargo test`.
//!
//! [`FakeCluster`] keeps objects and does what an API server does with them: server-side apply,
//! status, UIDs, generations, preconditions. [`FakeCluster::reconcile`] makes one pass with it and
//! checks what the host would check: needs, owner references, finalizers. [`Fixture`] is a file
//! that says what such a pass must do; the host runs the same files through the real sandbox.
//!
//! It has no schemas and defaults, no admission, no RBAC, no conversion between versions of a group, and no garbage
//! collection. Lists merge by key only under the field names that Kubernetes uses for it (`containers`, `env`,
//! `conditions`, ...). Other lists are replaced as a whole. An edit by somebody else owns nothing. A field of two
//! managers stays when one of them drops it.

mod bulk;
mod call;
mod check;
mod fields;
mod fixture;
mod others;
mod owners;
mod parts;
mod pass;
mod patch;
mod requests;
mod runner;
mod select;
mod set;
mod store;
mod stored;
#[cfg(test)]
mod tests;
mod wait;
mod write;
mod yaml;

pub use fixture::{Answer, Fixture, FixtureError, Given, Outcome, Step, Then, When, Wrote};
pub use pass::Pass;
pub use runner::run_dir;
pub use store::FakeCluster;
pub use write::{Verb, Write};
