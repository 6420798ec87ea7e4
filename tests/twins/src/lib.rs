//! A guest that reconciles two kinds, whose objects may have the same name:
//!
//! - a Greeting has a ConfigMap of the same name with the label `mirrored=yes`, which it owns and `finalize` takes away;
//! - a ConfigMap with that label has a copy in its annotation `copied`. If it also has the annotation `marked`, it asks for
//!   the finalizer and has a marker, a ConfigMap `<name>-marker` that nobody owns: only `finalize` takes it away, at once
//!   when the label goes.
//!
//! Its configuration can break one of them: `{"breaks": "Greeting"}` fails every pass over one.

use serde_json::{Value, json};
use windlass_sdk::{
    Action, Cluster, Failure, Finalize, Manifest, Needs, Object, ObjectRef, Patch, Progress,
    Reconciler, Watch, export, manage,
};

/// Any Greeting.
type Greeting = Object<Value>;

/// The controller of Greetings.
#[derive(Default)]
pub struct Greetings;

impl Reconciler for Greetings {
    const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "Greeting");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    type Object = Greeting;

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    fn reconcile(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Action, Failure> {
        breaks("Greeting", cluster)?;
        let name = greeting.spec.get("name").and_then(Value::as_str);
        let map = greeting.child("v1", "ConfigMap", greeting.name());
        let map = map
            .label("mirrored", "yes")
            .data("name", name.unwrap_or_default());
        cluster.apply(map)?;
        Ok(Action::AwaitChange)
    }
}

impl Greetings {
    /// Takes the ConfigMap away.
    fn finalize(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        cluster.delete(&ObjectRef {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            ..greeting.reference()
        })?;
        Ok(Progress::Done)
    }
}

/// The controller of ConfigMaps.
#[derive(Default)]
pub struct Maps;

impl Reconciler for Maps {
    const WATCHES: (&'static str, &'static str) = ("v1", "ConfigMap");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    type Object = Value;

    fn watch() -> Watch {
        let watch = Watch::default().labelled("mirrored=yes");
        watch.finalize_on_request().finalize_on_leave()
    }

    fn reconcile(&self, map: &Value, cluster: &dyn Cluster) -> Result<Action, Failure> {
        breaks("ConfigMap", cluster)?;
        if map.pointer("/metadata/annotations/marked").is_some() {
            cluster.protect()?;
            cluster.apply(
                Manifest::new(&named(map, "-marker")).data("of", text(map, "/metadata/name")),
            )?;
        }
        let copied = text(map, "/data/name");
        let copied = json!({ "metadata": { "annotations": { "copied": copied } } });
        cluster.patch(&named(map, ""), &Patch::Merge(copied))?;
        Ok(Action::AwaitChange)
    }
}

impl Maps {
    /// Takes the marker away.
    fn finalize(&self, map: &Value, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        cluster.delete(&named(map, "-marker"))?;
        Ok(Progress::Done)
    }
}

fn text<'a>(map: &'a Value, path: &str) -> &'a str {
    map.pointer(path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The ConfigMap whose name is that of `map`, and `more`.
fn named(map: &Value, more: &str) -> ObjectRef {
    let name = format!("{}{more}", text(map, "/metadata/name"));
    ObjectRef::new("v1", "ConfigMap", text(map, "/metadata/namespace"), &name)
}

/// Fails if the configuration says that passes over `kind` do.
fn breaks(kind: &str, cluster: &dyn Cluster) -> Result<(), Failure> {
    if cluster.config("breaks", "") == kind {
        return Err(Failure::Terminal(format!("{kind} is broken")));
    }
    Ok(())
}

export!(Greetings, Maps);
