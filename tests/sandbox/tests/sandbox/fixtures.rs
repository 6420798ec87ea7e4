//! Every fixture of the greeter gives the same in the sandbox as natively, in each language.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use greeter::Greeter;
use jiff::Timestamp;
use serde_json::{Value, json};
use windlass_host::manifest;
use windlass_host::plugin::{Action, CallError, Called, Failure, Progress};
use windlass_sandbox_tests::{ApiServer, House, guests::workspace, writes};
use windlass_sdk::ObjectRef;
use windlass_sdk::testing::{Answer, FakeCluster, Fixture, Outcome, Step, Verb, Write, run_dir};

use crate::common::wasm;

/// Fewer than these were never meant to be.
const AT_LEAST: usize = 10;

const API_VERSION: &str = "examples.windlass.dev/v1";

/// The kinds that the greeter reads and writes.
const KINDS: [(&str, &str); 3] = [
    (API_VERSION, "Greeting"),
    ("v1", "ConfigMap"),
    ("apps/v1", "Deployment"),
];

/// What each server makes up in its own way.
const MADE_UP: [&str; 5] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
];

#[tokio::test(start_paused = true)]
async fn every_fixture_gives_the_same_in_the_sandbox_as_natively() {
    every_fixture_of("greeter").await;
}

/// What is native is the greeter in Rust.
#[tokio::test(start_paused = true)]
async fn every_fixture_gives_the_same_in_javascript() {
    every_fixture_of("greeter-js").await;
}

async fn every_fixture_of(component: &str) {
    let folder = workspace().join("plugins/greeter/tests");
    let count = run_dir::<Greeter>(&folder).unwrap();
    let paths = fixtures(&folder);
    assert_eq!(paths.len(), count);
    assert!(
        count >= AT_LEAST,
        "only {count} fixtures in {}",
        folder.display()
    );
    let mut wrong = Vec::new();
    for path in paths {
        wrong.extend(run(&path, component).await.err());
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn fixtures(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    paths.sort();
    paths
}

/// Runs a fixture natively on the SDK's fake cluster, and through the component on an API server.
async fn run(path: &Path, component: &str) -> Result<(), String> {
    let fixture = Fixture::load(path).unwrap();
    let mut native = FakeCluster::new();
    let start = fixture.cluster().unwrap().clock().parse().unwrap();
    let api = ApiServer::starting_at(start).unwrap();
    let house = House::inline(api.clone()).unwrap();
    for (number, step) in fixture.steps.iter().enumerate() {
        let place = |text: String| format!("{}: step {}: {text}", path.display(), number + 1);
        step.prepare(&mut native).unwrap();
        prepare(&api, step).unwrap();
        let clock: Timestamp = native.clock().parse().unwrap();
        let ahead = clock.duration_since(house.clock().wall());
        tokio::time::advance(Duration::try_from(ahead).unwrap()).await;
        let primary = step.primary(API_VERSION);
        let config = native.config().clone();
        let want = tidy(natively(step, &mut native, &primary));
        let got = tidy(in_sandbox(&house, component, &config, step, &primary).await);
        step.check(&primary, &want)
            .map_err(|error| place(format!("natively: {error}")))?;
        step.check(&primary, &got)
            .map_err(|error| place(format!("in the sandbox: {error}")))?;
        same(&want, &got).map_err(place)?;
        same(&native_objects(&native), &server_objects(&api)).map_err(place)?;
    }
    Ok(())
}

/// Changes the API server's objects to what is given before this step's call.
fn prepare(api: &ApiServer, step: &Step) -> anyhow::Result<()> {
    for object in &step.given.objects {
        api.give(object)?;
    }
    for (title, patch) in &step.given.edits {
        api.edit(title, patch)?;
    }
    for title in &step.given.removals {
        api.remove(title)?;
    }
    Ok(())
}

fn natively(step: &Step, cluster: &mut FakeCluster, primary: &ObjectRef) -> Outcome {
    let name = format!("{}/{}", primary.namespace.as_deref().unwrap(), primary.name);
    let pass = match step.when.reconcile {
        Some(_) => cluster.reconcile(&Greeter, &name),
        None => cluster.finalize(&Greeter, &name),
    };
    pass.outcome
}

async fn in_sandbox(
    house: &House,
    component: &str,
    config: &Value,
    step: &Step,
    primary: &ObjectRef,
) -> Outcome {
    house.api.take_writes();
    let answer = ask(house, component, config, step, primary).await;
    let writes = house
        .api
        .take_writes()
        .into_iter()
        .map(as_sdk_write)
        .collect();
    Outcome {
        answer,
        wake_at: None,
        writes,
    }
}

/// A write as the SDK's fake cluster records it.
fn as_sdk_write(write: writes::Write) -> Write {
    let writes::Target {
        api_version,
        kind,
        namespace,
        name,
    } = write.target;
    Write {
        verb: match write.verb {
            writes::Verb::Apply => Verb::Apply,
            writes::Verb::ApplyStatus => Verb::ApplyStatus,
            writes::Verb::Create => Verb::Create,
            writes::Verb::Patch => Verb::Patch,
            writes::Verb::Delete => Verb::Delete,
        },
        target: ObjectRef {
            api_version,
            kind,
            namespace,
            name,
        },
        object: write.object,
    }
}

async fn ask(
    house: &House,
    component: &str,
    config: &Value,
    step: &Step,
    primary: &ObjectRef,
) -> Answer {
    let found = house.api.get(&primary.to_string());
    let deleting = |object: &Value| object.pointer("/metadata/deletionTimestamp").is_some();
    // Whom to call is the controller's to say, not the sandbox's.
    match &found {
        Ok(object) if deleting(object) == step.when.finalize.is_some() => {}
        Ok(_) | Err(_) => return Answer::NotCalled,
    }
    let document = document(component);
    let plugin = house.load("greeter", wasm(component), config, document.limits);
    let tenant = house
        .admit(plugin.await.unwrap(), document.grants)
        .await
        .unwrap();
    let (namespace, name) = (primary.namespace.as_deref().unwrap(), primary.name.as_str());
    if step.when.reconcile.is_some() {
        let called = tenant.reconcile(namespace, name).await.unwrap();
        answer(called, |action| match action {
            Action::AwaitChange => Answer::AwaitChange,
            Action::RequeueAfter(millis) => Answer::RequeueAfter(wait(millis)),
        })
    } else {
        let called = tenant.finalize(namespace, name).await.unwrap();
        answer(called, |progress| match progress {
            Progress::Done => Answer::Done,
            Progress::Pending(millis) => Answer::Pending(wait(millis)),
        })
    }
}

/// The document that ships with a greeter: its grants must be enough.
fn document(component: &str) -> manifest::PluginDocument {
    let folder = workspace().join("plugins").join(component);
    let file = folder.join("plugin.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    manifest::parse(&file, &text).unwrap().remove(0)
}

fn answer<T: Debug>(called: Called<T>, answer: impl FnOnce(T) -> Answer) -> Answer {
    match called.answer {
        Ok(given) => answer(given),
        Err(CallError::Failed(Failure::Transient(text))) => Answer::Transient(text),
        Err(CallError::Failed(Failure::Terminal(text))) => Answer::Terminal(text),
        Err(other) => panic!("{other}: {}", called.output),
    }
}

fn wait(millis: u32) -> Duration {
    Duration::from_millis(millis.into())
}

/// Without the UIDs and versions that the host adds to what it has read, and the labels of its sets.
fn tidy(mut outcome: Outcome) -> Outcome {
    for write in &mut outcome.writes {
        write.object = write.as_given();
        if let Some(Value::Object(metadata)) = write.object.get_mut("metadata") {
            metadata.remove("resourceVersion");
        }
    }
    outcome
}

/// The greeter's objects in the SDK's fake cluster, as an API server keeps them: valid, and with defaults.
fn native_objects(cluster: &FakeCluster) -> Vec<Value> {
    let api = ApiServer::new().unwrap();
    for object in cluster.objects() {
        api.give(object).unwrap();
    }
    server_objects(&api)
}

/// The greeter's objects at the API server, without what each server makes up.
fn server_objects(api: &ApiServer) -> Vec<Value> {
    let of_kind = |(version, kind): &(&str, &str)| api.list(version, kind);
    let mut objects: Vec<Value> = KINDS.iter().flat_map(of_kind).collect();
    objects.iter_mut().for_each(leave_out_made_up);
    objects
}

fn leave_out_made_up(object: &mut Value) {
    // The API server gives a Deployment an empty one.
    if let Value::Object(fields) = object {
        fields.retain(|field, value| field != "status" || *value != json!({}));
    }
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.retain(|field, _| !MADE_UP.contains(&&**field));
        // The fake cluster knows milliseconds.
        if let Some(time) = metadata.get_mut("deletionTimestamp") {
            *time = Value::Null;
        }
    }
    // A fake cluster does not know the plugin's name, which is the label of a set.
    if let Some(label) = object.pointer_mut("/metadata/labels/windlass.dev~1set") {
        *label = Value::Null;
    }
}

fn same<T: PartialEq + Debug>(native: &T, sandboxed: &T) -> Result<(), String> {
    if native == sandboxed {
        return Ok(());
    }
    Err(format!(
        "natively:\n{native:#?}\nin the sandbox:\n{sandboxed:#?}"
    ))
}
