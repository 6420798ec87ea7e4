//! A Greeting's life on a real control plane: made, changed, meddled with, deleted, made again.
#![expect(clippy::indexing_slicing, reason = "JSON that is not there is null")]

use anyhow::{Context, Result, bail, ensure};
use kube::api::{DeleteParams, DynamicObject, PropagationPolicy};
use serde_json::{Value, json};
use windlass_e2e::{
    ALL, Acknowledge, Cluster, DEADLINE, Fault, FaultProxy, Host, Line, Plugins, RequestHead, Rule,
    Scene, control_plane, eventually,
};

/// The greeter's finalizer.
const OURS: &str = "windlass.dev/greeter";
/// Leases that change hands while a test waits.
const SHORT_LEASE: [&str; 3] = [
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=200ms",
];

#[tokio::test]
async fn a_created_greeting_gets_children_that_it_owns_a_status_and_an_entry() -> Result<()> {
    let scene = Scene::greeter("created").await?;
    let cluster = &scene.cluster;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    let greeting = cluster.until_ready("ada").await?;
    let metadata = &greeting["metadata"];
    assert_eq!(metadata["finalizers"], json!([OURS]));
    let owner = json!([{
        "apiVersion": "examples.windlass.dev/v1",
        "kind": "Greeting",
        "name": "ada",
        "uid": metadata["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    }]);
    let map = read(cluster, "ConfigMap", "ada-greeting").await?;
    assert_eq!(map["metadata"]["ownerReferences"], owner);
    assert_eq!(map["data"], json!({ "index.html": "Hello, Ada!" }));
    let deployment = read(cluster, "Deployment", "ada-greeting").await?;
    assert_eq!(deployment["metadata"]["ownerReferences"], owner);
    assert_eq!(deployment["spec"]["replicas"], 1);
    let status = &greeting["status"];
    assert_eq!(status["observedGeneration"], metadata["generation"]);
    assert_eq!(status["text"], "Hello, Ada!");
    let ready = &status["conditions"][0];
    assert_eq!(
        (&ready["type"], &ready["status"]),
        (&json!("Ready"), &json!("True"))
    );
    assert_eq!(ready["observedGeneration"], metadata["generation"]);
    let entry = cluster
        .entry(uid(&greeting)?)
        .await?
        .context("no register entry")?;
    assert_eq!(entry.data["data"]["text"], "Hello, Ada!");
    Ok(())
}

#[tokio::test]
async fn a_changed_spec_reaches_the_children_the_status_and_the_entry() -> Result<()> {
    let scene = Scene::greeter("changed").await?;
    let cluster = &scene.cluster;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    cluster.until_ready("ada").await?;
    let changed = json!({ "spec": { "greeting": "Ahoy", "replicas": 2 } });
    cluster.patch("Greeting", "ada", changed).await?;
    let greeting = cluster.until_ready("ada").await?;
    assert_eq!(greeting["status"]["observedGeneration"], 2);
    assert_eq!(greeting["status"]["text"], "Ahoy, Ada!");
    let map = read(cluster, "ConfigMap", "ada-greeting").await?;
    assert_eq!(map["data"]["index.html"], "Ahoy, Ada!");
    let deployment = read(cluster, "Deployment", "ada-greeting").await?;
    assert_eq!(deployment["spec"]["replicas"], 2);
    let entry = cluster
        .entry(uid(&greeting)?)
        .await?
        .context("no register entry")?;
    assert_eq!(entry.data["data"]["text"], "Ahoy, Ada!");
    Ok(())
}

#[tokio::test]
async fn a_child_that_is_deleted_by_hand_is_restored() -> Result<()> {
    let scene = Scene::greeter("restored").await?;
    let cluster = &scene.cluster;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    let greeting = cluster.until_ready("ada").await?;
    for kind in ["ConfigMap", "Deployment"] {
        let before = read(cluster, kind, "ada-greeting").await?;
        cluster.delete(kind, "ada-greeting").await?;
        let restored = |child: &Value| {
            child["metadata"]["uid"] != before["metadata"]["uid"]
                && child["metadata"]["ownerReferences"][0]["uid"] == greeting["metadata"]["uid"]
        };
        cluster
            .until(kind, "ada-greeting", "is restored", restored)
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_child_that_is_edited_by_hand_is_repaired() -> Result<()> {
    let scene = Scene::greeter("repaired").await?;
    let cluster = &scene.cluster;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    cluster.until_ready("ada").await?;
    let edit = json!({ "data": { "index.html": "Boo!", "mine": "stays" } });
    cluster.patch("ConfigMap", "ada-greeting", edit).await?;
    let map = cluster
        .until("ConfigMap", "ada-greeting", "is repaired", |map| {
            map["data"]["index.html"] == "Hello, Ada!"
        })
        .await?;
    assert_eq!(
        map["data"]["mine"], "stays",
        "what is not the plugin's is left alone"
    );
    let edit = json!({ "spec": { "replicas": 7 } });
    cluster.patch("Deployment", "ada-greeting", edit).await?;
    cluster
        .until("Deployment", "ada-greeting", "is repaired", |deployment| {
            deployment["spec"]["replicas"] == 1
        })
        .await?;
    let edit = json!({ "metadata": { "ownerReferences": null } });
    cluster.patch("ConfigMap", "ada-greeting", edit).await?;
    cluster
        .until("ConfigMap", "ada-greeting", "is owned again", |map| {
            map["metadata"]["ownerReferences"][0]["name"] == "ada"
        })
        .await?;
    Ok(())
}

#[tokio::test]
async fn what_is_there_and_right_is_not_written_again() -> Result<()> {
    let scene = with_watched_register("quiet").await?;
    let cluster = &scene.cluster;
    let spec = json!({ "name": "Ada", "replicas": 0 });
    cluster.greet("ada", spec).await?;
    cluster.until_ready("ada").await?;
    // The Deployment's own controller writes into it until it is complete.
    cluster
        .until("Deployment", "ada-greeting", "is complete", |deployment| {
            let conditions = deployment["status"]["conditions"].as_array();
            let complete = |condition: &Value| condition["reason"] == "NewReplicaSetAvailable";
            conditions.is_some_and(|conditions| conditions.iter().any(complete))
        })
        .await?;
    let passes = async |touch: String| {
        let before = scene.host.passes(&scene.greeting("ada")).len();
        let touch = json!({ "metadata": { "annotations": { "touch": touch } } });
        cluster.patch("Greeting", "ada", touch).await?;
        eventually(DEADLINE, "a pass follows the touch", async || {
            let passes = scene.host.passes(&scene.greeting("ada")).split_off(before);
            Ok((!passes.is_empty()).then_some(passes))
        })
        .await
    };
    let requests = |passes: &[Line]| {
        let requests = passes.iter().map(|pass| pass.number("requests"));
        requests.collect::<Vec<_>>()
    };
    let mut touches = 0;
    eventually(DEADLINE, "a pass finds everything right", async || {
        touches += 1;
        let passes = passes(format!("{touches}")).await?;
        let found = requests(&passes);
        ensure!(found == [Some(0)], "{found:?} requests");
        Ok(Some(()))
    })
    .await?;
    let writes_before = writes(&scene, touches).await?.len();
    let last = passes("last".to_owned()).await?;
    assert_eq!(requests(&last), [Some(0)], "{last:#?}");
    assert!(last.iter().all(|pass| pass.field("outcome") == "rest"));
    cluster
        .patch(
            "Greeting",
            "ada",
            json!({ "metadata": { "annotations": { "touch": "end" } } }),
        )
        .await?;
    let written = writes(&scene, "end").await?.split_off(writes_before);
    assert!(written.is_empty(), "{written:#?}");
    Ok(())
}

/// The greeter, which may watch the register as well. An entry that it does not watch it applies in
/// every pass, since it cannot know that it is still there.
async fn with_watched_register(prefix: &str) -> Result<Scene> {
    let cluster = Cluster::new(prefix).await?;
    let plugins = Plugins::new(&cluster.namespace)?.component("greeter", "greeter.wasm")?;
    let resources = &["greetings", "greetings/status"];
    let primary = &["get", "list", "watch", "patch"];
    let document = json!({
        "source": { "file": "greeter.wasm" },
        "grants": [
            plugins.grant("examples.windlass.dev", resources, primary),
            plugins.grant("apps", &["deployments"], ALL).acknowledged(),
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ALL, "namespaces": [cluster.namespace, "greetings"] },
        ],
    });
    Scene::start(cluster, plugins.document("greeter", &document)?)
}

/// What the host wrote for Greetings until the test touched `ada` with `touch`, by the audit log.
async fn writes(scene: &Scene, touch: impl std::fmt::Display) -> Result<Vec<String>> {
    let touch = json!(touch.to_string());
    let events = eventually(DEADLINE, "the touch is in the audit log", async || {
        let events = control_plane()?.audit()?;
        let seen = events.iter().any(|event| {
            let body = event.request_object.as_ref();
            let object = event.object_ref.as_ref();
            object.is_some_and(|object| object.namespace == scene.cluster.namespace)
                && body.is_some_and(|body| body["metadata"]["annotations"]["touch"] == touch)
        });
        Ok(seen.then_some(events))
    })
    .await?;
    let user = scene.user();
    let of_host = events.into_iter().filter(|event| {
        let resource = event.object_ref.as_ref().map(|object| &*object.resource);
        event.user.username == user
            && !matches!(event.verb.as_str(), "get" | "list" | "watch")
            && !matches!(resource, Some("leases" | "events"))
    });
    Ok(of_host
        .map(|event| format!("{} {}", event.verb, event.request_uri))
        .collect())
}

#[tokio::test]
async fn deleted_in_the_background_it_is_finalized_and_its_children_are_collected() -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy("background").await?;
    let deletion = Deletion::begin(&scene, &proxy, PropagationPolicy::Background).await?;
    assert_eq!(deletion.finalizers, json!([OURS]));
    assert!(deletion.children_remain().await?);
    let cluster = deletion.end().await?;
    cluster.until_gone("ConfigMap", "ada-greeting").await?;
    cluster.until_gone("Deployment", "ada-greeting").await
}

#[tokio::test]
async fn deleted_in_the_foreground_it_outlives_its_children_and_is_finalized() -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy("foreground").await?;
    let deletion = Deletion::begin(&scene, &proxy, PropagationPolicy::Foreground).await?;
    assert_eq!(deletion.finalizers, json!([OURS, "foregroundDeletion"]));
    // The garbage collector does its part while ours is still open.
    let cluster = &scene.cluster;
    cluster.until_gone("ConfigMap", "ada-greeting").await?;
    cluster.until_gone("Deployment", "ada-greeting").await?;
    cluster
        .until("Greeting", "ada", "waits for us alone", |greeting| {
            greeting["metadata"]["finalizers"] == json!([OURS])
        })
        .await?;
    deletion.end().await?;
    Ok(())
}

#[tokio::test]
async fn deleted_as_an_orphan_maker_it_is_finalized_and_its_children_stay() -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy("orphan").await?;
    let deletion = Deletion::begin(&scene, &proxy, PropagationPolicy::Orphan).await?;
    assert_eq!(deletion.finalizers, json!([OURS, "orphan"]));
    let cluster = deletion.end().await?;
    for kind in ["ConfigMap", "Deployment"] {
        cluster
            .until(kind, "ada-greeting", "is an orphan", |child| {
                child["metadata"].get("ownerReferences").is_none()
            })
            .await?;
    }
    Ok(())
}

/// A deletion that is held in the middle of `finalize`: the entry is about to go.
struct Deletion<'a> {
    scene: &'a Scene,
    proxy: &'a FaultProxy,
    uid: String,
    /// What the API server answered that the object waits for.
    finalizers: Value,
}

impl<'a> Deletion<'a> {
    /// Makes a Greeting, and deletes it up to the moment at which its entry would go.
    async fn begin(
        scene: &'a Scene,
        proxy: &'a FaultProxy,
        propagation: PropagationPolicy,
    ) -> Result<Self> {
        let cluster = &scene.cluster;
        cluster.greet("ada", json!({ "name": "Ada" })).await?;
        let greeting = cluster.until_ready("ada").await?;
        let takes_entry_off = |head: &RequestHead| {
            head.method == "DELETE" && head.path.contains("/namespaces/greetings/configmaps/")
        };
        proxy.set_rules([Rule::new("entry", takes_entry_off, Fault::Hold)]);
        let options = DeleteParams {
            propagation_policy: Some(propagation),
            ..DeleteParams::default()
        };
        let (code, answer) = cluster.delete_with("Greeting", "ada", &options).await?;
        // Not 202: the API server answers that only to the old field `orphanDependents: false`.
        assert_eq!(code, 200);
        let finalizers = answer["metadata"]["finalizers"].clone();
        eventually(DEADLINE, "finalize runs", async || {
            Ok((proxy.count("entry") > 0).then_some(()))
        })
        .await?;
        let deleted = read(cluster, "Greeting", "ada").await?;
        assert!(deleted["metadata"]["deletionTimestamp"].is_string());
        let uid = uid(&greeting)?.to_owned();
        assert!(cluster.entry(&uid).await?.is_some());
        let waits_for = deleted["metadata"]["finalizers"].as_array();
        assert!(waits_for.is_some_and(|names| names.contains(&json!(OURS))));
        Ok(Self {
            scene,
            proxy,
            uid,
            finalizers,
        })
    }

    async fn children_remain(&self) -> Result<bool> {
        let cluster = &self.scene.cluster;
        Ok(cluster.get("ConfigMap", "ada-greeting").await?.is_some()
            && cluster.get("Deployment", "ada-greeting").await?.is_some())
    }

    /// Lets `finalize` go on; entry and object go.
    async fn end(self) -> Result<&'a Cluster> {
        self.proxy.clear();
        let cluster = &self.scene.cluster;
        cluster.until_gone("Greeting", "ada").await?;
        assert!(cluster.entry(&self.uid).await?.is_none(), "the entry stays");
        let object = self.scene.greeting("ada");
        let finalized = |line: &Line| line.is_pass(&object, "finalize", "rest");
        self.scene
            .host
            .logs("finalize is in the log", finalized)
            .await?;
        Ok(cluster)
    }
}

#[tokio::test]
async fn a_greeting_made_again_under_its_name_is_another_one() -> Result<()> {
    let scene = Scene::greeter("again").await?;
    let cluster = &scene.cluster;
    let mut seen: Vec<String> = Vec::new();
    for round in 0..5 {
        let name = format!("Ada {round}");
        // The children of the one before may still be there, or be on their way out.
        cluster
            .greet("ada", json!({ "name": name, "replicas": 0 }))
            .await?;
        let greeting = cluster.until_ready("ada").await?;
        let uid = uid(&greeting)?.to_owned();
        for kind in ["ConfigMap", "Deployment"] {
            cluster
                .until(kind, "ada-greeting", "has its new owner alone", |child| {
                    let owners = child["metadata"]["ownerReferences"].as_array();
                    let uids = owners.map(|owners| owners.iter().map(|owner| &owner["uid"]));
                    uids.is_some_and(|uids| uids.eq([&json!(uid)]))
                        && child["metadata"].get("deletionTimestamp").is_none()
                })
                .await?;
        }
        let map = read(cluster, "ConfigMap", "ada-greeting").await?;
        assert_eq!(map["data"]["index.html"], format!("Hello, {name}!"));
        assert!(cluster.entry(&uid).await?.is_some());
        for old in &seen {
            assert!(
                cluster.entry(old).await?.is_none(),
                "the entry of {old} stays"
            );
        }
        cluster.delete("Greeting", "ada").await?;
        cluster.until_gone("Greeting", "ada").await?;
        seen.push(uid);
    }
    Ok(())
}

#[tokio::test]
async fn a_pass_whose_greeting_is_replaced_meanwhile_does_not_touch_the_new_one() -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy("replaced").await?;
    let cluster = &scene.cluster;
    let status =
        |head: &RequestHead| head.method == "PATCH" && head.path.ends_with("/greetings/ada/status");
    proxy.set_rules([Rule::new("status", status, Fault::Hold).nth(1)]);
    cluster.greet("ada", json!({ "name": "Old" })).await?;
    eventually(DEADLINE, "a pass is about to report", async || {
        Ok((proxy.count("status") > 0).then_some(()))
    })
    .await?;
    // Somebody takes our finalizer off by force; the host cannot know in time.
    let force = json!({ "metadata": { "finalizers": null } });
    cluster.patch("Greeting", "ada", force).await?;
    cluster.delete("Greeting", "ada").await?;
    let new = cluster.greet("ada", json!({ "name": "New" })).await?;
    proxy.release();
    let held = async || {
        let log = proxy.log();
        let held = log.iter().find(|record| record.rule.is_some());
        Ok(held.and_then(|held| held.upstream))
    };
    let code = eventually(DEADLINE, "the old report is answered", held).await?;
    assert_eq!(code, 409, "the old report is about the old object");
    let greeting = cluster.until_ready("ada").await?;
    assert_eq!(uid(&greeting)?, new.metadata.uid.context("no UID")?);
    assert_eq!(greeting["status"]["text"], "Hello, New!");
    for kind in ["ConfigMap", "Deployment"] {
        cluster
            .until(kind, "ada-greeting", "has its new owner", |child| {
                child["metadata"]["ownerReferences"][0]["uid"] == greeting["metadata"]["uid"]
            })
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_pass_has_one_line_in_the_log_which_counts_its_requests() -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy("lines").await?;
    let cluster = &scene.cluster;
    let names = ["ada", "bob", "eve"];
    for name in names {
        cluster
            .greet(name, json!({ "name": name, "replicas": 0 }))
            .await?;
    }
    for name in names {
        cluster.until_ready(name).await?;
        cluster.delete("Greeting", name).await?;
    }
    for name in names {
        cluster.until_gone("Greeting", name).await?;
        let object = scene.greeting(name);
        let last = |line: &Line| line.is_pass(&object, "finalize", "rest");
        scene.host.logs("the last pass is in the log", last).await?;
        let passes = scene.host.passes(&object);
        let of_step = |step| {
            let of_step = passes.iter().filter(|pass| pass.field("step") == step);
            of_step.count()
        };
        assert_eq!(of_step("protect"), 1, "{passes:#?}");
        assert_eq!(of_step("finalize"), 1, "{passes:#?}");
        assert!(
            passes.iter().all(|pass| {
                pass.field("plugin") == "greeter"
                    && pass.fields["elapsed_ms"].is_number()
                    && pass.fields["cpu_ms"].is_number()
                    && pass.fields["memory"].is_number()
            }),
            "{passes:#?}"
        );
    }
    scene.host.terminate()?;
    scene.host.ended().await?;
    // The host's own requests about a Greeting put the finalizer on and take it off.
    let log = proxy.log();
    let named = log.iter().filter(|record| {
        let of_guest = ["/configmaps/", "/deployments/"];
        record.path.ends_with("/status") || of_guest.iter().any(|part| record.path.contains(part))
    });
    let counted: u64 = names
        .iter()
        .flat_map(|name| scene.host.passes(&scene.greeting(name)))
        .filter_map(|pass| pass.number("requests"))
        .sum();
    assert_eq!(named.count(), usize::try_from(counted)?);
    Ok(())
}

#[tokio::test]
async fn after_sigterm_a_running_pass_ends_and_the_host_exits_with_0() -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy("drain").await?;
    hold_a_pass(&scene, &proxy).await?;
    scene.host.terminate()?;
    scene.host.says("stopping").await?;
    assert!(scene.host.is_running());
    proxy.release();
    let status = scene.host.ended().await?;
    assert_eq!(status.code(), Some(0), "{:#?}", scene.host.log());
    let object = scene.greeting("ada");
    scene
        .host
        .logs("the pass has ended well", |line| {
            line.is_pass(&object, "reconcile", "rest")
        })
        .await?;
    scene.cluster.until_ready("ada").await?;
    assert_eq!(holder(&scene.cluster).await?, "", "the lease is given up");
    Ok(())
}

#[tokio::test]
async fn a_second_sigterm_aborts_a_running_pass() -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy("abort").await?;
    hold_a_pass(&scene, &proxy).await?;
    scene.host.terminate()?;
    scene.host.says("stopping").await?;
    scene.host.terminate()?;
    scene.host.says("aborting running passes").await?;
    let status = scene.host.ended().await?;
    assert_eq!(status.code(), Some(0), "{:#?}", scene.host.log());
    let greeting = read(&scene.cluster, "Greeting", "ada").await?;
    assert!(greeting.get("status").is_none(), "the pass did not end");
    Ok(())
}

/// Makes a Greeting, and holds the pass that is about to report its status.
async fn hold_a_pass(scene: &Scene, proxy: &FaultProxy) -> Result<()> {
    let status = |head: &RequestHead| head.path.ends_with("/greetings/ada/status");
    proxy.set_rules([Rule::new("status", status, Fault::Hold)]);
    let spec = json!({ "name": "Ada" });
    scene.cluster.greet("ada", spec).await?;
    eventually(DEADLINE, "a pass is about to report", async || {
        Ok((proxy.count("status") > 0).then_some(()))
    })
    .await
}

#[tokio::test]
async fn of_two_hosts_one_runs_the_plugin_and_the_other_takes_over_when_it_stops() -> Result<()> {
    let two = Two::hosts("two-stop").await?;
    two.scene.host.terminate()?;
    assert_eq!(two.scene.host.ended().await?.code(), Some(0));
    two.second_takes_over().await
}

#[tokio::test]
async fn of_two_hosts_one_runs_the_plugin_and_the_other_takes_over_when_it_dies() -> Result<()> {
    let two = Two::hosts("two-die").await?;
    two.scene.host.kill();
    two.second_takes_over().await
}

/// Two hosts with the same plugin: the scene's own came first.
struct Two {
    scene: Scene,
    second: Host,
}

impl Two {
    /// Starts two hosts; the first one has the lease and makes a Greeting ready.
    async fn hosts(prefix: &str) -> Result<Self> {
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
        let first = [&SHORT_LEASE[..], &["--identity=first"]].concat();
        let scene = Scene::start_with(cluster, plugins, &first)?;
        scene.host.says("reconciling").await?;
        let second = scene.another_host(&[&SHORT_LEASE[..], &["--identity=second"]].concat())?;
        let waits = second
            .says("waiting: another host runs this plugin")
            .await?;
        assert_eq!(waits.field("holder"), "first");
        scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
        scene.cluster.until_ready("ada").await?;
        assert!(second.passes(&scene.greeting("ada")).is_empty());
        Ok(Self { scene, second })
    }

    async fn second_takes_over(self) -> Result<()> {
        let cluster = &self.scene.cluster;
        self.second.says("reconciling").await?;
        assert_eq!(holder(cluster).await?, "second");
        cluster.greet("bob", json!({ "name": "Bob" })).await?;
        cluster.until_ready("bob").await?;
        let bob = self.scene.greeting("bob");
        ensure!(!self.second.passes(&bob).is_empty());
        ensure!(self.scene.host.passes(&bob).is_empty());
        Ok(())
    }
}

/// Who holds the greeter's lease.
async fn holder(cluster: &Cluster) -> Result<String> {
    let lease = read(cluster, "Lease", "windlass-greeter").await?;
    let holder = lease.pointer("/spec/holderIdentity");
    Ok(holder
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned())
}

async fn read(cluster: &Cluster, kind: &str, name: &str) -> Result<Value> {
    let object: Option<DynamicObject> = cluster.get(kind, name).await?;
    match object {
        Some(object) => Ok(serde_json::to_value(object)?),
        None => bail!("there is no {kind} {name}"),
    }
}

fn uid(object: &Value) -> Result<&str> {
    object["metadata"]["uid"].as_str().context("no UID")
}
