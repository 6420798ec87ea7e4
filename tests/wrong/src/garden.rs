//! A Garden has these ConfigMaps:
//!
//! - `<garden>-<plant>` for each plant, a set;
//! - `<garden>-sign`, created once and never changed;
//! - `<garden>-key-*`, one, with a generated name;
//! - `<garden>-level-*`, as many as there are levels, with generated names;
//! - `ledger-<uid>`, without an owner: `finalize` deletes it.
//!
//! Two seconds after the key was made, the garden is open.

mod levels;
mod plants;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_sdk::{
    Action, Cluster, Failure, Finalize, Manifest, Needs, Object, ObjectRef, Progress, Reconciler,
    manage,
};

use crate::maps::{children, config_map, text};

/// How long after the key was made the garden is open.
const OPENS: SignedDuration = SignedDuration::from_secs(2);

/// The kind of `garden.crd.yaml`.
pub(crate) type Garden = Object<Spec, Status>;

/// What is wanted.
#[derive(Deserialize)]
pub struct Spec {
    #[serde(default)]
    plants: Vec<String>,
    #[serde(default)]
    levels: u32,
}

/// What was seen and done.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    observed_generation: i64,
    sign: bool,
    key: String,
    levels: u32,
    ledger: String,
    closing: bool,
    open: bool,
}

/// The controller.
#[derive(Default)]
pub struct Gardens;

impl Reconciler for Gardens {
    const WATCHES: (&'static str, &'static str) = ("tests.windlass.dev/v1", "Garden");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    const WRITES_STATUS: bool = true;
    type Object = Garden;

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    fn reconcile(&self, garden: &Garden, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let bug = cluster.config("bug", "");
        let mut status = garden.status.clone().unwrap_or_default();
        plants::plant(garden, cluster, &bug)?;
        let ledger = ledger(garden);
        cluster.apply(Manifest::new(&ledger).data("of", garden.name()))?;
        put_up_sign(garden, cluster, &bug, &mut status)?;
        let (key, is_new) = key(garden, cluster, &bug, &status)?;
        levels::build(garden, cluster, &bug, &mut status)?;
        let wait = wait(&key, &cluster.now());
        let next = match wait {
            None => Action::AwaitChange,
            // The bug: that somebody has asked to be called again is taken for granted.
            Some(_) if bug == "requeues-once" && !is_new => Action::AwaitChange,
            Some(wait) => Action::RequeueAfter(wait),
        };
        status.observed_generation = garden.metadata.generation;
        status.key = text(&key, "/metadata/name").to_owned();
        status.ledger = ledger.name;
        status.open = wait.is_none();
        cluster.apply_status(garden, status)?;
        Ok(next)
    }
}

impl Gardens {
    /// Deletes the ledger. Kubernetes collects what has an owner.
    fn finalize(&self, garden: &Garden, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        let bug = cluster.config("bug", "");
        let mut status = garden.status.clone().unwrap_or_default();
        plants::uproot(garden, cluster, &bug)?;
        let is_done = match bug.as_str() {
            // The bug: what was made, and not written down yet, is forgotten.
            "finalizes-by-status" => status.ledger.is_empty(),
            // The bug: that it was begun is taken for done.
            "marks-before-it-deletes" => status.closing,
            _ => false,
        };
        if is_done {
            return Ok(Progress::Done);
        }
        status.closing = true;
        cluster.apply_status(garden, status)?;
        cluster.delete(&ledger(garden))?;
        Ok(Progress::Done)
    }
}

/// Creates the sign, unless it is there.
fn put_up_sign(
    garden: &Garden,
    cluster: &dyn Cluster,
    bug: &str,
    status: &mut Status,
) -> Result<(), Failure> {
    let sign = config_map(garden, format!("{}-sign", garden.name()));
    let is_there = match bug {
        "status-first" => status.sign,
        _ => cluster.find::<Value>(&sign)?.is_some(),
    };
    if !is_there && bug == "status-first" {
        // The bug: what is said in the status is not done yet, and is not looked at again.
        status.sign = true;
        cluster.apply_status(garden, status.clone())?;
    }
    if !is_there {
        cluster.create(garden.child("v1", "ConfigMap", sign.name))?;
    }
    status.sign = true;
    Ok(())
}

/// The key, and whether it is new.
fn key(
    garden: &Garden,
    cluster: &dyn Cluster,
    bug: &str,
    status: &Status,
) -> Result<(Value, bool), Failure> {
    let found = match bug {
        // The bug: what was made, and not written down yet, is made again.
        "creates-blindly" if status.key.is_empty() => None,
        "creates-blindly" => cluster.find(&config_map(garden, status.key.clone()))?,
        _ => children(garden, cluster, "key")?.into_iter().next(),
    };
    if let Some(found) = found {
        return Ok((found, false));
    }
    let prefix = format!("{}-key-", garden.name());
    let key = garden.child("v1", "ConfigMap", "").generate_name(prefix);
    Ok((cluster.create(key.label("is", "key"))?, true))
}

/// How long the garden stays closed; nothing if it is open.
fn wait(key: &Value, now: &str) -> Option<Duration> {
    let made: Timestamp = text(key, "/metadata/creationTimestamp").parse().ok()?;
    let now: Timestamp = now.parse().ok()?;
    let opens = made.checked_add(OPENS).ok()?;
    let wait = opens.duration_since(now);
    wait.is_positive().then(|| wait.unsigned_abs())
}

/// What notes that the garden is there.
fn ledger(garden: &Garden) -> ObjectRef {
    config_map(garden, format!("ledger-{}", garden.metadata.uid))
}
