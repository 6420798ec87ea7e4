//! Kill points: the host dies at the request a test names, and not a request later.

use std::sync::atomic::Ordering;

use windlass_controlplane::{Fault, RequestHead, Rule};

use crate::{DEADLINE, Scene, create};

#[tokio::test]
async fn a_kill_before_a_request_leaves_no_trace_of_it() {
    let scene = Scene::new().await;
    let kills = scene.count_kills();
    scene
        .proxy
        .set_rules([Rule::new("kill", RequestHead::is_write, Fault::KillBefore).nth(2)]);
    scene.create("a").await.unwrap();
    assert!(scene.create("b").await.is_err());
    scene.proxy.wait_for_kills(DEADLINE, 1).await.unwrap();
    assert_eq!(kills.load(Ordering::SeqCst), 1);
    assert_eq!(scene.names().await, ["a"]);
    scene.create("c").await.unwrap();
}

#[tokio::test]
async fn a_kill_after_a_request_was_applied_loses_only_the_answer() {
    let scene = Scene::new().await;
    let kills = scene.count_kills();
    let rule = Rule::new("kill", RequestHead::is_write, Fault::KillAfterApplied).nth(2);
    scene.proxy.set_rules([rule]);
    scene.create("a").await.unwrap();
    assert!(scene.create("b").await.is_err());
    scene.proxy.wait_for_kills(DEADLINE, 1).await.unwrap();
    assert_eq!(kills.load(Ordering::SeqCst), 1);
    assert_eq!(scene.names().await, ["a", "b"]);
    let log = scene.proxy.log();
    assert_eq!((log[1].upstream, log[1].status), (Some(201), None));
}

#[tokio::test]
async fn a_kill_after_an_answer_comes_when_the_client_has_it() {
    let scene = Scene::new().await;
    let kills = scene.count_kills();
    let rule = Rule::new("kill", RequestHead::is_write, Fault::KillAfterAnswer).nth(2);
    scene.proxy.set_rules([rule]);
    scene.create("a").await.unwrap();
    assert_eq!(scene.create("b").await.unwrap().metadata.name.unwrap(), "b");
    scene.proxy.wait_for_kills(DEADLINE, 1).await.unwrap();
    assert_eq!(kills.load(Ordering::SeqCst), 1);
    assert_eq!(scene.names().await, ["a", "b"]);
}

#[tokio::test]
async fn no_request_of_a_dying_host_gets_past_the_kill_point() {
    let scene = Scene::new().await;
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = parking_lot::Mutex::new(released);
    scene.proxy.on_kill(move || released.lock().recv().unwrap());
    scene
        .proxy
        .set_rules([Rule::new("kill", RequestHead::is_write, Fault::KillBefore).nth(3)]);
    let writes = (0..20).map(|n| {
        let maps = scene.maps();
        tokio::spawn(async move { create(&maps, &format!("m{n}")).await })
    });
    let writes: Vec<_> = writes.collect();
    for write in writes {
        let _ = write.await.unwrap();
    }
    assert_eq!(scene.proxy.count("kill"), 3);
    assert!(scene.names().await.len() <= 2);
    assert!(scene.create("still-dying").await.is_err());
    release.send(()).unwrap();
    scene.proxy.wait_for_kills(DEADLINE, 1).await.unwrap();
    scene.create("reborn").await.unwrap();
}
