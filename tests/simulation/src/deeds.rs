//! What happens to a world beside what its user does: at some time, or at some request.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::fault::{Fault, What};
use crate::kit::folder;
use crate::user;
use crate::which::Which;
use crate::world::{NAMESPACE, World};

/// Waits until a fault is due, and lets it happen. It is over when this returns.
pub async fn happen(world: Arc<World>, fault: Fault) {
    world.clock.sleep(Duration::from_millis(fault.at)).await;
    if world.is_healed() {
        return;
    }
    world.trace.deed("chance", fault);
    let span = Duration::from_secs(fault.size);
    match fault.what {
        What::LeaseDeaf => {
            world.network.deafen(span);
            world.clock.sleep(span).await;
        }
        What::Busy => {
            world.network.engage(span);
            world.clock.sleep(span).await;
        }
        What::LeaseDeleted => delete_lease(&world),
        What::SessionDeleted => meddle(&world, Method::DELETE, &Value::Null),
        What::SessionEnded => {
            let ended = json!({ "spec": { "holderIdentity": "" } });
            meddle(&world, Method::PATCH, &ended);
        }
        What::LeaseListRefused => {
            world.network.refuse_lists(span);
            world.clock.sleep(span).await;
        }
        What::Freeze => freeze(&world, span).await,
        What::Partition => {
            if let Some(victim) = world.victim() {
                world.network.cut_off(&victim.name, span);
                world.clock.sleep(span).await;
            }
        }
        What::Outage => {
            if let Some(victim) = world.victim() {
                world.network.cut_off(&victim.name, span);
                world.network.break_streams(&victim.name);
                user::spoil(&world);
                world.clock.sleep(span).await;
                world.server.store().compact();
            }
        }
        What::Takeover => {
            let Some(victim) = world.victim() else { return };
            world.network.muffle(&victim.name, span);
            world.clock.sleep(Duration::from_secs(1)).await;
            victim.process.kill();
            world.clock.sleep(span).await;
        }
        What::OldServer => {
            if let Some(victim) = world.victim() {
                world.network.break_streams(&victim.name);
                world.network.grow_old(&world.server, fault.size);
            }
        }
        What::Rolling => rolling(&world, span).await,
        What::ForeignFinalizer => hold_all(&world, span).await,
        _ => {}
    }
}

fn lease_path(name: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{name}")
}

fn delete_lease(world: &World) {
    let path = lease_path(&world.which.lease());
    world.ask(Method::DELETE, &path, &Value::Null);
}

/// Does something to the session of the host that has the Lease.
fn meddle(world: &World, method: Method, body: &Value) {
    let path = lease_path(&world.which.lease());
    let (_, lease) = world.ask(Method::GET, &path, &Value::Null);
    let session = lease.pointer("/metadata/annotations/windlass.dev~1session");
    if let Some((session, _)) = session
        .and_then(Value::as_str)
        .and_then(|text| text.split_once('@'))
    {
        world.ask(method, &lease_path(session), body);
    }
}

async fn freeze(world: &World, span: Duration) {
    let Some(victim) = world.victim() else { return };
    world.trace.deed(&victim.name, "stands still");
    victim.process.freeze();
    world.clock.sleep(span).await;
    world.trace.deed(&victim.name, "goes on");
    victim.process.thaw();
}

async fn rolling(world: &World, pause: Duration) {
    let places = world.hosts().len();
    for place in 0..places {
        let alive = world.hosts().get(place).cloned().flatten();
        if let Some(alive) = alive {
            alive.stop(world).await;
        }
        world.clock.sleep(pause).await;
    }
}

/// Another controller's finalizer comes and goes.
async fn hold_all(world: &World, span: Duration) {
    let change = |add: bool| {
        let (_, list) = world.ask(Method::GET, &world.which.path(), &Value::Null);
        let items = list.get("items").and_then(Value::as_array);
        for item in items.into_iter().flatten() {
            set_finalizer(world, item, "other.example.com/hold", add);
        }
    };
    change(true);
    world.clock.sleep(span).await;
    change(false);
}

/// Puts a finalizer on a primary that is not being deleted, or takes it off.
pub fn set_finalizer(world: &World, primary: &Value, finalizer: &str, on: bool) {
    let text = |pointer: &str| primary.pointer(pointer).and_then(Value::as_str);
    let Some(name) = text("/metadata/name") else {
        return;
    };
    let before = primary
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    let mut finalizers = before.cloned().unwrap_or_default();
    finalizers.retain(|held| held != finalizer);
    if on {
        if text("/metadata/deletionTimestamp").is_some() {
            return;
        }
        finalizers.push(finalizer.into());
    }
    let metadata = json!({
        "finalizers": finalizers,
        "uid": text("/metadata/uid"),
        "resourceVersion": text("/metadata/resourceVersion"),
    });
    let patch = json!({ "metadata": metadata });
    world.ask(Method::PATCH, &world.which.path_of(name), &patch);
}

/// A version of a plugin that only differs in what it does not use: of several plugins, `number` says which one.
pub fn swap(world: &World, number: u64) {
    if let Ok(plugin) = world.kit.plugin(numbered(world, number)) {
        world.set_plugin(plugin.again.clone());
        world.send(world.plugins());
    }
}

/// One plugin fewer for a while. It comes back as it was.
pub async fn remove(world: &Arc<World>, number: u64, seconds: u64) {
    let name = numbered(world, number).name();
    let mut others = world.plugins();
    let at = others.iter().position(|one| one.document.name == name);
    let before = at.map(|at| others.remove(at));
    world.send(others);
    world.clock.sleep(Duration::from_secs(seconds)).await;
    if let Some(before) = before {
        world.set_plugin(before);
    }
    world.send(world.plugins());
}

fn numbered(world: &World, number: u64) -> Which {
    let company = world.which.company();
    let at = usize::try_from(number).unwrap_or(0) % company.len().max(1);
    company.get(at).copied().unwrap_or(world.which)
}

/// What every host's folder holds from now on.
impl World {
    fn send(&self, plugins: Vec<windlass_policy::source::Candidate>) {
        let held = folder(plugins);
        for alive in self.hosts().iter().flatten() {
            // One that has just died needs none.
            drop(alive.folder.send(held.clone()));
        }
    }
}

/// Another manager writes to what the plugin has just written.
pub fn fight(world: &World, path: &str) {
    let patch = match path {
        // No field that a controller goes by: what it has read is old all the same.
        _ if world.which.is_of_workloads() => {
            json!({ "metadata": { "annotations": { "fighter": world.below(u64::MAX).to_string() } } })
        }
        // Notes are the user's.
        path if path.contains("/note-") => return,
        // Nobody owns it, and the plugin that applied it puts it back.
        path if path.contains(&format!("/{}", world.which.entry())) => {
            let field = match world.which {
                Which::Greeter => "text",
                _ => "of",
            };
            json!({ "data": { field: "Boo!" } })
        }
        path if path.contains("/default/configmaps/") => {
            let field = match world.which {
                Which::Greeter => "index.html",
                _ => "title",
            };
            json!({ "data": { field: "Boo!" } })
        }
        path if path.contains("/deployments/") => json!({ "spec": { "replicas": 7 } }),
        // What is not watched is not put back.
        _ => return,
    };
    world.ask_as("fighter", Method::PATCH, path, &patch);
}
