use super::*;

const PODS: &str = "/api/v1/namespaces/default/pods";
const NODE: &str = "/api/v1/nodes/windlass-node";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

fn node(steps: impl AsyncFnOnce(&Api)) {
    let options = Options {
        node: Node::Full,
        job_duration: Duration::from_secs(2),
        ..Options::default()
    };
    play(options, steps);
}

fn pod(name: &str, cpu: &str) -> Value {
    let requests = json!({ "requests": { "cpu": cpu } });
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "nginx", "resources": requests }] },
    })
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let all = object["status"]["conditions"].as_array();
    let found = all.into_iter().flatten().find(|held| held["type"] == kind);
    found.unwrap_or(&Value::Null)
}

fn taints(node: &Value) -> Vec<&str> {
    let taints = node["spec"]["taints"].as_array();
    let keys = taints
        .into_iter()
        .flatten()
        .map(|taint| taint["key"].as_str().unwrap());
    keys.collect()
}

/// Why a pod is on no node, as it says itself, and as its Events do.
async fn refusals(api: &Api, name: &str) -> (String, Vec<String>) {
    let waits = api.get(&format!("{PODS}/{name}")).await;
    assert_eq!(waits["spec"].get("nodeName"), None, "{waits}");
    assert_eq!(waits["status"]["phase"], "Pending");
    let scheduled = condition(&waits, "PodScheduled");
    assert_eq!(
        (&scheduled["status"], &scheduled["reason"]),
        (&json!("False"), &json!("Unschedulable")),
        "{waits}"
    );
    let events = api.get("/api/v1/namespaces/default/events").await;
    let events = events["items"].as_array().unwrap().iter();
    let own = events.filter(|event| event["involvedObject"]["name"] == name);
    let said = own.map(|event| {
        assert_eq!(
            (&event["reason"], &event["type"]),
            (&json!("FailedScheduling"), &json!("Warning"))
        );
        event["message"].as_str().unwrap().to_owned()
    });
    (
        scheduled["message"].as_str().unwrap().to_owned(),
        said.collect(),
    )
}

const NOT_HELPFUL: &str = "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not \
                           helpful for scheduling.";

#[test]
fn a_pod_that_asks_for_too_much_waits_and_says_so_once() {
    node(async |api| {
        api.settle().await;
        api.create(PODS, &pod("large", "5000")).await;
        api.settle().await;
        // A change that does not help is told of no second time.
        api.patch(NODE, &json!({ "metadata": { "labels": { "a": "b" } } }))
            .await;
        api.settle().await;
        let (message, events) = refusals(api, "large").await;
        assert_eq!(
            message,
            format!("0/1 nodes are available: 1 Insufficient cpu. {NOT_HELPFUL}")
        );
        assert_eq!(events, [message]);
    });
}

#[test]
fn a_pod_gets_the_room_of_one_that_has_gone() {
    node(async |api| {
        api.settle().await;
        api.create(PODS, &pod("first", "5")).await;
        api.create(PODS, &pod("second", "5")).await;
        api.settle().await;
        let first = api.get(&format!("{PODS}/first")).await;
        assert_eq!(first["status"]["phase"], "Running");
        let (message, _) = refusals(api, "second").await;
        assert!(
            message.ends_with("1 No preemption victims found for incoming pod."),
            "{message}"
        );
        api.delete(&format!("{PODS}/first"), "Background").await;
        api.wait(Duration::from_secs(3)).await;
        let second = api.get(&format!("{PODS}/second")).await;
        assert_eq!(second["status"]["phase"], "Running", "{second}");
    });
}

#[test]
fn cordons_and_taints_keep_pods_away_until_they_go() {
    node(async |api| {
        api.settle().await;
        assert!(taints(&api.get(NODE).await).is_empty());
        api.patch(NODE, &json!({ "spec": { "unschedulable": true } }))
            .await;
        api.settle().await;
        assert_eq!(
            taints(&api.get(NODE).await),
            ["node.kubernetes.io/unschedulable"]
        );
        api.create(PODS, &pod("a", "1")).await;
        api.settle().await;
        let (message, _) = refusals(api, "a").await;
        let cordoned = "0/1 nodes are available: 1 node(s) were unschedulable.";
        assert_eq!(message, format!("{cordoned} {NOT_HELPFUL}"));
        let taint = json!([{ "key": "a", "value": "b", "effect": "NoSchedule" }]);
        let tainted = json!({ "spec": { "unschedulable": null, "taints": taint } });
        api.patch(NODE, &tainted).await;
        api.settle().await;
        let (message, _) = refusals(api, "a").await;
        let untolerated = "0/1 nodes are available: 1 node(s) had untolerated taint(s).";
        assert_eq!(message, format!("{untolerated} {NOT_HELPFUL}"));
        assert_eq!(taints(&api.get(NODE).await), ["a"]);
        api.patch(NODE, &json!({ "spec": { "taints": null } }))
            .await;
        api.wait(Duration::from_secs(2)).await;
        let runs = api.get(&format!("{PODS}/a")).await;
        assert_eq!(runs["status"]["phase"], "Running", "{runs}");
        assert_eq!(condition(&runs, "PodScheduled")["status"], "True");
    });
}

fn job(name: &str, deadline: Option<i64>, selector: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name },
        "spec": {
            "activeDeadlineSeconds": deadline,
            "template": { "spec": {
                "restartPolicy": "Never", "nodeSelector": selector,
                "containers": [{ "name": "main", "image": "nginx" }],
            } },
        },
    })
}

#[test]
fn a_job_whose_pods_cannot_run_does_not_complete() {
    node(async |api| {
        api.settle().await;
        let nowhere = json!({ "no": "such" });
        api.create(JOBS, &job("late", Some(5), &nowhere)).await;
        api.create(JOBS, &job("waits", None, &nowhere)).await;
        api.create(JOBS, &job("runs", Some(60), &json!({}))).await;
        api.wait(Duration::from_secs(4)).await;
        let late = api.get(&format!("{JOBS}/late")).await;
        assert_eq!(late["status"]["active"], 1, "{late}");
        let runs = api.get(&format!("{JOBS}/runs")).await;
        assert_eq!(condition(&runs, "Complete")["status"], "True");
        api.wait(Duration::from_secs(4)).await;
        let late = api.get(&format!("{JOBS}/late")).await;
        assert_eq!(
            condition(&late, "Failed")["reason"],
            "DeadlineExceeded",
            "{late}"
        );
        let waits = api.get(&format!("{JOBS}/waits")).await;
        assert_eq!(waits["status"]["active"], 1, "{waits}");
        api.patch(NODE, &json!({ "metadata": { "labels": nowhere } }))
            .await;
        api.wait(Duration::from_secs(4)).await;
        let done = api.get(&format!("{JOBS}/waits")).await;
        assert_eq!(condition(&done, "Complete")["status"], "True", "{done}");
    });
}

#[test]
fn a_job_that_changes_while_it_runs_does_not_complete_sooner() {
    node(async |api| {
        api.settle().await;
        api.create(JOBS, &job("a", None, &json!({}))).await;
        api.wait(Duration::from_secs(1)).await;
        let changed = json!({ "spec": { "backoffLimit": 3 } });
        api.patch(&format!("{JOBS}/a"), &changed).await;
        api.wait(Duration::from_secs(1)).await;
        let runs = api.get(&format!("{JOBS}/a")).await;
        assert_eq!(condition(&runs, "Complete"), &Value::Null, "{runs}");
        api.wait(Duration::from_secs(1)).await;
        let done = api.get(&format!("{JOBS}/a")).await;
        assert_eq!(condition(&done, "Complete")["status"], "True", "{done}");
    });
}

#[test]
fn a_job_with_a_pod_is_left_to_the_maker_of_the_pod_and_the_pod_ends() {
    node(async |api| {
        api.settle().await;
        let made = api.create(JOBS, &job("a", None, &json!({}))).await;
        let mut own = pod("a-1", "1");
        own["metadata"]["ownerReferences"] = json!([owner(&made)]);
        own["metadata"]["ownerReferences"][0]["controller"] = true.into();
        own["spec"]["restartPolicy"] = "Never".into();
        let mut waits = own.clone();
        waits["metadata"]["name"] = "a-2".into();
        waits["spec"]["nodeSelector"] = json!({ "no": "such" });
        api.create(PODS, &own).await;
        api.create(PODS, &waits).await;
        api.wait(Duration::from_secs(1)).await;
        let runs = api.get(&format!("{PODS}/a-1")).await;
        assert_eq!(runs["status"]["phase"], "Running");
        api.wait(Duration::from_secs(5)).await;
        let ended = api.get(&format!("{PODS}/a-1")).await;
        assert_eq!(ended["status"]["phase"], "Succeeded", "{ended}");
        refusals(api, "a-2").await;
        let left = api.get(&format!("{JOBS}/a")).await;
        assert_eq!(condition(&left, "Complete"), &Value::Null, "{left}");
    });
}

#[test]
fn a_pod_ends_when_its_deadline_has_passed() {
    node(async |api| {
        api.settle().await;
        let mut late = pod("late", "1");
        late["spec"]["activeDeadlineSeconds"] = 3.into();
        api.create(PODS, &late).await;
        api.wait(Duration::from_secs(2)).await;
        let runs = api.get(&format!("{PODS}/late")).await;
        assert_eq!(runs["status"]["phase"], "Running");
        api.wait(Duration::from_secs(2)).await;
        let ended = api.get(&format!("{PODS}/late")).await;
        let status = &ended["status"];
        assert_eq!(
            (&status["phase"], &status["reason"]),
            (&json!("Failed"), &json!("DeadlineExceeded")),
            "{ended}"
        );
    });
}

#[test]
fn a_deployment_is_ready_only_as_far_as_there_is_room() {
    node(async |api| {
        let base = "/apis/apps/v1/namespaces/default/deployments";
        let labels = json!({ "app": "web" });
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
            "spec": {
                "replicas": 3,
                "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": pod("x", "3")["spec"] },
            },
        });
        api.create(base, &object).await;
        api.wait(Duration::from_secs(5)).await;
        let stuck = api.get(&format!("{base}/web")).await;
        assert_eq!(
            (
                &stuck["status"]["readyReplicas"],
                &stuck["status"]["unavailableReplicas"]
            ),
            (&json!(2), &json!(1)),
            "{stuck}"
        );
        assert_eq!(
            condition(&stuck, "Progressing")["reason"],
            "ReplicaSetUpdated"
        );
    });
}
