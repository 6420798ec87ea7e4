//! A real etcd, kube-apiserver and kube-controller-manager for tests, or the embedded API server in their
//! place, and a proxy that breaks things.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! let control_plane = windlass_controlplane::ControlPlane::start()?;
//! let namespace = control_plane.namespace("example").await?;
//! let client = control_plane.client().await?;
//! # Ok(()) }
//! ```
//!
//! `assets` finds the binaries, Helm and a parser of PromQL, or has `build` make them; `start` brings them up with what `flags` and
//! `certificates` say, as children that `process` never lets outlive us; [`ControlPlane`] hands out
//! kubeconfigs, kubectl and the audit log. A [`FaultProxy`] before it loses, holds and spoils requests,
//! and kills their sender at a point that a test chooses. [`lying`] is a server that writes what a test says.
//! [`alone`] is an API server for other suites. [`table`] is how `make measure` shows figures.

pub mod alone;
mod apply;
mod assets;
mod audit;
pub mod background;
mod build;
mod certificates;
mod controlplane;
mod embedded;
mod eventually;
mod flags;
mod kubeconfig;
pub mod lying;
mod process;
mod proxy;
mod registry;
mod start;
pub mod table;

pub use apply::apply;
pub use assets::{Assets, helm, promql};
pub use audit::{AuditEvent, AuditObject, AuditStatus, AuditUser};
pub use controlplane::{ControlPlane, client};
pub use eventually::eventually;
pub use kubeconfig::Identity;
pub use process::Guarded;
pub use proxy::{Fault, FaultProxy, RequestHead, RequestRecord, Rule};
pub use registry::Registry;
