//! A server that is slow: what a call waits for it is not the time of the guest.

use std::time::Duration;

use windlass_apiserver::faults::{Fault, Matcher, Switch};

use super::*;
use crate::waited::Waited;

#[tokio::test(start_paused = true)]
async fn the_wait_for_an_answer_counts_also_if_none_comes_in_time() {
    let world = World::new().await;
    let clock = world.cluster.api.clock();
    let second = Duration::from_secs;
    let waited = Waited::new(clock);
    let mut call = world.call().await.waiting(waited.clone());
    let page = || reference("v1", "ConfigMap", "page");
    call.apply(config_map("page", &json!({})).to_string())
        .await
        .unwrap();
    assert_eq!(waited.total().as_secs(), 0, "the server is fast");
    world.server.faults().switch_on(Switch {
        name: "slow".to_owned(),
        on: Matcher {
            plural: Some("configmaps".to_owned()),
            user: None,
            ..Matcher::default()
        },
        from: 0,
        times: u64::MAX,
        fault: Fault::LateAnswer(second(7)),
    });
    for _ in 0..2 {
        call.get(page(), None, Consistency::Latest).await.unwrap();
        // What the guest does meanwhile.
        clock.sleep(second(100)).await;
    }
    let so_far = waited.total();
    assert!(second(14) <= so_far && so_far < second(15), "{so_far:?}");
    let late = call.get(page(), None, Consistency::Latest);
    assert!(clock.within(second(5), late).await.is_none());
    let total = waited.total();
    assert!(second(19) <= total && total < second(20), "{total:?}");
}
