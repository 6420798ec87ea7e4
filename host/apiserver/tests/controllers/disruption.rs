use super::*;

const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

fn node() -> Options {
    Options {
        node: Node::Full,
        ..Options::default()
    }
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "main", "image": "nginx" }] },
    })
}

fn budget(name: &str, spec: &Value) -> Value {
    let mut budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": name }, "spec": spec,
    });
    budget["spec"]["selector"] = json!({ "matchLabels": { "app": "web" } });
    budget
}

async fn evict(api: &Api, name: &str) -> (u16, Value) {
    let eviction =
        json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": name } });
    api.send("POST", &format!("{PODS}/{name}/eviction"), &eviction)
        .await
}

#[test]
fn evictions_go_as_far_as_the_budget_and_no_further() {
    play(node(), async |api| {
        for name in ["a", "b", "c"] {
            api.create(PODS, &pod(name)).await;
        }
        api.create(BUDGETS, &budget("keep", &json!({ "minAvailable": 2 })))
            .await;
        api.wait(Duration::from_secs(2)).await;
        let status = api.get(&format!("{BUDGETS}/keep")).await["status"].clone();
        assert_eq!(
            [
                &status["currentHealthy"],
                &status["desiredHealthy"],
                &status["expectedPods"]
            ],
            [&json!(3), &json!(2), &json!(3)],
            "{status}"
        );
        assert_eq!(status["disruptionsAllowed"], 1);
        assert_eq!(status["conditions"][0]["reason"], "SufficientPods");
        let (code, answer) = evict(api, "a").await;
        assert_eq!(code, 201, "{answer}");
        let counted = api.get(&format!("{BUDGETS}/keep")).await;
        assert_eq!(counted["status"]["disruptionsAllowed"], 0);
        assert!(
            counted["status"]["disruptedPods"].get("a").is_some(),
            "{counted}"
        );
        let (code, answer) = evict(api, "b").await;
        assert_eq!(
            (code, &answer["reason"]),
            (429, &json!("TooManyRequests")),
            "{answer}"
        );
        api.wait(Duration::from_secs(2)).await;
        assert!(!api.exists(&format!("{PODS}/a")).await);
        let (code, answer) = evict(api, "b").await;
        assert_eq!(code, 429);
        let want = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 429,
            "reason": "TooManyRequests",
            "message": "Cannot evict pod as it would violate the pod's disruption budget.",
            "details": { "causes": [{
                "reason": "DisruptionBudget",
                "message": "The disruption budget keep needs 2 healthy pods and has 2 currently",
            }] },
        });
        assert_eq!(answer, want);
        assert!(api.exists(&format!("{PODS}/b")).await);
        let after = api.get(&format!("{BUDGETS}/keep")).await;
        assert_eq!(after["status"].get("disruptedPods"), None, "{after}");
    });
}

#[test]
fn a_pod_with_two_budgets_cannot_be_evicted_and_one_that_waits_can() {
    play(node(), async |api| {
        api.create(PODS, &pod("a")).await;
        let mut waits = pod("waits");
        waits["spec"]["nodeSelector"] = json!({ "no": "such" });
        api.create(PODS, &waits).await;
        for name in ["one", "two"] {
            api.create(BUDGETS, &budget(name, &json!({ "maxUnavailable": 0 })))
                .await;
        }
        api.wait(Duration::from_secs(2)).await;
        let (code, answer) = evict(api, "a").await;
        let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        assert_eq!((code, &answer["message"]), (500, &json!(why)), "{answer}");
        assert_eq!(evict(api, "waits").await.0, 201);
        assert!(!api.exists(&format!("{PODS}/waits")).await);
    });
}

#[test]
fn a_share_is_one_of_what_the_controllers_of_the_pods_are_scaled_to() {
    play(node(), async |api| {
        let sets = "/apis/apps/v1/namespaces/default/replicasets";
        let labels = json!({ "app": "web" });
        let set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": "web" },
            "spec": {
                "replicas": 4,
                "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": pod("x")["spec"] },
            },
        });
        let set = api.create(sets, &set).await;
        let mut reference = owner(&set);
        reference["controller"] = true.into();
        for name in ["a", "b", "c"] {
            let mut own = pod(name);
            own["metadata"]["ownerReferences"] = json!([reference]);
            api.create(PODS, &own).await;
        }
        api.create(
            BUDGETS,
            &budget("half", &json!({ "maxUnavailable": "50%" })),
        )
        .await;
        api.wait(Duration::from_secs(2)).await;
        let status = api.get(&format!("{BUDGETS}/half")).await["status"].clone();
        assert_eq!(
            [
                &status["currentHealthy"],
                &status["desiredHealthy"],
                &status["expectedPods"]
            ],
            [&json!(3), &json!(2), &json!(4)],
            "{status}"
        );
        assert_eq!(status["disruptionsAllowed"], 1);
    });
}

#[test]
fn without_the_controller_a_budget_is_never_ready() {
    let options = Options {
        controllers: "*,-disruption-controller".parse().unwrap(),
        ..node()
    };
    play(options, async |api| {
        api.create(PODS, &pod("a")).await;
        api.create(BUDGETS, &budget("keep", &json!({ "maxUnavailable": 1 })))
            .await;
        api.wait(Duration::from_secs(2)).await;
        let (code, answer) = evict(api, "a").await;
        let why = "The disruption budget keep is still being processed by the server.";
        assert_eq!(
            (code, &answer["details"]["causes"][0]["message"]),
            (429, &json!(why))
        );
        assert_eq!(answer["details"]["retryAfterSeconds"], 10, "{answer}");
    });
}
