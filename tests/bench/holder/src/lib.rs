//! Watches all ConfigMaps, or all pods, and does nothing about them.

use std::time::Duration;

use serde_json::Value;
use windlass_sdk::{Action, Cluster, Failure, Reconciler, Watch, export};

/// The controller.
#[derive(Default)]
pub struct Holder;

impl Reconciler for Holder {
    const WATCHES: (&'static str, &'static str) = match cfg!(feature = "pods") {
        true => ("v1", "Pod"),
        false => ("v1", "ConfigMap"),
    };
    type Object = Value;

    fn watch() -> Watch {
        match cfg!(feature = "lean") {
            true => Watch::default().fields([".spec.nodeName", ".status.phase"]),
            false => Watch::default(),
        }
    }

    fn reconcile(&self, _: &Value, _: &dyn Cluster) -> Result<Action, Failure> {
        Ok(match cfg!(feature = "again") {
            true => Action::RequeueAfter(Duration::from_millis(100)),
            false => Action::AwaitChange,
        })
    }
}

export!(Holder);
