//! Sets, creations and patches of one call.

use serde_json::{Value, json};

use super::{map, named};
use crate::testing::call::Call;
use crate::testing::{Answer, FakeCluster};
use crate::{
    Action, Adoption, ChildrenQuery, Cluster, Code, Failure, ListQuery, Manifest, Needs, Object,
    ObjectRef, Patch, Reconciler, manage, need,
};

/// Hands what it is told to do to a call of a reconciler.
type Do = fn(&Object<Option<Value>>, &dyn Cluster) -> Result<(), Failure>;

thread_local! {
    static DO: std::cell::Cell<Option<Do>> = const { std::cell::Cell::new(None) };
}

#[derive(Default)]
struct Obedient;

impl Reconciler for Obedient {
    const WATCHES: (&'static str, &'static str) = ("x.dev/v1", "Thing");
    type Object = Object<Option<Value>>;

    fn needs() -> Needs {
        manage("v1", "ConfigMap") + need("v1", "ConfigMap", &["deletecollection"])
    }

    fn reconcile(&self, thing: &Self::Object, cluster: &dyn Cluster) -> Result<Action, Failure> {
        if let Some(order) = DO.get() {
            order(thing, cluster)?;
        }
        Ok(Action::AwaitChange)
    }
}

/// A pass over the Thing `name` that does `order`; what it wrote.
fn pass(cluster: &mut FakeCluster, name: &str, order: Do) -> Vec<String> {
    DO.set(Some(order));
    let pass = cluster.reconcile(&Obedient, name);
    assert_eq!(pass.outcome.answer, Answer::AwaitChange);
    let writes = pass.outcome.writes.iter();
    writes
        .map(|write| format!("{:?} {}", write.verb, write.target.name))
        .collect()
}

fn things() -> FakeCluster {
    let mut cluster = FakeCluster::new();
    for name in ["a", "b"] {
        let thing = json!({
            "apiVersion": "x.dev/v1", "kind": "Thing",
            "metadata": { "name": name, "namespace": "default" },
        });
        cluster.put(thing).unwrap();
    }
    cluster
}

#[test]
fn a_set_is_owned_and_marked_and_what_leaves_it_goes() {
    let mut cluster = things();
    let both = pass(&mut cluster, "a", |thing, cluster| {
        cluster.apply(thing.child("v1", "ConfigMap", "own"))?;
        let kept = cluster.apply_set([map("x", json!({})), map("y", json!({}))])?;
        assert_eq!(kept[1]["metadata"]["name"], "y");
        assert_eq!(kept[0]["metadata"]["ownerReferences"][0]["name"], "a");
        assert!(kept[0]["metadata"]["labels"]["windlass.dev/set"].is_string());
        Ok(())
    });
    assert_eq!(both, ["Apply own", "Apply x", "Apply y"]);
    let one = pass(&mut cluster, "a", |_, cluster| {
        cluster.apply_set([map("y", json!({}))])?;
        Ok(())
    });
    assert_eq!(one, ["Delete x"]);
    let others = pass(&mut cluster, "b", |_, cluster| {
        cluster.apply_set(Vec::<Manifest>::new())?;
        Ok(())
    });
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn a_set_tells_what_failed_and_then_deletes_nothing() {
    let mut cluster = things();
    pass(&mut cluster, "a", |_, cluster| {
        cluster.apply_set([map("x", json!({}))])?;
        Ok(())
    });
    let written = pass(&mut cluster, "a", |_, cluster| {
        let mut away = map("away", json!({}));
        away["metadata"]["namespace"] = json!("elsewhere");
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "s", "namespace": "default" },
        });
        let children = [away, map("y", json!({})), map("y", json!({})), secret];
        let error = cluster.apply_set(children).unwrap_err();
        let places: Vec<_> = error.failures.iter().map(|failed| failed.index).collect();
        assert_eq!(places, [Some(0), Some(2), Some(3)]);
        assert_eq!(error.failures[2].error.code, Code::Denied);
        assert!(matches!(Failure::from(error), Failure::Transient(_)));
        let again = cluster.apply_set(Vec::<Manifest>::new()).unwrap_err();
        assert!(
            matches!(again.failures[0].error.code, Code::Invalid(_)),
            "{again}"
        );
        Ok(())
    });
    assert_eq!(written, ["Apply y"]);
    pass(&mut cluster, "b", |_, cluster| {
        let error = cluster.apply_set([map("x", json!({}))]).unwrap_err();
        assert_eq!(
            error.failures[0].error.code,
            Code::Conflict,
            "it is in a's set"
        );
        Ok(())
    });
}

#[test]
fn a_set_takes_nothing_that_somebody_else_made() {
    let mut cluster = things();
    let mut controlled = map("controlled", json!({}));
    controlled["metadata"]["labels"] = json!({ "windlass.dev/set": "plugin" });
    controlled["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "w", "controller": true,
    }]);
    cluster.put(controlled).unwrap();
    cluster
        .put(map("theirs", json!({ "word": "theirs" })))
        .unwrap();
    let written = pass(&mut cluster, "a", |_, cluster| {
        let names = ["controlled", "theirs", "ours"];
        let error = cluster.apply_set(names.map(|name| map(name, json!({}))));
        let codes: Vec<_> = error.unwrap_err().failures;
        let codes: Vec<_> = codes
            .iter()
            .map(|failed| (failed.index, failed.error.code.clone()))
            .collect();
        assert_eq!(
            codes,
            [(Some(0), Code::Conflict), (Some(1), Code::Conflict)]
        );
        Ok(())
    });
    assert_eq!(written, ["Apply ours"]);
    let emptied = pass(&mut cluster, "a", |_, cluster| {
        cluster.apply_set(Vec::<Manifest>::new())?;
        Ok(())
    });
    assert_eq!(emptied, ["Delete ours"]);
}

#[test]
fn what_is_created_must_not_be_there() {
    let mut cluster = things();
    let written = pass(&mut cluster, "a", |_, cluster| {
        cluster.create(map("x", json!({})))?;
        let again = cluster.create(map("x", json!({}))).unwrap_err();
        assert_eq!(again.code, Code::Conflict);
        let mut unnamed = map("", json!({}));
        unnamed["metadata"] = json!({ "generateName": "run-", "namespace": "default" });
        let made = [cluster.create(&unnamed)?, cluster.create(&unnamed)?];
        assert_ne!(made[0]["metadata"]["name"], made[1]["metadata"]["name"]);
        Ok(())
    });
    assert_eq!(written.len(), 3);
}

#[test]
fn a_patch_changes_what_it_names_and_nothing_that_is_the_hosts() {
    let mut cluster = things();
    cluster
        .put(map("x", json!({ "a": "1", "b": "2" })))
        .unwrap();
    let written = pass(&mut cluster, "a", |_, cluster| {
        let x = named("x");
        cluster.patch(&x, &Patch::Merge(json!({ "data": { "a": null } })))?;
        let add = json!([{ "op": "add", "path": "/data/c", "value": "3" }]);
        let now = cluster.patch(&x, &Patch::Json(add))?;
        assert_eq!(now["data"], json!({ "b": "2", "c": "3" }));
        for denied in [
            Patch::Merge(json!({ "metadata": { "finalizers": [] } })),
            Patch::Json(json!([{ "op": "move", "from": "/metadata", "path": "/data" }])),
            Patch::Json(json!([{ "op": "add", "path": "", "value": {} }])),
        ] {
            assert_eq!(cluster.patch(&x, &denied).unwrap_err().code, Code::Denied);
        }
        let test = Patch::Json(json!([{ "op": "test", "path": "/data/b", "value": "9" }]));
        assert!(matches!(
            cluster.patch(&x, &test).unwrap_err().code,
            Code::Invalid(_)
        ));
        let absent = cluster.patch(&named("absent"), &Patch::Merge(json!({})));
        assert!(absent.unwrap_err().is_not_found());
        Ok(())
    });
    assert_eq!(written, ["Patch x", "Patch x"]);
}

#[test]
fn children_are_found_by_their_owner_and_adopted_held_released_and_disowned() {
    const A: &str = "example.com/a";
    const B: &str = "example.com/b";
    let mut cluster = things();
    cluster.put(map("orphan", json!({}))).unwrap();
    let thing = |name: &str| ObjectRef::new("x.dev/v1", "Thing", "default", name);
    let query = || ChildrenQuery::all("v1", "ConfigMap").in_namespace("default");
    let uid_of = |object: &Value| object["metadata"]["uid"].as_str().unwrap().to_owned();
    let orphan = uid_of(&cluster.get(&named("orphan")).unwrap());
    let names = |cluster: &dyn Cluster, query: &ChildrenQuery| -> Vec<String> {
        let found: Vec<Value> = cluster.list_children(query).unwrap();
        let names = found
            .iter()
            .map(|object| object["metadata"]["name"].as_str());
        names.map(|name| name.unwrap().to_owned()).collect()
    };
    let mut on = |name: &str, order: &dyn Fn(&dyn Cluster)| -> usize {
        let primary = cluster.get(&thing(name)).unwrap();
        let (primary, uid) = (thing(name), uid_of(&primary));
        let needs = manage("v1", "ConfigMap");
        order(&Call::new(&mut cluster, primary, uid, needs));
        cluster.take_writes().len()
    };
    let writes = on("a", &|cluster| {
        assert!(names(cluster, &query()).is_empty());
        assert_eq!(names(cluster, &query().with_orphans()), ["orphan"]);
        let adoption = Adoption {
            owner: None,
            finalizer: Some(A.into()),
        };
        let adopted = cluster
            .adopt_json(&named("orphan"), &orphan, &adoption)
            .unwrap();
        let owner = &adopted["metadata"]["ownerReferences"][0];
        assert_eq!(
            (&owner["name"], &owner["controller"]),
            (&json!("a"), &json!(true))
        );
        assert_eq!(adopted["metadata"]["finalizers"], json!([A]));
        assert_eq!(names(cluster, &query()), ["orphan"]);
        assert!(names(cluster, &query().owned_by("nobody").with_orphans()).is_empty());
        let bare: Vec<Value> = cluster.list_children(&query().metadata_only()).unwrap();
        assert_eq!(bare[0].as_object().unwrap().len(), 3);
        cluster.adopt(&named("orphan"), &orphan).unwrap();
        cluster.hold(&named("orphan"), &orphan, B).unwrap();
        cluster.release(&named("orphan"), &orphan, A).unwrap();
    });
    assert_eq!(writes, 3);
    let writes = on("b", &|cluster| {
        let theirs = cluster.adopt(&named("orphan"), &orphan).unwrap_err();
        assert_eq!(theirs.code, Code::Conflict);
        let another = cluster.hold(&named("orphan"), "another", B).unwrap_err();
        assert_eq!(another.code, Code::Conflict);
        cluster.release(&named("orphan"), "another", B).unwrap();
        cluster.disown(&named("orphan"), "another").unwrap();
    });
    assert_eq!(writes, 0);
    let writes = on("a", &|cluster| {
        let target = named("orphan");
        cluster.disown_with(&target, &orphan, &[], Some(B)).unwrap();
    });
    assert_eq!(writes, 1);
    let left = cluster.get(&named("orphan")).unwrap();
    assert_eq!(left["metadata"]["ownerReferences"], json!([]));
    assert_eq!(left["metadata"]["finalizers"], json!([]));
}

#[test]
fn many_are_created_released_and_deleted_in_batches_up_to_a_failure() {
    const HOLD: &str = "example.com/hold";
    let mut cluster = things();
    cluster.put(map("m4", json!({}))).unwrap();
    let primary = ObjectRef::new("x.dev/v1", "Thing", "default", "a");
    let uid = cluster.get(&primary).unwrap()["metadata"]["uid"].clone();
    let uid = uid.as_str().unwrap().to_owned();
    let call = Call::new(&mut cluster, primary, uid, manage("v1", "ConfigMap"));
    let host: &dyn Cluster = &call;
    let maps = (0..20).map(|number| map(&format!("m{number}"), json!({})));
    let made = host.create_many(maps);
    // 1, 2, and 4, of which the second is there already.
    let codes: Vec<_> = made.iter().map(|made| made.is_ok()).collect();
    assert_eq!(codes, [true, true, true, true, false, true, true]);
    let failed = made[4].as_ref().unwrap_err();
    assert_eq!(failed.code, Code::Conflict);
    assert_eq!(failed.call, "create ConfigMap/default/m4");
    let held: Vec<_> = (0..3).map(|number| named(&format!("m{number}"))).collect();
    let held = held.into_iter().map(|target| {
        let uid = host.get::<Value>(&target).unwrap()["metadata"]["uid"].clone();
        let uid = uid.as_str().unwrap().to_owned();
        host.hold(&target, &uid, HOLD).unwrap();
        (target, uid)
    });
    let held: Vec<_> = held.collect();
    assert_eq!(host.release_many(&held, HOLD), vec![Ok(()); 3]);
    let targets: Vec<_> = (0..9).map(|number| named(&format!("m{number}"))).collect();
    assert_eq!(host.delete_many(&targets), vec![Ok(()); 9]);
    let many = vec![map("x", json!({})); 1001];
    let refused = host.create_many(many);
    assert!(matches!(&refused[..], [Err(error)] if matches!(error.code, Code::Invalid(_))));
    assert!(
        host.list::<Value>(&ListQuery::all("v1", "ConfigMap"))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn rows_have_a_value_for_each_path() {
    let mut cluster = things();
    cluster.put(map("x", json!({ "a.b": "1" }))).unwrap();
    let mut listed = map("y", json!({ "c": "2" }));
    listed["items"] = json!([{ "a": 1 }, 2]);
    cluster.put(listed).unwrap();
    let primary = ObjectRef::new("x.dev/v1", "Thing", "default", "a");
    let call = Call::new(&mut cluster, primary, "u".into(), manage("v1", "ConfigMap"));
    let host: &dyn Cluster = &call;
    let query = ListQuery::all("v1", "ConfigMap").in_namespace("default");
    let paths = [".metadata.name", ".data['a.b']", ".items[*].a"];
    let rows = host.select(&query, &paths).unwrap();
    let want = json!([["x", "1", null], ["y", null, [1, null]]]);
    assert_eq!(json!(rows), want);
    for wrong in ["", "name", ".a[", ".", "[0]"] {
        let error = host.select(&query, &[wrong]).unwrap_err();
        assert!(matches!(error.code, Code::Invalid(_)), "{wrong}");
    }
    let denied = host.select(&ListQuery::all("v1", "Secret"), &paths);
    assert_eq!(denied.unwrap_err().code, Code::Denied);
}

/// Asks for the finalizer.
#[derive(Default)]
struct Asks;

impl Reconciler for Asks {
    const WATCHES: (&'static str, &'static str) = ("x.dev/v1", "Thing");
    const FINALIZE: Option<crate::Finalize<Self>> = Some(|_, _, _| Ok(crate::Progress::Done));
    type Object = Object<Option<Value>>;

    fn watch() -> crate::Watch {
        crate::Watch::default().finalize_on_request()
    }

    fn reconcile(&self, _: &Self::Object, cluster: &dyn Cluster) -> Result<Action, Failure> {
        cluster.protect()?;
        cluster.protect()?;
        Ok(Action::AwaitChange)
    }
}

#[test]
fn a_primary_gets_the_finalizer_when_it_is_asked_for_and_is_finalized_then() {
    let mut cluster = things();
    let pass = cluster.reconcile(&Asks, "a");
    assert_eq!(pass.outcome.answer, Answer::AwaitChange);
    assert!(pass.outcome.writes.is_empty(), "the host writes it");
    let thing = ObjectRef::new("x.dev/v1", "Thing", "default", "a");
    let held = cluster.get(&thing).unwrap();
    assert_eq!(
        held["metadata"]["finalizers"],
        json!(["windlass.dev/plugin"])
    );
    cluster.remove(&thing);
    assert_eq!(cluster.finalize(&Asks, "a").outcome.answer, Answer::Done);
    assert!(cluster.get(&thing).is_err(), "it is gone");
}

#[test]
fn requests_are_answered_by_the_test_and_noted() {
    let mut cluster = things();
    DO.set(Some(|_, cluster| {
        let request =
            crate::http::Request::put("https://api.example.com/zones/a").body(b"x".to_vec());
        let response = cluster.fetch(&request.unwrap())?;
        assert_eq!(
            (response.status().as_u16(), &**response.body()),
            (201, &b"made"[..])
        );
        Ok(())
    }));
    let nobody = cluster.reconcile(&Obedient, "a");
    let Answer::Transient(text) = nobody.outcome.answer else {
        panic!("{nobody:?}");
    };
    assert!(
        text.contains("cannot PUT https://api.example.com/zones/a"),
        "{text}"
    );
    cluster.answer_requests(|request| {
        assert_eq!(request.body(), b"x");
        let response = crate::http::Response::builder().status(201);
        Ok(response.body(b"made".to_vec()).unwrap())
    });
    let pass = cluster.reconcile(&Obedient, "a");
    assert_eq!(pass.outcome.answer, Answer::AwaitChange);
    assert_eq!(pass.requests.len(), 1);
    cluster.answer_requests(|_| Err(crate::FetchCode::Invalid("no such host".into())));
    let refused = cluster.reconcile(&Obedient, "a").outcome.answer;
    assert!(matches!(refused, Answer::Terminal(_)), "{refused:?}");
}

#[test]
fn all_that_match_are_deleted_and_a_hint_is_kept() {
    let mut cluster = things();
    cluster.put(map("x", json!({}))).unwrap();
    pass(&mut cluster, "a", |_, cluster| {
        let query = ListQuery::all("v1", "ConfigMap").in_namespace("default");
        cluster.delete_all(&query)?;
        assert!(cluster.list::<Value>(&query)?.is_empty());
        assert_eq!(cluster.recall_json::<u32>(), None);
        cluster.keep_json(7);
        assert_eq!(cluster.recall_json::<u32>(), Some(7));
        cluster.keep(&[b'8'; 20 << 10]);
        assert_eq!(cluster.recall_json::<u32>(), Some(7));
        assert_eq!(
            cluster.recall_json::<Vec<u32>>(),
            None,
            "it is something else"
        );
        cluster.keep(&[]);
        assert_eq!(cluster.recall(), None);
        assert_eq!(cluster.take_token("b", 1, 1), None);
        assert!(matches!(cluster.kinds().unwrap_err().code, Code::Other(_)));
        let target = named("x");
        let updated = cluster.update_subresource(&target, "status", json!({}));
        assert_eq!(updated.unwrap_err().code, Code::Denied);
        Ok(())
    });
}
