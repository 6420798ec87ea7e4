//! A Meadow has these ConfigMaps, and looks after them every 30 seconds:
//!
//! - `<meadow>-flowers`, with the names of its flowers;
//! - the fence that `spec.fence` names. Of several meadows with one fence, the first by name has it.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_sdk::{
    Action, Cluster, Failure, ListQuery, Manifest, Needs, Object, Reconciler, manage,
};

use crate::maps::{children, config_map, is_owned, put, text};

/// How often a meadow is looked after.
const OFTEN: Duration = Duration::from_secs(30);

/// The kind of `meadow.crd.yaml`.
type Meadow = Object<Spec, Status>;

/// What is wanted.
#[derive(Deserialize)]
pub struct Spec {
    #[serde(default)]
    flowers: Vec<String>,
    fence: String,
}

/// What was seen.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    fenced: bool,
}

/// The controller.
#[derive(Default)]
pub struct Meadows;

impl Reconciler for Meadows {
    const WATCHES: (&'static str, &'static str) = ("tests.windlass.dev/v1", "Meadow");
    const WRITES_STATUS: bool = true;
    type Object = Meadow;

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    fn reconcile(&self, meadow: &Meadow, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let bug = cluster.config("bug", "");
        let flowers = format!("{}-flowers", meadow.name());
        let flowers = meadow.child("v1", "ConfigMap", flowers);
        put(meadow, cluster, flowers.data("list", list(meadow, &bug)))?;
        let fenced = match bug.as_str() {
            "shares-a-name" => fence_at_once(meadow, cluster)?,
            _ => fence(meadow, cluster)?,
        };
        for old in children(meadow, cluster, "fence")? {
            let name = text(&old, "/metadata/name");
            if name != meadow.spec.fence {
                cluster.delete(&config_map(meadow, name))?;
            }
        }
        cluster.apply_status(meadow, Status { fenced })?;
        Ok(Action::RequeueAfter(OFTEN))
    }
}

/// The names of the flowers, in order.
fn list(meadow: &Meadow, bug: &str) -> String {
    let flowers = meadow.spec.flowers.iter().map(String::as_str);
    let mut flowers: Vec<&str> = flowers.collect();
    flowers.sort_unstable();
    if bug == "orders-at-random" {
        // The bug: the order of a hash table, which is another one in each pass. Stackable's operator for Airflow
        // (stackabletech/airflow-operator#371), and many in Go.
        let table: HashSet<&str> = flowers.into_iter().collect();
        flowers = table.into_iter().collect();
    }
    flowers.join(" ")
}

/// Makes the fence if it is this meadow's, and whether it is.
fn fence(meadow: &Meadow, cluster: &dyn Cluster) -> Result<bool, Failure> {
    let namespace = meadow.metadata.namespace.as_deref().unwrap_or_default();
    let (api_version, kind) = Meadows::WATCHES;
    let query = ListQuery::all(api_version, kind).in_namespace(namespace);
    let meadows: Vec<Meadow> = cluster.list(&query)?;
    let has_same = |other: &&Meadow| other.spec.fence == meadow.spec.fence;
    let first = meadows.iter().filter(has_same).map(Object::name).min();
    if first == Some(meadow.name()) {
        put(meadow, cluster, wanted(meadow))?;
        return Ok(true);
    }
    let target = config_map(meadow, &meadow.spec.fence);
    let found: Option<Value> = cluster.find(&target)?;
    if found.is_some_and(|fence| is_owned(meadow, &fence)) {
        // The other one makes its own.
        cluster.delete(&target)?;
    }
    Ok(false)
}

/// Makes the fence, whichever meadow has it.
///
/// The bug: two meadows with one fence take it from each other forever. cert-manager did so with the Secrets of
/// Certificates (cert-manager/cert-manager#4846).
fn fence_at_once(meadow: &Meadow, cluster: &dyn Cluster) -> Result<bool, Failure> {
    let target = config_map(meadow, &meadow.spec.fence);
    let found: Option<Value> = cluster.find(&target)?;
    match found {
        None => cluster.create(wanted(meadow))?,
        Some(fence) if text(&fence, "/metadata/labels/is") == "fence" => {
            cluster.apply(wanted(meadow))?
        }
        Some(_) => {
            let text = format!("{target} belongs to somebody else");
            return Err(Failure::transient(text));
        }
    };
    Ok(true)
}

fn wanted(meadow: &Meadow) -> Manifest {
    let fence = meadow.child("v1", "ConfigMap", &meadow.spec.fence);
    fence.label("is", "fence").data("of", meadow.name())
}
