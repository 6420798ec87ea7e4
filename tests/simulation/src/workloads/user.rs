//! The user of a run about workloads.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::fact::{controller, is_active, text};
use super::script::DEPLOYMENTS;
use super::work::Work;
use crate::world::World;

const PODS: &str = "/api/v1/namespaces/default/pods";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";

/// How long the user waits for what need not come soon.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the user looks.
const LOOK: Duration = Duration::from_millis(100);

/// Does one thing.
pub(crate) async fn act(world: &World, work: &Work) {
    match work {
        Work::Want(name, wanted) => {
            let mut spec = wanted.spec(name);
            let path = path_of(name);
            let (code, there) = world.ask(Method::GET, &path, &Value::Null);
            if code == 200 && there.pointer("/metadata/deletionTimestamp").is_none() {
                world.ask(Method::PATCH, &path, &json!({ "spec": spec }));
                return;
            }
            drop_nulls(&mut spec);
            let object = json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": { "name": name }, "spec": spec,
            });
            wait(world, || {
                has_gone(world, name) && make(world, &path, &object)
            })
            .await;
        }
        Work::Run(name, wanted) => {
            let mut spec = wanted.spec(name);
            drop_nulls(&mut spec);
            let object = json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": { "name": name }, "spec": spec,
            });
            wait(world, || make(world, &path_of(name), &object)).await;
        }
        Work::Parallel(name, count) => {
            let patch = json!({ "spec": { "parallelism": count } });
            world.ask(Method::PATCH, &path_of(name), &patch);
        }
        Work::Suspend(name, is_suspended) => {
            let patch = json!({ "spec": { "suspend": is_suspended } });
            world.ask(Method::PATCH, &path_of(name), &patch);
        }
        Work::Delete(name, how) => {
            let options = json!({
                "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": how,
            });
            world.ask(Method::DELETE, &path_of(name), &options);
        }
        Work::DeletePod(name) => {
            if let Some(path) = some_pod(world, name) {
                world.ask(Method::DELETE, &path, &Value::Null);
            }
        }
        Work::FailPod(name) => {
            if let Some(path) = some_pod(world, name) {
                let annotations = json!({ "nodes.windlass.dev/simulate": "fail" });
                let patch = json!({ "metadata": { "annotations": annotations } });
                world.ask(Method::PATCH, &path, &patch);
            }
        }
        Work::Unlabel(name) => {
            if let Some(path) = some_pod(world, name) {
                let patch = json!({ "metadata": { "labels": { "app": "gone" } } });
                world.ask(Method::PATCH, &path, &patch);
            }
        }
        Work::Settle(name) => wait(world, || has_settled(world, name)).await,
    }
}

/// Deletes a pod of each Deployment.
pub(crate) fn spoil(world: &World) {
    for name in DEPLOYMENTS {
        if let Some(path) = some_pod(world, name) {
            world.ask(Method::DELETE, &path, &Value::Null);
        }
    }
}

fn path_of(name: &str) -> String {
    if DEPLOYMENTS.contains(&name) {
        format!("/apis/apps/v1/namespaces/default/deployments/{name}")
    } else {
        format!("/apis/batch/v1/namespaces/default/jobs/{name}")
    }
}

fn make(world: &World, path: &str, object: &Value) -> bool {
    let (collection, _) = path.rsplit_once('/').unwrap_or_default();
    world.ask(Method::POST, collection, object).0 == 201
}

fn list(world: &World, path: &str, name: &str) -> Vec<Value> {
    let path = format!("{path}?labelSelector=app%3D{name}");
    let (_, mut list) = world.ask(Method::GET, &path, &Value::Null);
    match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// The path of some active pod.
fn some_pod(world: &World, name: &str) -> Option<String> {
    let pods = list(world, PODS, name);
    let active: Vec<&Value> = pods.iter().filter(|pod| is_active(pod)).collect();
    let at = usize::try_from(world.below(active.len() as u64)).ok()?;
    let pod = active.get(at)?;
    Some(format!("{PODS}/{}", text(pod, "/metadata/name")))
}

/// Whether nothing is left that goes with a Deployment which was there before: sets that have an owner, and pods that
/// have lost their set.
fn has_gone(world: &World, name: &str) -> bool {
    let sets = list(world, SETS, name);
    let owned = |set: &Value| set.pointer("/metadata/ownerReferences/0").is_some();
    let uids: Vec<&str> = sets.iter().map(|set| text(set, "/metadata/uid")).collect();
    let pods = list(world, PODS, name);
    let has_set = |pod: &Value| match controller(pod) {
        Some((_, uid)) => uids.contains(&uid),
        None => true,
    };
    !sets.iter().any(owned) && pods.iter().all(has_set)
}

/// Whether a Deployment or a Job has come as far as it can, or is not there.
fn has_settled(world: &World, name: &str) -> bool {
    let (code, object) = world.ask(Method::GET, &path_of(name), &Value::Null);
    if code != 200 {
        return true;
    }
    let number = |at: &str| object.pointer(at).and_then(Value::as_i64).unwrap_or(0);
    if text(&object, "/kind") == "Job" {
        let conditions = object
            .pointer("/status/conditions")
            .and_then(Value::as_array);
        let mut conditions = conditions.into_iter().flatten();
        return conditions.any(|one| {
            text(one, "/status") == "True"
                && ["Complete", "Failed", "Suspended"].contains(&text(one, "/type"))
        });
    }
    let wanted = number("/spec/replicas");
    let all = ["replicas", "updatedReplicas", "availableReplicas"];
    let mut all = all.iter().map(|field| number(&format!("/status/{field}")));
    let is_observed = number("/status/observedGeneration") == number("/metadata/generation");
    is_observed && all.all(|count| count == wanted)
}

/// Waits until `done` says so, and not longer than the user's patience.
async fn wait(world: &World, mut done: impl FnMut() -> bool) {
    let work = async {
        while !done() {
            world.clock.sleep(LOOK).await;
        }
    };
    if world.clock.within(PATIENCE, work).await.is_none() {
        world.trace.deed("user", "waits no longer");
    }
}

fn drop_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(drop_nulls);
    }
}
