//! A guest that copies `spec.name` of a Greeting into its status, and says which version of it did.
//!
//! Each pass writes twice: `begin <version> <name>`, then `end <version> <name>`; so the history of an
//! object shows which calls about it overlapped. The configuration names the version, and what is
//! wrong with it: `{"version": "v7", "fault": "trap"}`.

use serde_json::{Value, json};
use windlass_sdk::{Action, Cluster, Failure, Finalize, Needs, Object, Reconciler, export, read};

/// Any Greeting.
type Greeting = Object<Value>;

/// The controller.
#[derive(Default)]
pub struct Relay;

impl Reconciler for Relay {
    const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "Greeting");
    const FINALIZE: Option<Finalize<Self>> = None;
    type Object = Greeting;

    fn needs() -> Needs {
        read("v1", "ConfigMap")
    }

    fn reconcile(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let version = cluster.config("version", "v0");
        let name = greeting.spec.get("name").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        cluster.apply_status(
            greeting,
            json!({ "text": format!("begin {version} {name}") }),
        )?;
        match cluster.config("fault", "").as_str() {
            "trap" => unreachable!("this version is made to trap"),
            "slow" => loop {
                std::hint::spin_loop();
            },
            _ => {}
        }
        cluster.apply_status(greeting, json!({ "text": format!("end {version} {name}") }))?;
        Ok(Action::AwaitChange)
    }
}

export!(Relay);
