//! What the benchmark's other contestants do, as a plugin: each Greeting gets a finalizer, a child and a status.

use serde::{Deserialize, Serialize};
use windlass_sdk::{
    Action, Cluster, Failure, Finalize, Needs, Object, ObjectRef, Progress, Reconciler, export,
    manage,
};

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
pub struct Greeter;

impl Reconciler for Greeter {
    const WATCHES: (&'static str, &'static str) = ("bench.windlass.dev/v1", "Greeting");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    const WRITES_STATUS: bool = true;
    type Object = Greeting;

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    fn reconcile(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let text = format!("Hello, {}!", greeting.spec.name);
        let child = greeting.child("v1", "ConfigMap", greeting.name());
        cluster.apply(child.data("text", &text))?;
        let status = Status {
            text,
            observed_generation: greeting.metadata.generation,
        };
        cluster.apply_status(greeting, status)?;
        Ok(Action::AwaitChange)
    }
}

impl Greeter {
    /// Deletes the child, as who must not leave it to the garbage collector would.
    fn finalize(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        let child = ObjectRef {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            ..greeting.reference()
        };
        cluster.delete(&child)?;
        Ok(Progress::Done)
    }
}

export!(Greeter);
