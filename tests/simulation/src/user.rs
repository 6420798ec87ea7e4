//! The user of a run, who follows a script.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::deeds::set_finalizer;
use crate::script::{Action, Part};
use crate::world::World;

/// Where the user's Greetings are.
pub const GREETINGS: &str = "/apis/examples.windlass.dev/v1/namespaces/default/greetings";

/// How long the user waits for what need not come soon.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the user looks.
const LOOK: Duration = Duration::from_millis(100);

/// What the user holds Greetings with.
const HOLD: &str = "user.example.com/hold";

/// The path of a Greeting.
pub fn path(name: &str) -> String {
    format!("{GREETINGS}/{name}")
}

/// Does what a script says, one after the other. What the server refuses a user, such as to delete what is
/// not there, is no matter.
pub async fn follow(world: &World, script: &[Action]) {
    for action in script {
        world.travel().await;
        world.trace.deed("user", action);
        act(world, action).await;
    }
}

async fn act(world: &World, action: &Action) {
    match action {
        Action::Create(name) => create(world, name).await,
        Action::Change(name, text, replicas) => {
            let patch = json!({ "spec": { "greeting": text, "replicas": replicas } });
            world.ask(Method::PATCH, &path(name), &patch);
        }
        Action::Label(name, value) => {
            let patch = json!({ "metadata": { "labels": { "user": value.to_string() } } });
            world.ask(Method::PATCH, &path(name), &patch);
        }
        Action::Edit(name, part) => {
            let patch = match part {
                Part::Text => json!({ "data": { "index.html": "Boo!" } }),
                Part::Pods => json!({ "spec": { "replicas": 7 } }),
            };
            world.ask(Method::PATCH, &part_path(name, *part), &patch);
        }
        Action::DeletePart(name, part) => {
            world.ask(Method::DELETE, &part_path(name, *part), &Value::Null);
        }
        Action::Delete(name) => {
            world.ask(Method::DELETE, &path(name), &Value::Null);
        }
        Action::Hold(name, on) => {
            let (code, greeting) = world.ask(Method::GET, &path(name), &Value::Null);
            if code == 200 {
                set_finalizer(world, &greeting, HOLD, *on);
            }
        }
        Action::Settle(name) => {
            let settled = wait(world, || has_settled(world, name));
            world.clock.within(PATIENCE, settled).await;
        }
        Action::Wait(millis) => world.clock.sleep(Duration::from_millis(*millis)).await,
    }
}

fn part_path(name: &str, part: Part) -> String {
    match part {
        Part::Text => format!("/api/v1/namespaces/default/configmaps/{name}-greeting"),
        Part::Pods => format!("/apis/apps/v1/namespaces/default/deployments/{name}-greeting"),
    }
}

async fn create(world: &World, name: &str) {
    let greeting = json!({
        "apiVersion": "examples.windlass.dev/v1",
        "kind": "Greeting",
        "metadata": { "name": name },
        "spec": { "name": name },
    });
    wait(world, || {
        let (code, _) = world.ask(Method::POST, GREETINGS, &greeting);
        code == 201
    })
    .await;
}

/// Waits until `done` says so.
async fn wait(world: &World, mut done: impl FnMut() -> bool) {
    while !done() {
        world.clock.sleep(LOOK).await;
    }
}

/// Whether a Greeting is gone, or is as it was asked for.
fn has_settled(world: &World, name: &str) -> bool {
    let (code, greeting) = world.ask(Method::GET, &path(name), &Value::Null);
    if code == 404 {
        return true;
    }
    if greeting.pointer("/metadata/deletionTimestamp").is_some() {
        return false;
    }
    let seen = greeting.pointer("/status/observedGeneration");
    let parts = [Part::Text, Part::Pods].map(|part| {
        let (code, _) = world.ask(Method::GET, &part_path(name, part), &Value::Null);
        code == 200
    });
    seen.is_some() && seen == greeting.pointer("/metadata/generation") && parts == [true, true]
}
