//! The example plugin: greets the person that a `Greeting` names.
//!
//! Each Greeting has two children, a ConfigMap with the text and a Deployment that serves it, and
//! an entry in the register: a ConfigMap in the namespace `greetings`. An owner reference may not
//! point into another namespace, so the register is what `finalize` is for.

mod manifests;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_sdk::{
    Action, Cluster, Condition, Failure, Finalize, Needs, Object, Progress, Reconciler, export,
    manage,
};

use crate::manifests::{config_map, deployment, entry, entry_name};

/// Serves what is in `/www`; the operator's `image` overrides it.
const IMAGE: &str = "docker.io/library/busybox:1.37";
/// What to do when the register is not there.
const REMEDY: &str = "create the namespace greetings";

/// The kind of `greeting.crd.yaml`, which also gives the defaults.
type Greeting = Object<Spec, Status>;

/// What is wanted.
#[derive(Deserialize)]
pub struct Spec {
    name: String,
    greeting: String,
    replicas: u32,
}

/// What was observed.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    observed_generation: i64,
    conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
}

/// The controller.
#[derive(Default)]
pub struct Greeter;

impl Reconciler for Greeter {
    const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "Greeting");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    const WRITES_STATUS: bool = true;
    type Object = Greeting;

    fn needs() -> Needs {
        manage("v1", "ConfigMap") + manage("apps/v1", "Deployment")
    }

    fn reconcile(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let name = greeting.spec.name.trim();
        if name.is_empty() {
            let ready = Condition::fails("Ready", "BlankName", "spec.name is blank");
            report(greeting, cluster, ready, "")?;
            return Err(Failure::terminal("spec.name is blank"));
        }
        let text = format!("{}, {name}!", greeting.spec.greeting);
        let image = cluster.config("image", IMAGE);
        cluster.apply_set([config_map(greeting, &text), deployment(greeting, &image)])?;
        let (ready, next) = match cluster.apply(entry(greeting, &text)) {
            Ok(_) => (
                Condition::holds("Ready", "Applied", "children and entry are applied"),
                Action::AwaitChange,
            ),
            Err(error) if error.is_not_found() => (
                Condition::fails("Ready", "NoRegister", REMEDY),
                Action::RequeueAfter(Duration::from_secs(10)),
            ),
            Err(error) => return Err(error.into()),
        };
        report(greeting, cluster, ready, &text)?;
        Ok(next)
    }
}

impl Greeter {
    /// Takes the entry off the register. Kubernetes collects the children.
    fn finalize(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        cluster.delete(&entry_name(greeting))?;
        Ok(Progress::Done)
    }
}

/// Writes the status.
fn report(
    greeting: &Greeting,
    cluster: &dyn Cluster,
    ready: Condition,
    text: &str,
) -> Result<(), Failure> {
    let generation = greeting.metadata.generation;
    let before = greeting
        .status
        .as_ref()
        .map_or(&[][..], |status| &status.conditions);
    let ready = ready.observed(generation).since(before, &cluster.now());
    let status = Status {
        observed_generation: generation,
        conditions: vec![ready],
        text: text.to_owned(),
    };
    Ok(cluster.apply_status(greeting, status)?)
}

export!(Greeter);

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_sdk::testing::{FakeCluster, run_dir};

    use super::*;

    #[test]
    fn every_fixture_holds() {
        run_dir::<Greeter>("tests").unwrap();
    }

    #[test]
    fn an_edited_config_map_is_put_back() {
        let mut cluster = FakeCluster::given("tests/created.yaml").unwrap();
        cluster.reconcile(&Greeter, "ada");
        let edit = json!({ "data": { "index.html": "Boo!" } });
        cluster
            .edit("ConfigMap/default/ada-greeting", &edit)
            .unwrap();
        let pass = cluster.reconcile(&Greeter, "ada");
        assert_eq!(pass.written(), ["ConfigMap/default/ada-greeting"]);
    }
}
