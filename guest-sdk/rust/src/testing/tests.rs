//! What passes on a fake cluster do.

mod imports;
mod pages;

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Answer, FakeCluster, Verb, run_dir, run_list};
use crate::{
    Action, Cluster, Failure, Finalize, Manifest, Needs, Object, ObjectRef, Progress, Reconciler,
    manage, need,
};

/// Does what its spec says, well or badly.
#[derive(Default)]
struct Obeys;

impl Reconciler for Obeys {
    const WATCHES: (&'static str, &'static str) = ("x.dev/v1", "Order");
    const FINALIZE: Option<Finalize<Self>> = Some(|_, _, _| Ok(Progress::Done));
    type Object = Object<Value>;

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    fn reconcile(&self, order: &Self::Object, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let child = order.child("v1", "ConfigMap", "child").data("k", "v");
        let mut foreign = child.clone();
        for owner in &mut foreign.metadata.owner_references {
            owner.uid = "somebody-else".into();
        }
        match order.spec["do"].as_str() {
            Some("own") => drop(cluster.apply(child)?),
            Some("disown") => drop(cluster.apply(foreign)?),
            Some("secret") => {
                let secret = ObjectRef::new("v1", "Secret", "default", "s");
                cluster.apply(Manifest::new(&secret))?;
            }
            Some("status") => cluster.apply_status(order, json!({}))?,
            Some("count") => cluster.info(format!("attempt {}", cluster.attempt())),
            Some("wake") => cluster.wake_at(&cluster.now()),
            Some("oversleep") => cluster.wake_at("2026-11-30 02:00"),
            Some("config") => cluster.info(cluster.config("word", "none")),
            _ => cluster.info("nothing to do"),
        }
        Ok(Action::AwaitChange)
    }
}

/// Deletes every object but those with data.
#[derive(Default)]
struct Sees;

impl Reconciler for Sees {
    const WATCHES: (&'static str, &'static str) = ("*", "*");
    type Object = Value;

    fn needs() -> Needs {
        need("*", "*", &["delete"])
    }

    fn reconcile(&self, object: &Value, cluster: &dyn Cluster) -> Result<Action, Failure> {
        cluster.info(object.to_string());
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let name = text("/metadata/name").unwrap_or_default();
        let kind = (text("/apiVersion"), text("/kind"));
        if let (Some(api_version), Some(kind)) = kind
            && object.get("data").is_none()
        {
            cluster.delete(&ObjectRef::new(api_version, kind, "default", name))?;
        }
        Ok(Action::AwaitChange)
    }
}

#[test]
fn a_reconciler_for_every_kind_gets_the_metadata_of_any_object() {
    let mut cluster = FakeCluster::new();
    for (api_version, kind) in [("v1", "ConfigMap"), ("x.dev/v1", "Order")] {
        let metadata = json!({ "name": "a", "namespace": "default", "labels": { "k": "v" } });
        let object = json!({
            "apiVersion": api_version, "kind": kind, "metadata": metadata, "data": { "k": "v" },
        });
        cluster.put(object).unwrap();
        let name = format!("{kind}/default/a");
        let pass = cluster.reconcile(&Sees, &name);
        assert_eq!(pass.answer, Answer::AwaitChange, "{:?}", pass.logs);
        assert_eq!(pass.written(), [&*name]);
        let [seen] = &*pass.logs else {
            panic!("{:?}", pass.logs);
        };
        let is_there = |text: &str| seen.contains(text);
        assert!(is_there(r#""labels":{"k":"v"}"#) && is_there(&format!(r#""kind":"{kind}""#)));
        assert!(!is_there(r#""data""#), "{seen}");
    }
}

fn order(what: &str) -> FakeCluster {
    let mut cluster = FakeCluster::new();
    let order = json!({
        "apiVersion": "x.dev/v1", "kind": "Order", "spec": { "do": what },
        "metadata": { "name": "a", "namespace": "default", "finalizers": ["windlass.dev/plugin"] },
    });
    cluster.put(order).unwrap();
    cluster
}

#[test]
fn a_pass_may_do_what_the_host_would_let_it_do() {
    let pass = order("own").reconcile(&Obeys, "a");
    assert_eq!(pass.answer, Answer::AwaitChange);
    assert_eq!(pass.written(), ["ConfigMap/default/child"]);
    assert_eq!(pass.writes[0].verb, Verb::Apply);
    assert_eq!(pass.writes[0].object["data"], json!({ "k": "v" }));
    let pass = order("nothing").reconcile(&Obeys, "default/a");
    assert_eq!(
        (pass.writes.len(), pass.logs),
        (0, vec!["Info: nothing to do".to_owned()])
    );
    for (what, call) in [
        ("disown", "ConfigMap/default/child: denied"),
        ("secret", "Secret/default/s: denied"),
        ("status", "the status of Order/default/a: denied"),
    ] {
        let pass = order(what).reconcile(&Obeys, "a");
        let Answer::Transient(text) = &pass.answer else {
            panic!("{pass:?}");
        };
        assert!(text.starts_with(&format!("cannot apply {call}")), "{text}");
        assert!(!pass.host_log.is_empty() && pass.writes.is_empty());
    }
}

#[test]
fn a_call_is_told_the_attempt_the_time_and_the_configuration() {
    let mut cluster = order("count");
    for (attempt, line) in [(0, "Info: attempt 0"), (3, "Info: attempt 3")] {
        cluster.attempt = attempt;
        assert_eq!(cluster.reconcile(&Obeys, "a").logs, [line]);
    }
    let mut cluster = order("wake");
    cluster.set_clock("2026-11-22T08:00:00Z").unwrap();
    let woken = cluster.reconcile(&Obeys, "a").wake_at;
    assert_eq!(woken.as_deref(), Some("2026-11-22T08:00:00Z"));
    assert!(cluster.set_clock("tomorrow").is_err());
    let mut cluster = order("config");
    cluster.set_config(json!({ "word": "hello" })).unwrap();
    assert_eq!(cluster.reconcile(&Obeys, "a").logs, ["Info: hello"]);
}

#[test]
fn only_the_right_call_is_made_for_an_object() {
    let mut cluster = order("own");
    let not_called = Answer::NotCalled;
    assert_eq!(cluster.reconcile(&Obeys, "b").answer, not_called);
    assert_eq!(cluster.finalize(&Obeys, "a").answer, not_called);
    cluster.remove("Order/default/a").unwrap();
    assert_eq!(cluster.reconcile(&Obeys, "a").answer, not_called);
    assert_eq!(cluster.finalize(&Obeys, "a").answer, Answer::Done);
    assert_eq!(cluster.get("Order/default/a"), None, "the finalizer is off");
}

#[test]
fn others_change_the_cluster_and_are_told_what_is_wrong() {
    let mut cluster = order("own");
    cluster.reconcile(&Obeys, "a");
    let child = ObjectRef::new("v1", "ConfigMap", "default", "child");
    cluster
        .edit(&child, &json!({ "data": { "k": "other" } }))
        .unwrap();
    assert_eq!(cluster.get(&child).unwrap()["data"]["k"], "other");
    let repaired = cluster.reconcile(&Obeys, "a");
    assert_eq!(repaired.written(), ["ConfigMap/default/child"]);
    assert!(cluster.reconcile(&Obeys, "a").writes.is_empty());
    let kinds = cluster.objects();
    assert!(kinds.iter().any(|object| object["kind"] == "Namespace"));
    let wrong = |error: Result<(), super::FakeError>| error.unwrap_err().to_string();
    let absent = wrong(cluster.remove("ConfigMap/default/none"));
    assert!(absent.contains("does not exist"), "{absent}");
    let unnamed = wrong(cluster.put(json!({ "apiVersion": "v1", "kind": "ConfigMap" })));
    assert!(unnamed.contains("name"), "{unnamed}");
    // The process goes on.
    assert!(cluster.get(child).is_some());
}

#[test]
fn a_time_that_is_none_fails_the_pass_whatever_it_answers() {
    let answer = order("oversleep").reconcile(&Obeys, "a").answer;
    let text = "wake-at: \"2026-11-30 02:00\" is not a time such as 2026-11-21T09:30:00Z";
    assert_eq!(answer, Answer::Transient(text.into()));
}

#[test]
fn a_write_that_fails_once_is_made_in_the_next_pass() {
    for done in [false, true] {
        let mut cluster = order("own");
        cluster
            .fail_writes("ConfigMap/default/child", done)
            .unwrap();
        let failed = cluster.reconcile(&Obeys, "a");
        assert!(matches!(failed.answer, Answer::Transient(_)), "{failed:?}");
        let child = cluster.get("ConfigMap/default/child");
        assert_eq!(child.is_some(), done);
        assert_eq!(cluster.reconcile(&Obeys, "a").answer, Answer::AwaitChange);
        assert!(cluster.get("ConfigMap/default/child").is_some());
    }
}

#[test]
fn fixtures_are_run_as_by_windlass_test() {
    let folder = std::env::temp_dir().join(format!("windlass-sdk-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    assert!(run_dir::<Obeys>(&folder).is_err(), "there is none");
    let given = "{ apiVersion: x.dev/v1, kind: Order, metadata: { name: a, namespace: default }, spec: { do: own } }";
    let fixture = |writes: &str| {
        format!(
            "given: {{ objects: [{given}] }}\nwhen: {{ reconcile: Order/default/a }}\nthen: {{ answer: awaitChange, writes: [{writes}] }}\n"
        )
    };
    fs::write(
        folder.join("a.yaml"),
        fixture("apply: ConfigMap/default/child"),
    )
    .unwrap();
    let held = run_dir::<Obeys>(&folder);
    fs::write(
        folder.join("b.yaml"),
        fixture("delete: ConfigMap/default/child"),
    )
    .unwrap();
    let differs = run_dir::<Obeys>(&folder);
    let given = FakeCluster::given(folder.join("a.yaml")).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(held, Ok(1));
    let text = differs.unwrap_err().to_string();
    assert!(text.contains("b.yaml: step 1: want -, got +"), "{text}");
    assert!(!text.contains("a.yaml"), "{text}");
    assert!(given.get("Order/default/a").is_some());
}

#[test]
fn a_cluster_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>(_: T) {}
    shared(FakeCluster::new());
}

/// The other kind of the plugin.
#[derive(Default)]
struct Invoices;

impl Reconciler for Invoices {
    type Object = crate::Object<Value, Value>;
    const WATCHES: (&'static str, &'static str) = ("x.dev/v1", "Invoice");

    fn reconcile(&self, _: &Self::Object, _: &dyn Cluster) -> Result<Action, Failure> {
        Ok(Action::RequeueAfter(Duration::from_secs(1)))
    }
}

#[test]
fn fixtures_of_a_plugin_with_several_kinds_are_run_by_the_list_that_is_exported() {
    let folder = std::env::temp_dir().join(format!("windlass-sdk-list-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let given = |kind: &str| {
        format!(
            "{{ apiVersion: x.dev/v1, kind: {kind}, metadata: {{ name: a, namespace: default }}, spec: {{ do: nothing }} }}"
        )
    };
    let (order, invoice) = (given("Order"), given("Invoice"));
    let fixture = format!(
        "given: {{ objects: [{order}, {invoice}] }}\nwhen: {{ reconcile: Order/default/a }}\nthen: {{ answer: awaitChange }}\n---\nwhen: {{ reconcile: Invoice/default/a }}\nthen: {{ answer: {{ requeueAfter: 1s }} }}\n"
    );
    fs::write(folder.join("a.yaml"), fixture).unwrap();
    let both = run_list::<crate::export!(@list Obeys, Invoices)>(&folder);
    let one = run_dir::<Obeys>(&folder);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(both, Ok(1));
    assert!(one.is_err(), "the other kind is not its own");
}
