//! Watches all ConfigMaps, or all pods, and does nothing about them.

use std::time::Duration;

use serde_json::Value;
use windlass_sdk::{Action, Cluster, Failure, Reconciler, Watch, export};

/// The controller.
#[derive(Default)]
pub struct Holder;

impl Reconciler for Holder {
    const WATCHES: (&'static str, &'static str) = if cfg!(feature = "pods") {
        ("v1", "Pod")
    } else {
        ("v1", "ConfigMap")
    };
    type Object = Value;

    fn watch() -> Watch {
        if cfg!(feature = "lean") {
            Watch::default().fields([".spec.nodeName", ".status.phase"])
        } else {
            Watch::default()
        }
    }

    fn reconcile(&self, _: &Value, _: &dyn Cluster) -> Result<Action, Failure> {
        Ok(if cfg!(feature = "again") {
            Action::RequeueAfter(Duration::from_millis(100))
        } else {
            Action::AwaitChange
        })
    }
}

export!(Holder);
