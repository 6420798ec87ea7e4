//! The host's own work for a guest counts as the guest's, and ends with its CPU time.

use std::time::Duration;

use super::set::{MAPS, errors, names, refresh};
use super::*;
use crate::bindings::cluster::ListQuery;
use crate::cluster::slices::Slices;
use crate::cpu_meter::Cpu;
use windlass_base::seams::Clock;

/// A ConfigMap that is more than half of the work after which the clock is looked at.
fn large(name: &str) -> Value {
    config_map(name, &json!({ "x": "x".repeat(140 << 10) }))
}

/// The work of the host for a guest counts as the guest's: a long selector over many objects is a lot of it.
#[tokio::test(start_paused = true)]
async fn a_list_ends_when_the_cpu_time_of_its_call_is_used_up() {
    let world = World::new().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    for number in 0..40 {
        let map = config_map(&format!("m{number}"), &json!({}));
        world.somebody("POST", maps, &map).await;
    }
    refresh(&world).await;
    let listed = async |limit: Duration, selector: &str| {
        let cpu = Cpu::new(Clock::system());
        let mut call = world.call().await.sliced(Slices::new(cpu, limit));
        let query = ListQuery {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            namespace: Some("default".into()),
            label_selector: Some(selector.to_owned()),
            field_selector: None,
            limit: None,
            consistency: Consistency::Stored,
        };
        call.list(query).await.map(|objects| objects.len())
    };
    let long = vec!["!z"; 1300].join(",");
    assert!(listed(Duration::MAX, &long).await.unwrap() >= 40);
    assert!(
        listed(Duration::ZERO, "!z").await.unwrap() >= 40,
        "little work"
    );
    let refused = listed(Duration::ZERO, &long).await;
    let Err(Error::Other(refusal)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(refusal.message, "the call used up its CPU time");
}

#[tokio::test]
async fn the_scan_of_a_page_counts_as_cpu_time_of_its_call() {
    let world = World::new().await;
    world.somebody("POST", MAPS, &large("large")).await;
    for (limit, want) in [(Duration::MAX, true), (Duration::ZERO, false)] {
        let slices = Slices::new(Cpu::new(Clock::system()), limit);
        let mut call = world.call().await.sliced(slices);
        let query = ListQuery {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            namespace: Some("default".into()),
            label_selector: None,
            field_selector: Some("metadata.name=large".into()),
            limit: None,
            consistency: Consistency::Latest,
        };
        let listed = call.list(query).await;
        assert_eq!(listed.is_ok(), want, "{limit:?}");
    }
}

#[tokio::test]
async fn a_set_ends_when_the_cpu_time_of_its_call_is_used_up() {
    let world = World::new().await;
    let applied = async |limit: Duration| {
        let slices = Slices::new(Cpu::new(Clock::system()), limit);
        let mut call = world.call().await.sliced(slices);
        let children = ["a", "b", "c"].map(|name| large(name).to_string());
        call.apply_set(children.into()).await
    };
    let refused = errors(applied(Duration::ZERO).await);
    let text = "other: the call used up its CPU time";
    assert_eq!(refused, [(None, text.to_owned())]);
    assert!(!names(&world).await.contains(&"b".to_owned()));
    assert_eq!(applied(Duration::MAX).await.unwrap().len(), 3);
}
