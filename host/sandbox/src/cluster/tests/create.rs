//! `create` and `create-subresource` on the embedded server.

use std::time::Duration;

use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::request::route::Verb;

use super::*;
use windlass_kube::selector::LabelSelector;
use windlass_view::WriteOutcome;

#[tokio::test(start_paused = true)]
async fn what_exists_already_is_not_overwritten() {
    let world = World::new().await;
    let mut call = world.call().await;
    let object = config_map("once", &json!({ "a": "1" })).to_string();
    let made = parsed(call.create(object.clone()).await);
    assert_eq!(made["data"], json!({ "a": "1" }));
    assert!(made["metadata"]["managedFields"].is_null());
    assert!(matches!(call.create(object).await, Err(Error::Conflict(_))));
    let there = call.get(
        reference("v1", "ConfigMap", "once"),
        None,
        Consistency::Stored,
    );
    assert_eq!(
        parsed(there.await),
        made,
        "the answer is in the store at once"
    );
    assert_eq!(world.writes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn generate_name_makes_another_object_each_time() {
    let world = World::new().await;
    let mut call = world.call().await;
    let mut object = config_map("", &json!({}));
    object["metadata"] = json!({ "generateName": "run-", "namespace": "default" });
    for _ in 0..3 {
        let made = parsed(call.create(object.to_string()).await);
        let name = made["metadata"]["name"].as_str().unwrap();
        assert!(name.starts_with("run-") && name.len() == 9, "{name}");
        assert_eq!(made["metadata"]["generateName"], "run-");
    }
    assert_eq!(world.writes().len(), 3);
    let without =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "default" } });
    assert!(matches!(
        call.create(without.to_string()).await,
        Err(Error::Invalid(_))
    ));
    // An apply is of one object.
    assert!(matches!(
        call.apply(object.to_string()).await,
        Err(Error::Invalid(_))
    ));
}

/// The next `times` requests with these verbs for ConfigMaps meet the fault.
fn fault(world: &World, verbs: &[Verb], fault: &Fault) {
    for verb in verbs {
        world.server.faults().switch_on(Switch {
            name: "fault".to_owned(),
            on: Matcher {
                verb: Some(*verb),
                plural: Some("configmaps".to_owned()),
                user: None,
                ..Matcher::default()
            },
            from: 0,
            times: 1,
            fault: fault.clone(),
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_creation_whose_answer_is_lost_is_read_by_the_name_that_the_host_made_up() {
    let minute = Duration::from_secs(60);
    // (the fault, whether the object is there after it, whether reads meet it too; what the guest is told)
    let rows = [
        (Fault::ResetDone, true, false, true),
        (Fault::RefuseDone(503), true, false, true),
        // It is sent again, and there is an object with this name.
        (Fault::RefuseDone(429), true, false, true),
        (Fault::RefuseDone(429), true, true, false),
        (Fault::LateAnswer(minute), true, false, true),
        (Fault::ResetDone, true, true, false),
        (Fault::Reset, false, false, false),
        (Fault::Refuse(403), false, false, false),
    ];
    for (given, is_done, reads_fail, succeeds) in rows {
        let world = World::new().await;
        let verbs: &[Verb] = if reads_fail {
            &[Verb::Create, Verb::Get]
        } else {
            &[Verb::Create]
        };
        fault(&world, verbs, &given);
        let mut call = world.call().await;
        let mut object = config_map("", &json!({}));
        object["metadata"] = json!({ "generateName": "run-", "namespace": "default" });
        let answer = call.create(object.to_string()).await;
        assert_eq!(answer.is_ok(), succeeds, "{given:?} {answer:?}");
        assert_eq!(world.writes().len(), usize::from(is_done), "{given:?}");
        // The next pass over the primary sees it.
        let (resource, view) = (world.resource("v1", "ConfigMap").await, &world.cluster.view);
        view.catch_up(&call.primary().key).await;
        let all = view.list(&resource, Some("default"), &LabelSelector::default());
        let made = all
            .iter()
            .filter(|made| made.metadata.key.name.starts_with("run-"));
        assert_eq!(made.count(), usize::from(is_done), "{given:?}");
        if let Ok(made) = answer {
            let name = parsed(Ok(made))["metadata"]["name"].clone();
            assert!(name.as_str().unwrap().starts_with("run-"), "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_creation_is_told_as_one_also_of_a_kind_that_is_not_watched() {
    let world = World::new().await;
    let mut call = world.call().await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "a", "namespace": "default" },
        "spec": { "ports": [{ "port": 80, "targetPort": 80, "protocol": "TCP" }] },
    });
    call.create(service.to_string()).await.unwrap();
    call.apply(service.to_string()).await.unwrap();
    let writes = world.cluster.view.ends(&call.primary().key).writes;
    assert!(
        matches!(
            (&writes[0].end, &writes[1].end),
            (WriteOutcome::Created(_), WriteOutcome::Changed(_))
        ),
        "{writes:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn owners_and_finalizers_of_others_are_denied() {
    let world = World::new().await;
    let mut call = world.call().await;
    for metadata in [
        json!({ "finalizers": ["theirs"] }),
        json!({ "managedFields": [] }),
        json!({ "ownerReferences": [{ "apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u" }] }),
    ] {
        let mut object = config_map("child", &json!({}));
        for (field, value) in metadata.as_object().unwrap() {
            object["metadata"][field] = value.clone();
        }
        assert!(
            matches!(call.create(object.to_string()).await, Err(Error::Denied(_))),
            "{metadata}"
        );
        let parent = reference("v1", "Pod", "p");
        let posted = json!({ "metadata": object["metadata"] }).to_string();
        let posted = call
            .create_subresource(parent, "eviction".into(), posted)
            .await;
        assert!(matches!(posted, Err(Error::Denied(_))), "{metadata}");
    }
    assert_eq!(call.traffic().requests, 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_for_a_primary_that_goes() {
    let world = World::new().await;
    let greeting = "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada";
    let keep = json!({ "metadata": { "finalizers": ["windlass.dev/greeter"] } });
    world.somebody("PATCH", greeting, &keep).await;
    let mut call = world.call().await;
    world.somebody("DELETE", greeting, &Value::Null).await;
    let resource = world.resource("examples.windlass.dev/v1", "Greeting").await;
    world.refresh(&resource).await;
    let mut object = config_map("child", &json!({}));
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting", "name": "ada",
        "uid": call.primary().uid,
    }]);
    assert!(matches!(
        call.create(object.to_string()).await,
        Err(Error::Gone)
    ));
}

async fn pod(world: &World, name: &str) -> Value {
    let account = "/api/v1/namespaces/default/serviceaccounts";
    if world.read(&format!("{account}/default")).await.is_none() {
        let default = json!({ "metadata": { "name": "default" } });
        world.somebody("POST", account, &default).await;
    }
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": { "app": "x" } },
        "spec": { "containers": [{ "name": "c", "image": "i:1" }] },
    });
    world
        .somebody("POST", "/api/v1/namespaces/default/pods", &pod)
        .await
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_bound_and_evicted() {
    let world = World::new().await;
    pod(&world, "p").await;
    let mut call = world.call().await;
    let parent = || reference("v1", "Pod", "p");
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": { "name": "p" },
        "target": { "apiVersion": "v1", "kind": "Node", "name": "n1" },
    });
    let bound = call
        .create_subresource(parent(), "binding".into(), binding.to_string())
        .await;
    assert_eq!(parsed(bound)["status"], "Success");
    let there = parsed(call.get(parent(), None, Consistency::Latest).await);
    assert_eq!(there["spec"]["nodeName"], "n1");
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": { "name": "p", "namespace": "default" },
        "deleteOptions": { "gracePeriodSeconds": 0 },
    });
    let evicted = call
        .create_subresource(parent(), "eviction".into(), eviction.to_string())
        .await;
    assert_eq!(parsed(evicted)["status"], "Success");
    assert_eq!(world.read("/api/v1/namespaces/default/pods/p").await, None);
    let again = call
        .create_subresource(parent(), "eviction".into(), eviction.to_string())
        .await;
    assert!(matches!(again, Err(Error::NotFound)), "{again:?}");
    let exec = call
        .create_subresource(parent(), "exec".into(), eviction.to_string())
        .await;
    assert!(matches!(exec, Err(Error::Denied(_))));
}

#[tokio::test(start_paused = true)]
async fn an_eviction_is_of_the_pod_that_the_call_has_read() {
    let world = World::new().await;
    pod(&world, "p").await;
    let mut call = world.call().await;
    let parent = || reference("v1", "Pod", "p");
    call.get(parent(), None, Consistency::Latest).await.unwrap();
    let path = "/api/v1/namespaces/default/pods/p";
    world
        .somebody(
            "DELETE",
            &format!("{path}?gracePeriodSeconds=0"),
            &Value::Null,
        )
        .await;
    pod(&world, "p").await;
    let eviction =
        json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "p" } });
    let evicted = call
        .create_subresource(parent(), "eviction".into(), eviction.to_string())
        .await;
    assert!(matches!(evicted, Err(Error::Conflict(_))), "{evicted:?}");
    assert!(world.read(path).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_eviction_that_is_refused_for_now_is_not_sent_again() {
    let world = World::new().await;
    pod(&world, "p").await;
    world.server.faults().switch_on(Switch {
        name: "budget".to_owned(),
        on: Matcher {
            verb: Some(Verb::Create),
            plural: Some("pods".to_owned()),
            user: None,
            ..Matcher::default()
        },
        from: 0,
        times: 1,
        fault: Fault::Refuse(429),
    });
    let mut call = world.call().await;
    let eviction =
        json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "p" } });
    let parent = reference("v1", "Pod", "p");
    let evicted = call
        .create_subresource(parent, "eviction".into(), eviction.to_string())
        .await;
    assert!(matches!(evicted, Err(Error::Unavailable)), "{evicted:?}");
    assert_eq!(call.traffic().requests, 1);
}

/// The server's own default for a Job holds it back, until its pods have lost it as their owner.
#[tokio::test(start_paused = true)]
async fn a_job_that_a_call_deletes_does_not_leave_its_pods_behind() {
    let world = World::new().await;
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let pod = json!({ "restartPolicy": "Never", "containers": [{ "name": "a", "image": "b" }] });
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "j" },
        "spec": { "template": { "spec": pod } },
    });
    world.somebody("POST", jobs, &job).await;
    let mut call = world.call().await;
    let target = reference("batch/v1", "Job", "j");
    call.delete(target, NO_OPTIONS).await.unwrap();
    let left = world.read(&format!("{jobs}/j")).await;
    assert_eq!(left, None, "no finalizer leaves its pods behind");
}
