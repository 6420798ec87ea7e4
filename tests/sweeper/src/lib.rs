//! A guest that sweeps up for Greetings that are being deleted: as long as somebody's finalizer keeps one, it deletes the
//! ConfigMaps with the label `of: <greeting>`.
//!
//! While a Greeting stays, its status says how many passes the host remembers, whether there was a token in the bucket that
//! all Greetings share, and which kinds are served of those that the grants name. It is written by compare and swap.

use serde_json::{Value, json};
use windlass_sdk::{
    Action, Cluster, Failure, ListQuery, Needs, Object, ReconcileGoing, Reconciler, export,
    export_going, need,
};

/// Any Greeting.
type Greeting = Object<Value, Value>;

/// The controller.
#[derive(Default)]
pub struct Sweeper;

impl Reconciler for Sweeper {
    const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "Greeting");
    const RECONCILE_GOING: Option<ReconcileGoing<Self>> = Some(Self::reconcile_going);
    type Object = Greeting;

    fn needs() -> Needs {
        let maps = ["list", "watch", "deletecollection"];
        need("v1", "ConfigMap", &maps)
            + need(Self::WATCHES.0, Self::WATCHES.1, &["update"]).plural("greetings/status")
            + need("tests.windlass.dev/v1", "Bookcase", &["get"])
    }

    fn reconcile(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let passes = cluster.recall_json::<u32>().unwrap_or(0) + 1;
        cluster.keep_json(passes);
        let token = cluster.take_token("greetings", 1, 2).is_none();
        let kinds = cluster.kinds()?;
        let kinds = kinds.iter().filter(|kind| kind.can("get"));
        let kinds: Vec<&str> = kinds.map(|kind| kind.plural.as_str()).collect();
        let text = format!("pass {passes}, token {token}, kinds {}", kinds.join(" "));
        say(greeting, &text, cluster)?;
        Ok(Action::AwaitChange)
    }
}

impl Sweeper {
    fn reconcile_going(
        &self,
        greeting: &Greeting,
        cluster: &dyn Cluster,
    ) -> Result<Action, Failure> {
        let namespace = greeting.metadata.namespace.as_deref().unwrap_or_default();
        let query = ListQuery::all("v1", "ConfigMap").in_namespace(namespace);
        let query = query.labelled(format!("of={}", greeting.name()));
        let before = cluster.list::<Value>(&query)?.len();
        if before > 0 {
            cluster.delete_all(&query)?;
        }
        let after = cluster.list::<Value>(&query)?.len();
        say(greeting, &format!("swept, {after} left"), cluster)?;
        Ok(Action::AwaitChange)
    }
}

/// Says something in the status, if it is not there already.
fn say(greeting: &Greeting, text: &str, cluster: &dyn Cluster) -> Result<(), Failure> {
    let status = greeting.status.as_ref();
    if status.and_then(|status| status.get("text")) == Some(&json!(text)) {
        return Ok(());
    }
    let target = greeting.reference();
    let mut now: Value = cluster.get(&target)?;
    if let Some(object) = now.as_object_mut() {
        object.insert("status".to_owned(), json!({ "text": text }));
    }
    cluster.update_subresource(&target, "status", now)?;
    Ok(())
}

export!(Sweeper);
export_going!(Sweeper);
