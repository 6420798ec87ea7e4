//! A station of the ring: copies the value of its own hop to the next one.
//!
//! The two kinds are put into the built component by the benchmark, so that no two stations share code.

use serde_json::{Value, json};
use windlass_sdk::{
    Action, Cluster, Failure, Finalize, Manifest, Needs, Object, ObjectRef, Reconciler, export,
    need,
};

const GROUP_VERSION: &str = "bench.windlass.dev/v1";
/// `Hop0041`, say.
const OWN: &str = "HopThis";
/// `Hop0042`, then.
const NEXT: &str = "HopNext";

/// The controller.
#[derive(Default)]
pub struct Station;

impl Reconciler for Station {
    const WATCHES: (&'static str, &'static str) = (GROUP_VERSION, OWN);
    const FINALIZE: Option<Finalize<Self>> = None;
    type Object = Object<Value>;

    fn needs() -> Needs {
        need(GROUP_VERSION, NEXT, &["create", "patch"])
    }

    fn reconcile(&self, own: &Self::Object, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let Some(value) = own.spec.get("value").and_then(Value::as_str) else {
            return Ok(Action::AwaitChange);
        };
        let namespace = own.metadata.namespace.as_deref().unwrap_or_default();
        let next = ObjectRef::new(GROUP_VERSION, NEXT, namespace, own.name());
        cluster.apply(Manifest::new(&next).spec(json!({ "value": value })))?;
        Ok(Action::AwaitChange)
    }
}

export!(Station);
