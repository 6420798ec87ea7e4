//! `kinds` on the embedded server.

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::bindings::cluster::{ListQuery, Served};
use crate::served;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn lines(kinds: &[Served]) -> Vec<String> {
    let lines = kinds.iter();
    lines
        .map(|kind| {
            let Served {
                api_version,
                kind,
                plural,
                verbs,
                ..
            } = kind;
            format!("{api_version} {kind} {plural}: {}", verbs.join(" "))
        })
        .collect()
}

/// What the server answers now, as the watch of a host sees it.
async fn look(world: &World) {
    let cluster = &world.cluster;
    let catalog = cluster.discovery.catalog().await.unwrap();
    let kinds = served::granted(&catalog, &cluster.grants);
    cluster.view.kinds_are(served::digest(&kinds));
}

#[tokio::test(start_paused = true)]
async fn it_names_what_the_grants_name_with_the_verbs_of_both() {
    let world = World::new().await;
    let mut call = world.call().await;
    let kinds = call.kinds().await.unwrap();
    let want = [
        "apps/v1 Deployment deployments: create delete get list patch watch",
        "batch/v1 Job jobs: create delete get list patch watch",
        "examples.windlass.dev/v1 Greeting greetings: get list patch update watch",
        "rbac.authorization.k8s.io/v1 ClusterRole clusterroles: create delete get list patch watch",
        "v1 ConfigMap configmaps: create delete get list patch watch",
        "v1 Namespace namespaces: create delete get list patch watch",
        "v1 Pod pods: get",
        "v1 Service services: create patch",
    ];
    let mut lines = lines(&kinds);
    for line in &mut lines {
        let (name, verbs) = line.split_once(": ").unwrap();
        let mut verbs: Vec<&str> = verbs.split(' ').collect();
        verbs.sort_unstable();
        *line = format!("{name}: {}", verbs.join(" "));
    }
    assert_eq!(lines, want);
    assert!(
        kinds.iter().all(|kind| kind.namespaced
            != (kind.plural == "namespaces" || kind.plural == "clusterroles"))
    );
    // What is remembered costs no request.
    assert_eq!(call.traffic().requests, 1);
    call.kinds().await.unwrap();
    assert_eq!(call.traffic().requests, 1);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_or_goes_runs_who_was_told_and_nobody_else() {
    let world = World::new().await;
    let mut call = world.call().await;
    call.kinds().await.unwrap();
    let key = call.primary().key.clone();
    world.cluster.view.settles(&key);
    world.call_for("bob").await;
    world.woken.lock().clear();
    look(&world).await;
    assert_eq!(*world.woken.lock(), []);
    let crd = format!("{CRDS}/greetings.examples.windlass.dev");
    world.somebody("DELETE", &crd, &Value::Null).await;
    world.woken.lock().clear();
    look(&world).await;
    assert_eq!(*world.woken.lock(), [key]);
    // Once for each change.
    look(&world).await;
    assert_eq!(world.woken.lock().len(), 1);
    // A kind that no grant names is none of its business.
    let mut other: Value = serde_saphyr::from_str(CRD).unwrap();
    other["metadata"]["name"] = json!("others.other.dev");
    other["spec"]["group"] = json!("other.dev");
    other["spec"]["names"] = json!({ "plural": "others", "singular": "other", "kind": "Other" });
    world.somebody("POST", CRDS, &other).await;
    look(&world).await;
    assert_eq!(world.woken.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_run_was_told_counts_until_another_one_has_ended_well() {
    let world = World::new().await;
    let (view, account) = (world.cluster.view.clone(), &world.cluster.account);
    let before = account.used();
    let mut call = world.call().await;
    call.kinds().await.unwrap();
    let key = call.primary().key.clone();
    view.settles(&key);
    let other = served::digest(&[]);
    // The next run fails before it asks.
    view.begins(&key);
    world.woken.lock().clear();
    view.kinds_are(other);
    assert_eq!(*world.woken.lock(), std::slice::from_ref(&key));
    // And the next one ends well without asking.
    view.begins(&key);
    view.settles(&key);
    view.kinds_are([0; 32]);
    assert_eq!(world.woken.lock().len(), 1);
    drop(call);
    assert_eq!(account.used(), before, "nothing is remembered forever");
}

#[tokio::test(start_paused = true)]
async fn it_is_asked_again_when_what_is_remembered_is_too_old() {
    let world = World::new().await;
    let mut call = world.call().await.limited_to(2);
    for (seconds, requests) in [(0, 1), (15, 1), (1, 2)] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        call.kinds().await.unwrap();
        assert_eq!(call.traffic().requests, requests);
    }
    tokio::time::advance(Duration::from_secs(16)).await;
    let answer = call.kinds().await;
    assert!(matches!(answer, Err(Error::Other(_))), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_served_is_not_absent_and_runs_again_when_it_is() {
    let world = World::new().await;
    let greeting = || reference("examples.windlass.dev/v1", "Greeting", "bob");
    let view = world.cluster.view.clone();
    let mut call = world.call().await;
    let key = call.primary().key.clone();
    // The kind is remembered.
    call.get(greeting(), None, Consistency::Latest).await.ok();
    let mut definition: Value = serde_saphyr::from_str(CRD).unwrap();
    let versions = definition["spec"]["versions"].as_array_mut().unwrap();
    let mut other = versions[0].clone();
    other["name"] = json!("v2");
    versions[0]["served"] = json!(false);
    versions[0]["storage"] = json!(false);
    versions.push(other);
    let body = json!({ "spec": { "versions": versions } });
    let crd = format!("{CRDS}/greetings.examples.windlass.dev");
    world.somebody("PATCH", &crd, &body).await;
    let list = ListQuery {
        api_version: "examples.windlass.dev/v1".into(),
        kind: "Greeting".into(),
        namespace: None,
        label_selector: None,
        field_selector: None,
        limit: None,
        consistency: Consistency::Latest,
    };
    let patch = || json!({ "metadata": { "labels": { "a": "b" } } }).to_string();
    let answers = [
        call.get(greeting(), None, Consistency::Latest)
            .await
            .map(drop),
        call.get(greeting(), None, Consistency::Stored)
            .await
            .map(drop),
        call.unchanged_for(greeting()).await.map(drop),
        call.list(list).await.map(drop),
        call.patch(greeting(), None, PatchType::Merge, patch())
            .await
            .map(drop),
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        let Err(Error::Other(refusal)) = &answer else {
            panic!("{number}: {answer:?}");
        };
        assert_eq!((refusal.code, &*refusal.reason), (404, "NoKindMatch"));
        assert!(refusal.message.starts_with("the cluster does not serve "));
    }
    // The plugin ignores the errors, and the pass ends well.
    view.settles(&key);
    world.woken.lock().clear();
    let missing = view.missing_kinds();
    let names: Vec<&str> = missing.iter().map(|(_, name)| &**name).collect();
    assert_eq!(names, ["Greeting", "greetings"]);
    view.kinds_are_back(&BTreeSet::new());
    assert_eq!(*world.woken.lock(), []);
    view.kinds_are_back(&missing);
    assert_eq!(*world.woken.lock(), std::slice::from_ref(&key));
    view.kinds_are_back(&missing);
    assert_eq!(world.woken.lock().len(), 1, "once");
}
