//! A Hive has these ConfigMaps:
//!
//! - `apiary-<uid>`, without an owner: `finalize` deletes it;
//! - `<hive>-wax` and `<hive>-wax-inner`, each made once and never changed;
//! - `<hive>-box` and `<hive>-frames`, with the size of the hive;
//! - `<hive>-queen-*`, one, with a generated name: another breed is another queen.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_sdk::{
    Action, Cluster, Code, Error, Failure, Finalize, Manifest, Needs, Object, ObjectRef, Progress,
    Reconciler, Watch, manage,
};

use crate::maps::{children, config_map, put, text};

/// The kind of `hive.crd.yaml`.
type Hive = Object<Spec, Status>;

/// What is wanted.
#[derive(Deserialize)]
pub struct Spec {
    size: u32,
    breed: String,
}

/// What was seen.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    observed_generation: i64,
}

/// The controller.
#[derive(Default)]
pub struct Hives;

impl Reconciler for Hives {
    const WATCHES: (&'static str, &'static str) = ("tests.windlass.dev/v1", "Hive");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    const WRITES_STATUS: bool = true;
    type Object = Hive;

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    fn watch() -> Watch {
        Watch::default().finalize_on_request()
    }

    fn reconcile(&self, hive: &Hive, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let bug = cluster.config("bug", "");
        match keep(hive, cluster, &bug) {
            // The bug: who has failed for the second time is not tried again, although the way to the API server was
            // broken. The Java Operator SDK does so after five times, unless it is told otherwise.
            Err(Failure::Transient(text)) if bug == "gives-up" && cluster.attempt() > 0 => {
                Err(Failure::Terminal(text))
            }
            kept => kept,
        }
    }
}

impl Hives {
    /// Deletes the entry in the apiary. Kubernetes collects what has an owner.
    fn finalize(&self, hive: &Hive, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        cluster.delete(&entry(hive))?;
        Ok(Progress::Done)
    }
}

/// Makes everything.
fn keep(hive: &Hive, cluster: &dyn Cluster, bug: &str) -> Result<Action, Failure> {
    if bug != "protects-late" {
        cluster.protect()?;
    }
    let entry = entry(hive);
    if cluster.find::<Value>(&entry)?.is_none() {
        cluster.create(Manifest::new(&entry).data("of", hive.name()))?;
    }
    wax(hive, cluster, bug)?;
    build(hive, cluster, bug)?;
    queen(hive, cluster, bug)?;
    // The bug: what `finalize` would undo was made long before. controller-runtime leaves the order to the operator, and
    // kube-rs and the Java Operator SDK do not.
    cluster.protect()?;
    let observed_generation = hive.metadata.generation;
    cluster.apply_status(
        hive,
        Status {
            observed_generation,
        },
    )?;
    Ok(Action::AwaitChange)
}

/// Makes what is missing of the wax.
fn wax(hive: &Hive, cluster: &dyn Cluster, bug: &str) -> Result<(), Failure> {
    let names = ["wax", "wax-inner"].map(|part| format!("{}-{part}", hive.name()));
    let mut missing = Vec::new();
    for name in &names {
        let target = config_map(hive, name);
        if cluster.find::<Value>(&target)?.is_none() {
            missing.push(target);
        }
    }
    let first = missing.first().map(|target| &target.name);
    if bug == "takes-the-first-for-all" && first != names.first() {
        // The bug: the second one is not looked for. Percona's operators did so with the Secrets `ssl` and `ssl-internal`
        // (K8SPXC-896, K8SPSMDB-578).
        return Ok(());
    }
    let mut made: Result<(), Error> = Ok(());
    for target in &missing {
        let wax = hive.child("v1", "ConfigMap", &target.name);
        made = made.and_then(|()| cluster.create(wax).map(drop));
    }
    match made {
        // An error does not lead into this bug: both are made again. A crash does.
        Err(error) if bug == "takes-the-first-for-all" && error.code != Code::Conflict => {
            for target in &missing {
                cluster.delete(target)?;
            }
            Err(error.into())
        }
        made => Ok(made?),
    }
}

/// Gives the box and its frames the wanted size.
fn build(hive: &Hive, cluster: &dyn Cluster, bug: &str) -> Result<(), Failure> {
    let size = hive.spec.size.to_string();
    let [outer, inner] = ["box", "frames"].map(|part| format!("{}-{part}", hive.name()));
    let of = |name: &str| cluster.find::<Value>(&config_map(hive, name));
    let (before, frames) = (of(&outer)?, of(&inner)?);
    let is_same = before.is_some_and(|outer| text(&outer, "/data/size") == size);
    let sized = |name| hive.child("v1", "ConfigMap", name).data("size", &size);
    put(hive, cluster, sized(outer))?;
    if bug == "compares-with-what-it-wrote" && is_same && frames.is_some() {
        // The bug: the box has the new size first, and the frames are compared with it. RabbitMQ's cluster operator did so
        // with the StatefulSet and its volumes (rabbitmq/cluster-operator#782).
        return Ok(());
    }
    put(hive, cluster, sized(inner))
}

/// Makes the queen of the wanted breed, and deletes the others.
fn queen(hive: &Hive, cluster: &dyn Cluster, bug: &str) -> Result<(), Failure> {
    let breed = &hive.spec.breed;
    let queens = children(hive, cluster, "queen")?;
    let (wanted, others): (Vec<Value>, Vec<Value>) = queens
        .into_iter()
        .partition(|queen| text(queen, "/metadata/labels/breed") == breed);
    if wanted.is_empty() {
        let queen = hive.child("v1", "ConfigMap", "");
        let queen = queen.generate_name(format!("{}-queen-", hive.name()));
        cluster.create(queen.label("is", "queen").label("breed", breed))?;
    } else if bug == "leaves-the-old-one" {
        // The bug: the old one goes in the pass that makes the new one, or never. Operators that replace what cannot be
        // changed leak like that (the leaks after a crash between two writes that Sieve found).
        return Ok(());
    }
    for queen in &others {
        cluster.delete(&config_map(hive, text(queen, "/metadata/name")))?;
    }
    Ok(())
}

/// What notes that the hive is there.
fn entry(hive: &Hive) -> ObjectRef {
    config_map(hive, format!("apiary-{}", hive.metadata.uid))
}
