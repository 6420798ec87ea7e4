//! Greets the person whom a Greeting names: with a finalizer, a child, and a status.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::runtime::controller::{Action, Config};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{Controller, WatchStreamExt};
use kube::{Api, Client, CustomResource, Resource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::watch::{Ready, events};

const FINALIZER: &str = "bench.windlass.dev/greeter";
const CONCURRENCY: u16 = 8;

/// The kind of `greeting.crd.json`.
#[derive(Clone, CustomResource, Debug, Deserialize, Serialize)]
#[kube(
    group = "bench.windlass.dev",
    version = "v1",
    kind = "Greeting",
    namespaced,
    status = "Status",
    schema = "disabled"
)]
pub struct Spec {
    name: String,
}

/// What was observed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    #[serde(default)]
    text: String,
    #[serde(default)]
    observed_generation: i64,
}

struct Context {
    client: Client,
    children: Store<ConfigMap>,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Kube(#[from] kube::Error),
    #[error(transparent)]
    Finalizer(#[from] Box<kube::runtime::finalizer::Error<Error>>),
}

/// Runs until the process is ended.
pub async fn run(client: Client, namespace: &str, lean: bool) -> Result<()> {
    let greetings = Api::<Greeting>::namespaced(client.clone(), namespace);
    let maps = Api::<ConfigMap>::namespaced(client.clone(), namespace);
    let ready = Ready::after(2);
    let (children, writer) = reflector::store();
    let maps = events(maps, lean, &ready).reflect(writer).touched_objects();
    let (reader, writer) = reflector::store();
    let greetings = events(greetings, lean, &ready)
        .reflect(writer)
        .touched_objects();
    let controller = Controller::for_stream(greetings, reader)
        .owns_stream(maps)
        .with_config(Config::default().concurrency(CONCURRENCY));
    let context = Arc::new(Context { client, children });
    let passes = controller.run(reconcile, retry, context);
    passes.for_each(async |_| ()).await;
    Ok(())
}

fn retry(_: Arc<Greeting>, _: &Error, _: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(1))
}

async fn reconcile(greeting: Arc<Greeting>, context: Arc<Context>) -> Result<Action, Error> {
    let namespace = greeting.namespace().unwrap_or_default();
    let api = Api::<Greeting>::namespaced(context.client.clone(), &namespace);
    let done = finalizer(&api, FINALIZER, greeting, async |event| match event {
        Event::Apply(greeting) => apply(&greeting, &context).await,
        Event::Cleanup(greeting) => cleanup(&greeting, &context).await,
    });
    Ok(done.await.map_err(Box::new)?)
}

/// Writes only what the stores do not show already.
async fn apply(greeting: &Greeting, context: &Context) -> Result<Action, Error> {
    let (name, namespace) = (
        greeting.name_any(),
        greeting.namespace().unwrap_or_default(),
    );
    let text = format!("Hello, {}!", greeting.spec.name);
    let by = PatchParams::apply("greeter").force();
    let child = context
        .children
        .get(&ObjectRef::new(&name).within(&namespace));
    let is_there = child.is_some_and(|child| {
        let said = child.data.as_ref().and_then(|data| data.get("text"));
        let owners = child.owner_references();
        said == Some(&text)
            && owners
                .iter()
                .any(|owner| Some(&owner.uid) == greeting.uid().as_ref())
    });
    if !is_there {
        let maps = Api::<ConfigMap>::namespaced(context.client.clone(), &namespace);
        let wanted = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": name, "ownerReferences": [greeting.controller_owner_ref(&())] },
            "data": { "text": text },
        });
        maps.patch(&name, &by, &Patch::Apply(&wanted)).await?;
    }
    let status = Status {
        text,
        observed_generation: greeting.metadata.generation.unwrap_or_default(),
    };
    if greeting.status.as_ref() != Some(&status) {
        let api = Api::<Greeting>::namespaced(context.client.clone(), &namespace);
        let wanted = json!({
            "apiVersion": "bench.windlass.dev/v1",
            "kind": "Greeting",
            "status": status,
        });
        api.patch_status(&name, &by, &Patch::Apply(&wanted)).await?;
    }
    Ok(Action::await_change())
}

async fn cleanup(greeting: &Greeting, context: &Context) -> Result<Action, Error> {
    let namespace = greeting.namespace().unwrap_or_default();
    let maps = Api::<ConfigMap>::namespaced(context.client.clone(), &namespace);
    match maps
        .delete(&greeting.name_any(), &DeleteParams::default())
        .await
    {
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        other => drop(other?),
    }
    Ok(Action::await_change())
}
