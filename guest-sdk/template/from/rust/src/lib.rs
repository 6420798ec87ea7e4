//! Makes a ConfigMap for each `Greeting`.

use serde_json::Value;
use windlass_sdk::{Action, Cluster, Failure, Needs, Object, Reconciler, export, manage};

#[derive(Default)]
pub struct Controller;

impl Reconciler for Controller {
    const WATCHES: (&'static str, &'static str) = ("greeter.example.dev/v1", "Greeting");
    /// With a type of your own for the spec, in the place of `Option<Value>`, its fields have types.
    type Object = Object<Option<Value>>;

    /// What else it touches; plugin.yaml grants it.
    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    /// Called when the Greeting changes, or anything that an earlier call has read or written.
    fn reconcile(&self, greeting: &Self::Object, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let text = format!("Hello, {}!", greeting.name());
        let name = format!("{}-greeting", greeting.name());
        cluster.apply_set([greeting.child("v1", "ConfigMap", name).data("text", &text)])?;
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
