//! Stations of a ring: each copies the value of its own hop to the next one.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use futures::future::join_all;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, WatchStreamExt, reflector};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::watch::{Ready, events};

struct Station {
    client: Client,
    next: ApiResource,
}

/// Runs `count` stations from `first` on, until the process is ended.
pub async fn run(
    client: Client,
    namespace: &str,
    lean: bool,
    first: usize,
    count: usize,
) -> Result<()> {
    let ready = Ready::after(count);
    let mut stations = Vec::new();
    for own in first..first + count {
        let hop = hop(own);
        let api = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &hop);
        let writer = reflector::store::Writer::new(hop.clone());
        let reader = writer.as_reader();
        let hops = events(api, lean, &ready).reflect(writer).touched_objects();
        let station = Arc::new(Station {
            client: client.clone(),
            next: self::hop(own + 1),
        });
        let controller = Controller::for_stream_with(hops, reader, hop);
        stations.push(controller.run(copy, retry, station).for_each(async |_| ()));
    }
    join_all(stations).await;
    Ok(())
}

/// The kind that the station of that number watches.
fn hop(number: usize) -> ApiResource {
    let kind = format!("Hop{number:04}");
    ApiResource::from_gvk(&GroupVersionKind::gvk("bench.windlass.dev", "v1", &kind))
}

fn retry(_: Arc<DynamicObject>, _: &kube::Error, _: Arc<Station>) -> Action {
    Action::requeue(Duration::from_secs(1))
}

async fn copy(own: Arc<DynamicObject>, station: Arc<Station>) -> Result<Action, kube::Error> {
    let Some(value) = own
        .data
        .pointer("/spec/value")
        .and_then(|value| value.as_str())
    else {
        return Ok(Action::await_change());
    };
    let namespace = own.namespace().unwrap_or_default();
    let next = &station.next;
    let api = Api::<DynamicObject>::namespaced_with(station.client.clone(), &namespace, next);
    let wanted = json!({
        "apiVersion": next.api_version,
        "kind": next.kind,
        "metadata": { "name": own.name_any() },
        "spec": { "value": value },
    });
    let by = PatchParams::apply("ring").force();
    api.patch(&own.name_any(), &by, &Patch::Apply(&wanted))
        .await?;
    Ok(Action::await_change())
}
