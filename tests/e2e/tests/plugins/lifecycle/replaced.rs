//! Two Greetings of one name in turn are two.

use anyhow::{Context, Result};
use serde_json::json;
use windlass_e2e::{
    DEADLINE, Fault, FaultProxy, Greeter, RequestHead, Rule, Scene, eventually, for_each_greeter,
};

use crate::lifecycle::{read, uid};

for_each_greeter!(Result<()> =>
    a_greeting_made_again_under_its_name_is_another_one,
    a_pass_whose_greeting_is_replaced_meanwhile_does_not_touch_the_new_one,
    a_pass_whose_greeting_is_deleted_meanwhile_does_not_fail,
);

async fn a_greeting_made_again_under_its_name_is_another_one(greeter: Greeter) -> Result<()> {
    let scene = Scene::greeter(greeter, "again").await?;
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

async fn a_pass_whose_greeting_is_replaced_meanwhile_does_not_touch_the_new_one(
    greeter: Greeter,
) -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy(greeter, "replaced").await?;
    let cluster = &scene.cluster;
    delete_before_its_report(&scene, &proxy).await?;
    let new = cluster.greet("ada", json!({ "name": "New" })).await?;
    let code = release(&proxy).await?;
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

async fn a_pass_whose_greeting_is_deleted_meanwhile_does_not_fail(greeter: Greeter) -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy(greeter, "absent").await?;
    delete_before_its_report(&scene, &proxy).await?;
    let code = release(&proxy).await?;
    assert_eq!(code, 404, "the old report is about the old object");
    let pass = scene.host.logs("the pass has ended", |line| {
        line.field("step") == "reconcile" && !line.field("outcome").is_empty()
    });
    let pass = pass.await?;
    assert_eq!(pass.field("outcome"), "rest", "{}", pass.message);
    Ok(())
}

/// Makes `ada`, and deletes it by force while the host is about to report of it: the host cannot know in time.
async fn delete_before_its_report(scene: &Scene, proxy: &FaultProxy) -> Result<()> {
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
    Ok(())
}

/// Lets the report go on to the API server. Returns what that says.
async fn release(proxy: &FaultProxy) -> Result<u16> {
    proxy.release();
    let held = async || {
        let log = proxy.log();
        let held = log.iter().find(|record| record.rule.is_some());
        Ok(held.and_then(|held| held.upstream))
    };
    eventually(DEADLINE, "the old report is answered", held).await
}
