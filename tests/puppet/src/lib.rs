//! A guest that makes the writes that its configuration lists, in order:
//!
//! ```yaml
//! does:
//!   - create: { apiVersion: v1, kind: Pod, metadata: { generateName: p- }, spec: {} }
//!   - apply: { apiVersion: v1, kind: Service, metadata: { name: s }, spec: {} }
//!   - delete: { apiVersion: v1, kind: Pod, metadata: { name: q } }
//!   - show: { apiVersion: v1, kind: Service, metadata: { name: s } } # its clusterIP, in the status
//!   - claim: { apiVersion: v1, kind: ConfigMap, metadata: { name: c } } # its text is the Greeting's name
//! ```
//!
//! What has no namespace is in that of the Greeting. A name that is taken, or an object that is absent, is fine. Its
//! component carries a definition of Greetings, for who runs it alone.

use serde_json::{Map, Value, json};
use windlass_sdk::{
    Action, Cluster, Code, Error, Failure, Finalize, Needs, Object, ObjectRef, Reconciler, export,
    manage,
};

/// Any Greeting.
type Greeting = Object<Value>;

/// The controller.
#[derive(Default)]
pub struct Puppet;

impl Reconciler for Puppet {
    const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "Greeting");
    const FINALIZE: Option<Finalize<Self>> = None;
    const CRDS: &'static [&'static str] = &[include_str!("../greeting.crd.json")];
    type Object = Greeting;

    fn needs() -> Needs {
        manage("v1", "ConfigMap") + manage("v1", "Pod") + manage("v1", "Service")
    }

    fn reconcile(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let config = cluster.config_json();
        let does = config.get("does").and_then(Value::as_array);
        for step in does.into_iter().flatten() {
            for (verb, object) in step.as_object().into_iter().flatten() {
                let step = take(verb, object.clone(), greeting, cluster);
                match step {
                    Err(error) if error.code == Code::Conflict => {}
                    step => step?,
                }
            }
        }
        Ok(Action::AwaitChange)
    }
}

/// Takes one step.
fn take(
    verb: &str,
    mut object: Value,
    greeting: &Greeting,
    cluster: &dyn Cluster,
) -> Result<(), Error> {
    let namespace = greeting.metadata.namespace.clone().unwrap_or_default();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.entry("namespace").or_insert(json!(namespace));
    }
    let target = target(&object);
    match verb {
        "create" => cluster.create(object).map(drop),
        "delete" => cluster.delete(&target),
        "show" => {
            let held: Option<Value> = cluster.find(&target)?;
            let address = held
                .as_ref()
                .and_then(|held| held.pointer("/spec/clusterIP"));
            cluster.apply_status(greeting, json!({ "text": address }))
        }
        "claim" => {
            // Who has read an object runs again when somebody else changes it.
            let _: Option<Value> = cluster.find(&target)?;
            if let Some(fields) = object.as_object_mut() {
                fields.insert("data".to_owned(), json!({ "text": greeting.name() }));
            }
            cluster.apply(object).map(drop)
        }
        _ => cluster.apply(object).map(drop),
    }
}

fn target(object: &Value) -> ObjectRef {
    let empty = Map::new();
    let metadata = object.get("metadata").and_then(Value::as_object);
    let metadata = metadata.unwrap_or(&empty);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    ObjectRef {
        api_version: text(object.get("apiVersion")),
        kind: text(object.get("kind")),
        namespace: metadata.get("namespace").map(|it| text(Some(it))),
        name: text(metadata.get("name")),
    }
}

export!(Puppet);
