//! What a controller with children does, as a plugin: each Greeting gets a set of three ConfigMaps, and a status.

use serde::{Deserialize, Serialize};
use windlass_sdk::{Action, Cluster, Failure, Finalize, Needs, Object, Reconciler, export, manage};

/// How many children each has.
const CHILDREN: usize = 3;

/// The kind of `greeting.crd.json`.
type Greeting = Object<Spec, Status>;

/// What is wanted.
#[derive(Deserialize)]
pub struct Spec {
    name: String,
}

/// What was observed.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    text: String,
    observed_generation: i64,
}

/// The controller.
#[derive(Default)]
pub struct Family;

impl Reconciler for Family {
    const WATCHES: (&'static str, &'static str) = ("bench.windlass.dev/v1", "Greeting");
    const FINALIZE: Option<Finalize<Self>> = None;
    const WRITES_STATUS: bool = true;
    type Object = Greeting;

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    fn reconcile(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let text = format!("Hello, {}!", greeting.spec.name);
        let children = (0..CHILDREN).map(|number| {
            let name = format!("{}-{number}", greeting.name());
            greeting.child("v1", "ConfigMap", name).data("text", &text)
        });
        cluster.apply_set(children)?;
        let status = Status {
            text,
            observed_generation: greeting.metadata.generation,
        };
        cluster.apply_status(greeting, status)?;
        Ok(Action::AwaitChange)
    }
}

export!(Family);
