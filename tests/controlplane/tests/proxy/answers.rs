//! Requests: counted, passed on, held, refused, and answered with rubbish.

use futures::io::AsyncReadExt;
use hyper::Method;
use k8s_openapi::api::core::v1::ConfigMap;
use windlass_controlplane::{Fault, FaultProxy, Identity, RequestHead, RequestRecord, Rule};

use crate::{CONTROL_PLANE, DEADLINE, Scene, create};

fn code(outcome: Result<ConfigMap, kube::Error>) -> Option<u16> {
    match outcome {
        Err(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}

#[tokio::test]
async fn requests_are_counted_by_rule_and_logged_in_order() {
    let scene = Scene::new().await;
    scene
        .proxy
        .set_rules([Rule::counter("writes", RequestHead::is_write)]);
    scene.create("a").await.unwrap();
    scene.maps().get("a").await.unwrap();
    scene.create("b").await.unwrap();
    assert_eq!(scene.proxy.count("writes"), 2);
    let log = scene.proxy.log();
    let seen: Vec<_> = log
        .iter()
        .map(|it| (it.index, &it.method, it.status))
        .collect();
    assert_eq!(
        seen,
        [
            (0, &Method::POST, Some(201)),
            (1, &Method::GET, Some(200)),
            (2, &Method::POST, Some(201)),
        ]
    );
}

#[tokio::test]
async fn a_made_up_status_does_not_reach_the_server() {
    let scene = Scene::new().await;
    let broken = Fault::Status {
        code: 500,
        retry_after: None,
    };
    scene
        .proxy
        .set_rules([Rule::new("broken", RequestHead::is_write, broken).nth(2)]);
    scene.create("a").await.unwrap();
    assert_eq!(code(scene.create("b").await), Some(500));
    scene.create("c").await.unwrap();
    assert_eq!(scene.names().await, ["a", "c"]);
}

#[tokio::test]
async fn a_client_that_is_told_to_come_back_later_does() {
    let scene = Scene::new().await;
    let busy = Fault::Status {
        code: 429,
        retry_after: Some(1),
    };
    scene
        .proxy
        .set_rules([Rule::new("busy", RequestHead::is_write, busy).times(2)]);
    scene.create("a").await.unwrap();
    let log = scene.proxy.log();
    let statuses: Vec<_> = log.iter().map(|it| (it.status, it.upstream)).collect();
    assert_eq!(
        statuses,
        [(Some(429), None), (Some(429), None), (Some(201), Some(201))]
    );
}

#[tokio::test]
async fn answers_that_are_no_json_or_are_cut_are_errors_to_the_client() {
    let scene = Scene::new().await;
    scene.create("a").await.unwrap();
    for fault in [
        Fault::Html(502),
        Fault::Html(200),
        Fault::CutBody(10),
        Fault::Disconnect,
    ] {
        scene
            .proxy
            .set_rules([Rule::new("spoil", |_| true, fault).nth(1)]);
        assert!(scene.maps().get("a").await.is_err(), "{fault:?}");
        assert!(scene.maps().get("a").await.is_ok(), "after {fault:?}");
    }
}

#[tokio::test]
async fn an_endless_body_goes_on_until_the_client_has_had_enough() {
    let scene = Scene::new().await;
    scene
        .proxy
        .set_rules([Rule::new("endless", |_| true, Fault::EndlessBody).nth(1)]);
    let request = hyper::Request::get("/api/v1/configmaps")
        .body(Vec::new())
        .unwrap();
    let mut body = Box::pin(scene.through.request_stream(request).await.unwrap());
    let mut piece = vec![0; 1024];
    for _ in 0..10_000 {
        body.read_exact(&mut piece).await.unwrap();
    }
    drop(body);
    scene.create("a").await.unwrap();
}

#[tokio::test]
async fn a_held_request_waits_until_it_is_let_go() {
    let scene = Scene::new().await;
    scene.proxy.set_rules([
        Rule::new("hold", RequestHead::is_write, Fault::Hold).nth(1),
        Rule::new("answer", RequestHead::is_write, Fault::HoldAnswer).nth(2),
    ]);
    let maps = scene.maps();
    let held = tokio::spawn(async move { create(&maps, "a").await });
    scene
        .proxy
        .wait_until(DEADLINE, "it came", |log| log.len() == 1)
        .await
        .unwrap();
    assert!(scene.names().await.is_empty());
    scene.proxy.release();
    held.await.unwrap().unwrap();

    let maps = scene.maps();
    let held = tokio::spawn(async move { create(&maps, "b").await });
    let applied = |log: &[RequestRecord]| {
        log.get(1)
            .is_some_and(|record| record.upstream == Some(201))
    };
    scene
        .proxy
        .wait_until(DEADLINE, "it was applied", applied)
        .await
        .unwrap();
    assert_eq!(scene.names().await, ["a", "b"]);
    assert!(!held.is_finished());
    scene.proxy.release();
    held.await.unwrap().unwrap();
}

#[tokio::test]
async fn clients_may_show_their_own_tokens() {
    let proxy = FaultProxy::start(&CONTROL_PLANE, &Identity::Anonymous).unwrap();
    let account = CONTROL_PLANE
        .service_account("default", "default")
        .await
        .unwrap();
    let kubeconfig = CONTROL_PLANE.kubeconfig_through(&proxy, &account).unwrap();
    let arguments = [
        "auth",
        "whoami",
        "--output=jsonpath={.status.userInfo.username}",
    ];
    let output = CONTROL_PLANE
        .kubectl_with(&kubeconfig, &arguments, "")
        .await
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "system:serviceaccount:default:default"
    );
    assert!(!proxy.log().is_empty());
}
