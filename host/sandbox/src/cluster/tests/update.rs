//! `update-subresource` on the embedded server.

use super::*;

const ADA: &str = "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada";
const OTHERS: &str = "example.com/others";

fn ada() -> ObjectRef {
    reference("examples.windlass.dev/v1", "Greeting", "ada")
}

async fn read_ada(call: &mut Call) -> Value {
    parsed(call.get(ada(), None, Consistency::Stored).await)
}

async fn update_status(call: &mut Call, object: &Value) -> Result<String, Error> {
    call.update_subresource(ada(), "status".into(), object.to_string())
        .await
}

#[tokio::test(start_paused = true)]
async fn a_status_is_replaced_and_all_metadata_stays_whatever_the_object_says() {
    let world = World::new().await;
    let others = json!({ "metadata": { "finalizers": [OTHERS], "labels": { "a": "b" } } });
    world.somebody("PATCH", ADA, &others).await;
    let resource = world.resource("examples.windlass.dev/v1", "Greeting").await;
    world.refresh(&resource).await;
    let mut call = world.call().await;
    let mut object = read_ada(&mut call).await;
    object["status"] = json!({ "text": "Hello" });
    object["spec"] = json!({ "name": "somebody else" });
    object["metadata"]["finalizers"] = json!(["windlass.dev/greeter"]);
    object["metadata"]["labels"] = json!({});
    object["metadata"]["ownerReferences"] = json!([{ "uid": "u" }]);
    object["metadata"]["managedFields"] = json!([{}]);
    let updated = parsed(update_status(&mut call, &object).await);
    assert_eq!(updated["status"], json!({ "text": "Hello" }));
    let there = world.read(ADA).await.unwrap();
    assert_eq!(there["spec"]["name"], "ada");
    assert_eq!(there["metadata"]["finalizers"], json!([OTHERS]));
    assert_eq!(there["metadata"]["labels"], json!({ "a": "b" }));
    assert_eq!(there["metadata"]["ownerReferences"], Value::Null);
    let managers = there["metadata"]["managedFields"].as_array().unwrap();
    let is_own = |by: &&Value| by["manager"] == "windlass/greeter" && by["subresource"] == "status";
    assert_eq!(managers.iter().filter(is_own).count(), 1);
    assert_eq!(world.writes().len(), 1);
    // The answer is in the store at once, and its echo runs nobody.
    assert_eq!(read_ada(&mut call).await, updated);
    world.woken.lock().clear();
    world.refresh(&resource).await;
    assert_eq!(*world.woken.lock(), []);
}

#[tokio::test(start_paused = true)]
async fn it_compares_and_swaps() {
    let world = World::new().await;
    let mut call = world.call().await;
    let mut object = read_ada(&mut call).await;
    object["status"] = json!({ "text": "one" });
    let status = json!({ "metadata": { "labels": { "x": "y" } } });
    world.somebody("PATCH", ADA, &status).await;
    let late = update_status(&mut call, &object).await;
    assert!(matches!(late, Err(Error::Conflict(_))), "{late:?}");
    assert_eq!(world.writes().len(), 0);
    // What the guest has read from the server may be newer than what the store has.
    let newest = call.get(ada(), None, Consistency::Latest).await;
    let mut object = parsed(newest);
    object["status"] = json!({ "text": "two" });
    let mut other = object.clone();
    other["metadata"]["uid"] = json!("another");
    let other = update_status(&mut call, &other).await;
    assert!(matches!(other, Err(Error::Conflict(_))), "{other:?}");
    assert_eq!(
        parsed(update_status(&mut call, &object).await)["status"],
        json!({ "text": "two" })
    );
    let again = update_status(&mut call, &object).await;
    assert!(matches!(again, Err(Error::Conflict(_))), "{again:?}");
    assert_eq!(world.writes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_update_without_a_version_a_kind_or_the_right_name_is_invalid() {
    let world = World::new().await;
    let mut call = world.call().await;
    let object = read_ada(&mut call).await;
    let changes: [(&str, Value); 4] = [
        ("/metadata/resourceVersion", Value::Null),
        ("/kind", json!("")),
        ("/apiVersion", Value::Null),
        ("/metadata/name", json!("bob")),
    ];
    for (pointer, value) in changes {
        let mut object = object.clone();
        *object.pointer_mut(pointer).unwrap() = value;
        let answer = update_status(&mut call, &object).await;
        assert!(
            matches!(answer, Err(Error::Invalid(_))),
            "{pointer}: {answer:?}"
        );
    }
    let mut bob = object;
    bob["metadata"]["name"] = json!("nobody");
    let nobody = reference("examples.windlass.dev/v1", "Greeting", "nobody");
    let answer = call
        .update_subresource(nobody, "status".into(), bob.to_string())
        .await;
    assert!(matches!(answer, Err(Error::NotFound)), "{answer:?}");
    assert_eq!(world.writes().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_scale_and_the_finalizers_of_a_namespace_are_subresources_too() {
    let world = World::new().await;
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": {
            "replicas": 1, "selector": { "matchLabels": { "a": "b" } },
            "template": {
                "metadata": { "labels": { "a": "b" } },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        },
    });
    world.somebody("POST", deployments, &deployment).await;
    let mut call = world.call().await;
    let web = || reference("apps/v1", "Deployment", "web");
    let scale = call.get(web(), Some("scale".into()), Consistency::Latest);
    let mut scale = parsed(scale.await);
    scale["spec"]["replicas"] = json!(3);
    let scaled = call.update_subresource(web(), "scale".into(), scale.to_string());
    let scaled = parsed(scaled.await);
    assert_eq!(
        (&scaled["kind"], &scaled["spec"]["replicas"]),
        (&json!("Scale"), &json!(3))
    );
    let again = call.update_subresource(web(), "scale".into(), scale.to_string());
    assert!(matches!(again.await, Err(Error::Conflict(_))));

    let namespaces = "/api/v1/namespaces";
    let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "full" } });
    world.somebody("POST", namespaces, &body).await;
    let full = || ObjectRef {
        namespace: None,
        ..reference("v1", "Namespace", "full")
    };
    let namespace = call.get(full(), None, Consistency::Latest).await;
    let mut namespace = parsed(namespace);
    assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
    namespace["spec"]["finalizers"] = json!(["kubernetes", OTHERS]);
    let finalized = call.update_subresource(full(), "finalize".into(), namespace.to_string());
    assert_eq!(
        parsed(finalized.await)["spec"]["finalizers"],
        json!(["kubernetes", OTHERS])
    );
}

#[tokio::test(start_paused = true)]
async fn an_update_that_is_not_meant_is_shown_and_not_sent() {
    let setting = Setting {
        writes: WriteMode::Captured,
        ..Setting::default()
    };
    let world = World::new().await.set(setting).await;
    let mut call = world.call().await;
    let mut object = read_ada(&mut call).await;
    object["status"] = json!({ "text": "one" });
    object["spec"] = json!({ "name": "eve" });
    let answer = parsed(update_status(&mut call, &object).await);
    assert_eq!(answer["status"], json!({ "text": "one" }));
    assert_eq!(answer["spec"]["name"], "ada");
    assert_eq!(read_ada(&mut call).await, answer);
    let captured = world.cluster.captured.all();
    assert_eq!(captured.len(), 1);
    assert_eq!(captured[0].verb, "update-subresource");
    assert_eq!(world.writes().len(), 0);
}
