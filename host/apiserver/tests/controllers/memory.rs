//! What is kept of objects that have gone.

use std::sync::{Arc, Weak};

use futures::StreamExt;
use windlass_apiserver::body::{Body, Chunks};
use windlass_apiserver::store::{Entry, GroupResource, MOST_PAST, Size};

use super::*;

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pods() -> GroupResource {
    GroupResource {
        group: String::new(),
        plural: "pods".to_owned(),
    }
}

async fn watch(api: &Api) -> Chunks {
    let request = Request::get(format!("{PODS}?watch=1&timeoutSeconds=100000"));
    let body = Full::new(Bytes::new());
    let response = api.0.handle(request.body(body).unwrap()).await;
    Body::chunks(response.into_body())
}

/// Creates and deletes pods; answers the states in which it saw them, as far as something holds these.
async fn come_and_go(api: &Api, count: usize) -> Vec<Weak<Entry>> {
    for index in 0..count {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": format!("pod-{index}") },
            "spec": { "containers": [{ "name": "main", "image": "nginx" }] },
        });
        api.create(PODS, &pod).await;
    }
    let list = || api.0.store().list(&pods(), None).entries;
    let mut states: Vec<Weak<Entry>> = list().iter().map(Arc::downgrade).collect();
    api.wait(Duration::from_secs(5)).await;
    states.extend(list().iter().map(Arc::downgrade));
    api.delete(PODS, "Background").await;
    states.extend(list().iter().map(Arc::downgrade));
    api.wait(Duration::from_secs(60)).await;
    assert!(list().is_empty());
    states
}

fn held(states: &[Weak<Entry>]) -> usize {
    let held = states.iter().filter(|state| state.strong_count() > 0);
    held.count()
}

/// Lets pods come and go many times; answers how much there was before, and how much after a while.
async fn churn(api: &Api) -> (Size, Size, Vec<Weak<Entry>>) {
    api.wait(Duration::from_secs(30)).await;
    let before = api.0.store().size();
    let mut states = Vec::new();
    for _ in 0..20 {
        states.extend(come_and_go(api, 20).await);
        assert!(api.0.store().size().event_bytes <= MOST_PAST);
    }
    assert!(
        states.len() >= 2 * 20 * 20,
        "{} states were seen",
        states.len()
    );
    api.wait(Duration::from_secs(600)).await;
    (before, api.0.store().size(), states)
}

#[test]
fn nothing_is_kept_of_pods_that_have_gone() {
    play(Options::default(), async |api| {
        let (before, after, states) = churn(api).await;
        assert_eq!(held(&states), 0);
        assert_eq!(after.objects, before.objects);
        assert_eq!((after.events, after.event_bytes), (0, 0));
    });
    let options = Options {
        node: Node::Full,
        ..Options::default()
    };
    play(options, async |api| {
        let (before, after, states) = churn(api).await;
        assert_eq!(held(&states), 0);
        assert_eq!(after.objects, before.objects);
        // The node says every ten seconds that it lives.
        assert!(after.events < 200, "{after:?}");
    });
}

#[test]
fn a_watch_keeps_little_of_what_its_client_does_not_read() {
    play(Options::default(), async |api| {
        let (mut reads, mut reads_one) = (watch(api).await, watch(api).await);
        let read = async {
            while let Some(Ok(_)) = reads.next().await {}
            panic!("it goes on");
        };
        let churn = async {
            come_and_go(api, 1).await;
            assert!(reads_one.next().await.is_some());
            churn(api).await
        };
        let (_, after, states) = match select(pin!(read), pin!(churn)).await {
            Either::Left(((), _)) => unreachable!(),
            Either::Right((done, _)) => done,
        };
        assert_eq!(after.events, 0);
        assert!(held(&states) <= 2, "{} are held", held(&states));
        // It learns that it has missed something.
        let mut is_told = false;
        while let Some(Ok(chunk)) = reads_one.next().await {
            is_told |= chunk.starts_with(b"{\"type\":\"ERROR\"");
        }
        assert!(is_told);
    });
}

#[test]
fn an_event_goes_an_hour_after_its_last_write() {
    const EVENTS: &str = "/api/v1/namespaces/default/events";
    let minutes = |count: u64| Duration::from_secs(60 * count);
    play(Options::default(), async |api| {
        let event = |name: &str| {
            json!({
                "apiVersion": "v1", "kind": "Event", "metadata": { "name": name },
                "involvedObject": { "namespace": "default" },
            })
        };
        for name in ["once", "twice"] {
            // Nothing stands against it, as nothing does against a lease of etcd.
            let mut event = event(name);
            event["metadata"]["finalizers"] = json!(["example.com/kept"]);
            api.create(EVENTS, &event).await;
        }
        api.wait(minutes(30)).await;
        api.patch(&format!("{EVENTS}/twice"), &json!({ "count": 2 }))
            .await;
        let exist = async || {
            let once = api.exists(&format!("{EVENTS}/once")).await;
            [once, api.exists(&format!("{EVENTS}/twice")).await]
        };
        assert_eq!(exist().await, [true, true]);
        api.wait(minutes(31)).await;
        assert_eq!(exist().await, [false, true]);
        api.wait(minutes(30)).await;
        assert_eq!(exist().await, [false, false]);
    });
}
