//! The hello plugin in Rust: one ConfigMap beside each Greeting, as in the other languages.

use serde_json::{Value, json};
use windlass_sdk::{
    Action, Cluster, Failure, Finalize, Needs, Object, ObjectRef, Progress, Reconciler, export,
    manage,
};

type Greeting = Object<Value, Value>;

/// The controller.
#[derive(Default)]
pub struct Hello;

impl Reconciler for Hello {
    const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "Greeting");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    const WRITES_STATUS: bool = true;
    type Object = Greeting;

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    fn reconcile(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let name = greeting.spec.get("name").and_then(Value::as_str);
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Err(Failure::terminal("spec.name is empty"));
        };
        let word = cluster.config("word", "Hello");
        if word.is_empty() {
            return Ok(Action::AwaitChange);
        }
        let text = format!("{word}, {name}!");
        let found: Option<Value> = cluster.find(&child(greeting))?;
        let before = found.as_ref().and_then(|found| found.pointer("/data/text"));
        cluster.info(format!("read {before:?}"));
        let hello = greeting.child("v1", "ConfigMap", child(greeting).name);
        cluster.apply(hello.data("text", &text))?;
        cluster.apply_status(greeting, json!({ "text": text }))?;
        Ok(Action::AwaitChange)
    }
}

impl Hello {
    fn finalize(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        cluster.delete(&child(greeting))?;
        Ok(Progress::Done)
    }
}

fn child(greeting: &Greeting) -> ObjectRef {
    ObjectRef {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        name: format!("{}-hello", greeting.name()),
        ..greeting.reference()
    }
}

export!(Hello);
