//! Each import, as a reconciler calls it: what the host answers arrives as the crate's own types.

use std::time::Duration;

use serde_json::{Value, json};

use crate::testing::{Answer, FakeCluster, run_dir};
use crate::{
    Action, Adoption, ChildrenQuery, Cluster, Code, Event, Failure, Finalize, ListQuery, Manifest,
    Needs, Object, ObjectRef, Patch, Progress, ReconcileGoing, Reconciler, Watch, manage, need,
};

type Do = fn(&Object<Option<Value>>, &dyn Cluster) -> Result<(), Failure>;

thread_local! {
    static DO: std::cell::Cell<Option<Do>> = const { std::cell::Cell::new(None) };
}

/// Does what it is handed.
#[derive(Default)]
struct Obedient;

impl Reconciler for Obedient {
    const WATCHES: (&'static str, &'static str) = ("x.dev/v1", "Thing");
    const FINALIZE: Option<Finalize<Self>> = Some(|_, _, _| Ok(Progress::Done));
    const RECONCILE_GOING: Option<ReconcileGoing<Self>> = Some(Self::reconcile);
    const ORIGINS: &'static [&'static str] = &["https://api.example.com"];
    type Object = Object<Option<Value>>;

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
            + need("v1", "ConfigMap", &["deletecollection"])
            + need("v1", "Pod", &["create"]).plural("pods/eviction")
            + need("x.dev/v1", "Thing", &["update"]).plural("things/status")
    }

    fn watch() -> Watch {
        Watch::default().finalize_on_request()
    }

    fn reconcile(&self, thing: &Self::Object, cluster: &dyn Cluster) -> Result<Action, Failure> {
        if let Some(order) = DO.get() {
            order(thing, cluster)?;
        }
        Ok(Action::AwaitChange)
    }
}

fn things() -> FakeCluster {
    let mut cluster = FakeCluster::of_project("../testdata/things");
    for name in ["a", "b"] {
        let thing = json!({
            "apiVersion": "x.dev/v1", "kind": "Thing",
            "metadata": { "name": name, "namespace": "default" },
        });
        cluster.put(thing).unwrap();
    }
    cluster
}

/// A pass over the Thing `name` that does `order`; what it wrote.
fn pass(cluster: &mut FakeCluster, name: &str, order: Do) -> Vec<String> {
    DO.set(Some(order));
    let pass = cluster.reconcile(&Obedient, name);
    assert_eq!(pass.answer, Answer::AwaitChange, "{}", pass.host_log);
    let writes = pass.writes.iter();
    writes
        .map(|write| format!("{:?} {}", write.verb, write.target))
        .collect()
}

fn map(name: &str, word: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default" }, "data": { "word": word },
    })
}

fn named(name: &str) -> ObjectRef {
    ObjectRef::new("v1", "ConfigMap", "default", name)
}

fn uid_of(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

#[test]
fn reads() {
    let mut cluster = things();
    cluster.put(map("x", "1")).unwrap();
    cluster.put(map("y", "2")).unwrap();
    pass(&mut cluster, "a", |_, cluster| {
        let x: Value = cluster.get(&named("x"))?;
        assert_eq!(x["data"]["word"], "1");
        assert_eq!(cluster.find::<Value>(&named("absent"))?, None);
        let query = ListQuery::all("v1", "ConfigMap").in_namespace("default");
        let all: Vec<Value> = cluster.list(&query)?;
        assert_eq!(all.len(), 2);
        let one: Vec<Value> = cluster.list(&query.clone().at_most(1).latest())?;
        assert_eq!(one.len(), 1);
        let bad = cluster.list::<Value>(&query.clone().labelled("name in a"));
        assert!(matches!(bad.unwrap_err().code, Code::Invalid(_)));
        let mut rows = cluster.select(&query, &[".metadata.name", ".data.word", ".data.none"])?;
        rows.sort_by_key(|row| row[0].to_string());
        assert_eq!(json!(rows), json!([["x", "1", null], ["y", "2", null]]));
        let denied = cluster.list::<Value>(&ListQuery::all("v1", "Secret"));
        let denied = denied.unwrap_err();
        assert_eq!(denied.code, Code::Denied);
        assert!(denied.to_string().contains("list secrets"), "{denied}");
        Ok(())
    });
}

#[test]
fn sets() {
    let mut cluster = things();
    let both = pass(&mut cluster, "a", |thing, cluster| {
        cluster.apply(thing.child("v1", "ConfigMap", "own"))?;
        let kept = cluster.apply_set([map("x", "1"), map("y", "2")])?;
        assert_eq!(kept[1]["metadata"]["name"], "y");
        assert_eq!(kept[0]["metadata"]["ownerReferences"][0]["name"], "a");
        Ok(())
    });
    assert_eq!(both.len(), 3);
    let written = pass(&mut cluster, "a", |_, cluster| {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "s", "namespace": "default" },
        });
        let children = [map("y", "3"), secret];
        let error = cluster.apply_set(children).unwrap_err();
        let [failed] = &error.failures[..] else {
            panic!("{error}");
        };
        assert_eq!((failed.index, &failed.error.code), (Some(1), &Code::Denied));
        assert_eq!(failed.error.call, "apply Secret/default/s");
        Ok(())
    });
    assert_eq!(written, ["Apply ConfigMap/default/y"]);
    let rest = pass(&mut cluster, "a", |_, cluster| {
        cluster.apply_set(Vec::<Manifest>::new())?;
        Ok(())
    });
    assert_eq!(rest.len(), 2, "{rest:?}");
}

#[test]
fn creations_patches_and_deletions() {
    let mut cluster = things();
    let written = pass(&mut cluster, "a", |_, cluster| {
        cluster.create(map("x", "1"))?;
        let again = cluster.create(map("x", "1")).unwrap_err();
        assert_eq!(again.code, Code::Conflict);
        assert_eq!(again.status.map(|status| status.code), Some(409));
        let x = named("x");
        cluster.patch(&x, &Patch::Merge(json!({ "data": { "more": "2" } })))?;
        let add = json!([{ "op": "add", "path": "/data/c", "value": "3" }]);
        let now = cluster.patch(&x, &Patch::Json(add))?;
        assert_eq!(now["data"], json!({ "word": "1", "more": "2", "c": "3" }));
        cluster.delete(&x)?;
        cluster.delete(&x)?;
        let pod = ObjectRef::new("v1", "Pod", "default", "none");
        let evicted = cluster.create_subresource(
            &pod,
            "eviction",
            json!({
                "apiVersion": "policy/v1", "kind": "Eviction",
                "metadata": { "name": "none", "namespace": "default" },
            }),
        );
        assert!(evicted.unwrap_err().is_not_found());
        Ok(())
    });
    let want =
        ["Create", "Patch", "Patch", "Delete"].map(|verb| format!("{verb} ConfigMap/default/x"));
    assert_eq!(written, want);
}

#[test]
fn owners_and_finalizers() {
    const A: &str = "example.com/a";
    let mut cluster = things();
    cluster.put(map("orphan", "1")).unwrap();
    pass(&mut cluster, "a", |_, cluster| {
        let orphan = named("orphan");
        let uid = uid_of(&cluster.get(&orphan)?);
        let query = ChildrenQuery::all("v1", "ConfigMap").in_namespace("default");
        assert!(cluster.list_children::<Value>(&query)?.is_empty());
        let adoption = Adoption {
            owner: None,
            finalizer: Some(A.into()),
        };
        let adopted = cluster.adopt_json(&orphan, &uid, &adoption)?;
        assert_eq!(adopted["metadata"]["ownerReferences"][0]["name"], "a");
        let children: Vec<Value> = cluster.list_children(&query.metadata_only())?;
        assert_eq!(children[0].as_object().unwrap().len(), 3);
        cluster.hold(&orphan, &uid, "example.com/b")?;
        cluster.release(&orphan, &uid, "example.com/b")?;
        let denied = cluster.hold(&orphan, &uid, "example.com/other");
        assert_eq!(denied.unwrap_err().code, Code::Denied);
        cluster.disown_with(&orphan, &uid, &[], Some(A))?;
        Ok(())
    });
    let left = &cluster.get("ConfigMap/default/orphan").unwrap()["metadata"];
    assert_eq!(
        (left.get("ownerReferences"), left.get("finalizers")),
        (None, None)
    );
}

#[test]
fn calls_for_many_objects() {
    let mut cluster = things();
    cluster.put(map("m4", "there")).unwrap();
    pass(&mut cluster, "a", |_, cluster| {
        let maps = (0..20).map(|number| map(&format!("m{number}"), "new"));
        let made = cluster.create_many(maps);
        // 1, 2, and 4, of which the second is there already.
        let done: Vec<_> = made.iter().map(Result::is_ok).collect();
        assert_eq!(done, [true, true, true, true, false, true, true]);
        let failed = made[4].as_ref().unwrap_err();
        assert_eq!(failed.code, Code::Conflict);
        assert_eq!(failed.call, "create ConfigMap/default/m4");
        let uid = uid_of(made[0].as_ref().unwrap());
        cluster.hold(&named("m0"), &uid, "example.com/a")?;
        let released = cluster.release_many(&[(named("m0"), uid)], "example.com/a");
        assert_eq!(released, [Ok(())]);
        let targets: Vec<_> = (0..9).map(|number| named(&format!("m{number}"))).collect();
        assert_eq!(cluster.delete_many(&targets), vec![Ok(()); 9]);
        let refused = cluster.create_many(vec![map("x", "1"); 1001]);
        assert!(matches!(&refused[..], [Err(error)] if matches!(error.code, Code::Invalid(_))));
        Ok(())
    });
}

#[test]
fn all_that_match_are_deleted() {
    let mut cluster = things();
    cluster.put(map("x", "1")).unwrap();
    let writes = pass(&mut cluster, "a", |_, cluster| {
        let query = ListQuery::all("v1", "ConfigMap").in_namespace("default");
        Ok(cluster.delete_all(&query)?)
    });
    assert_eq!(writes.len(), 1, "{writes:?}");
    assert_eq!(cluster.get("ConfigMap/default/x"), None);
}

#[test]
fn a_status_is_replaced_at_its_version() {
    let mut cluster = things();
    pass(&mut cluster, "a", |_, cluster| {
        let target = ObjectRef::new("x.dev/v1", "Thing", "default", "a");
        let mut thing: Value = cluster.get(&target)?;
        thing["status"] = json!({ "seen": 1 });
        let now = cluster.update_subresource(&target, "status", &thing)?;
        assert_eq!(now["status"], json!({ "seen": 1 }));
        let again = cluster.update_subresource(&target, "status", &thing);
        assert_eq!(again.unwrap_err().code, Code::Conflict);
        Ok(())
    });
    let kept = cluster.get("Thing/default/a").unwrap();
    assert_eq!(kept["status"], json!({ "seen": 1 }));
}

#[test]
fn what_the_host_knows_and_remembers() {
    let mut cluster = things();
    cluster.put(map("x", "1")).unwrap();
    pass(&mut cluster, "a", |_, cluster| {
        let kinds = cluster.kinds()?;
        let maps = kinds.iter().find(|kind| kind.plural == "configmaps");
        assert!(maps.is_some_and(|maps| maps.can("deletecollection") && !maps.can("proxy")));
        assert_eq!(cluster.unchanged_for(&named("x"))?, Duration::ZERO);
        assert!(
            cluster
                .unchanged_for(&named("no"))
                .unwrap_err()
                .is_not_found()
        );
        assert_eq!(cluster.recall_json::<u32>(), None);
        cluster.keep_json(7);
        assert_eq!(cluster.recall_json::<u32>(), Some(7));
        cluster.keep(&[b'8'; 20 << 10]);
        assert_eq!(cluster.recall_json::<u32>(), Some(7), "it is too long");
        assert_eq!(cluster.recall_json::<Vec<u32>>(), None, "it is a number");
        cluster.keep(&[0xff, 0]);
        assert_eq!(cluster.recall(), Some(vec![0xff, 0]));
        cluster.keep(&[]);
        assert_eq!(cluster.recall(), None);
        assert_eq!(cluster.take_token("b", 1, 1), None);
        let wait = cluster.take_token("b", 1, 1);
        assert!(wait.is_some_and(|wait| wait > Duration::ZERO), "{wait:?}");
        Ok(())
    });
}

#[test]
fn what_is_being_deleted_and_waits_for_others_is_reconciled() {
    let mut cluster = things();
    let held = json!({ "metadata": { "finalizers": ["example.com/other"] } });
    cluster.edit("Thing/default/a", &held).unwrap();
    DO.set(Some(|_, cluster| {
        cluster.apply(map("going", "1"))?;
        Ok(())
    }));
    let early = cluster.reconcile_going(&Obedient, "a");
    assert_eq!(early.answer, Answer::NotCalled);
    cluster.remove("Thing/default/a").unwrap();
    let pass = cluster.reconcile_going(&Obedient, "a");
    assert_eq!(pass.answer, Answer::AwaitChange, "{}", pass.host_log);
    assert_eq!(pass.writes.len(), 1);
}

#[test]
fn a_primary_gets_the_finalizer_when_it_is_asked_for_and_is_finalized_then() {
    let mut cluster = things();
    let writes = pass(&mut cluster, "a", |_, cluster| Ok(cluster.protect()?));
    assert!(writes.is_empty(), "the host writes it");
    let held = cluster.get("Thing/default/a").unwrap();
    assert_eq!(
        held["metadata"]["finalizers"],
        json!(["windlass.dev/things"])
    );
    cluster.remove("Thing/default/a").unwrap();
    assert_eq!(cluster.finalize(&Obedient, "a").answer, Answer::Done);
    assert_eq!(cluster.get("Thing/default/a"), None);
}

#[test]
fn what_is_told_and_sent() {
    let mut cluster = things();
    let rows = json!([{
        "request": "PUT https://api.example.com/zones/a",
        "respond": { "status": 201, "body": "made" },
    }]);
    cluster.set_http(&rows).unwrap();
    DO.set(Some(|_, cluster| {
        cluster.event(Event::normal("Made", "Make", "it is made"));
        let put = |url: &str| crate::http::Request::put(url).body(vec![0xff, 0]);
        let response = cluster.fetch(&put("https://api.example.com/zones/a").unwrap())?;
        let (status, body) = (response.status().as_u16(), &**response.body());
        assert_eq!((status, body), (201, &b"made"[..]));
        let other = cluster.fetch(&put("https://other.example.com/").unwrap());
        assert_eq!(other.unwrap_err().code, crate::FetchCode::Denied);
        Ok(())
    }));
    let pass = cluster.reconcile(&Obedient, "a");
    assert_eq!(pass.answer, Answer::AwaitChange);
    assert_eq!((pass.events.len(), pass.requests.len()), (1, 2));
    assert!(cluster.set_http(&json!([{ "request": "PUT" }])).is_err());
}

/// Writes one object and sends one request.
#[derive(Default)]
struct Sends;

impl Reconciler for Sends {
    const WATCHES: (&'static str, &'static str) = ("x.dev/v1", "Thing");
    const ORIGINS: &'static [&'static str] = &["https://api.example.com"];
    type Object = Value;

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    fn reconcile(&self, thing: &Value, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let mode = &thing["mode"];
        cluster.apply(map(&format!("mode-{mode}"), "1"))?;
        let request = crate::http::Request::put("https://api.example.com/things/a");
        let body = json!({ "mode": mode }).to_string().into_bytes();
        cluster.fetch(&request.body(body).unwrap())?;
        Ok(Action::AwaitChange)
    }
}

#[test]
fn fixtures_have_http_servers_and_the_numbers_of_yaml() {
    assert_eq!(run_dir::<Sends>("../testdata/things/tests"), Ok(1));
}
