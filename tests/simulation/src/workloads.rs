//! Kubernetes' controllers of Deployments, ReplicaSets and Jobs, together: what a user does to them, and what must hold.
//!
//! ```text
//! work     one thing that a user does     -> script   drawn from a seed -> user   does it
//! fact     a write, and what pods are     -> oracle   one for each controller
//! ```

pub(crate) mod fact;
pub mod oracle;
pub mod script;
pub(crate) mod user;
pub mod work;
