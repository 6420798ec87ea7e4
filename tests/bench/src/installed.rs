//! Plugins that are objects of the cluster: how soon one works, and what a hundred of them hold.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use windlass_controlplane::eventually;

use crate::Workload;
use crate::arena::{Arena, Stage, plugin};
use crate::built::workspace;
use crate::contestant::Contestant;
use crate::greet;
use crate::greetings::{Greetings, Step};
use crate::passes::first_of;
use crate::process::memory;
use crate::results::{Round, percentile};
use crate::ring::{self, Ring, Size};
use crate::swap::variant;

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "installed",
    title: "Plugins as objects",
    about: "A Plugin object is created while the host runs, and its component is in a ConfigMap. The time runs from the \
            request that creates the object until the first call for an object that exists already, as the median of \
            10. The code of the component is in the cache of the host, or the host must compile it first. The memory is \
            that of a host with the 100 plugins of the ring above, all of them from objects, after two minutes without \
            work.",
    figures: &[
        "create to first call, ms",
        "create to first call, new code, ms",
        "100 plugins from objects, idle: RSS, MiB",
        "100 plugins from objects, idle: PSS, MiB",
    ],
    charts: &[],
    minutes: 4,
    ..Workload::NONE
};

/// Who takes part.
pub(crate) const CONTESTANTS: [Contestant; 1] = [Contestant::Windlass];

/// Objects of each sort.
const OBJECTS: u64 = 10;

/// The key of a component.
const KEY: &str = "plugin.wasm";

/// How long plugins may take until all are ready.
const PATIENCE: Duration = Duration::from_secs(120);

/// Lets the host take plugins from objects.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(arena: &Arena, contestant: Contestant, size: Size) -> Result<Round> {
    let file = workspace().join("deploy/crds/plugins.windlass.dev.yaml");
    arena
        .apply(&serde_saphyr::from_multiple::<Value>(&fs::read_to_string(
            file,
        )?)?)
        .await?;
    let (known, new) = first_calls(arena, contestant).await?;
    let held = many(arena, contestant, size).await?;
    let values = [known, new, held.rss, held.pss];
    Ok(WORKLOAD.figures.iter().copied().zip(values).collect())
}

/// How soon objects work, in milliseconds: with code that is compiled, and with new code.
async fn first_calls(arena: &Arena, contestant: Contestant) -> Result<(f64, f64)> {
    let mut stage = arena.host_of_objects(contestant).await?;
    // Code that no run of this has seen.
    let fresh = u64::try_from(Timestamp::now().as_nanosecond())?;
    // Compiled for the first one.
    first_call(arena, &mut stage, "warm", &variant(fresh)?).await?;
    let (mut known, mut new) = (Vec::new(), Vec::new());
    for number in 0..OBJECTS {
        let name = format!("known-{number}");
        known.push(first_call(arena, &mut stage, &name, &variant(fresh)?).await?);
        let name = format!("new-{number}");
        let component = variant(fresh + 1 + number)?;
        new.push(first_call(arena, &mut stage, &name, &component).await?);
    }
    Ok((percentile(&mut known, 50), percentile(&mut new, 50)))
}

async fn first_call(arena: &Arena, stage: &mut Stage, name: &str, component: &[u8]) -> Result<f64> {
    let namespace = arena.namespace().await?;
    let greetings = Greetings::new(&arena.judge, &namespace).await?;
    let early = ["early".to_owned()];
    greetings.make(&early).await?;
    let folder = tempfile::tempdir()?;
    plugin(folder.path(), name, component, &greet::grants(&namespace))?;
    let object = prepared(arena, stage, folder.path(), name).await?;
    let created = Timestamp::now();
    create(arena, &object).await?;
    let running = stage.running.first_mut().context("it has a process")?;
    let pass = first_of(running, name).await?;
    let ended = pass.written()?.duration_since(created).as_secs_f64() * 1e3;
    greetings.there(Step::Create, &early).await?;
    Ok(ended - pass.number("elapsed_ms")?)
}

/// What a host with the plugins of the ring holds when it has rested.
async fn many(arena: &Arena, contestant: Contestant, size: Size) -> Result<crate::process::Memory> {
    let mut stage = arena.host_of_objects(contestant).await?;
    let folder = tempfile::tempdir()?;
    arena.apply(&ring::kinds(size.stations)).await?;
    ring::lay_out(folder.path(), &stage.namespace, size.stations)?;
    for station in 0..size.stations {
        let name = ring::plugin_name(station);
        let object = prepared(arena, &stage, folder.path(), &name).await?;
        create(arena, &object).await?;
    }
    let running = stage.running.first_mut().context("it has a process")?;
    eventually(PATIENCE, "all plugins are ready", async || {
        running.check()?;
        let ready = running.log().matches("all lists are in").count();
        Ok((ready >= size.stations).then_some(()))
    })
    .await
    .with_context(|| running.last_words())?;
    let mut ring = Ring::new(&arena.judge, &stage.namespace, size.stations).await?;
    for _ in 0..3 {
        ring.turn().await?;
    }
    tokio::time::sleep(size.rest).await;
    let held = memory(running.id())?;
    ring.turn().await?;
    running.check()?;
    Ok(held)
}

/// The Plugin object of a document in `folder`, whose component is in a ConfigMap now.
async fn prepared(arena: &Arena, stage: &Stage, folder: &Path, name: &str) -> Result<Value> {
    let bytes = fs::read(folder.join(format!("{name}.wasm")))?;
    let digest = format!("sha256:{:x}", Sha256::digest(&bytes));
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.binary_data = Some([(KEY.to_owned(), ByteString(bytes))].into());
    let maps: Api<ConfigMap> = Api::namespaced(arena.judge.clone(), &stage.leases);
    maps.create(&PostParams::default(), &map).await?;
    let text = fs::read_to_string(folder.join(format!("{name}.yaml")))?;
    let mut object: Value = serde_json::from_str(&text)?;
    let source = json!({ "configMap": {
        "namespace": stage.leases, "name": name, "key": KEY, "digest": digest,
    } });
    let spec = object.get_mut("spec").and_then(Value::as_object_mut);
    let spec = spec.context("a document has a spec")?;
    spec.insert("source".into(), source);
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let metadata = metadata.context("a document has metadata")?;
    metadata.insert("labels".into(), json!({ "bench": stage.leases }));
    Ok(object)
}

async fn create(arena: &Arena, object: &Value) -> Result<()> {
    let kind = GroupVersionKind::gvk("windlass.dev", "v1alpha1", "Plugin");
    let plugins: Api<DynamicObject> =
        Api::all_with(arena.judge.clone(), &ApiResource::from_gvk(&kind));
    let object = serde_json::from_value(object.clone())?;
    plugins.create(&PostParams::default(), &object).await?;
    Ok(())
}
