//! A guest that looks after some objects of its kind only: Greetings with the label `selected=yes`.
//!
//! One with the annotation `copied` has a copy, a Greeting `<name>-copy` without the label, which nobody owns.
//! Each has a marker, a ConfigMap `<name>-marker` that nobody owns: only `finalize` takes it away.

use serde_json::{Value, json};
use windlass_sdk::{
    Action, Cluster, Failure, Finalize, Manifest, Needs, Object, ObjectRef, Progress, Reconciler,
    Watch, export, manage, need,
};

/// Any Greeting.
type Greeting = Object<Value>;

/// The controller.
#[derive(Default)]
pub struct Selective;

impl Reconciler for Selective {
    const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "Greeting");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    type Object = Greeting;

    fn needs() -> Needs {
        manage("v1", "ConfigMap") + need("examples.windlass.dev/v1", "Greeting", &["create"])
    }

    fn watch() -> Watch {
        Watch::default().labelled("selected=yes")
    }

    fn reconcile(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Action, Failure> {
        cluster.apply(Manifest::new(&marker(greeting)).data("of", greeting.name()))?;
        if greeting.metadata.annotations.contains_key("copied") {
            let copy = ObjectRef {
                name: format!("{}-copy", greeting.name()),
                ..greeting.reference()
            };
            if cluster.find::<Greeting>(&copy)?.is_none() {
                cluster.apply(Manifest::new(&copy).spec(json!({ "name": "copy" })))?;
            }
        }
        Ok(Action::AwaitChange)
    }
}

impl Selective {
    /// Takes the marker away.
    fn finalize(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        cluster.delete(&marker(greeting))?;
        Ok(Progress::Done)
    }
}

fn marker(greeting: &Greeting) -> ObjectRef {
    ObjectRef {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: format!("{}-marker", greeting.name()),
        ..greeting.reference()
    }
}

export!(Selective);
