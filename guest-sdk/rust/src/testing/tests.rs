//! What a fake cluster promises, as tests.

mod writes;

use serde_json::{Value, json};

use super::fixture::Step;
use super::{Answer, FakeCluster, Verb, run_dir};
use crate::{
    Action, Cluster, Code, DeleteOptions, Failure, Finalize, ListQuery, Manifest, Needs, Object,
    ObjectRef, Progress, Reconciler, manage,
};

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is built where it is handed in"
)]
fn map(name: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default" }, "data": data,
    })
}

fn named(name: &str) -> ObjectRef {
    ObjectRef::new("v1", "ConfigMap", "default", name)
}

#[test]
fn an_apply_creates_changes_and_takes_back_its_own() {
    let mut cluster = FakeCluster::new();
    let made = cluster
        .apply("a", &map("m", json!({ "x": "1", "y": "2" })))
        .unwrap();
    assert!(made["metadata"]["uid"].is_string() && made["metadata"]["resourceVersion"].is_string());
    cluster
        .apply("b", &map("m", json!({ "y": "2", "z": "3" })))
        .unwrap();
    cluster
        .edit(
            "ConfigMap/default/m",
            &json!({ "data": { "hand": "made" } }),
        )
        .unwrap();
    let now = cluster.apply("a", &map("m", json!({ "w": "4" }))).unwrap();
    assert_eq!(
        now["data"],
        json!({ "w": "4", "y": "2", "z": "3", "hand": "made" })
    );
    assert_eq!(now["metadata"]["uid"], made["metadata"]["uid"]);
}

#[test]
fn an_apply_that_changes_nothing_is_not_a_write() {
    let mut cluster = FakeCluster::new();
    for _ in 0..3 {
        cluster.apply("a", &map("m", json!({ "x": "1" }))).unwrap();
    }
    assert_eq!(cluster.writes().len(), 1);
    cluster
        .edit("ConfigMap/default/m", &json!({ "data": { "x": "9" } }))
        .unwrap();
    cluster.apply("a", &map("m", json!({ "x": "1" }))).unwrap();
    assert_eq!(cluster.take_writes().len(), 2);
    assert_eq!(cluster.get(&named("m")).unwrap()["data"]["x"], "1");
}

#[test]
fn generations_count_changes_of_the_spec_only() {
    let mut cluster = FakeCluster::new();
    let with = |replicas, label| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "spec": { "replicas": replicas },
            "metadata": { "name": "d", "namespace": "default", "labels": { "l": label } },
        })
    };
    let mut generation =
        |object: &Value| cluster.apply("a", object).unwrap()["metadata"]["generation"].clone();
    assert_eq!(generation(&with(1, "x")), 1);
    assert_eq!(generation(&with(1, "y")), 1);
    assert_eq!(generation(&with(2, "y")), 2);
}

#[test]
fn a_status_is_apart_and_needs_its_object() {
    let mut cluster = FakeCluster::new();
    let mut status = map("m", Value::Null);
    status["status"] = json!({ "seen": 1 });
    assert_eq!(cluster.apply_status("a", &status), Err(Code::NotFound));
    cluster.apply("a", &map("m", json!({ "x": "1" }))).unwrap();
    cluster.apply_status("a", &status).unwrap();
    // Neither takes back what the other applied.
    let now = cluster.apply("a", &map("m", json!({ "x": "2" }))).unwrap();
    assert_eq!(
        (&now["status"], &now["data"]),
        (&json!({ "seen": 1 }), &json!({ "x": "2" }))
    );
}

#[test]
fn preconditions_namespaces_and_scripted_failures_are_kept() {
    let mut cluster = FakeCluster::new();
    let mut elsewhere = map("m", json!({}));
    elsewhere["metadata"]["namespace"] = json!("nowhere");
    assert_eq!(cluster.apply("a", &elsewhere), Err(Code::NotFound));
    let mut ghost = map("m", json!({}));
    ghost["metadata"]["uid"] = json!("somebody-else");
    assert_eq!(cluster.apply("a", &ghost), Err(Code::Conflict));
    assert!(matches!(
        cluster.apply("a", &json!([])),
        Err(Code::Invalid(_))
    ));

    cluster.fail_write(2, Code::Unavailable);
    cluster.apply("a", &map("m", json!({ "x": "1" }))).unwrap();
    assert_eq!(
        cluster.apply("a", &map("m", json!({ "x": "2" }))),
        Err(Code::Unavailable)
    );
    assert_eq!(cluster.get(&named("m")).unwrap()["data"]["x"], "1");

    let wrong = DeleteOptions {
        uid: Some("other".into()),
        ..DeleteOptions::default()
    };
    assert_eq!(cluster.delete(&named("m"), &wrong), Err(Code::Conflict));
    cluster
        .delete(&named("m"), &DeleteOptions::default())
        .unwrap();
    assert_eq!(
        cluster.delete(&named("m"), &DeleteOptions::default()),
        Err(Code::NotFound)
    );
    let verbs: Vec<_> = cluster.writes().iter().map(|write| write.verb).collect();
    assert_eq!(verbs, [Verb::Apply, Verb::Delete]);
}

#[test]
fn an_object_with_finalizers_stays_when_deleted() {
    let mut cluster = FakeCluster::new();
    let mut held = map("m", json!({}));
    held["metadata"]["finalizers"] = json!(["x.dev/y"]);
    cluster.put(held).unwrap();
    cluster
        .delete(&named("m"), &DeleteOptions::default())
        .unwrap();
    assert!(cluster.get(&named("m")).unwrap()["metadata"]["deletionTimestamp"].is_string());
}

#[test]
fn lists_are_by_kind_namespace_and_labels() {
    let mut cluster = FakeCluster::new();
    for (name, namespace) in [("a", "default"), ("b", "default"), ("c", "other")] {
        let mut object = map(name, json!({}));
        object["metadata"]["namespace"] = json!(namespace);
        object["metadata"]["labels"] = json!({ "name": name });
        cluster.put(object).unwrap();
    }
    let count = |query: ListQuery| cluster.list(&query).unwrap().len();
    let all = || ListQuery::all("v1", "ConfigMap");
    assert_eq!(count(all()), 3);
    assert_eq!(count(all().in_namespace("default")), 2);
    assert_eq!(count(all().labelled("name!=a")), 2);
    assert_eq!(count(all().labelled("name in (a, b),!other")), 2);
    let bad = cluster.list(&all().labelled("name in a"));
    assert!(matches!(bad, Err(Code::Invalid(_))), "{bad:?}");
    assert_eq!(count(all().with_fields("metadata.name=c")), 1);
    assert_eq!(count(all().at_most(1)), 1);
    assert_eq!(count(ListQuery::all("v1", "Namespace")), 2);
}

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
            _ => cluster.info("nothing to do"),
        }
        Ok(Action::AwaitChange)
    }
}

fn order(what: &str) -> FakeCluster {
    let mut cluster = FakeCluster::new();
    let order = json!({
        "apiVersion": "x.dev/v1", "kind": "Order", "spec": { "do": what },
        "metadata": { "name": "a", "namespace": "default", "finalizers": ["windlass.dev/x"] },
    });
    cluster.put(order).unwrap();
    cluster
}

#[test]
fn a_pass_may_do_what_the_host_would_let_it_do() {
    let pass = order("own").reconcile(&Obeys, "a");
    assert_eq!(pass.outcome.answer, Answer::AwaitChange);
    assert_eq!(pass.written(), ["ConfigMap/default/child"]);
    let pass = order("nothing").reconcile(&Obeys, "default/a");
    assert_eq!(
        (pass.written().len(), pass.logs),
        (0, vec!["Info: nothing to do".to_owned()])
    );
    for (what, call) in [
        ("disown", "ConfigMap/default/child"),
        ("secret", "Secret/default/s"),
    ] {
        let pass = order(what).reconcile(&Obeys, "a");
        assert_eq!(
            pass.outcome.answer,
            Answer::Transient(format!("cannot apply {call}: denied"))
        );
        assert!(pass.written().is_empty());
    }
}

#[test]
fn a_status_is_written_only_by_who_says_so() {
    let pass = order("status").reconcile(&Obeys, "a");
    let why = "cannot apply the status of Order/default/a (WRITES_STATUS of the reconciler is not true): denied";
    assert_eq!(pass.outcome.answer, Answer::Transient(why.to_owned()));
    assert!(pass.written().is_empty());
}

#[test]
fn a_call_is_told_how_often_the_primary_has_failed() {
    let mut cluster = order("count");
    for (attempt, line) in [(0, "Info: attempt 0"), (3, "Info: attempt 3")] {
        cluster.attempt = attempt;
        assert_eq!(cluster.reconcile(&Obeys, "a").logs, [line]);
    }
    // A fixture says it for each step; without it, the object has not failed.
    for (said, line) in [(", attempt: 2", "Info: attempt 2"), ("", "Info: attempt 0")] {
        let step = format!(
            "when: {{ reconcile: Order/default/a{said} }}\nthen: {{ answer: awaitChange }}\n"
        );
        let step: Step = serde_saphyr::from_str(&step).unwrap();
        step.prepare(&mut cluster).unwrap();
        assert_eq!(cluster.reconcile(&Obeys, "a").logs, [line]);
    }
}

#[test]
fn only_the_right_call_is_made_for_an_object() {
    let mut cluster = order("own");
    assert_eq!(
        cluster.reconcile(&Obeys, "b").outcome.answer,
        Answer::NotCalled
    );
    assert_eq!(
        cluster.finalize(&Obeys, "a").outcome.answer,
        Answer::NotCalled
    );
    let primary = cluster.find("Order/default/a").unwrap();
    cluster.remove(&primary);
    assert_eq!(
        cluster.reconcile(&Obeys, "a").outcome.answer,
        Answer::NotCalled
    );
    assert_eq!(cluster.finalize(&Obeys, "a").outcome.answer, Answer::Done);
    assert!(
        cluster.get(&primary).is_err(),
        "the finalizer is off, so it goes"
    );
}

#[test]
fn a_folder_without_fixtures_does_not_pass() {
    assert!(run_dir::<Obeys>("src/testing").is_err());
}

#[test]
fn a_cluster_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>(_: T) {}
    shared(FakeCluster::new());
}
