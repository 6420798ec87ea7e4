//! Watches: passed on, held, cut and ended.

use futures::TryStreamExt;
use futures::io::AsyncBufReadExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{WatchEvent, WatchParams};
use kube::core::Request;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use windlass_controlplane::{Fault, RequestHead, RequestRecord, Rule};

use crate::{DEADLINE, Scene, create};

/// The config map of every namespace comes when its controller gets to it.
const NOT_THE_AUTHORITY: &str = "metadata.name!=kube-root-ca.crt";

/// A watch through the proxy: the names of what was added, then how it ended.
struct Watched {
    names: mpsc::UnboundedReceiver<String>,
    ended: JoinHandle<anyhow::Result<()>>,
}

impl Watched {
    async fn open(scene: &Scene) -> Self {
        let list = scene.direct.list(&Default::default()).await.unwrap();
        let version = list.metadata.resource_version.unwrap();
        let path = format!("/api/v1/namespaces/{}/configmaps", scene.namespace);
        let request = Request::new(path)
            .watch(&WatchParams::default().fields(NOT_THE_AUTHORITY), &version)
            .unwrap();
        let client = scene.through.clone();
        let (sender, names) = mpsc::unbounded_channel();
        let before = scene.proxy.log().len();
        // Not by `Api::watch`, to which a cut connection is a good end.
        let ended = tokio::spawn(async move {
            let body = client.request_stream(request.map(Vec::from)).await?;
            let mut lines = Box::pin(body.lines());
            while let Some(line) = lines.try_next().await? {
                let event: WatchEvent<ConfigMap> = serde_json::from_str(&line)?;
                if let WatchEvent::Added(map) = event {
                    let _ = sender.send(map.metadata.name.unwrap());
                }
            }
            anyhow::Ok(())
        });
        let opened = |log: &[RequestRecord]| log.len() > before && log[before].status.is_some();
        scene
            .proxy
            .wait_until(DEADLINE, "the watch is open", opened)
            .await
            .unwrap();
        Self { names, ended }
    }

    async fn next(&mut self) -> String {
        tokio::time::timeout(DEADLINE, self.names.recv())
            .await
            .unwrap()
            .unwrap()
    }

    async fn end(self) -> anyhow::Result<()> {
        tokio::time::timeout(DEADLINE, self.ended)
            .await
            .unwrap()
            .unwrap()
    }
}

#[tokio::test]
async fn a_watch_is_passed_on_event_by_event_and_can_be_cut() {
    let scene = Scene::new().await;
    let mut watch = Watched::open(&scene).await;
    for name in ["a", "b"] {
        create(&scene.direct, name).await.unwrap();
        assert_eq!(watch.next().await, name);
    }
    scene.proxy.cut_watches();
    assert!(watch.end().await.is_err());
}

#[tokio::test]
async fn a_watch_is_cut_or_ended_after_exactly_so_many_events() {
    let scene = Scene::new().await;
    for (fault, cut) in [(Fault::CutWatch(2), true), (Fault::EndWatch(2), false)] {
        scene
            .proxy
            .set_rules([Rule::new("watch", RequestHead::is_watch, fault).nth(1)]);
        let mut watch = Watched::open(&scene).await;
        let names = ["a", "b", "c"].map(|name| format!("{name}-{cut}"));
        for name in &names {
            create(&scene.direct, name).await.unwrap();
        }
        assert_eq!([watch.next().await, watch.next().await], names[..2]);
        assert_eq!(watch.names.recv().await, None);
        assert_eq!(watch.end().await.is_err(), cut);
    }
}

#[tokio::test]
async fn a_held_watch_is_silent_until_it_is_let_go() {
    let scene = Scene::new().await;
    scene.proxy.set_rules([Rule::new(
        "watch",
        RequestHead::is_watch,
        Fault::HoldWatch(1),
    )]);
    let mut held = Watched::open(&scene).await;
    scene.proxy.set_rules([]);
    let mut other = Watched::open(&scene).await;
    for name in ["a", "b"] {
        create(&scene.direct, name).await.unwrap();
        assert_eq!(other.next().await, name);
    }
    assert_eq!(held.next().await, "a");
    assert!(held.names.try_recv().is_err());
    scene.proxy.release();
    assert_eq!(held.next().await, "b");
}

#[tokio::test]
async fn all_watches_can_be_held_at_once() {
    let scene = Scene::new().await;
    let mut watch = Watched::open(&scene).await;
    scene.proxy.hold_watches();
    create(&scene.direct, "a").await.unwrap();
    scene.maps().get("a").await.unwrap();
    assert!(watch.names.try_recv().is_err());
    scene.proxy.release();
    assert_eq!(watch.next().await, "a");
}

#[tokio::test]
async fn nothing_gets_through_a_partition() {
    let scene = Scene::new().await;
    let watch = Watched::open(&scene).await;
    scene.proxy.partition();
    assert!(watch.end().await.is_err());
    assert!(scene.create("a").await.is_err());
    scene.proxy.heal();
    scene.create("b").await.unwrap();
    assert_eq!(scene.names().await, ["b"]);
}
