use super::*;

const PODS: &str = "/api/v1/namespaces/default/pods";
const NODES: &str = "/api/v1/nodes";
const ACCOUNT: &str = "/api/v1/namespaces/fresh/serviceaccounts/default";

fn options(controllers: &str) -> Options {
    Options {
        controllers: controllers.parse().unwrap(),
        ..Options::default()
    }
}

fn fresh() -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "fresh" } })
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "nginx" }] },
    })
}

#[test]
fn a_controller_that_is_switched_off_does_nothing_and_the_others_do() {
    play(options("*,-garbage-collector-controller"), async |api| {
        let above = api.create(MAPS, &map("above", &[])).await;
        api.create(MAPS, &map("below", &[owner(&above)])).await;
        api.delete(&path("above"), "Background").await;
        api.create("/api/v1/namespaces", &fresh()).await;
        api.wait(Duration::from_secs(60)).await;
        assert!(api.exists(&path("below")).await);
        assert!(api.exists(ACCOUNT).await);
    });
    play(
        options("*,-serviceaccount-controller,-namespace-controller"),
        async |api| {
            let above = api.create(MAPS, &map("above", &[])).await;
            api.create(MAPS, &map("below", &[owner(&above)])).await;
            api.delete(&path("above"), "Background").await;
            api.create("/api/v1/namespaces", &fresh()).await;
            api.delete("/api/v1/namespaces/fresh", "Background").await;
            api.wait(Duration::from_secs(60)).await;
            assert!(!api.exists(&path("below")).await);
            assert!(!api.exists(ACCOUNT).await);
            let stays = api.get("/api/v1/namespaces/fresh").await;
            assert_eq!(stays["status"]["phase"], "Terminating");
        },
    );
}

#[test]
fn a_node_that_only_runs_pods_leaves_the_rest_to_others() {
    let options = Options {
        node: Node::PodsOnly,
        ..Options::default()
    };
    play(options, async |api| {
        api.settle().await;
        let node = api.get(&format!("{NODES}/windlass-node")).await;
        assert_eq!(
            node["spec"]["taints"][0]["key"],
            "node.kubernetes.io/not-ready"
        );
        let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/windlass-node";
        let renewed = api.get(lease).await["spec"]["renewTime"].clone();
        api.create(PODS, &pod("waits")).await;
        let mut bound = pod("bound");
        bound["spec"]["nodeName"] = "windlass-node".into();
        api.create(PODS, &bound).await;
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "a" },
            "spec": { "template": { "spec": {
                "restartPolicy": "Never", "containers": [{ "name": "main", "image": "nginx" }],
            } } },
        });
        api.create("/apis/batch/v1/namespaces/default/jobs", &job)
            .await;
        api.wait(Duration::from_secs(15)).await;
        let runs = api.get(&format!("{PODS}/bound")).await;
        assert_eq!(runs["status"]["phase"], "Running", "{runs}");
        let waits = api.get(&format!("{PODS}/waits")).await;
        assert_eq!(waits["status"].get("conditions"), None, "{waits}");
        let job = api.get("/apis/batch/v1/namespaces/default/jobs/a").await;
        assert_eq!(job["status"].get("active"), None, "{job}");
        assert_ne!(api.get(lease).await["spec"]["renewTime"], renewed);
    });
}

#[test]
fn the_node_gives_way_to_who_leads_by_a_lease() {
    let options = Options {
        node: Node::Full,
        ..Options::default()
    };
    play(options, async |api| {
        api.settle().await;
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "kube-scheduler" },
            "spec": {
                "holderIdentity": "a", "leaseDurationSeconds": 30, "renewTime": "2026-11-21T09:30:00.000000Z",
            },
        });
        api.create(
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
            &lease,
        )
        .await;
        api.create(PODS, &pod("a")).await;
        api.wait(Duration::from_secs(10)).await;
        assert_eq!(
            api.get(&format!("{PODS}/a")).await["spec"].get("nodeName"),
            None
        );
        api.wait(Duration::from_secs(30)).await;
        // Something happens to the node after the Lease has ended.
        let label = json!({ "metadata": { "labels": { "a": "b" } } });
        api.patch(&format!("{NODES}/windlass-node"), &label).await;
        api.settle().await;
        let runs = api.get(&format!("{PODS}/a")).await;
        assert_eq!(runs["spec"]["nodeName"], "windlass-node");
    });
}
