//! A scripted life: a user does the same to two clusters. In one of them, Kubernetes' own controllers work; in the other one, plugins
//! do. Both must come to the same state after each step, and at each version of each pod some rules must hold.

pub mod bounds;
pub mod job;
pub mod side;
pub mod state;
pub mod step;
