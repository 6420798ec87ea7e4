//! The user of a run, who follows a script.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::deeds::set_finalizer;
use crate::script::{Action, NAMES, Part};
use crate::which::Which;
use crate::workloads;
use crate::world::World;

/// Where all ConfigMaps of a user are.
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// How long the user waits for what need not come soon.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the user looks.
const LOOK: Duration = Duration::from_millis(100);

/// What the user holds primaries with.
const HOLD: &str = "user.example.com/hold";

/// The label of what the user makes in the place of a child.
const OWN: &str = "squatter";

/// The books that there can be.
const BOOKS: [&str; 4] = ["a", "b", "c", "d"];

/// Does what a script says, one after the other. What the server refuses a user, such as to delete what is
/// not there, does not matter.
pub async fn follow(world: &World, script: &[Action]) {
    for action in script {
        world.travel().await;
        world.trace.deed("user", action);
        act(world, action).await;
    }
}

async fn act(world: &World, action: &Action) {
    let of = |name: &str| world.which.path_of(name);
    match action {
        Action::Create(name) => create(world, name).await,
        Action::Change(name, text, number) => {
            let patch = json!({ "spec": spec(world.which, text, *number) });
            world.ask(Method::PATCH, &of(name), &patch);
        }
        Action::Label(name, value) => {
            let patch = json!({ "metadata": { "labels": { "user": value.to_string() } } });
            world.ask(Method::PATCH, &of(name), &patch);
        }
        Action::Edit(name, part) => {
            let patch = match (world.which, part) {
                (Which::Greeter, Part::Text) => json!({ "data": { "index.html": "Boo!" } }),
                (Which::Greeter, Part::Pods) => json!({ "spec": { "replicas": 7 } }),
                _ => json!({ "data": { "title": "Boo!" } }),
            };
            world.ask(Method::PATCH, &part_path(world.which, name, *part), &patch);
        }
        Action::DeletePart(name, part) => {
            let path = part_path(world.which, name, *part);
            world.ask(Method::DELETE, &path, &Value::Null);
        }
        Action::Delete(name) => {
            world.ask(Method::DELETE, &of(name), &Value::Null);
        }
        Action::Hold(name, on) => {
            let (code, primary) = world.ask(Method::GET, &of(name), &Value::Null);
            if code == 200 {
                set_finalizer(world, &primary, HOLD, *on);
            }
        }
        Action::Disown(name) => {
            let patch = json!({ "metadata": { "ownerReferences": null } });
            let path = part_path(world.which, name, Part::Text);
            world.ask(Method::PATCH, &path, &patch);
        }
        Action::Readopt(name) => {
            let path = part_path(world.which, name, Part::Text);
            wait(world, || has_owner(world, &path)).await;
        }
        Action::Catalog(Some(title)) => put(world, "catalog", &json!({ "title": title }), ""),
        Action::Catalog(None) => {
            world.ask(Method::DELETE, &format!("{MAPS}/catalog"), &Value::Null);
        }
        Action::Note(name, number) => put(world, &note(name, *number), &json!({}), name),
        Action::Unlabel(name, number) => put(world, &note(name, *number), &json!({}), "nobody"),
        Action::Expire(name, number) => {
            let path = format!("{MAPS}/{}", note(name, *number));
            expire(world, &path);
            wait(world, || is_gone(world, &path)).await;
        }
        Action::Renew(name, number, pause) => {
            let (name, number) = (*name, *number);
            let path = format!("{MAPS}/{}", note(name, number));
            expire(world, &path);
            world.clock.sleep(Duration::from_millis(*pause)).await;
            world.ask(Method::DELETE, &path, &Value::Null);
            put(world, &note(name, number), &json!({}), name);
        }
        Action::Squat(name, part, pause) => {
            let path = part_path(world.which, name, *part);
            world.ask(Method::DELETE, &path, &Value::Null);
            world.clock.sleep(Duration::from_millis(*pause)).await;
            let (collection, _) = path.rsplit_once('/').unwrap_or_default();
            let own = own_part(world.which, &path, *part);
            world.ask(Method::POST, collection, &own);
        }
        Action::Vacate(name, part) => {
            let path = part_path(world.which, name, *part);
            let (_, there) = world.ask(Method::GET, &path, &Value::Null);
            if there.pointer(&format!("/metadata/labels/{OWN}")).is_some() {
                world.ask(Method::DELETE, &path, &Value::Null);
            }
        }
        Action::Settle(name) => {
            let settled = wait(world, || has_settled(world, name));
            world.clock.within(PATIENCE, settled).await;
        }
        Action::Work(work) => workloads::user::act(world, work).await,
        Action::Wait(millis) => world.clock.sleep(Duration::from_millis(*millis)).await,
        // It divides the script.
        Action::Heal => {}
    }
}

/// Deletes a child of each primary.
pub fn spoil(world: &World) {
    if world.which.is_of_workloads() {
        return workloads::user::spoil(world);
    }
    for name in NAMES {
        let path = part_path(world.which, name, Part::Text);
        world.ask(Method::DELETE, &path, &Value::Null);
    }
}

/// What a user wants of a primary.
fn spec(which: Which, text: &str, number: u64) -> Value {
    match which {
        Which::Greeter => json!({ "greeting": text, "replicas": number }),
        _ => {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            let books: Vec<_> = BOOKS.iter().take(number).collect();
            // The usual mood is none.
            let mood = (text != "Hello").then_some(text);
            json!({ "books": books, "mood": mood })
        }
    }
}

fn part_path(which: Which, name: &str, part: Part) -> String {
    match (which, part) {
        (Which::Greeter, Part::Text) => format!("{MAPS}/{name}-greeting"),
        (Which::Greeter, Part::Pods) => {
            format!("/apis/apps/v1/namespaces/default/deployments/{name}-greeting")
        }
        (_, Part::Text) => format!("{MAPS}/{name}-a"),
        (_, Part::Pods) => format!("{MAPS}/{name}-b"),
    }
}

/// What the user makes in the place of a child.
fn own_part(which: Which, path: &str, part: Part) -> Value {
    let name = path.rsplit('/').next();
    let metadata = json!({ "name": name, "labels": { OWN: "true" } });
    match (which, part) {
        (Which::Greeter, Part::Pods) => json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "spec": {
                "replicas": 0,
                "selector": { "matchLabels": { "app": "own" } },
                "template": {
                    "metadata": { "labels": { "app": "own" } },
                    "spec": { "containers": [{ "name": "own", "image": "own" }] },
                },
            },
        }),
        _ => json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
            "data": { "own": "true" },
        }),
    }
}

/// The name of a note.
fn note(name: &str, number: u64) -> String {
    format!("note-{name}-{number}")
}

async fn create(world: &World, name: &str) {
    let (api_version, kind) = world.which.kind();
    let primary = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": { "name": name },
        "spec": match world.which {
            Which::Greeter => json!({ "name": name }),
            which => spec(which, "Hello", 2),
        },
    });
    wait(world, || {
        let (code, _) = world.ask(Method::POST, &world.which.path(), &primary);
        code == 201
    })
    .await;
}

/// Makes a ConfigMap, or changes the one that is there.
fn put(world: &World, name: &str, data: &Value, of: &str) {
    let labels = match of {
        "" => json!({}),
        of => json!({ "note-of": of }),
    };
    let map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "labels": labels },
        "data": data,
    });
    let (code, _) = world.ask(Method::POST, MAPS, &map);
    if code == 409 {
        world.ask(Method::PATCH, &format!("{MAPS}/{name}"), &map);
    }
}

fn expire(world: &World, path: &str) {
    let patch = json!({ "data": { "expired": "true" } });
    world.ask(Method::PATCH, path, &patch);
}

/// Whether a child has an owner, or is gone.
fn has_owner(world: &World, path: &str) -> bool {
    let (code, child) = world.ask(Method::GET, path, &Value::Null);
    code == 404 || child.pointer("/metadata/ownerReferences/0").is_some()
}

/// Waits until `done` says so.
async fn wait(world: &World, mut done: impl FnMut() -> bool) {
    while !done() {
        world.clock.sleep(LOOK).await;
    }
}

fn is_gone(world: &World, path: &str) -> bool {
    world.ask(Method::GET, path, &Value::Null).0 == 404
}

/// Whether a primary is gone, or is as it was asked for.
fn has_settled(world: &World, name: &str) -> bool {
    let (code, primary) = world.ask(Method::GET, &world.which.path_of(name), &Value::Null);
    if code == 404 {
        return true;
    }
    if primary.pointer("/metadata/deletionTimestamp").is_some() {
        return false;
    }
    let seen = primary.pointer("/status/observedGeneration");
    let made = |part: Part| !is_gone(world, &part_path(world.which, name, part));
    let made = world.which == Which::Steward || [Part::Text, Part::Pods].into_iter().all(made);
    seen.is_some() && seen == primary.pointer("/metadata/generation") && made
}
