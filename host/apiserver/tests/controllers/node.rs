use super::*;

const PODS: &str = "/api/v1/namespaces/default/pods";

fn node(steps: impl AsyncFnOnce(&Api)) {
    let options = Options {
        node: Node::Full,
        ..Options::default()
    };
    play(options, steps);
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": {
            "containers": [{ "name": "main", "image": "nginx" }],
            "terminationGracePeriodSeconds": 30,
        },
    })
}

fn is_true(object: &Value, kind: &str) -> bool {
    let all = object["status"]["conditions"].as_array();
    let held = all.into_iter().flatten().find(|held| held["type"] == kind);
    held.is_some_and(|held| held["status"] == "True")
}

#[test]
fn the_node_is_there_and_ready() {
    node(async |api| {
        api.settle().await;
        let node = api.get("/api/v1/nodes/windlass-node").await;
        assert!(is_true(&node, "Ready"), "{node}");
    });
}

#[test]
fn without_the_option_pods_wait() {
    play(Options::default(), async |api| {
        api.create(PODS, &pod("a")).await;
        api.wait(Duration::from_secs(60)).await;
        let waits = api.get(&format!("{PODS}/a")).await;
        assert_eq!(waits["spec"].get("nodeName"), None);
        assert!(!api.exists("/api/v1/nodes/windlass-node").await);
    });
}

#[test]
fn a_pod_runs_and_ends_a_short_while_after_it_should() {
    node(async |api| {
        let path = format!("{PODS}/a");
        api.create(PODS, &pod("a")).await;
        api.wait(Duration::from_millis(100)).await;
        let waits = api.get(&path).await;
        assert_eq!(waits["spec"]["nodeName"], "windlass-node");
        assert_eq!(waits["status"]["phase"], "Pending");
        assert!(is_true(&waits, "PodScheduled"));
        api.settle().await;
        let runs = api.get(&path).await;
        assert_eq!(runs["status"]["phase"], "Running");
        assert!(is_true(&runs, "Ready"), "{runs}");
        assert_eq!(runs["status"]["podIP"], "10.244.0.1");
        let container = &runs["status"]["containerStatuses"][0];
        assert_eq!(
            (&container["name"], &container["ready"]),
            (&json!("main"), &json!(true))
        );
        let ends = api.delete(&path, "Background").await;
        assert_eq!(ends["metadata"]["deletionGracePeriodSeconds"], 30);
        api.wait(Duration::from_millis(100)).await;
        assert!(api.exists(&path).await);
        api.settle().await;
        assert!(!api.exists(&path).await);
    });
}

#[test]
fn a_pod_with_a_finalizer_ends_and_stays() {
    node(async |api| {
        let path = format!("{PODS}/a");
        api.create(PODS, &pod("a")).await;
        api.patch(&path, &hold()).await;
        api.settle().await;
        api.delete(&path, "Background").await;
        api.settle().await;
        let ended = api.get(&path).await;
        assert_eq!(ended["status"]["phase"], "Succeeded");
        assert_eq!(ended["metadata"]["deletionGracePeriodSeconds"], 0);
        api.patch(&path, &release()).await;
        assert!(!api.exists(&path).await);
    });
}

#[test]
fn a_namespace_with_pods_goes() {
    node(async |api| {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "busy" },
            "spec": { "finalizers": ["kubernetes"] },
        });
        api.create("/api/v1/namespaces", &namespace).await;
        api.settle().await;
        let pods = "/api/v1/namespaces/busy/pods";
        api.create(pods, &pod("a")).await;
        api.settle().await;
        assert_eq!(
            api.get(&format!("{pods}/a")).await["status"]["phase"],
            "Running"
        );
        api.delete("/api/v1/namespaces/busy", "Background").await;
        api.wait(Duration::from_secs(5)).await;
        assert!(!api.exists("/api/v1/namespaces/busy").await);
    });
}

#[test]
fn workloads_are_as_if_their_pods_ran() {
    node(async |api| {
        let template = json!({
            "metadata": { "labels": { "app": "web" } },
            "spec": { "containers": [{ "name": "main", "image": "nginx" }] },
        });
        let mut once = template.clone();
        once["spec"]["restartPolicy"] = "Never".into();
        let selector = json!({ "matchLabels": { "app": "web" } });
        let make = async |group: &str, kind: &str, plural: &str, spec: Value| {
            let object = json!({
                "apiVersion": group, "kind": kind, "metadata": { "name": "web" }, "spec": spec,
            });
            let base = format!("/apis/{group}/namespaces/default/{plural}");
            api.create(&base, &object).await;
            format!("{base}/web")
        };
        let spec = json!({ "replicas": 2, "selector": selector, "template": template });
        let deployment = make("apps/v1", "Deployment", "deployments", spec.clone()).await;
        let set = make("apps/v1", "StatefulSet", "statefulsets", spec.clone()).await;
        let job = make(
            "batch/v1",
            "Job",
            "jobs",
            json!({ "completions": 2, "template": once }),
        )
        .await;
        api.wait(Duration::from_millis(100)).await;
        let starting = api.get(&deployment).await;
        assert_eq!(starting["status"]["unavailableReplicas"], 2, "{starting}");
        api.settle().await;
        let rolled = api.get(&deployment).await;
        let status = &rolled["status"];
        assert_eq!(
            (&status["updatedReplicas"], &status["availableReplicas"]),
            (&json!(2), &json!(2))
        );
        assert!(is_true(&rolled, "Available") && is_true(&rolled, "Progressing"));
        assert_eq!(api.get(&set).await["status"]["readyReplicas"], 2);
        assert!(is_true(&api.get(&job).await, "Complete"));
    });
}

#[test]
fn a_scaled_deployment_keeps_its_ready_pods() {
    node(async |api| {
        let base = "/apis/apps/v1/namespaces/default/deployments";
        let labels = json!({ "app": "web" });
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
            "spec": {
                "replicas": 2,
                "selector": { "matchLabels": labels },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": { "containers": [{ "name": "main", "image": "nginx" }] },
                },
            },
        });
        api.create(base, &object).await;
        let deployment = format!("{base}/web");
        api.settle().await;
        api.patch(&deployment, &json!({ "spec": { "replicas": 5 } }))
            .await;
        api.wait(Duration::from_millis(100)).await;
        let scaling = api.get(&deployment).await;
        assert_eq!(scaling["status"]["readyReplicas"], 2);
        assert_eq!(scaling["status"]["unavailableReplicas"], 3);
        api.settle().await;
        let scaled = api.get(&deployment).await;
        assert_eq!(scaled["status"]["readyReplicas"], 5);
        assert_eq!(scaled["status"]["observedGeneration"], 2);
    });
}
