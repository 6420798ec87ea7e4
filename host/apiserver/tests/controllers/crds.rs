use super::*;

pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

pub(crate) fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "kind": "Widget", "plural": "widgets" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    },
                },
            }],
        },
    })
}

const DEPTH: usize = 5000;

fn widget(name: &str) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": name } })
}

#[test]
fn a_crd_waits_for_the_last_of_its_objects() {
    play(Options::default(), async |api| {
        api.create(CRDS, &widgets()).await;
        for name in ["a", "b"] {
            api.create(WIDGETS, &widget(name)).await;
        }
        api.patch(&format!("{WIDGETS}/a"), &hold()).await;
        let path = format!("{CRDS}/widgets.example.com");
        let ends = api.delete(&path, "Background").await;
        assert_eq!(
            finalizers(&ends),
            ["customresourcecleanup.apiextensions.k8s.io"]
        );
        api.settle().await;
        assert!(!api.exists(&format!("{WIDGETS}/b")).await);
        let (code, refused) = api.send("POST", WIDGETS, &widget("c")).await;
        assert_eq!(
            (code, refused["message"].as_str().unwrap()),
            (
                403,
                "widgets.example.com \"c\" is forbidden: create not allowed while custom resource \
                 definition is terminating"
            )
        );
        let waits = api.get(&path).await;
        let conditions = waits["status"]["conditions"].as_array().unwrap();
        let terminating = conditions
            .iter()
            .find(|held| held["type"] == "Terminating")
            .unwrap();
        assert_eq!(terminating["reason"], "InstanceDeletionInProgress");
        api.patch(&format!("{WIDGETS}/a"), &release()).await;
        api.settle().await;
        assert!(!api.exists(&path).await);
        assert_eq!(
            api.send("GET", WIDGETS, &Value::Null).await.0,
            404,
            "nothing is served"
        );
    });
}

#[test]
fn what_a_custom_object_owned_goes_with_its_crd() {
    play(Options::default(), async |api| {
        api.create(CRDS, &widgets()).await;
        let owned = api.create(WIDGETS, &widget("a")).await;
        api.create(MAPS, &map("child", &[owner(&owned)])).await;
        api.settle().await;
        assert!(api.exists(&path("child")).await);
        api.delete(&format!("{CRDS}/widgets.example.com"), "Background")
            .await;
        api.settle().await;
        assert!(!api.exists(&path("child")).await);
    });
}

#[test]
fn objects_nested_as_deep_as_can_be_are_collected_too() {
    play(Options::default(), async |api| {
        api.create(CRDS, &widgets()).await;
        let top = api.create(MAPS, &map("top", &[])).await;
        let other = api.create(MAPS, &map("other", &[])).await;
        for (name, owners) in [("a", vec![&top]), ("b", vec![&top, &other])] {
            let mut widget = widget(name);
            let owners: Vec<Value> = owners.into_iter().map(owner).collect();
            widget["metadata"]["ownerReferences"] = owners.into();
            let deep = "{\"a\":".repeat(DEPTH) + "1" + &"}".repeat(DEPTH);
            widget["deep"] = "here".into();
            let text = widget.to_string().replace("\"here\"", &deep);
            assert_eq!(api.send_text("POST", WIDGETS, text).await, 201);
        }
        let label = json!({ "metadata": { "labels": { "a": "b" } } });
        assert_eq!(
            api.send_text("PATCH", &format!("{WIDGETS}/b"), label.to_string())
                .await,
            200
        );
        api.delete(&path("top"), "Background").await;
        api.settle().await;
        assert_eq!(
            api.send_text("GET", &format!("{WIDGETS}/a"), String::new())
                .await,
            404
        );
        assert_eq!(
            api.send_text("GET", &format!("{WIDGETS}/b"), String::new())
                .await,
            200
        );
        assert_eq!(api.send_text("DELETE", WIDGETS, String::new()).await, 200);
    });
}
