//! Kubernetes' ServiceAccount controller as a plugin: each namespace has a ServiceAccount `default`.

use serde_json::{Value, json};
use windlass_kit::namespace::{FIELDS, Namespace};
use windlass_sdk::{
    Action, Cluster, Code, Failure, Needs, ObjectRef, Reconciler, Watch, export, need,
};

/// The ServiceAccount of pods that name none.
const NAME: &str = "default";

/// The controller.
#[derive(Default)]
pub struct ServiceAccounts;

impl Reconciler for ServiceAccounts {
    const WATCHES: (&'static str, &'static str) = ("v1", "Namespace");
    type Object = Namespace;

    fn watch() -> Watch {
        Watch::default().fields(FIELDS)
    }

    fn needs() -> Needs {
        let verbs = ["get", "list", "watch", "create"];
        need("v1", "ServiceAccount", &verbs).fields([".metadata.name"])
    }

    fn reconcile(&self, namespace: &Namespace, cluster: &dyn Cluster) -> Result<Action, Failure> {
        if namespace.is_terminating() {
            return Ok(Action::AwaitChange);
        }
        let place = &*namespace.metadata.name;
        let target = ObjectRef::new("v1", "ServiceAccount", place, NAME);
        if cluster.find::<Value>(&target)?.is_none() {
            let account = json!({
                "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": { "name": NAME, "namespace": place },
            });
            match cluster.create(account) {
                Ok(_) => {}
                // Somebody else has created it, or the namespace is going away.
                Err(error) if matches!(error.code, Code::Conflict | Code::Gone) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Action::AwaitChange)
    }
}

export!(ServiceAccounts);

#[cfg(test)]
mod tests {
    use windlass_sdk::testing::run_dir;

    use super::*;

    #[test]
    fn every_fixture_holds() {
        run_dir::<ServiceAccounts>("tests").unwrap();
    }
}
