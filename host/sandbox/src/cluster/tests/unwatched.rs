//! Sets of a kind that the plugin does not watch: the server is asked what is there.

use super::ownership::{CONFLICT, owner, uid_of};
use super::set::{errors, set_for};
use super::*;

const SERVICES: &str = "/api/v1/namespaces/default/services";

/// An object of a kind that the plugin does not watch.
fn service(name: &str, port: u16) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": name, "namespace": "default" },
        "spec": { "ports": [{ "port": port, "targetPort": port, "protocol": "TCP" }] },
    })
}

#[tokio::test(start_paused = true)]
async fn of_a_kind_that_is_not_watched_the_server_is_asked() {
    let world = World::new().await;
    let before = world
        .somebody("POST", SERVICES, &service("theirs", 80))
        .await;
    let both = [service("theirs", 81), service("ours", 81)];
    let answer = set_for(&world, "ada", &both).await;
    assert_eq!(errors(answer), [(Some(0), CONFLICT.to_owned())]);
    let theirs = world.read(&format!("{SERVICES}/theirs")).await.unwrap();
    assert_eq!(theirs, before);
    set_for(&world, "ada", &[service("ours", 82)])
        .await
        .unwrap();
    let ours = world.read(&format!("{SERVICES}/ours")).await.unwrap();
    assert_eq!(ours["spec"]["ports"][0]["port"], 82);
}

#[tokio::test(start_paused = true)]
async fn a_member_of_a_kind_that_is_not_watched_is_applied_by_itself_and_stays_one() {
    let world = World::new().await;
    set_for(&world, "ada", &[service("ours", 81)])
        .await
        .unwrap();
    let ada = uid_of(&world, "ada").await;
    let mut alone = service("ours", 82);
    alone["metadata"]["ownerReferences"] = owner("Greeting", "ada", &ada);
    alone["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(true);
    let mut call = world.call().await;
    call.apply(alone.to_string()).await.unwrap();
    assert_eq!(
        call.traffic().requests,
        2,
        "it is looked at, and then applied"
    );
    let ours = world.read(&format!("{SERVICES}/ours")).await.unwrap();
    assert_eq!(ours["spec"]["ports"][0]["port"], 82);
    assert_eq!(
        ours["metadata"]["labels"],
        json!({ "windlass.dev/set": "greeter" })
    );
    // To the next set it is not a stranger, after a restart either.
    let world = world.restarted().await;
    set_for(&world, "ada", &[service("ours", 83)])
        .await
        .unwrap();
    let ours = world.read(&format!("{SERVICES}/ours")).await.unwrap();
    assert_eq!(ours["spec"]["ports"][0]["port"], 83);
    // What is not the primary's is not looked at.
    let mut call = world.call().await;
    call.apply(service("other", 80).to_string()).await.unwrap();
    assert_eq!(call.traffic().requests, 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_host_looks_up_does_not_count_against_the_requests_of_a_call() {
    let world = World::new().await;
    let children: Vec<_> = (0..80)
        .map(|number| service(&format!("s{number}"), 80).to_string())
        .collect();
    let mut call = world.call().await;
    call.apply_set(children).await.unwrap();
    assert_eq!(
        call.traffic().requests,
        160,
        "each is looked at and applied"
    );
    // 20 of 100 are left to the guest.
    for number in 0..21 {
        let target = reference("v1", "ConfigMap", "none");
        let answer = call.get(target, None, Consistency::Latest).await;
        match number {
            0..20 => assert!(matches!(answer, Err(Error::NotFound)), "{answer:?}"),
            _ => assert!(matches!(answer, Err(Error::Other(_))), "{answer:?}"),
        }
    }
}
