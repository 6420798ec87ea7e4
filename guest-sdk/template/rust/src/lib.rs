//! Greets the person that a `Greeting` names.

use serde::Deserialize;
use serde_json::json;
use windlass_sdk::{Action, Cluster, Failure, Needs, Object, Reconciler, export, manage};

/// The spec of a Greeting, as in greeting.crd.yaml.
#[derive(Deserialize)]
pub struct Spec {
    name: String,
}

#[derive(Default)]
pub struct Controller;

impl Reconciler for Controller {
    const WATCHES: (&'static str, &'static str) = ("greeter.example.dev/v1", "Greeting");
    const WRITES_STATUS: bool = true;
    type Object = Object<Spec>;

    /// What else it touches; plugin.yaml grants it.
    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    /// Called when the Greeting changes, or anything that an earlier call has read or written.
    fn reconcile(&self, greeting: &Self::Object, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let text = format!("Hello, {}!", greeting.spec.name);
        let name = format!("{}-greeting", greeting.name());
        cluster.apply_set([greeting.child("v1", "ConfigMap", name).data("text", &text)])?;
        cluster.apply_status(greeting, json!({ "text": text }))?;
        Ok(Action::AwaitChange)
    }
}

export!(Controller);

#[cfg(test)]
mod tests {
    #[test]
    fn every_fixture_holds() {
        windlass_sdk::testing::run_dir::<super::Controller>("tests").unwrap();
    }
}
