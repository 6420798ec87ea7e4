//! A guest that copies `spec.name` of a Greeting into its status, and says which version of it did.
//!
//! Each pass writes twice: `begin <version> <name>`, then `end <version> <name>`; so the history of an
//! object shows which calls about it overlapped. The configuration names the version, and what is
//! wrong with it: `{"version": "v7", "fault": "trap"}`; or `fail`: it reports a failure; or `hasty`: it takes a pass that has
//! begun for one that has ended. With `"reads"` the status also says what it read:
//! the ConfigMap of that `name` (`object`), or how many carry the label `for: <name>` (`list`).

use serde_json::{Value, json};
use windlass_sdk::{
    Action, Cluster, Failure, Finalize, ListQuery, Metric, Needs, Object, ObjectRef, Reconciler,
    export, read,
};

/// Any Greeting.
type Greeting = Object<Value>;

/// The controller.
#[derive(Default)]
pub struct Relay;

impl Reconciler for Relay {
    const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "Greeting");
    const FINALIZE: Option<Finalize<Self>> = None;
    const WRITES_STATUS: bool = true;
    type Object = Greeting;

    fn needs() -> Needs {
        read("v1", "ConfigMap")
    }

    fn reconcile(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let version = cluster.config("version", "v0");
        let name = greeting.spec.get("name").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        let fault = cluster.config("fault", "");
        if fault == "hasty" && is_under_way(greeting) {
            return Ok(Action::AwaitChange);
        }
        if fault == "fail" {
            return Err(Failure::transient(format!("{version} is made to fail")));
        }
        cluster.apply_status(
            greeting,
            json!({ "text": format!("begin {version} {name}") }),
        )?;
        match fault.as_str() {
            "trap" => unreachable!("this version is made to trap"),
            "slow" => loop {
                std::hint::spin_loop();
            },
            _ => {}
        }
        cluster.metric(&Metric::count("passes_total").label("version", &version));
        cluster.metric(&Metric::gauge("letters", letters(name)).label("of", name));
        cluster.metric(&Metric::observe("weight", letters(name)));
        let read = seen(greeting, name, cluster)?;
        let text = format!("end {version} {name}{read}");
        cluster.apply_status(greeting, json!({ "text": text }))?;
        Ok(Action::AwaitChange)
    }
}

/// How many letters a name has.
fn letters(name: &str) -> f64 {
    f64::from(u32::try_from(name.chars().count()).unwrap_or(u32::MAX))
}

/// Whether an earlier pass has begun, which does not mean that it has ended.
fn is_under_way(greeting: &Greeting) -> bool {
    let status = greeting.status.as_ref();
    let text = status.and_then(|status| status.get("text")?.as_str());
    text.is_some_and(|text| !text.starts_with("end"))
}

/// What the configuration says that is to be read.
fn seen(greeting: &Greeting, name: &str, cluster: &dyn Cluster) -> Result<String, Failure> {
    let namespace = greeting.metadata.namespace.as_deref().unwrap_or_default();
    match cluster.config("reads", "").as_str() {
        "object" => {
            let target = ObjectRef::new("v1", "ConfigMap", namespace, name);
            let map: Option<Value> = cluster.find(&target)?;
            let text = map.as_ref().map_or(Some("absent"), |map| {
                map.pointer("/data/text").and_then(Value::as_str)
            });
            Ok(format!(": {}", text.unwrap_or_default()))
        }
        "list" => {
            let query = ListQuery::all("v1", "ConfigMap").in_namespace(namespace);
            let maps: Vec<Value> = cluster.list(&query.labelled(format!("for={name}")))?;
            Ok(format!(": {}", maps.len()))
        }
        _ => Ok(String::new()),
    }
}

export!(Relay);
